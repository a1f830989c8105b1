"""Aggregates in parts: what is computed once per slice and shared by all windows that have the slice.

    slice    SELECT k, sum(x) AS p0, count(x) AS p1 …     `partials`, over tuples
    window   SELECT k, sum(p0) AS p0, sum(p1) AS p1 …     `merges`, over the slices of the window, as often as you like
    answer   SELECT k, p0 / p1                            `final`, over one merged row

The answer has the type and the meaning of the aggregate itself, over nothing and over nothing but NULLs too. All of it
is SQL text that the driver puts together. What cannot be merged exactly, or depends on the order of the tuples, has no
parts: `decompose` gives None, and the window is computed from its tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from eddyline.algebra.expression import Aggregate, TypedExpr
from eddyline.algebra.types import BIGINT, DOUBLE, INTERVAL, DataType
from eddyline.spark.expression import Names, aggregate_sql, filter_sql, spark_sql, spark_type, whole_sum

Columns = Sequence[str]


@dataclass(frozen=True)
class Partial:
    """An aggregate in parts; `merges` and `final` take the SQL text of the partial columns."""

    partials: tuple[str, ...]
    merges: Callable[[Columns], tuple[str, ...]]
    final: Callable[[Columns], str]
    folds: bool = False  # whether merging goes through a list of parts, one after the other


Maker = Callable[[Aggregate, Names], Partial | None]

#: aggregates for which it does not matter how often a value stands there
_IDEMPOTENT = frozenset({"min", "max", "bool_and", "bool_or", "bit_and", "bit_or"})


def decompose(aggregate: Aggregate, names: Names) -> Partial | None:
    """The parts of an aggregate, None if it has none."""
    make = _MAKERS.get(aggregate.function)
    if make is None or (aggregate.distinct and aggregate.function not in _IDEMPOTENT):
        return None
    return make(replace(aggregate, distinct=False), names)


# -- counts, sums and extremes ----------------------------------------------------------------------------------------


def _alike(aggregate: Aggregate, names: Names) -> Partial:
    """The parts are merged by the aggregate itself."""
    function = aggregate.function
    return Partial(
        (aggregate_sql(aggregate, names),),
        lambda columns: (whole_sum(f"{function}({columns[0]})", aggregate.type if function == "sum" else DOUBLE),),
        lambda columns: columns[0],
    )


def _count(aggregate: Aggregate, names: Names) -> Partial:
    return Partial(
        (aggregate_sql(aggregate, names),),
        lambda columns: (whole_sum(f"sum({columns[0]})", BIGINT),),
        lambda columns: f"coalesce({columns[0]}, 0L)",
    )


def _sum(aggregate: Aggregate, names: Names) -> Partial:
    if aggregate.type.name != "DECIMAL" and aggregate.type != INTERVAL:
        return _alike(aggregate, names)
    return _checked_sum(aggregate, names, aggregate.type, lambda columns: columns[0])


def _checked_sum(aggregate: Aggregate, names: Names, type_: DataType, final: Callable[[Columns], str]) -> Partial:
    """A sum that is NULL after an overflow: how many values it has tells it from a sum of nothing."""

    def merges(columns: Columns) -> tuple[str, ...]:
        total, count = columns
        # the sum of DECIMALs has more digits than they have
        fitted = f"try_sum({total})" if type_ == INTERVAL else f"CAST(sum({total}) AS {spark_type(type_)})"
        return (f"CASE WHEN NOT bool_or({count} > 0 AND {total} IS NULL) THEN {fitted} END", f"sum({count})")

    parts = (aggregate_sql(aggregate, names, "sum"), aggregate_sql(aggregate, names, "count"))
    return Partial(parts, merges, final)


# -- averages ---------------------------------------------------------------------------------------------------------


def _average(aggregate: Aggregate, names: Names) -> Partial | None:
    argument = cast(TypedExpr, aggregate.arguments[0])
    if aggregate.type == INTERVAL:
        return _checked_sum(aggregate, names, INTERVAL, lambda columns: f"try_divide({columns[0]}, {columns[1]})")
    if aggregate.type.name == "DECIMAL":
        return _decimal_average(aggregate, names, argument.type)
    number = spark_sql(argument, names)
    number = number if argument.type == DOUBLE else f"CAST({number} AS DOUBLE)"
    return Partial(
        (f"sum({number}){filter_sql(aggregate, names)}", aggregate_sql(aggregate, names, "count")),
        lambda columns: (f"sum({columns[0]})", whole_sum(f"sum({columns[1]})", BIGINT)),
        lambda columns: f"({columns[0]} / {columns[1]})",
    )


#: digits of a count; with more, a quotient would keep too few behind the point
_COUNT_DIGITS = 14
_MOST_DIGITS = 27
_MOST_SCALE = 9


def _decimal_average(aggregate: Aggregate, names: Names, given: DataType) -> Partial | None:
    quotient = decimal_quotient(given, aggregate.type)
    return None if quotient is None else _checked_sum(aggregate, names, *quotient)


def decimal_quotient(given: DataType, wanted: DataType) -> tuple[DataType, Callable[[Columns], str]] | None:
    """An average of DECIMALs: the type of their sum, and sum / count, rounded once. None if that has too many digits.

    Spark's own average divides exactly and rounds to s + 4 digits; a quotient written in SQL is rounded before that, to
    as many digits as fit beside a whole part as wide as the sum's. So the whole part is divided apart (exactly), and
    what is left is smaller than the count: its quotient keeps 11 digits more than the answer, and rounding twice can
    only differ from rounding once if there are 10¹¹ values.
    """
    precision, scale = given.parameters
    if precision > _MOST_DIGITS or scale > _MOST_SCALE:
        return None

    def final(columns: Columns) -> str:
        total, count = columns[0], f"CAST({columns[1]} AS DECIMAL({_COUNT_DIGITS},0))"
        rest = f"({total} % {count})"
        whole = f"CAST(({total} - {rest}) / {count} AS DECIMAL({precision - scale + 1},0))"
        fraction = f"CAST({rest} / {count} AS DECIMAL({scale + 5},{scale + 4}))"
        return f"CAST({whole} + {fraction} AS {spark_type(wanted)})"

    return DataType("DECIMAL", (precision + 10, scale)), final


# -- statistics -------------------------------------------------------------------------------------------------------


def _fold(zero: dict[str, str], merged: dict[str, str]) -> Callable[[Columns], tuple[str, ...]]:
    """Merges structs of moments one after the other (Chan, Golub and LeVeque); one without values changes nothing."""
    fields = ", ".join(f"'{name}', {value}" for name, value in zero.items())
    taken = ", ".join(f"'{name}', _b.{name}" for name in zero)
    both = ", ".join(f"'{name}', {merged[name]}" for name in zero)
    step = (
        f"(_a, _b) -> CASE WHEN _b.n = 0 THEN _a WHEN _a.n = 0 THEN named_struct({taken}) ELSE named_struct({both}) END"
    )
    return lambda columns: (f"aggregate(collect_list({columns[0]}), named_struct({fields}), {step})",)


def _mean(name: str) -> str:
    return f"_a.{name} + (_b.{name} - _a.{name}) / (_a.n + _b.n) * _b.n"


def _comoment(name: str, x: str, y: str) -> str:
    """Σ(x−μx)(y−μy) of both: the sum of both, and what the distance of their means adds."""
    return f"_a.{name} + _b.{name} + (_b.{x} - _a.{x}) * ((_b.{y} - _a.{y}) / (_a.n + _b.n)) * _a.n * _b.n"


_MOMENTS = _fold(
    {"n": "0L", "mean": "0D", "m2": "0D"},
    {"n": "_a.n + _b.n", "mean": _mean("mean"), "m2": _comoment("m2", "mean", "mean")},
)
_PAIRED = _fold(
    {"n": "0L", "x": "0D", "y": "0D", "xx": "0D", "yy": "0D", "xy": "0D"},
    {
        "n": "_a.n + _b.n",
        "x": _mean("x"),
        "y": _mean("y"),
        "xx": _comoment("xx", "x", "x"),
        "yy": _comoment("yy", "y", "y"),
        "xy": _comoment("xy", "x", "y"),
    },
)


def _moments(answer: str) -> Maker:
    """Count, mean and m2 = Σ(x−μ)², from which `answer` is computed."""

    def make(aggregate: Aggregate, names: Names) -> Partial:
        (number,) = (spark_sql(argument, names) for argument in aggregate.arguments)
        only = filter_sql(aggregate, names)
        # Spark has m2 only as the sum of squares of a regression, here of x on itself
        parts = f"count({number}){only} AS n, avg({number}){only} AS mean, regr_sxx({number}, {number}){only} AS m2"
        return Partial((f"struct({parts})",), _MOMENTS, lambda columns: answer.replace("$", columns[0]), True)

    return make


def _pairs(answer: str) -> Maker:
    """Count, means and the sums of products of the deviations, of the pairs without NULL."""

    def make(aggregate: Aggregate, names: Names) -> Partial:
        x, y = (spark_sql(argument, names) for argument in aggregate.arguments)
        only = filter_sql(aggregate, names)
        sources = {"n": "count", "x": "avgx", "y": "avgy", "xx": "sxx", "yy": "syy", "xy": "sxy"}
        parts = ", ".join(f"regr_{function}({y}, {x}){only} AS {name}" for name, function in sources.items())
        return Partial((f"struct({parts})",), _PAIRED, lambda columns: answer.replace("$", columns[0]), True)

    return make


_MAKERS: dict[str, Maker] = {
    "count": _count,
    "count_if": _count,
    "sum": _sum,
    "avg": _average,
    **dict.fromkeys(("min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"), _alike),
    "var_pop": _moments("CASE WHEN $.n > 0 THEN $.m2 / $.n END"),
    "var_samp": _moments("CASE WHEN $.n > 1 THEN $.m2 / ($.n - 1) END"),
    "stddev_pop": _moments("CASE WHEN $.n > 0 THEN sqrt($.m2 / $.n) END"),
    "stddev_samp": _moments("CASE WHEN $.n > 1 THEN sqrt($.m2 / ($.n - 1)) END"),
    "covar_pop": _pairs("CASE WHEN $.n > 0 THEN $.xy / $.n END"),
    "covar_samp": _pairs("CASE WHEN $.n > 1 THEN $.xy / ($.n - 1) END"),
    "corr": _pairs("CASE WHEN $.n > 1 THEN $.xy / sqrt(nullif($.xx, 0D) * nullif($.yy, 0D)) END"),
}
