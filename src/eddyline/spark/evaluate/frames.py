"""Frames: rows and named columns, computed by Spark or by the kernel in a task.

The evaluation is written once, in Spark's SQL and with the methods that a DataFrame has. What differs is here: where
frames come from, and the two operations that the kernel says in other words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa

from eddyline.kernels import sheet
from eddyline.kernels.together import Cuts
from eddyline.log.linked import linked
from eddyline.log.referred import CONSTANTS, MICROS_OF_A_DAY, MOMENT, NUMBER, InPlace, Referred, referred
from eddyline.log.segment import INDEX, SEQ, SYSTEM, TICK
from eddyline.log.storage import Storage, is_own
from eddyline.spark.evaluate.linked import linked_rows
from eddyline.spark.literal import back_quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
        urls = [self._storage.url(path) for path in paths if is_own(path)]
        frames = [self._spark.read.schema(ddl).parquet(*urls)] if urls else []
        frames += [self._referred(rows, fields) for path in paths if (rows := referred(path)) is not None]
        same = [segment for path in paths if (segment := linked(path)) is not None]
        frames += [linked_rows(self._spark, self._storage, same, fields)] if same else []
        return as_frame(reduce(lambda one, other: one.unionAll(other), frames).selectExpr(*columns))

    def _referred(self, rows: Referred, fields: Mapping[str, str]) -> DataFrame:
        """Rows of a file of the user's as those of any other segment."""
        rows.check()
        own = {name: type_ for name, type_ in fields.items() if name not in SYSTEM.names}
        ddl = ", ".join(f"{back_quoted(name)} {type_}" for name, type_ in own.items())
        frame = self._spark.read.schema(ddl).parquet(self._storage.url(rows.path))
        first, number = rows.rows.start, "_metadata.row_index"
        places = {
            SEQ: f"{number} + {rows.seq - first}L",
            INDEX: f"{number} + {rows.index - first}L",
            TICK: _tick(rows.rows),
            **{name: ("NULL" if value is None else repr(value)) for name, value in CONSTANTS.items()},
        }
        made = [
            f"CAST({places[name]} AS {type_}) AS {name}" if name in places else _value(name, type_)
            for name, type_ in fields.items()
        ]
        return frame.where(f"{number} >= {first}L AND {number} < {first + rows.rows.rows}L").selectExpr(*made)

    def range(self, low: int, end: int, step: int = 1) -> Frame:
        return as_frame(self._spark.range(low, end, step, 1))

    def table(self, rows: pa.Table) -> Frame:
        if not rows.num_rows:
            return self.read([], dict.fromkeys(rows.column_names, "BIGINT"), [*rows.column_names])
        return as_frame(self._spark.createDataFrame(rows))


def _tick(place: InPlace) -> str:
    time = back_quoted(place.time)
    if place.kind == NUMBER:
        return time
    micros = f"unix_micros({time})" if place.kind == MOMENT else f"unix_date({time}) * {MICROS_OF_A_DAY}L"
    return f"({micros} - pmod({micros}, {place.micros}L)) div {place.micros}L"


def _value(name: str, type_: str) -> str:
    """A column as it is. Bounds that files give for floating numbers leave NaN out, which is greater than all; behind
    an expression Spark does not go by them."""
    quoted = back_quoted(name)
    return f"nanvl({quoted}, CAST('NaN' AS {type_})) AS {quoted}" if type_ in ("FLOAT", "DOUBLE") else quoted


def grouped(frame: Frame, keys: Sequence[str], aggregates: Sequence[str]) -> Frame:
    """The groups with the same keys, and aggregates of each; without aggregates the distinct keys."""
    if not aggregates:
        return frame.select(*keys).distinct()
    if isinstance(frame, sheet.Frame):
        return as_frame(frame.grouped(keys, aggregates))
    return as_frame(_grouped_on_spark(cast(Any, frame), keys, aggregates))


def _grouped_on_spark(frame: DataFrame, keys: Sequence[str], aggregates: Sequence[str]) -> DataFrame:
    """Spark shows 0.0 for a key that is -0.0, which is the same value, but not what was said of it."""
    from pyspark.sql import functions as F

    floating = {name for name, type_ in frame.dtypes if "double" in type_ or "float" in type_}
    shown = {key: f"_shown_{place}" for place, key in enumerate(keys) if key in floating}
    texts = [*aggregates, *(f"max({key}) AS {name}" for key, name in shown.items())]
    made = frame.groupBy(*keys).agg(*map(F.expr, texts))
    if not shown:
        return made
    values = made.columns[len(keys) : len(keys) + len(aggregates)]
    return made.selectExpr(*(f"{shown[key]} AS {key}" if key in shown else key for key in keys), *values)


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
