"""Answers that are a stream's file under a second name are read, merged and swept as those that were written."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eddyline.algebra.marks import KIND, MARKS
from eddyline.kernels.leaves import Leaves
from eddyline.kernels.passing import PassedOn
from eddyline.log.answers import read_batches, read_segments
from eddyline.log.linked import SHAPES, linked
from eddyline.log.merging import Merge
from eddyline.log.segment import BATCH, DIFF, INDEX, OP, PLACES, REF, SEQ, TAG, TICK, Segment, segment_of
from eddyline.log.segment import MARKS as STREAM_MARKS
from eddyline.log.storage import Storage
from eddyline.log.sweeping import Sweeper, Wanted

NUMBER = 7
OWN = pa.schema([("word", pa.string()), ("it's", pa.float64()), ("t", pa.int32())])
ANSWERS = pa.schema([(BATCH, pa.int64()), (INDEX, pa.int64()), (TICK, pa.int64()), (DIFF, pa.int8()), *OWN])
rows = st.lists(
    st.tuples(
        st.sampled_from([None, "a", "ü", "it's"]),
        st.sampled_from([None, -1.5, 0.0]),
        st.integers(-3, 3),
        st.none() | st.sampled_from(["[1]", "[2]"]),  # marks that are told with it
    ),
    min_size=1,
    max_size=9,
)
Rows = list[tuple[str | None, float | None, int, str | None]]


class Home:
    """A log of a stream with some rows, and the log of a query that passes them on."""

    def __init__(self, folder: str, given_rows: Rows, shape: str, cut: int, carry: bool = False) -> None:
        self.storage, self.shape = Storage(f"{folder}/it's [a] home"), shape
        self.stream = [self._written(given_rows, low, high, carry) for low, high in self._parts(len(given_rows), cut)]
        behind = SHAPES[shape]
        self.schema = pa.schema([*ANSWERS, *((name, pa.string()) for name in behind)])
        own = [pa.array([row[at] for row in given_rows], type_) for at, type_ in enumerate(OWN.types)]
        places = pa.array(range(11, 11 + len(given_rows)), pa.int64())
        marks = pa.array([row[3] for row in given_rows], pa.string())
        told = {MARKS: marks, KIND: pa.array(["+"] * len(given_rows))}
        number, weight = (pa.array([value] * len(given_rows)) for value in (NUMBER, 1))
        columns = [number, places, own[2].cast(pa.int64()), weight.cast(pa.int8()), *own, *map(told.get, behind)]
        self.wanted = pa.table(columns, schema=self.schema)
        self.told = pa.table([places, marks], [INDEX, MARKS]).to_batches(3) if behind else []

    @staticmethod
    def _parts(count: int, cut: int) -> list[tuple[int, int]]:
        return [(low, high) for low, high in ((0, min(cut, count)), (min(cut, count), count)) if low < high]

    def _written(self, given_rows: Rows, low: int, high: int, carry: bool) -> Segment:
        some, count = given_rows[low:high], high - low
        system = {
            SEQ: pa.array(range(20 + low, 20 + high)),
            INDEX: pa.array(range(11 + low, 11 + high)),
            TICK: pa.array([row[2] for row in some], pa.int64()),
            DIFF: pa.array([1] * count, pa.int8()),
            OP: pa.array(["+"] * count),
            REF: pa.nulls(count, pa.int64()),
            TAG: pa.nulls(count, pa.string()),
        }
        own = {name: pa.array([row[at] for row in some], OWN.field(at).type) for at, name in enumerate(OWN.names)}
        carried = {name: pa.array(["x"] * count).dictionary_encode() for name in (STREAM_MARKS, PLACES) if carry}
        table, path = pa.table({**system, **own, **carried}), f"streams/s/{low + 1:012d}.parquet"
        return segment_of(path, self.storage.write_table(path, table), table)

    def passed(self) -> list[Segment]:
        passed = PassedOn(tuple(self.stream), self.shape)
        assert passed.fits(self.storage, self.schema)
        found = passed.linked(self.storage, "results/q", NUMBER, iter(self.told))
        assert found is not None
        return found


def by_place(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: row[INDEX])


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(rows, st.sampled_from(sorted(SHAPES)), st.integers(1, 9), st.booleans())
def test_they_are_what_would_have_been_written(given_rows: Rows, shape: str, cut: int, carry: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder, given_rows, shape, cut, carry)
        storage, wanted = home.storage, home.wanted
        segments = home.passed()
        paths = [segment.path for segment in segments]
        assert [(s.rows, s.index, s.tick) for s in segments] == [(s.rows, s.index, s.tick) for s in home.stream]
        assert all(segment.seq == (NUMBER, NUMBER) and not segment.minus for segment in segments)
        # who has no tags has no file of them
        tagged = [MARKS in wanted.column_names and _any(wanted, segment.index) for segment in segments]
        assert [linked(path).some for path in paths] == tagged  # type: ignore[union-attr]
        assert [storage.exists(f"{path}.tags") for path in paths] == tagged
        sizes = [_size(storage, path) + (_size(storage, f"{path}.tags") if linked(path).some else 0) for path in paths]  # type: ignore[union-attr]
        assert [segment.size for segment in segments] == sizes

        read = read_segments(storage, segments)
        assert read is not None and read.schema == wanted.schema and by_place(read) == wanted.to_pylist()
        for columns in ([TICK], [BATCH, "t"], list(reversed(wanted.column_names)), [wanted.column_names[-1]]):
            some = pa.concat_tables([storage.read_table(path, columns) for path in paths])
            assert some.column_names == columns and some.to_pylist() == wanted.select(columns).to_pylist()
        late = pc.field(TICK) >= 0
        found = read_batches(storage, segments, (NUMBER, NUMBER), rows=late, columns=[TICK, INDEX])
        assert found is not None
        assert by_place(found) == wanted.filter(late).select([BATCH, TICK, INDEX]).to_pylist()
        assert read_batches(storage, segments, (NUMBER + 1, NUMBER + 9)) is None

        leaves = Leaves(duckdb.connect())
        for few in (False, True):
            leaves.open("leaf0", paths, storage, few)
            in_kernel = leaves.connection.sql("FROM leaf0").to_arrow_table()
            assert in_kernel.column_names == wanted.column_names and by_place(in_kernel) == wanted.to_pylist()
        leaves.close()


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(rows, st.sampled_from(sorted(SHAPES)), st.integers(1, 9))
def test_they_are_merged_with_others(given_rows: Rows, shape: str, cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder, given_rows, shape, cut)
        storage, segments = home.storage, home.passed()
        other = home.wanted.set_column(0, BATCH, pa.array([NUMBER + 1] * home.wanted.num_rows))
        path = f"results/q/{NUMBER + 1:012d}-{'0' * 32}.parquet"
        size = storage.write_table(path, other)
        written = Segment(path, other.num_rows, size, (NUMBER + 1,) * 2, segments[0].index, segments[0].tick)
        merge = Merge("q", (*segments, written), "results/q/merged-0.parquet")
        assert merge.run(storage) > 0
        merged = storage.read_table(merge.path)
        assert merged.to_pylist() == [*home.wanted.to_pylist(), *other.to_pylist()]
        # a lane did not know which batch would commit it
        late = [Segment(s.path, s.rows, s.size, (9, 9), s.index, s.tick) for s in segments]
        assert Merge("q", tuple(late), "results/q/merged-1.parquet").run(storage) > 0
        assert storage.read_table("results/q/merged-1.parquet", [BATCH]).to_pylist() == [{BATCH: 9}] * len(given_rows)


ROWS: Rows = [("a", 1.5, 1, None), (None, None, 2, "[1]"), ("b", 0.0, 3, None)]


def test_each_log_may_lose_its_name_of_the_file(tmp_path: Path) -> None:
    home = Home(str(tmp_path), ROWS, "told", 2)
    segments = home.passed()
    home.storage.delete(home.stream[0].path)
    read = read_segments(home.storage, segments)
    assert read is not None and read.to_pylist() == home.wanted.to_pylist()
    for segment in segments:
        home.storage.delete(segment.path)
    assert home.storage.read_table(home.stream[1].path).num_rows == 1


def test_a_segment_of_its_stream_that_is_written_anew_changes_nothing(tmp_path: Path) -> None:
    """The name of a segment that no entry came to refer to is used again."""
    home = Home(str(tmp_path), ROWS, "rows", 9)
    (segment,) = home.passed()
    home.storage.write_table(home.stream[0].path, pa.table({"other": [1]}))
    assert home.storage.read_table(segment.path).to_pylist() == home.wanted.to_pylist()


def test_what_nothing_refers_to_goes_with_its_tags(tmp_path: Path) -> None:
    home = Home(str(tmp_path), ROWS, "told", 9)
    (kept,), (orphan,) = home.passed(), home.passed()
    assert home.storage.exists(f"{orphan.path}.tags") and home.storage.exists(f"{kept.path}.tags")
    stream = {segment.path for segment in home.stream}
    sweeper = Sweeper(home.storage, 0.0)
    sweeper.sweep(lambda: Wanted({kept.path, *stream}, 100, NUMBER - 1), at_once=True)
    assert home.storage.exists(orphan.path)  # a task may be about to tell of it
    sweeper.sweep(lambda: Wanted({kept.path, *stream}, 100, NUMBER), at_once=True)
    there = {path for path, _ in home.storage.files_below("")}
    assert there == {kept.path, f"{kept.path}.tags", *stream}


@pytest.mark.parametrize("problem", [errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP])
def test_where_there_are_no_links_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: int
) -> None:
    home, link, calls = Home(str(tmp_path), ROWS, "told", 2), os.link, []

    def refused(source: str, name: str) -> None:
        calls.append(name)
        if len(calls) > 1:
            raise OSError(problem, os.strerror(problem))
        link(source, name)

    monkeypatch.setattr(os, "link", refused)
    passed = PassedOn(tuple(home.stream), home.shape)
    assert passed.linked(home.storage, "results/q", NUMBER, iter(home.told)) is None
    assert len(calls) == 2
    assert not home.storage.files_below("results")


def test_files_with_other_columns_are_written_again(tmp_path: Path) -> None:
    home = Home(str(tmp_path), ROWS, "rows", 9)
    passed = PassedOn(tuple(home.stream), "rows")
    wider = home.schema.set(home.schema.get_field_index("t"), pa.field("t", pa.int64()))
    others = [home.schema.remove(4), wider, pa.schema([*list(home.schema)[:4], *reversed(OWN)])]
    assert passed.fits(home.storage, home.schema)
    assert not any(passed.fits(home.storage, schema) for schema in others)


def _any(wanted: pa.Table, index: tuple[int, int]) -> bool:
    low, high = index
    own = wanted.filter((pc.field(INDEX) >= low) & (pc.field(INDEX) <= high))
    return bool(own.column(MARKS).null_count < own.num_rows)


def _size(storage: Storage, name: str) -> int:
    return Path(storage.path(name)).stat().st_size
