"""What is told about all tags of a stream does not come to the driver at once: it is counted in tasks, or goes segment
by segment."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eddyline
from eddyline.algebra.marks import GIVEN, MarkText, read, written
from eddyline.log import said
from eddyline.log.detached import Detached
from eddyline.log.said import left_of, said_since, taken_back
from eddyline.log.segment import MARKS, SEQ
from eddyline.log.storage import Storage
from eddyline.spark.evaluate.frames import SparkFrames
from eddyline.spark.tags import report
from laws.without_spark import kernels_alone

STREAM = "CREATE STREAM s (a INTEGER, b STRING, t BIGINT) TIMESTAMP BY t"
PUSHES, REPORTS = 6, 10


def _filled(folder: Path) -> Any:
    """Each push has a tag of its own for each tuple, and one on several."""
    db = eddyline.connect(folder, heartbeat=None, clock=lambda: 0)
    db.sql(STREAM)
    for push in range(PUSHES):
        rows: list[dict[str, Any]] = []
        for each in range(REPORTS):
            rows.append({"_op": "#", "_tag": {"content": f"C{each}", "sign": "+"}})
            rows.append({"a": each, "b": "x", "t": push})
        first = push * 2 * REPORTS + REPORTS + 1
        on = {"tuples": f"{first}-{first + REPORTS - 1}"}
        rows.append({"_op": "#", "_tag": {"content": "several", "applies_to": on}})
        rows += [{"a": each, "b": "y", "t": push} for each in range(REPORTS)]
        db.stream("s").push(rows)
    return db


def test_what_was_said_is_put_together_segment_by_segment(tmp_path: Path) -> None:
    with kernels_alone():
        db = _filled(tmp_path)
        engine = db._core.engine
        state = engine.journal.state("s")
        db.sql("DETACH TAG 'nobody said it' FROM s")
        parts = list(said_since(engine.storage, state, taken_back(engine.storage, state)))
        assert [part.num_rows for part in parts] == [REPORTS + 1] * PUSHES
        db.sql("SELECT content FROM TAGS OF s")
        history = engine.journal.state("s$tags")
        assert [segment.rows for segment in history.segments] == [REPORTS + 1] * PUSHES
        assert history.last_index == PUSHES * (REPORTS + 1)
        db.close()


def test_texts_are_no_more_however_often_tags_were_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, fields = random.Random(3), [None, (0,), (1,), (0, 1)]
    texts = {
        seq: written([MarkText(0, GIVEN, 0, "s", "user", draw.choice("AB"), None, "junk", 5, "O", draw.choice(fields))])
        for seq in range(1, 200)
    }
    taken = []
    for seq in range(10, 220, 15):
        on = draw.choice(fields)
        taken.append((seq, Detached(draw.choice("AB"), "user", None if on is None else frozenset(on), False)))
    right = dict(texts)
    for place, what in taken:
        right.update({s: written(what.after(read(text))) for s, text in right.items() if s < place})
    looked_at: list[Any] = []
    monkeypatch.setattr(said, "read", lambda text: looked_at.append(text) or read(text))
    left = left_of(pa.table({SEQ: list(texts), MARKS: list(texts.values())}), taken)
    assert left is not None
    assert dict(zip(left[SEQ].to_pylist(), left[MARKS].to_pylist(), strict=True)) == {
        seq: text for seq, text in right.items() if text is not None
    }
    assert len(taken) == 14 and len(looked_at) <= len(taken) * 2 * len(fields)


STATEMENTS = [
    "ATTACH TAG 'All' TO s WITH TAG_LIFESPAN = 100 SEC",
    "ATTACH TAG 'Made' CONTINUOUSLY TO s.a WHERE a > 4",
    "ATTACH TAG 'First' TO s.b.value WHERE a = 3 WITH TAG_LIFESPAN = 3 SEC",
]
ROWS: list[dict[str, Any]] = [
    {"_op": "#", "_tag": {"content": "All"}},
    {"a": 1, "b": "x", "t": 1},
    {"_op": "#", "_tag": {"content": "one", "sign": "-"}},
    {"a": 3, "b": "y", "t": 2},
    {"_op": "#", "_tag": {"content": "never", "applies_to": {"tuples": "40-41"}}},
    {"_op": "#", "_tag": {"content": "twice", "applies_to": {"tuples": "123-124", "attributes": ["a"]}}},
    {"a": 6, "b": "y", "t": 3},
    {"a": 7, "b": "z", "t": 3},
]


def test_tags_are_counted_in_tasks(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_tasks = {name: getattr(report, name) for name in ("counted_lines", "idle_lines")}
    with kernels_alone():
        db = _filled(tmp_path)
        for each in STATEMENTS:
            db.sql(each)
        db.stream("s").push([{**row, "t": 9} if "t" in row else row for row in ROWS])
        db.stream("s").push([{"_op": "=", "_ref": 3, "a": 5, "b": "x", "t": 1}, {"_op": "-", "_ref": 4}])
        db.sql("DETACH TAG 'several' FROM s")
        engine = db._core.engine
        extent = engine.extent("s")
        right = report.tag_lines(engine, extent), report.never_applied(engine, extent)
        assert {"All", "Made", "First", "twice", "C2"} <= {line.content for line in right[0]}
        assert right[1] == ["never"]
        engine.executor.frames = SparkFrames(spark, engine.storage)
        read: list[str] = []
        table = Storage.read_table

        def noted(storage: Storage, name: str, *more: Any) -> Any:
            read.append(name)
            return table(storage, name, *more)

        monkeypatch.setattr(Storage, "read_table", noted)
        for name, function in in_tasks.items():
            monkeypatch.setattr(report, name, function)
        assert report.tag_lines(engine, extent) == right[0]
        assert report.never_applied(engine, extent) == right[1]
        assert all(name.endswith("t.parquet") for name in read), "the driver reads tuples"
        db.close()
