"""Frames: rows and named columns, computed by Spark or by the kernel in a task.

The evaluation is written once, in Spark's SQL and with the methods that a DataFrame has. What differs is here: where
frames come from, and the two operations that the kernel says in other words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa

from eddyline.kernels import sheet
from eddyline.kernels.together import Cuts
from eddyline.log.storage import Storage
from eddyline.spark.literal import back_quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Frame(Protocol):
    """What the evaluation uses of a DataFrame."""

    @property
    def columns(self) -> list[str]: ...

    def selectExpr(self, *texts: str) -> Frame: ...
    def select(self, *columns: str) -> Frame: ...
    def where(self, condition: str) -> Frame: ...
    def drop(self, *columns: str) -> Frame: ...
    def distinct(self) -> Frame: ...
    def unionAll(self, other: Frame) -> Frame: ...
    def unionByName(self, other: Frame, allowMissingColumns: bool = ...) -> Frame: ...
    def join(self, other: Frame, on: str | list[str], how: str = ...) -> Frame: ...
    def crossJoin(self, other: Frame) -> Frame: ...


class Frames(Protocol):
    """Where frames come from."""

    def read(self, paths: Sequence[str], fields: Mapping[str, str], columns: Sequence[str]) -> Frame:
        """Rows of Parquet files: their columns with types, and what is made of them."""

    def range(self, low: int, end: int, step: int = 1) -> Frame:
        """low, low + step, … below end, as `id`."""

    def table(self, rows: pa.Table) -> Frame:
        """A few rows that the driver has, all BIGINT."""


class SparkFrames:
    """DataFrames of Spark."""

    def __init__(self, spark: SparkSession, storage: Storage) -> None:
        self._spark, self._storage = spark, storage

    def read(self, paths: Sequence[str], fields: Mapping[str, str], columns: Sequence[str]) -> Frame:
        ddl = ", ".join(f"{back_quoted(name)} {type_}" for name, type_ in fields.items())
        if not paths:
            return as_frame(self._spark.createDataFrame([], ddl).selectExpr(*columns))
        urls = [self._storage.url(path) for path in paths]
        return as_frame(self._spark.read.schema(ddl).parquet(*urls).selectExpr(*columns))

    def range(self, low: int, end: int, step: int = 1) -> Frame:
        return as_frame(self._spark.range(low, end, step, 1))

    def table(self, rows: pa.Table) -> Frame:
        if not rows.num_rows:
            return self.read([], dict.fromkeys(rows.column_names, "BIGINT"), [*rows.column_names])
        return as_frame(self._spark.createDataFrame(rows))


def grouped(frame: Frame, keys: Sequence[str], aggregates: Sequence[str]) -> Frame:
    """The groups with the same keys, and aggregates of each; without aggregates the distinct keys."""
    if not aggregates:
        return frame.select(*keys).distinct()
    if isinstance(frame, sheet.Frame):
        return as_frame(frame.grouped(keys, aggregates))
    from pyspark.sql import functions as F

    return as_frame(cast(Any, frame).groupBy(*keys).agg(*(F.expr(text) for text in aggregates)))


def sliced(frame: Frame, keys: Sequence[str], aggregates: Sequence[str], cuts: Cuts | None = None) -> Frame:
    """The same, of slices: queries of other shapes may need them too. `cuts`: where slices of time begin."""
    if isinstance(frame, sheet.Frame):
        return as_frame(frame.sliced(keys, aggregates, cuts))
    return grouped(frame, keys, aggregates)


def joined(left: Frame, right: Frame, condition: str, how: str = "inner") -> Frame:
    """The pairs of rows that satisfy a condition; the columns of both have different names."""
    if isinstance(left, sheet.Frame):
        return as_frame(left.joined(cast(Any, right), condition, how))
    from pyspark.sql import functions as F

    return as_frame(cast(Any, left).join(right, F.expr(condition), how))


def few(frame: Frame) -> Frame:
    """A frame that is known to be small, so that it goes to the others."""
    if isinstance(frame, sheet.Frame):
        return cast(Frame, frame)
    from pyspark.sql import functions as F

    return as_frame(F.broadcast(cast(Any, frame)))


def as_frame(made: Any) -> Frame:
    return cast(Frame, made)
