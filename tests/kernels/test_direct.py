"""Rows that are read without the kernel are those that the kernel gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eddyline.kernels.direct import Reading, read_directly
from eddyline.kernels.eddy.eddies import Eddies
from eddyline.kernels.grouped.form import Bound, Form, Range
from eddyline.kernels.leaves import Leaves
from eddyline.kernels.matching import Asked, Filter, Match
from eddyline.kernels.task import kernel
from eddyline.log.referred import Referred
from eddyline.log.storage import Storage
from eddyline.sources.in_place import NUMBER, InPlace

COUNT = 300
IS_TUPLE = "(_diff <> CAST(0 AS INT))"


def rows(first: int, count: int = COUNT) -> pa.Table:
    at = np.arange(first, first + count)
    return pa.table(
        {
            "t": at,
            "sym": pa.array([None if n % 7 == 0 else f"S{n % 5}" for n in at]),
            "note": pa.array([f"{n} bottles, each with a label of its own" for n in at]),
            "price": (at * 37 % 1000).astype(np.float64),
        }
    )


def own(storage: Storage, name: str, first: int, diff: int = 1) -> str:
    index = np.arange(first, first + COUNT)
    system = {"_index": index, "_tick": index, "_diff": np.full(COUNT, diff, np.int8)}
    path = f"streams/s/{name}.parquet"
    storage.write_table(path, pa.table({**system, **{n: rows(first)[n] for n in rows(0).column_names}}))
    return path


def theirs(folder: Path, first: int, start: int = 0, count: int = COUNT) -> str:
    file = folder / f"{first}.parquet"
    pq.write_table(rows(first), file, row_group_size=70)
    now = file.stat()
    place = InPlace(str(file), now.st_size, now.st_mtime_ns, start, count, "t", NUMBER, 0)
    return Referred("s", place, first + start, first + start).path


def a_match(storage: Storage, files: tuple[str, ...], condition: str = IS_TUPLE, text: str = '"c3" AS _x0') -> Match:
    low = np.arange(0, 1000, 10)
    members = pa.table({"_query": np.arange(100), "_p0": low.astype(float), "_p1": low.astype(float) + 5})
    storage.write_table("members.parquet", members)
    form = Form(((Range("_x0", Bound("_p0"), Bound("_p1", inclusive=False)),),))
    double = pa.float64()
    filter_ = Filter("members.parquet", form, {"_x0": double}, {"_p0": double, "_p1": double}, 100)
    source = ("_index", "_tick", "_diff", '"t" AS c0', '"sym" AS c1', '"note" AS c2', '"price" AS c3')
    kept = ("_index", "_tick", "_diff", "c0", "c1", "c2", "c3")
    reading = Reading("leaf0", files, source, (), {**{name: name for name in kept}, "_x0": text}, condition)
    statement = f"SELECT *, {text} FROM (SELECT {', '.join(source)} FROM leaf0) WHERE {condition}"
    asked = Asked("leaf1", "f1", filter_, {"_x0": "_x0"})
    return Match(statement, (asked,), kept, "_query", {}, reading)


def found(match: Match, storage: Storage) -> list[dict[str, Any]]:
    assert match.reading is not None
    leaves = Leaves(kernel())
    try:
        leaves.open("leaf0", match.reading.files, storage, False)
        tables = [table for _, table in match.tables(leaves.connection, storage, Eddies({}))]
    finally:
        leaves.close()
    assert not tables[0].num_rows and len({table.schema for table in tables}) == 1
    return sorted(pa.concat_tables(tables).to_pylist(), key=lambda row: (row["_query"], row["_index"]))


def both_ways(match: Match, storage: Storage) -> list[dict[str, Any]]:
    with patch("eddyline.kernels.matching.read_directly", lambda *given: None):
        by_kernel = found(match, storage)
    with patch("duckdb.DuckDBPyConnection.sql", side_effect=AssertionError("the kernel was asked")):
        directly = found(match, storage)
    assert directly == by_kernel
    return directly


def test_ours_theirs_and_parts_of_them(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path / "db"))
    ours, whole, part = own(storage, "1", 1), theirs(tmp_path, 1000), theirs(tmp_path, 2000, 65, 100)
    for files in ((ours,), (whole,), (part,), (ours, whole, part)):
        assert both_ways(a_match(storage, files), storage)


@pytest.mark.parametrize("rows_of_a_block", [1, 40, 100, 1000])
def test_blocks_make_one_table_in_the_order_of_members(tmp_path: Path, rows_of_a_block: int) -> None:
    storage = Storage(str(tmp_path / "db"))
    match = a_match(storage, (own(storage, "1", 1), theirs(tmp_path, 1000), theirs(tmp_path, 2000, 65, 100)))
    wanted = found(match, storage)
    assert match.reading is not None
    with patch("eddyline.kernels.matching._FEWEST_ROWS", rows_of_a_block):
        (_, none), (_, table) = match.tables(kernel(), storage, Eddies({}))
    assert none.num_rows == 0 and table["_query"].to_pylist() == [row["_query"] for row in wanted]
    assert sorted(table.to_pylist(), key=lambda row: (row["_query"], row["_index"])) == wanted


@pytest.mark.parametrize("change", [{"condition": "(_tick > 5)"}, {"text": "c3 + 1 AS _x0"}])
def test_what_has_to_be_computed_is_left_to_the_kernel(tmp_path: Path, change: dict[str, str]) -> None:
    storage = Storage(str(tmp_path / "db"))
    match = a_match(storage, (own(storage, "1", 1),), **change)
    assert read_directly(match.reading, storage, match.kept, ["_x0"]) is None
    assert found(match, storage)


def test_what_is_compared_may_be_widened(tmp_path: Path) -> None:
    """As are numbers that meet wider constants; not if that may round, or if it is no number."""
    storage = Storage(str(tmp_path / "db"))
    files = (own(storage, "1", 1), theirs(tmp_path, 1000))
    assert both_ways(a_match(storage, files, text='CAST("c3" AS DOUBLE) AS _x0'), storage)
    for column in ("c0", "c1"):
        match = a_match(storage, files, text=f'CAST("{column}" AS DOUBLE) AS _x0')
        assert read_directly(match.reading, storage, match.kept, ["_x0"]) is None


def test_tick_tags_are_no_tuples(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path / "db"))
    match = a_match(storage, (own(storage, "1", 1), own(storage, "2", 1000, diff=0)))
    assert read_directly(match.reading, storage, match.kept, []) is None
    assert {row["_diff"] for row in found(match, storage)} == {1}
