"""Aggregates in parts: however tuples are cut into slices and slices are merged, the answer is that of the whole."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from eddyline.algebra.expression import Aggregate, Column, TypedExpr
from eddyline.algebra.functions import CATALOGUE
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTERVAL,
    SMALLINT,
    STRING,
    TINYINT,
    DataType,
    decimal,
)
from eddyline.binder.expression import bind
from eddyline.errors import Position
from eddyline.reference.aggregate import compile_aggregate
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.partials import Partial, decompose
from expressions.evaluation import parse
from spark.frames import Row, close, our_type, to_frame, to_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS: dict[str, DataType] = {
    "g": INTEGER,
    "slice": INTEGER,
    "y": TINYINT,
    "s": SMALLINT,
    "a": INTEGER,
    "l": BIGINT,
    "f": FLOAT,
    "d": DOUBLE,
    "e": DOUBLE,
    "n": decimal(10, 2),
    "m": decimal(27, 9),
    "w": decimal(38, 2),
    "t": STRING,
    "p": BOOLEAN,
    "i": INTERVAL,
}
SCHEMA = Schema(tuple(Field(name, type_) for name, type_ in _COLUMNS.items()))
NAMES = names_of(SCHEMA, SCHEMA.names)

WHOLE = [
    "count(*)",
    "count(a)",
    "count(a, t)",
    "count_if(p)",
    *(f"{function}({column})" for function in ("sum", "avg") for column in "ysalfdni"),
    "sum(m)",
    "avg(m)",
    "sum(w)",
    "sum(t)",
    *(f"{function}({column})" for function in ("min", "max") for column in "aldnti"),
    "min(distinct a)",
    "every(p)",
    "some(p)",
    *(f"{function}({column})" for function in ("bit_and", "bit_or", "bit_xor") for column in "yl"),
    "bit_or(distinct a)",
    *(f"{function}(e)" for function in ("stddev", "stddev_pop", "variance", "var_pop")),
    "var_samp(a)",
    "corr(e, f)",
    "covar_pop(e, a)",
    "covar_samp(e, f)",
]
CONDITIONS = ["p", "a > 3 and t is not null", "null"]
CASES = [*WHOLE, *(f"{text} filter (where {CONDITIONS[i % 3]})" for i, text in enumerate(WHOLE[::2]))]
#: what depends on the order of the tuples, or on all of them at once
UNDIVIDED = [
    "count(distinct a)",
    "sum(distinct a)",
    "avg(distinct n)",
    "bit_xor(distinct a)",
    "first(a)",
    "last(a)",
    "any_value(a)",
    "collect_list(a)",
    "collect_set(a)",
    "listagg(t)",
    "max_by(a, d)",
    "min_by(a, d)",
    "median(a)",
    "percentile(a, 0.5)",
    "skewness(d)",
    "kurtosis(d)",
    "avg(w)",
]


class Columns:
    """A scope of the columns above."""

    def resolve(self, parts: tuple[str, ...], position: Position | None) -> TypedExpr:
        return Column(parts[-1], _COLUMNS[parts[-1]])


def aggregate(text: str) -> Aggregate:
    bound = bind(parse(text), Columns(), aggregates=True)
    assert isinstance(bound, Aggregate)
    return bound


def random_rows(rng: random.Random, group: int, count: int) -> list[Row]:
    def value(type_: DataType) -> Any:
        if rng.random() < 0.2:
            return None
        if type_ == BOOLEAN:
            return rng.random() < 0.7
        if type_ == STRING:
            return rng.choice(("a", "b", "7", "1.5", ""))
        if type_ == INTERVAL:
            return timedelta(microseconds=rng.randint(-(10**9), 10**10))
        if type_.name == "DECIMAL":
            return Decimal(rng.randint(-(10**9), 10**9)).scaleb(-type_.parameters[1])
        if type_ == FLOAT:
            return rng.randint(-1000, 1000) / 8
        if type_ == DOUBLE:
            return 1e4 + rng.random()  # far from zero, so that sums of squares would not do
        return rng.randint(-128, 127)

    return [(group, rng.randint(0, 9), *(value(type_) for type_ in list(_COLUMNS.values())[2:])) for _ in range(count)]


def merged(frame: DataFrame, cases: Sequence[Partial], keys: Sequence[str] = ("g",)) -> DataFrame:
    """Slices, then slices of slices, then windows."""
    names = [[f"c{i}_{j}" for j in range(len(case.partials))] for i, case in enumerate(cases)]

    def grouped(frame: DataFrame, keys: Sequence[str], texts: Sequence[Sequence[str]]) -> DataFrame:
        named = [
            f"{text} AS {name}" for pair in zip(texts, names, strict=True) for text, name in zip(*pair, strict=True)
        ]
        frame.createOrReplaceTempView("partials_input")
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        return frame.sparkSession.sql(f"SELECT {', '.join([*keys, *named])} FROM partials_input{by}")

    merges = [case.merges(columns) for case, columns in zip(cases, names, strict=True)]
    frame = grouped(frame, [*keys, "slice"], [case.partials for case in cases])
    frame = grouped(frame.selectExpr("*", "slice % 3 AS third").drop("slice"), [*keys, "third"], merges)
    frame = grouped(frame, keys, merges)
    finals = (case.final(columns) for case, columns in zip(cases, names, strict=True))
    return frame.selectExpr(*keys, *(f"{text} AS x{i}" for i, text in enumerate(finals)))


def parts(texts: Sequence[str]) -> list[Partial]:
    found = [decompose(aggregate(text), NAMES) for text in texts]
    assert None not in found
    return [part for part in found if part is not None]


def check(spark: SparkSession, rows: Sequence[Row], texts: Sequence[str]) -> None:
    """The parts put together, Spark's own aggregates and those of the reference engine agree, group by group."""
    frame = to_frame(spark, SCHEMA, rows).repartition(3, "l").cache()
    from_parts = merged(frame, parts(texts))
    aggregates = [aggregate(text) for text in texts]
    assert [our_type(field.dataType) for field in from_parts.schema.fields[1:]] == [a.type for a in aggregates]
    whole = frame.groupBy("g").agg(*_columns(spark_sql(a, NAMES) for a in aggregates))
    found = {row[0]: row[1:] for row in to_rows(from_parts)}
    known = {row[0]: row[1:] for row in to_rows(whole)}
    assert set(found) == set(known) == {row[0] for row in rows}
    wrong = []
    for group in found:
        tuples = [row for row in rows if row[0] == group]
        for text, a, b, each in zip(texts, found[group], known[group], aggregates, strict=True):
            reference = compile_aggregate(each, SCHEMA)(tuples)
            if not (close(a, b, 1e-8) and close(a, reference, 1e-8)):
                wrong.append((group, text, a, b, reference))
    assert wrong == []


def _columns(texts: Any) -> list[Any]:
    from pyspark.sql.functions import expr

    return [expr(text) for text in texts]


def test_parts_make_the_whole(spark: SparkSession) -> None:
    rng = random.Random(5)
    # groups of one tuple, of two slices, and of sizes by which averages of hundredths end in a five
    sizes = (1, 2, 7, 32, 64, 96, 128, 320, 500)
    rows = [row for group, size in enumerate(sizes) for row in random_rows(rng, group, size)]
    rows += [(len(sizes), slice_, *(None,) * (len(SCHEMA) - 2)) for slice_ in range(4)]
    check(spark, rows, CASES)


def test_parts_of_nothing(spark: SparkSession) -> None:
    frame = to_frame(spark, SCHEMA, random_rows(random.Random(1), 0, 1)).where("false")
    assert to_rows(merged(frame, parts(WHOLE), keys=())) == [
        tuple(compile_aggregate(aggregate(t), SCHEMA)([]) for t in WHOLE)
    ]


def test_averages_of_decimals_are_rounded_once(spark: SparkSession) -> None:
    rng = random.Random(2)
    rows = [row for group in range(400) for row in random_rows(rng, group, rng.choice((3, 16, 32, 48, 64)))]
    check(spark, rows, ["avg(n)", "avg(m)", "avg(i)"])


def test_sums_that_overflow(spark: SparkSession) -> None:
    def row(group: int, slice_: int, **values: Any) -> Row:
        return (group, slice_, *(values.get(name) for name in list(_COLUMNS)[2:]))

    huge, most = Decimal("9" * 36 + ".99"), 2**63 - 1
    rows = [
        *(row(0, i, w=huge, l=most) for i in range(3)),
        *(row(1, 0, w=huge, l=most) for _ in range(3)),
        *(row(2, i, w=huge / 4, l=most // 2) for i in range(3)),
        row(3, 0, w=huge, l=-most),
        row(3, 1),
        row(3, 3),
    ]
    check(spark, rows, ["sum(w)", "sum(l)", "bit_xor(l)", "count(w)"])


def test_intervals_that_overflow_are_null(spark: SparkSession) -> None:
    long = timedelta(days=10**8)
    rows = [(0, i, *(long if name == "i" else None for name in list(_COLUMNS)[2:])) for i in range(4)]
    assert to_rows(merged(to_frame(spark, SCHEMA, rows), parts(["sum(i)", "avg(i)", "count(i)"]))) == [
        (0, None, None, 4)
    ]


@pytest.mark.parametrize("text", UNDIVIDED)
def test_what_has_no_parts(text: str) -> None:
    assert decompose(aggregate(text), NAMES) is None


def test_every_aggregate_is_decided() -> None:
    decided = {aggregate(text).function for text in (*WHOLE, *UNDIVIDED)}
    assert decided == {f.name for f in CATALOGUE if f.aggregate}
