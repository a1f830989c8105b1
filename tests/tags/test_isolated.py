"""Tags that are laid over their tuples all at once leave the marks that they leave one by one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from eddyline.algebra.dictionary import shipped
from eddyline.binder.statement import Define
from eddyline.database.definitions import Definitions
from eddyline.log.ingest import Ingest
from eddyline.log.isolated import Isolated
from eddyline.log.journal import Journal
from eddyline.log.said import said_since
from eddyline.log.segment import INDEX, MARKS, OP, PLACES, SEQ, TICK
from eddyline.log.storage import Storage, as_texts
from eddyline.log.told_apart import told_apart
from eddyline.session.tags import Understanding
from eddyline.sources.pushed import chunk_of
from eddyline.sources.tags_beside import TagsBeside
from eddyline.sources.usual_tags import are_usual

BATCHES = 3


def _rows(draw: random.Random, usual: float) -> list[list[dict[str, Any]]]:
    """Batches of tuples and tags; `usual` of the tags are instant, in front of what they cover."""
    index, tick = 0, 0
    batches = []
    for _ in range(BATCHES):
        batch: list[dict[str, Any]] = []
        for _ in range(60):
            tick += draw.randint(0, 1)
            if draw.random() < 0.5:
                index += 1
                late = draw.randint(1, 4) if draw.random() < 0.1 else 0
                batch.append({"v": draw.randint(0, 3), "t": tick - late, "_op": "+", "_tag": None})
            else:
                tag = _tag(draw, index, draw.random() < usual)
                batch.append({"v": None, "t": tick, "_op": "#", "_tag": json.dumps(tag)})
        batches.append(batch)
    return batches


def _tag(draw: random.Random, index: int, usual: bool) -> dict[str, Any]:
    tag: dict[str, Any] = {"content": draw.choice(["sad", "angry", 'said "so"', "é"])}
    if draw.random() < 0.5:
        tag["sign"] = draw.choice(["+", "-"])
    first = index + draw.randint(1, 2)
    kind = draw.random()
    if kind < 0.3:
        tag["applies_to"] = {"tuples": f"{first}-{first + draw.randint(0, 2)}"}
    elif kind < 0.5:
        tag["applies_to"] = {"next": draw.randint(1, 3)}
    if usual:
        return tag
    more: dict[str, Any] = draw.choice(
        [
            {"lifespan": draw.randint(1, 3)},
            {"mode": "C"},
            {"tagger": "eve"},
            {"applies_to": {"attributes": ["v"]}},
            {"applies_to": {"attributes": ["v"], "value": True}},
            {"applies_to": {"attributes": ["v"], "next": 2}},
            {"applies_to": {"next": 2}, "lifespan": 3},
            {"applies_to": {"tuples": [first]}},
            {"applies_to": {"tuples": f"{index}-{first}"}},  # the first of them has passed
            {"content": ""},  # refused
            {"applies_to": {"attributes": ["nothing"]}},  # refused
        ]
    )
    return {**tag, **more}


def _beside(batch: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows, and the tags with their places among them."""
    rows, tags = [], []
    for row in batch:
        if row["_op"] == "#":
            tags.append({"_before": len(rows) + 1, "_tag": row["_tag"], "t": row["t"]})
        else:
            rows.append(row)
    return rows, tags


def _logged(
    batches: list[list[dict[str, Any]]], root: Path, beside: bool = False
) -> tuple[pa.Table, list[tuple[str, str]]]:
    """The log, and what was set aside."""

    def none(declaration: object) -> Any:
        raise AssertionError("there are no functions")

    (step,) = Definitions(frozenset(), none).replay("CREATE STREAM s (v INTEGER, t BIGINT) TIMESTAMP BY t")
    assert isinstance(step, Define)
    storage, set_aside = Storage(str(root)), list[tuple[str, str]]()
    journal = Journal(storage)
    ingest = Ingest(
        storage,
        journal,
        lambda reject: set_aside.append((reject.file, reject.reason)),
        reading=Understanding(lambda: 10**6, shipped, frozenset),
    )
    schema = pa.schema([("v", pa.int32()), ("t", pa.int64()), ("_op", pa.string()), ("_tag", pa.string())])
    for batch in batches:
        rows, tags = _beside(batch) if beside else (batch, None)
        chunk = chunk_of(step.extent, pa.Table.from_pylist(rows, schema), 10**6, tags=tags)
        ingest.append({"s": step.extent}, [chunk])
    names = [SEQ, INDEX, TICK, OP, MARKS, PLACES, "v", "t"]
    parts = list(said_since(storage, journal.state("s"), ()))  # whether they stand in segments of their own or not
    for segment in journal.state("s").segments:
        if not segment.only_tags:
            table = storage.read_table(segment.path)
            parts.append(table.select([name for name in names if name in table.column_names]))
    rows = pa.concat_tables([as_texts(part) for part in parts], promote_options="default")
    told = told_apart(*(rows.column(name).combine_chunks() for name in (MARKS, PLACES, TICK, INDEX)))
    told = pc.replace_substring(told, '["s",null,null,null,false,null]', '"s"')  # a tag that applies to any tuple
    return rows.drop_columns([PLACES]).set_column(rows.column_names.index(MARKS), MARKS, told).sort_by(SEQ), set_aside


@pytest.mark.parametrize("usual", [1.0, 0.9, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_all_at_once_or_one_by_one(seed: int, usual: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = _rows(random.Random(seed), usual)
    at_once, set_aside = _logged(batches, tmp_path / "at once")
    one_by_one = Isolated.__init__

    def never(self: Isolated, *arguments: Any) -> None:
        one_by_one(self, *arguments)
        self.simple = np.zeros(len(self.simple), bool)

    monkeypatch.setattr(Isolated, "__init__", never)
    right, refused = _logged(batches, tmp_path / "one by one")
    assert at_once.to_pylist() == right.to_pylist()
    assert set_aside == refused


@pytest.mark.parametrize("usual", [1.0, 0.9, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_tags_beside_rows_are_tags_among_them(seed: int, usual: float, tmp_path: Path) -> None:
    batches = _rows(random.Random(seed), usual)
    among, refused = _logged(batches, tmp_path / "among")
    beside, set_aside = _logged(batches, tmp_path / "beside", beside=True)
    assert beside.to_pylist() == among.to_pylist()
    assert sorted(reason for _, reason in set_aside) == sorted(reason for _, reason in refused)
    assert {file for file, _ in refused} <= {"push"} and {file for file, _ in set_aside} <= {"push, tags"}


@pytest.mark.parametrize("written", ["tuples", "next"])
@pytest.mark.parametrize("size", [1, 2])
def test_tags_right_in_front_are_never_put_among_rows(
    size: int, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one tuple, and of two."""
    row = {"v": 1, "t": 1, "_op": "+", "_tag": None}
    batch: list[dict[str, Any]] = []
    for first in range(1, 40, size):
        stretch = {"tuples": f"{first}-{first + size - 1}"} if written == "tuples" else {"next": size}
        tag = {"content": "sad", "applies_to": stretch}
        batch += [{"v": None, "t": 1, "_op": "#", "_tag": json.dumps(tag)}, *([row] * size)]
    among, _ = _logged([batch], tmp_path / "among")
    monkeypatch.delattr(TagsBeside, "among")
    beside, _ = _logged([batch], tmp_path / "beside", beside=True)
    assert beside.to_pylist() == among.to_pylist()


def test_the_next_tuples_are_those_that_could_be_listed(tmp_path: Path) -> None:
    row = {"v": 1, "t": 1, "_op": "+", "_tag": None}

    def batches(stretch: Any) -> list[list[dict[str, Any]]]:
        tag = {"content": "sad", "applies_to": stretch}
        return [[row, row, {"v": None, "t": 1, "_op": "#", "_tag": json.dumps(tag)}, row], [row, row]]

    following, _ = _logged(batches({"next": 2}), tmp_path / "next")
    listed, _ = _logged(batches({"tuples": [3, 4]}), tmp_path / "listed")
    assert following.to_pylist() == listed.to_pylist()
    carried = following.filter(pc.equal(pc.fill_null(following.column(OP), "#"), "+")).sort_by(INDEX).column(MARKS)
    assert [each is not None for each in carried.to_pylist()] == [False, False, True, True, False]


def test_tags_in_front_of_tuples_are_laid_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or all of this would show nothing."""
    runs: list[int] = []
    end_of_run = Isolated.end_of_run

    def counted(self: Isolated, at: int) -> int:
        runs.append(end_of_run(self, at) - at)
        return end_of_run(self, at)

    monkeypatch.setattr(Isolated, "end_of_run", counted)
    tag, row = {"v": None, "t": 1, "_op": "#", "_tag": '{"content": "sad"}'}, {"v": 1, "t": 1, "_op": "+", "_tag": None}
    table, _ = _logged([[tag, row] * 50], tmp_path)
    assert runs == [50]
    assert table.column(MARKS).null_count == 0


def test_what_is_usual() -> None:
    texts = {
        '{"content": "sad", "sign": "-", "mode": "C", "lifespan": "I"}': True,
        '{"content": "sad", "applies_to": {"tuples": "3-7"}}': True,
        '{"content": "sad", "applies_to": {"tuples": "7-3"}}': False,
        '{"content": "sad", "applies_to": {"tuples": "0-3"}}': False,
        '{"content": "sad", "applies_to": {"tuples": "1-99999"}}': False,
        '{"content": "sad", "applies_to": {"next": 3}}': True,
        '{"content": "sad", "applies_to": {"next": 0}}': False,
        '{"content": "sad", "applies_to": {"next": true}}': False,
        '{"content": "sad", "applies_to": {"next": 3, "attributes": ["v"]}}': False,
        '{"content": "sad", "lifespan": 3}': False,
        '{"content": "sad", "sign": []}': False,
        '{"content": "\\ud800"}': False,
        '{"content": " "}': False,
        '["sad"]': False,
        "sad": False,
    }
    assert are_usual(pa.array([*texts, None])).tolist() == [*texts.values(), False]
