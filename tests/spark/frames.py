"""Tuples of the reference engine as DataFrames and back, through Arrow: it has all our types and all our calendar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddyline.algebra.schema import Schema
from eddyline.algebra.types import NULL, DataType, array, decimal
from eddyline.columnar.types import arrow_schema
from expressions.evaluation import same

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType as SparkType

Row = tuple[Any, ...]

_NAMES = {"INT": "INTEGER", "VOID": "NULL", "INTERVAL DAY TO SECOND": "INTERVAL"}


def to_frame(spark: SparkSession, schema: Schema, rows: Sequence[Row]) -> DataFrame:
    columns = [[row[i] for row in rows] for i in range(len(schema))]
    types = arrow_schema(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, types, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=types))


def to_rows(frame: DataFrame) -> list[Row]:
    table = frame.toArrow()
    columns = [[to_plain(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def to_plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(to_plain, value))
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def our_type(type_: SparkType) -> DataType:
    """The type of the language that a Spark type is."""
    element = getattr(type_, "elementType", None)
    if element is not None:
        return array(our_type(element))
    if type_.typeName() == "decimal":
        return decimal(type_.precision, type_.scale)  # type: ignore[attr-defined]
    name = type_.simpleString().upper()
    return NULL if name == "VOID" else DataType(_NAMES.get(name, name))


def close(left: Any, right: Any, tolerance: float = 1e-9) -> bool:
    """As `same`, but DOUBLEs may differ in more than their last bits, and zeros in their sign."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(close(a, b, tolerance) for a, b in zip(left, right, strict=True))
    if isinstance(left, float) and isinstance(right, float) and math.isfinite(left) and math.isfinite(right):
        return math.isclose(left, right, rel_tol=tolerance, abs_tol=1e-290)
    return same(left, right)
