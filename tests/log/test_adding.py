"""Merged slices say what their changes come to."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from eddyline.log.adding import added_up


def test_rows_of_one_slice_and_group_become_one() -> None:
    schema = pa.schema(
        {
            "_batch": pa.int64(),
            "_tick": pa.int64(),
            "_diff": pa.int8(),
            "k0": pa.string(),
            "sum_n": pa.int64(),
            "max0_1": pa.float64(),
            "min0_2": pa.int32(),
            "sum1_0": pa.decimal128(20, 2),
        }
    )
    first = [(1, 0, 1, "a", 2, 5.0, None, None), (1, 0, 1, None, 1, None, 7, None), (1, 6, 1, "a", 1, 1.0, 1, None)]
    second = [(2, 0, 1, "a", -1, 4.0, 3, None), (2, 0, 1, None, 1, 2.0, 9, None)]
    made = added_up([_table(schema, first), _table(schema, second)])
    assert made.schema == schema
    found = {(row["_tick"], row["k0"]): (row["sum_n"], row["max0_1"], row["min0_2"]) for row in made.to_pylist()}
    assert found == {(0, "a"): (1, 5.0, 3), (0, None): (2, 2.0, 7), (6, "a"): (1, 1.0, 1)}


def test_nan_stays_above_all_numbers() -> None:
    schema = pa.schema({"_tick": pa.int64(), "max0_1": pa.float64()})
    made = added_up([_table(schema, [(0, 5.0)]), _table(schema, [(0, math.nan)])])
    assert any(math.isnan(value) for value in made.column("max0_1").to_pylist())


def test_rows_without_nan_are_added_up_beside_others() -> None:
    schema = pa.schema({"_tick": pa.int64(), "sum_n": pa.int64(), "max0_1": pa.float64()})
    some = [(0, 1, 5.0), (0, 1, math.nan), (6, 1, None)]
    made = added_up([_table(schema, some), _table(schema, [(0, 1, 7.0), (6, 2, 1.0)])]).to_pylist()
    plain = sorted((row["_tick"], row["sum_n"], row["max0_1"]) for row in made if row["max0_1"] == row["max0_1"])
    assert plain == [(0, 2, 7.0), (6, 3, 1.0)] and len(made) == 3


def _table(schema: pa.Schema, rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
