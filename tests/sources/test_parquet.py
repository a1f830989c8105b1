"""Parquet files."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from eddyline.errors import SourceUnusable
from eddyline.sources import Arrival, Reject, open_source
from sources.extents import SECOND, extent, reasons, ticks, values, write


def rows(folder: Path, table: arrow.Table, columns: str, timestamp: str | None = None) -> list[Arrival | Reject]:
    parquet.write_table(table, folder / "in.parquet")
    source = open_source(extent(columns, "in.parquet", format="parquet", timestamp=timestamp), folder, SECOND)
    assert source is not None
    found = list(source.rows())
    assert source.bytes_read == source.total_bytes()
    return found


def test_values_of_all_types(tmp_path: Path) -> None:
    table = arrow.table(
        {
            "T": arrow.array([datetime(2003, 6, 6, 18)], arrow.timestamp("ns", "Europe/Paris")),
            "i": arrow.array([5], arrow.int64()),
            "s": arrow.array(["x"]).dictionary_encode(),
            "b": arrow.array([True]),
            "d": arrow.array([0.5], arrow.float32()),
            "n": arrow.array([None], arrow.int8()),
        }
    )
    columns = "i INTEGER, t TIMESTAMP, s STRING, b BOOLEAN, d DOUBLE, n INTEGER"
    assert values(rows(tmp_path, table, columns)) == [(5, datetime(2003, 6, 6, 18), "x", True, 0.5, None)]


def test_ticks_and_rows_of_all_kinds(tmp_path: Path) -> None:
    table = arrow.table(
        {
            "time": [1, None, None, 2],
            "_op": [None, "-", "#", "="],
            "_ref": [None, 1, None, 2],
            "_tag": [None, None, '{"content": "x"}', None],
        }
    )
    found = rows(tmp_path, table, "time BIGINT", "time")
    assert ticks(found) == [1, None, None, 2]
    assert [row.op for row in found if isinstance(row, Arrival)] == ["+", "-", "#", "="]


def test_bad_rows_are_set_aside(tmp_path: Path) -> None:
    found = rows(tmp_path, arrow.table({"x": [1, 2**40, 3], "d": [Decimal(1)] * 3}), "x INTEGER, d DOUBLE")
    assert values(found) == [(1, 1.0), (3, 1.0)]
    assert reasons(found) == [(2, "x: 1099511627776 does not fit INTEGER")]
    assert isinstance(found[1], Reject) and found[1].text == '{"x": 1099511627776, "d": "1"}'


def test_many_batches(tmp_path: Path) -> None:
    found = rows(tmp_path, arrow.table({"x": range(20_000)}), "x BIGINT")
    assert [row.line for row in found] == list(range(1, 20_001))


def test_columns_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(SourceUnusable, match=r"column 'y' of .* is not a column of road"):
        rows(tmp_path, arrow.table({"x": [1], "y": [1]}), "x BIGINT")
    with pytest.raises(SourceUnusable, match="has no column 'z'"):
        rows(tmp_path, arrow.table({"x": [1]}), "x BIGINT, z BIGINT")


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    of = extent("x BIGINT", "in.parquet", format="parquet", timestamp=None)
    for content in ("", "x\n1\n"):
        write(tmp_path / "in.parquet", content)
        with pytest.raises(SourceUnusable, match="is not a Parquet file"):
            open_source(of, tmp_path, SECOND)
