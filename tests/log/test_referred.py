"""Segments that are files of the user's are read, merged and looked up as any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT, DOUBLE, STRING
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.columnar.types import arrow_schema
from eddyline.errors import StorageUnreadable, StorageUnusable
from eddyline.kernels.leaves import Leaves
from eddyline.log.ingest import Ingest
from eddyline.log.journal import Journal
from eddyline.log.lookup import last_rows
from eddyline.log.merging import Merge
from eddyline.log.referred import referred
from eddyline.log.revision_log import Revised
from eddyline.log.segment import INDEX, OP, SEQ, TICK
from eddyline.log.storage import Storage
from eddyline.sources.arrival import Reject
from eddyline.sources.batches import open_batches

FIELDS = (Field("t", BIGINT), Field("p", DOUBLE), Field("w", STRING))
TABLE = pa.table({"t": [3, 4, 4, 6, 7], "p": [1.5, float("nan"), None, -2.0, 4.0], "w": ["a", None, "it's", "", "z"]})


class Home:
    """A log and the files that come to it, by reference or copied."""

    def __init__(self, folder: Path, copy: bool = False, retain: int | None = None) -> None:
        self.files = folder / "it's files"
        self.files.mkdir(parents=True, exist_ok=True)
        options = (("path", str(self.files)), ("copy", str(copy).lower()))
        self.extent = Extent("s", PUSHED, Schema(FIELDS), "t", (), None, "parquet", options, (), retain)
        self.storage = Storage(str(folder / ("copied" if copy else "db")))
        self.journal = Journal(self.storage)
        self.rejects: list[Reject] = []
        self.ingest = Ingest(self.storage, self.journal, self.rejects.append)

    def write(self, table: pa.Table, name: str = "0.parquet", group: int = 2) -> Path:
        pq.write_table(table, self.files / name, row_group_size=group)
        return self.files / name

    def take(self, first: int = 0, stop: int = 10**9) -> None:
        """What is in the files, of each these rows."""
        source = open_batches(self.extent, self.files, 1_000_000)
        assert source is not None
        self.ingest.append({"s": self.extent}, [chunk.slice(first, stop) for chunk in source.chunks()])

    @property
    def segments(self) -> Any:
        return self.journal.state("s").segments

    def rows(self) -> pa.Table:
        return pa.concat_tables([self.storage.read_table(segment.path) for segment in self.segments])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def told(table: pa.Table) -> tuple[pa.Schema, str]:
    """For comparing: NaN is NaN."""
    return table.schema, repr(table.to_pylist())


def in_kernel(home: Home) -> pa.Table:
    leaves = Leaves(duckdb.connect())
    leaves.open("leaf0", [segment.path for segment in home.segments], home.storage, False)
    found = leaves.connection.sql(f"FROM leaf0 ORDER BY {SEQ}").to_arrow_table()
    leaves.close()
    return found


def test_it_is_what_a_copy_would_be(tmp_path: Path) -> None:
    here, there = Home(tmp_path), Home(tmp_path, copy=True)
    here.write(TABLE)
    for home in (here, there):
        home.take(0, 2)
        home.take(2)
    assert [segment.path.startswith("streams/s/@") for segment in here.segments] == [True, True]
    assert not here.storage.files_below("streams")
    assert told(here.rows()) == told(there.rows())
    assert told(in_kernel(here)) == told(in_kernel(there))
    assert told(here.storage.read_tables([s.path for s in here.segments])) == told(there.rows())
    for one, other in zip(here.segments, there.segments, strict=True):
        assert (one.rows, one.seq, one.index, one.tick, one.minus) == (
            other.rows,
            other.seq,
            other.index,
            other.tick,
            other.minus,
        )
    first, second = (Journal(home.storage) for home in (here, there))
    assert (first.reached, first.closed, first.state("s").top) == (second.reached, second.closed, second.state("s").top)
    assert [entry.touched for entry in first.entries] == [entry.touched for entry in second.entries]


def test_some_columns_and_some_rows(home: Home) -> None:
    home.write(TABLE)
    home.take()
    (segment,) = home.segments
    read = home.storage.read_table(segment.path, [INDEX, "w"])
    assert read.column_names == [INDEX, "w"] and read["w"].to_pylist() == TABLE["w"].to_pylist()
    late = (pc.field(TICK) <= 4) & (pc.field(OP) == "+") & (pc.field(SEQ) > 1)
    assert home.storage.read_table(segment.path, [SEQ, "t"], late).to_pydict() == {SEQ: [2, 3], "t": [4, 4]}


def test_ours_and_theirs_under_one_name(home: Home) -> None:
    home.write(TABLE)
    home.take()
    again = home.storage.read_table(home.segments[0].path)
    home.storage.write_table("streams/s/000000000009.parquet", again)
    paths = [home.segments[0].path, "streams/s/000000000009.parquet"]
    leaves = Leaves(duckdb.connect())
    leaves.open("leaf0", paths, home.storage, False)
    ((count, different),) = leaves.connection.sql(f"SELECT count(*), count(DISTINCT {INDEX}) FROM leaf0").fetchall()
    assert (count, different) == (10, 5)
    assert home.storage.read_tables(paths).num_rows == 10


def test_single_tuples_are_found(home: Home) -> None:
    home.write(TABLE)
    home.take()
    found = last_rows(home.storage, home.segments, [2, 5], arrow_schema(home.extent.schema))
    assert found[INDEX].to_pylist() == [2, 5] and found["w"].to_pylist() == [None, "z"]


def test_merged_they_are_segments_of_ours(home: Home) -> None:
    home.write(TABLE)
    home.take(0, 3)
    home.take(3)
    before = home.rows()
    merge = Merge("s", tuple(home.segments), "streams/s/merged-1.parquet")
    assert merge.run(home.storage) > 0
    assert told(home.storage.read_table(merge.path)) == told(before)


def test_files_of_the_user_are_never_deleted(home: Home) -> None:
    file = home.write(TABLE)
    home.take()
    home.storage.delete(home.segments[0].path)
    assert file.exists()


def test_a_changed_file_is_told_by_name(home: Home) -> None:
    file = home.write(TABLE)
    home.take()
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(StorageUnreadable, match=r"0\.parquet, which the stream s refers to, has changed"):
        home.rows()
    with pytest.raises(StorageUnreadable, match=r"0\.parquet, which the stream s refers to, has changed"):
        in_kernel(home)
    file.unlink()
    with pytest.raises(StorageUnreadable, match=r"0\.parquet, which the stream s refers to, cannot be read"):
        home.rows()
    assert Merge("s", tuple(home.segments), "streams/s/merged-1.parquet").run(home.storage) == 0


def test_what_comes_late_is_counted(home: Home) -> None:
    home.ingest.advance(5)
    home.write(TABLE)
    home.take()
    assert home.journal.entries[-1].revised == {"s": Revised(late=3)}
    assert referred(home.segments[0].path) is not None


def test_what_comes_too_late_is_set_aside(tmp_path: Path) -> None:
    home = Home(tmp_path, retain=2)
    home.write(TABLE)
    home.take()
    assert referred(home.segments[0].path) is not None
    home.write(pa.table({"t": [8, 5], "p": [0.0, 0.0], "w": ["in time", "too late"]}), "1.parquet")
    home.take()
    assert [referred(segment.path) is None for segment in home.segments[1:]] == [True]
    assert any("too late" in reject.text for reject in home.rejects)


def test_files_in_the_folder_of_the_database_are_copied(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.storage = Storage(str(tmp_path))
    home.journal = Journal(home.storage)
    home.ingest = Ingest(home.storage, home.journal, home.rejects.append)
    home.write(TABLE)
    home.take()
    assert [referred(segment.path) for segment in home.segments] == [None]


def test_what_could_not_be_written_down_has_not_come(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write(TABLE)
    broken = StorageUnusable("the disk is full")
    with monkeypatch.context() as patch:
        patch.setattr(home.storage, "write_json", lambda *given: (_ for _ in ()).throw(broken))
        with pytest.raises(StorageUnusable):
            home.take()
    assert home.segments == [] and home.ingest.clock.reached is None
    home.take()
    assert home.rows()[INDEX].to_pylist() == [1, 2, 3, 4, 5]


def test_a_file_that_tells_no_bounds_is_looked_at(home: Home) -> None:
    pq.write_table(TABLE, home.files / "0.parquet", write_statistics=False)
    home.take()
    assert referred(home.segments[0].path) is not None and home.segments[0].tick == (3, 7)
    assert home.journal.entries[-1].touched == {"s": ((3, 4), (6, 7))}


def test_times_far_apart_are_told_by_row_group(home: Home) -> None:
    far = TABLE.set_column(0, "t", pa.array([1, 2, 900, 901, 902]))
    home.write(far)
    home.take()
    assert home.journal.entries[-1].touched == {"s": ((1, 2), (900, 902))}
