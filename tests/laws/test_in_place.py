"""Rows that stay in their files are answered as rows that are copied: random files, late rows, revisions, restarts."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.log.answers import python_rows
from eddyline.log.referred import referred
from eddyline.log.upkeep import Pace
from laws.streams import EXAMPLES
from laws.without_spark import kernels_alone

#: everything as often as possible, so that files are merged into segments of ours
BUSY = Pace(batches=2, behind=1, neighbours=2, small=1_000_000, grace=0.0, aside=False)
SCHEMA = pa.schema([("t", pa.int64()), ("x", pa.int32()), ("p", pa.float64()), ("w", pa.string())])
STREAM = """CREATE STREAM s (t BIGINT, x INTEGER, p DOUBLE, w STRING) TIMESTAMP BY t {retain}
  USING parquet OPTIONS (path '{path}', copy '{copy}')"""
QUERIES = {
    "above": "SELECT x, p, w FROM s WHERE p > 1",  # which NaN is
    "below": "SELECT x, p, w FROM s WHERE p > -1",
    "at_most": "SELECT x, p, w FROM s WHERE p <= 5",  # which all numbers are, but not NaN
    "others": "SELECT x, p, w FROM s WHERE p <> 0.5",
    "sums": "SELECT w, SUM(x) AS n, COUNT(*) AS c FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] GROUP BY w",
    "least": "SELECT MIN(p) AS m, MAX(p) AS n FROM s [FROM NOW-3 TO NOW SLIDE 1 SEC] WHERE p > 1",
    "by_row": "SELECT x, w FROM s [FROM NOW-1 TO NOW SLIDE 2 ROWS]",
    "latest": "SELECT x, w FROM s [ROWS 2] WHERE x > 0",
    "pairs": "SELECT a.x, b.w FROM s [RANGE 2 SEC] AS a, s [RANGE 2 SEC] AS b WHERE a.x = b.x",
}
LATER = "CREATE QUERY looked_back FROM HISTORY AS SELECT x, p FROM s WHERE x < 2"

rows = st.tuples(
    st.integers(0, 12),
    st.integers(0, 3),
    st.sampled_from([None, -2.0, 0.5, 1.5, float("nan")]),
    st.sampled_from([None, "a", "b"]),
)
#: now and then one without a time, which is set aside
untimed = rows.map(lambda row: (None, *row[1:]))
revisions = st.tuples(st.sampled_from(["delete", "update"]), st.integers(1, 12), rows)


@dataclass
class Story:
    """What is in the files, how it is revised after each, and whether the database is opened again."""

    files: list[list[tuple[Any, ...]]]
    revised: list[list[tuple[str, int, tuple[Any, ...]]]]
    group: int  # rows of a row group
    retain: int | None = None
    again: list[bool] = field(default_factory=list)


@st.composite
def stories(draw: st.DrawFn, most: int = 4) -> Story:
    files = draw(st.lists(st.lists(st.one_of(*[rows] * 9, untimed), max_size=8), min_size=1, max_size=most))
    if draw(st.booleans()):  # most streams come in order
        files = [sorted(file, key=lambda row: -1 if row[0] is None else row[0]) for file in files]
    revised = [draw(st.lists(revisions, max_size=2)) for _ in files]
    again = [draw(st.booleans()) for _ in files]
    return Story(files, revised, draw(st.integers(1, 5)), draw(st.sampled_from([None, 3, 20])), again)


def write(folder: Path, number: int, file: list[tuple[Any, ...]], group: int) -> None:
    folder.mkdir(exist_ok=True)
    columns = [pa.array([row[at] for row in file], type_) for at, type_ in enumerate(SCHEMA.types)]
    pq.write_table(pa.table(columns, schema=SCHEMA), folder / f"{number}.parquet", row_group_size=group)


def told(story: Story, copy: bool, batch_rows: int) -> tuple[dict[str, list[Any]], list[Any], int]:
    """What stands at the end, what was set aside, and how often the log has referred to a file."""
    with tempfile.TemporaryDirectory() as name:
        folder, root = Path(name) / "files", Path(name) / "db"

        def opened() -> eddyline.Database:
            return eddyline.connect(root, heartbeat=None, clock=lambda: 0, pace=BUSY, batch_rows=batch_rows)

        write(folder, 0, story.files[0], story.group)
        db = opened()
        retain = "" if story.retain is None else f"RETAIN {story.retain} SEC"
        db.sql(STREAM.format(path=folder, copy=str(copy).lower(), retain=retain))
        for query, text in QUERIES.items():
            db.sql(f"CREATE QUERY {query} AS {text}")
        seen = 0
        for number, file in enumerate(story.files):
            write(folder, number, file, story.group)
            db.run()
            seen += sum(referred(s.path) is not None for s in db._core.engine.journal.state("s").segments)
            for what, index, row in story.revised[number]:
                if what == "delete":
                    db.stream("s").delete(index)
                else:
                    db.stream("s").update(index, **dict(zip(SCHEMA.names, row, strict=True)))
            db.flush()
            if story.again[number]:
                db.close()
                db = opened()
        db.sql(LATER)
        db.flush()
        handles = {query: db.query(query) for query in (*QUERIES, "looked_back")}
        found = {
            query: sorted(map(repr, python_rows(handle.columns, handle.current()))) for query, handle in handles.items()
        }
        aside = [(Path(reject.file).name, reject.line, reject.reason) for reject in db.rejects]
        assert all(file.exists() for file in folder.iterdir())
        db.close()
        return found, aside, seen


def the_same(story: Story, batch_rows: int) -> int:
    copied, copied_aside, none = told(story, True, batch_rows)
    stayed, stayed_aside, some = told(story, False, batch_rows)
    assert (stayed, stayed_aside) == (copied, copied_aside)
    assert not none
    return some


def runs(examples: int, most: int = 4) -> Any:
    allowed = settings(
        max_examples=examples * EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    return lambda test: allowed(given(stories(most), st.sampled_from([3, 7, 1000]))(test))


@runs(20)
def test_in_kernels_alone(story: Story, batch_rows: int) -> None:
    """Alone, or not so few rows that Arrow reads them: DuckDB looks at the bounds in the files."""
    with kernels_alone(), patch("eddyline.spark.kernel_job._FEW_ROWS", -1 if batch_rows > 3 else 1000):
        the_same(story, batch_rows)


@runs(2, most=2)
def test_on_sparks_own_plans(spark: object, story: Story, batch_rows: int) -> None:
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        the_same(story, batch_rows)


FIRST = [(tick, tick % 4, [None, -2.0, 1.5, float("nan")][tick % 4], "ab"[tick % 2]) for tick in range(1, 9)]
SECOND = [(tick, tick % 3, float("nan") if tick == 10 else 0.5, "b") for tick in range(9, 13)]
STORY = Story([FIRST, SECOND], [[("delete", 2, FIRST[0]), ("update", 5, (5, 3, 2.5, "a"))], []], 3, None, [True, False])


def test_files_are_really_referred_to() -> None:
    """Else the laws would say nothing."""
    with kernels_alone():
        assert the_same(STORY, 1000) > 1


def test_the_kernel_looks_at_what_bounds_leave_out() -> None:
    with kernels_alone(), patch("eddyline.spark.kernel_job._FEW_ROWS", -1):
        assert the_same(STORY, 1000) > 1


def test_sparks_own_plans_look_at_what_bounds_leave_out(spark: object) -> None:
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        assert the_same(STORY, 1000) > 1
