"""Which rows of Parquet files stay there, and what comes in of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eddyline.catalog.extent import STORED, Extent
from eddyline.errors import InvalidDefinition, StorageUnreadable
from eddyline.sources.batches import BatchSource, open_batches
from eddyline.sources.chunk import Chunk
from eddyline.sources.merged_batches import merged_batches
from sources.extents import SECOND, extent

COLUMNS = "t BIGINT, x INTEGER, w STRING"
TABLE = pa.table(
    {"t": pa.array([1, 2, 4, 4, 9]), "x": pa.array([1, 2, 3, None, 5], pa.int32()), "w": ["a", "b", None, "d", "e"]}
)


def staying(columns: str = COLUMNS, **options: Any) -> Extent:
    return extent(columns, "files", name="s", timestamp="t", format="parquet", copy="false", **options)


def opened(folder: Path, *tables: pa.Table, of: Extent | None = None, group: int = 2) -> BatchSource:
    (folder / "files").mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        pq.write_table(table, folder / "files" / f"{number}.parquet", row_group_size=group)
    source = open_batches(of or staying(), folder, SECOND)
    assert source is not None
    return source


def chunks(folder: Path, *tables: pa.Table, of: Extent | None = None, group: int = 2) -> list[Chunk]:
    return list(opened(folder, *tables, of=of, group=group).chunks())


def test_only_the_times_come_in(tmp_path: Path) -> None:
    (chunk,) = chunks(tmp_path, TABLE)
    assert chunk.stays is not None and (chunk.stays.start, chunk.stays.rows) == (0, 5)
    assert chunk.tick.to_pylist() == [1, 2, 4, 4, 9] and chunk.line.to_pylist() == [1, 2, 3, 4, 5]
    assert not chunk.values.column_names
    assert chunk.copied(staying()).values.equals(TABLE)


def test_parts_of_it_are_where_they_are(tmp_path: Path) -> None:
    (chunk,) = chunks(tmp_path, TABLE)
    part = chunk.slice(1, 4).slice(1, 3)
    assert part.tick.to_pylist() == [4, 4] and part.stays is not None
    assert part.copied(staying()).values.equals(TABLE.slice(2, 2))


def test_large_files_come_in_several_stretches(tmp_path: Path) -> None:
    count = 1_200_000
    table = pa.table({"t": np.arange(count), "x": np.zeros(count, np.int32), "w": pa.repeat("a", count)})
    found = chunks(tmp_path, table, group=300_000)
    assert [(c.stays.start, c.stays.rows) for c in found if c.stays] == [(n * 300_000, 300_000) for n in range(4)]


def test_a_stretch_in_which_a_time_is_missing_is_copied(tmp_path: Path) -> None:
    table = TABLE.set_column(0, "t", pa.array([1, 2, 4, 4, None]))
    with_time, without = chunks(tmp_path, TABLE, table)
    assert with_time.stays is not None and without.stays is None
    assert without.values.num_rows == 4 and [reject.line for reject in without.rejects] == [5]


MOMENTS = [datetime(1969, 12, 31, 23, 59, 58, 500_000), datetime(1970, 1, 1), datetime(2026, 3, 4, 5, 6, 7, 999_999)]


@pytest.mark.parametrize(
    ("type_", "times"),
    [
        ("TIMESTAMP", pa.array([m.replace(tzinfo=UTC) for m in MOMENTS], pa.timestamp("us", "UTC"))),
        ("DATE", pa.array([date(1969, 12, 30), date(1970, 1, 1), date(2026, 3, 4)])),
        ("INTEGER", pa.array([-3, 0, 7], pa.int32())),
    ],
)
def test_ticks_are_those_of_rows_that_are_copied(tmp_path: Path, type_: str, times: pa.Array) -> None:
    of = f"t {type_}"
    (stays,) = chunks(tmp_path, pa.table({"t": times}), of=staying(of))
    copied = extent(of, "files", name="s", timestamp="t", format="parquet")
    (other,) = chunks(tmp_path, of=copied)
    assert stays.stays is not None and stays.tick.equals(other.tick)


@pytest.mark.parametrize(
    ("columns", "table", "reason"),
    [
        (COLUMNS, TABLE.rename_columns(["T", "x", "w"]), "not named as they are declared"),
        (COLUMNS, TABLE.append_column("_op", pa.array(["+"] * 5)), "not named as they are declared"),
        (COLUMNS, TABLE.set_column(1, "x", TABLE["x"].cast(pa.int64())), "its column x is int64, not INTEGER"),
        ("t BIGINT, m TIMESTAMP", pa.table({"t": [1], "m": [datetime(1970, 1, 2)]}), "is timestamp[us], not TIMESTAMP"),
        ("t BIGINT, filename STRING", pa.table({"t": [1], "filename": ["a"]}), "a name that its readers use"),
    ],
)
def test_what_is_not_as_declared_is_copied(tmp_path: Path, columns: str, table: Any, reason: str) -> None:
    source = opened(tmp_path, table, of=staying(columns))
    assert [chunk.stays for chunk in source.chunks()] == [None]
    (warning,) = source.warnings
    assert reason in warning and "0.parquet" in warning


def test_days_that_are_none_are_found_by_the_bounds_of_the_file(tmp_path: Path) -> None:
    moments = pa.array([0, 1 << 62]).cast(pa.timestamp("us", "UTC"))
    of = staying("t BIGINT, m TIMESTAMP")
    (chunk,) = chunks(tmp_path, pa.table({"t": [1, 2], "m": moments}), of=of)
    assert chunk.stays is None and [reject.line for reject in chunk.rejects] == [2]


@pytest.mark.parametrize("texts", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_are_texts_however_they_are_held(tmp_path: Path, texts: pa.DataType) -> None:
    (chunk,) = chunks(tmp_path, TABLE.set_column(2, "w", TABLE["w"].cast(texts)))
    assert chunk.stays is not None and chunk.copied(staying()).values.equals(TABLE)


def test_a_path_that_is_a_pattern_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "a{b,c}"
    folder.mkdir()
    assert [chunk.stays for chunk in chunks(folder, TABLE)] == [None]


@pytest.mark.parametrize("change", [{"timestamp": None}, {"key": ("t",)}, {"kind": STORED}])
def test_where_it_cannot_be(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinition):
        opened(tmp_path, TABLE, of=replace(staying(), **change))


def test_batches_end_where_stretches_do(tmp_path: Path) -> None:
    missing = TABLE.set_column(0, "t", pa.array([9, 9, 9, 9, None]))
    source = opened(tmp_path, TABLE, TABLE, TABLE, missing)

    def cut(rows: int) -> Iterator[list[tuple[int, bool]]]:
        for batch in merged_batches([source], rows):
            yield [(chunk.num_rows, chunk.stays is not None) for chunk in batch]

    assert list(cut(12)) == [[(5, True), (5, True)], [(5, True)], [(4, False)]]
    assert list(cut(3))[:4] == [[(3, True)], [(2, True)], [(3, True)], [(2, True)]]


@pytest.mark.parametrize("change", ["gone", "longer", "touched"])
def test_a_file_that_is_not_what_it_was(tmp_path: Path, change: str) -> None:
    (chunk,) = chunks(tmp_path, TABLE)
    file = tmp_path / "files" / "0.parquet"
    if change == "gone":
        file.unlink()
    elif change == "longer":
        file.write_bytes(file.read_bytes() + b" ")
    else:
        os.utime(file, (1, 1))
    with pytest.raises(StorageUnreadable, match=r"0\.parquet, which s refers to"):
        chunk.copied(staying())
