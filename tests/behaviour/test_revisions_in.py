"""What becomes of every kind of revision: the same in files of all formats, in pushes, on both engines, in all batches.

Each story is a list of rows with what is said of each: None if it is taken, else why it is set aside. The table in
docs/semantics.md (section 5) is the same in words.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import eddyline
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from eddyline.sources import Reject
from laws.streams import folded
from laws.without_spark import kernels_alone

COLUMNS = ("k", "v", "t")
Row = tuple[Any, Any, Any, Any, Any]  # _op, _ref, k, v, t


@dataclass(frozen=True)
class Story:
    """Rows, the reasons for which they are set aside, and the tuples (k, v, t) that stand in the end, by index."""

    clauses: str
    rows: tuple[tuple[Row, str | None], ...]
    standing: dict[int, tuple[Any, Any, Any]]

    @property
    def reasons(self) -> list[tuple[int, str]]:
        return [(number, reason) for number, (_, reason) in enumerate(self.rows, 1) if reason is not None]

    def named(self) -> list[dict[str, Any]]:
        return [dict(zip(("_op", "_ref", *COLUMNS), row, strict=True)) for row, _ in self.rows]


def _new(k: Any, v: Any, t: Any) -> Row:
    return (None, None, k, v, t)


BY_INDEX = Story(
    "",
    (
        (_new(1, 10, 1), None),
        (_new(2, 20, 2), None),
        (_new(3, 30, 3), None),
        (_new(4, 40, 4), None),
        (_new(5, 50, 5), None),
        # a tuple that is not there
        (("-", "0", None, None, None), "_ref: 0 is not a positive whole number"),
        (("-", "-1", None, None, None), "_ref: -1 is not a positive whole number"),
        (("-", "6", None, None, None), "_ref 6: s has tuples 1 to 5"),
        (("=", "7", 1, 1, 1), "_ref 7: s has tuples 1 to 5"),
        (
            ("-", None, None, None, None),
            "_ref: missing; a deletion (-) needs the index of its tuple, or a stream with a KEY",
        ),
        (("=", None, 1, 1, 1), "_ref: missing; a replacement (=) needs the index of its tuple, or a stream with a KEY"),
        (("-", "two", None, None, None), "_ref: 'two' is not a positive whole number"),
        (("x", "1", 1, 1, 1), "_op: 'x' is not one of + - = #"),
        (("delete", "1", None, None, None), "_op: 'delete' is not one of + - = #"),
        # two and three revisions of one tuple
        (("=", "1", 1, 11, 1), None),
        (("=", "1", 1, 12, 1), None),
        (("=", "2", 2, 21, 2), None),
        (("-", "2", None, None, None), None),
        (("=", "2", 2, 22, 2), "_ref 2: tuple 2 is deleted already"),
        (("-", "2", None, None, None), "_ref 2: tuple 2 is deleted already"),
        # one that came in the same batch, and one that comes only afterwards
        (("=", "6", 6, 61, 6), "_ref 6: s has tuples 1 to 5"),
        (_new(6, 60, 6), None),
        (("=", "6", 6, 62, 6), None),
        # the same again; without a value; without its time; moved beyond the clock, and back
        (("=", "3", 3, 30, 3), None),
        (("=", "4", 4, None, 4), None),
        (("=", "5", 5, 51, None), "t: no value, but it is the TIMESTAMP BY column"),
        (("=", "5", 5, 52, 90), None),
        (("=", "6", 6, 63, 0), None),
    ),
    {1: (1, 12, 1), 3: (3, 30, 3), 4: (4, None, 4), 5: (5, 52, 90), 6: (6, 63, 0)},
)
RETAINED = Story(
    "RETAIN 5",
    (
        (_new(1, 10, 1), None),
        (_new(2, 20, 5), None),
        (_new(3, 30, 8), None),
        (("-", "1", None, None, None), "_ref 1: tuple 1 is beyond the retention of s"),
        (("=", "1", 1, 11, 8), "_ref 1: tuple 1 is beyond the retention of s"),
        (("=", "2", 2, 21, 1), "_ref 2: its new tick 1 is 2 ticks beyond the retention of s"),
        (_new(4, 40, 2), "tick 2 is 1 tick beyond the retention of s"),
        (_new(5, 50, 3), None),  # late, but not too late: it has index 4
        (("=", "2", 2, 22, 20), None),  # moves the horizon to 15
        (("=", "3", 3, 31, 20), "_ref 3: tuple 3 is beyond the retention of s"),
        (("-", "2", None, None, None), None),
        (("-", "2", None, None, None), "_ref 2: tuple 2 is deleted already"),
        (_new(6, 60, 14), "tick 14 is 1 tick beyond the retention of s"),  # the horizon stays where it was
    ),
    {1: (1, 10, 1), 3: (3, 30, 8), 4: (5, 50, 3)},
)
BY_KEY = Story(
    "KEY (k)",
    (
        (_new(1, 10, 1), None),
        (_new(2, 20, 2), None),
        (_new(1, 11, 1), None),  # the new version of tuple 1
        (("=", None, 2, 21, 2), None),
        (("=", None, 2, 22, 3), None),
        (("=", None, 9, 90, 9), "no tuple of s has the key (k 9)"),
        (("-", None, 9, None, None), "no tuple of s has the key (k 9)"),
        (("-", None, None, None, None), "k: no value, but it is a KEY column"),
        (_new(None, 1, 1), "k: no value, but it is a KEY column"),
        (("=", "1", 2, 12, 1), "_ref 1: tuple 2 has the key (k 2)"),
        (("=", "1", 3, 13, 1), None),  # a new key; the old one is free
        (_new(1, 14, 1), None),  # index 3
        (("-", None, 3, None, None), None),
        (("-", None, 3, None, None), "no tuple of s has the key (k 3)"),
        (("=", None, 3, 30, 3), "no tuple of s has the key (k 3)"),
        (_new(3, 31, 3), None),  # deleted, and there again: index 4
        (("-", None, 2, None, None), None),
        (_new(2, 23, 2), None),  # index 5
        (("=", "2", 7, 70, 7), "_ref 2: tuple 2 is deleted already"),
        (("=", "9", 7, 70, 7), "_ref 9: s has tuples 1 to 5"),
    ),
    {3: (1, 14, 1), 4: (3, 31, 3), 5: (2, 23, 2)},
)
RETAINED_BY_KEY = Story(
    "KEY (k) RETAIN 5",
    (
        (_new(1, 10, 1), None),
        (_new(2, 20, 9), None),
        (("-", None, 1, None, None), "no tuple within the retention of s has the key (k 1)"),
        (_new(1, 11, 8), None),  # the old one has no key any more: index 3
        (("=", None, 2, 21, 3), "the key (k 2): its new tick 3 is 1 tick beyond the retention of s"),
        (("=", None, 2, 22, 30), None),
        (("=", None, 1, 12, 30), "no tuple within the retention of s has the key (k 1)"),
    ),
    {1: (1, 10, 1), 2: (2, 22, 30), 3: (1, 11, 8)},
)
STORIES = {"by index": BY_INDEX, "retained": RETAINED, "by key": BY_KEY, "retained, by key": RETAINED_BY_KEY}
QUERY = "SELECT k, v, t, index FROM s"


def _table(story: Story) -> pa.Table:
    rows = story.named()
    types = {"_op": pa.string(), "_ref": pa.string(), **dict.fromkeys(COLUMNS, pa.int32())}
    return pa.table({name: pa.array([row[name] for row in rows], type_) for name, type_ in types.items()})


def _write(story: Story, path: Path) -> None:
    if path.suffix == ".parquet":
        parquet.write_table(_table(story), path)
        return
    with path.open("w", newline="") as file:
        if path.suffix == ".json":
            file.writelines(json.dumps({n: v for n, v in row.items() if v is not None}) + "\n" for row in story.named())
        else:
            writer = csv.writer(file)
            writer.writerow(["_op", "_ref", *COLUMNS])
            writer.writerows(row for row, _ in story.rows)


def _stands(answers: list[Any], query: str) -> dict[int, tuple[Any, Any, Any]]:
    tuples = folded(answers, query)["tuples"]
    assert set(tuples.values()) <= {1} and all(tick == row[2] for tick, row in tuples)
    return {row[3]: row[:3] for _, row in tuples}


@pytest.mark.parametrize("run", [Session, SparkRun])
@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
@pytest.mark.parametrize("name", STORIES)
def test_in_a_file(tmp_path: Path, name: str, format_: str, run: Any) -> None:
    story = STORIES[name]
    _write(story, tmp_path / f"s.{format_}")
    extent = f"CREATE STREAM s (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t {story.clauses}"
    sql = f"{extent} USING {format_} OPTIONS (path 's.{format_}'); {QUERY}"
    header = format_ == "csv"
    for batch_rows in (1, 3, 1000):
        rejects: list[Reject] = []
        with kernels_alone():
            answers = list(run(sql, tmp_path, batch_rows=batch_rows, on_reject=rejects.append).answers())
        found = sorted((reject.line - header, _plain(reject.reason)) for reject in rejects)
        assert found == [(line, _plain(reason)) for line, reason in story.reasons], batch_rows
        assert _stands(answers, "q1") == story.standing, batch_rows


@pytest.mark.parametrize("name", STORIES)
def test_in_pushes(name: str) -> None:
    story = STORIES[name]
    for each in (1, 4, 1000):
        for whole in (lambda rows: rows, lambda rows: pa.Table.from_pylist(rows, schema=_table(story).schema)):
            with kernels_alone(), eddyline.connect(heartbeat=None, clock=lambda: 0) as db:
                db.sql(f"CREATE STREAM s (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t {story.clauses}")
                query = db.sql(QUERY)
                rows, rejected = story.named(), 0
                for first in range(0, len(rows), each):
                    rejected += db.stream("s").push(whole(rows[first : first + each])).rejected
                    db.flush()
                assert [_plain(reject.reason) for reject in db.rejects] == [_plain(r) for _, r in story.reasons]
                assert rejected == len(story.reasons)
                assert _stands(query.fetch(), query.name) == story.standing


@pytest.mark.parametrize("run", [Session, SparkRun])
@pytest.mark.parametrize("format_", ["csv", "json"])
def test_a_replacement_with_a_bad_value_leaves_the_old_tuple_standing(tmp_path: Path, format_: str, run: Any) -> None:
    story = Story(
        "", ((_new(1, 10, 1), None), (("=", "1", 1, "much", 1), "v: 'much' is not an INTEGER")), {1: (1, 10, 1)}
    )
    _write(story, tmp_path / f"s.{format_}")
    sql = "CREATE STREAM s (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t"
    rejects: list[Reject] = []
    with kernels_alone():
        made = run(f"{sql} USING {format_} OPTIONS (path 's.{format_}'); {QUERY}", tmp_path, on_reject=rejects.append)
        assert _stands(list(made.answers()), "q1") == story.standing
    assert [_plain(reject.reason) for reject in rejects] == [_plain(reason) for _, reason in story.reasons]


def _plain(reason: str) -> str:
    """A text is shown in quotes where it came as one: `_ref` is text in some of these formats, a number in others."""
    return reason.replace("'", "").replace('"', "")
