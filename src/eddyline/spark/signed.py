"""Aggregates in parts from which tuples can be taken away again: what downstream corrections are made of.

    change   SELECT k, sum(x * _diff) AS p0, …         `partials`, over tuples with their weights
    state    SELECT k, sum(p0) AS p0, …                `merges`, over all changes of a slice or a window
    answer   SELECT k, CASE WHEN p1 > 0 THEN p0 END    `final`, over one merged row

A part of some tuples never has to be computed again because one of them is revised: its old version is one more change,
with the weight -1. Not everything can be taken away: of a MAX whose largest value has gone nobody knows the second
largest, and a sum of DOUBLEs from which a huge one was taken has lost digits. `sure` says whether an answer can be
trusted; if not, the tuples themselves are asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from eddyline.algebra.expression import Aggregate, TypedExpr
from eddyline.algebra.types import BIGINT, DOUBLE, FLOAT, is_integer
from eddyline.spark.expression import Names, whole_sum
from eddyline.spark.moments import STATISTICS, statistic
from eddyline.spark.partials import decimal_quotient
from eddyline.spark.parts import ALWAYS, LOST, Columns, Signed, Values

_INFINITY = "CAST('Infinity' AS DOUBLE)"
_NOT_A_NUMBER = "CAST('NaN' AS DOUBLE)"
_MOST_DIGITS = 27
#: the column of the state that has the value, where there is a row for each
VALUE = "k_value"
#: how many tuples a row of the state stands for
COUNT = "sum_n"


def signed_or_reason(aggregate: Aggregate, names: Names, place: int) -> Signed | str:
    """The signed parts of an aggregate, or why it has none; `place`: of the aggregate among all of its query."""
    values = Values(aggregate, names)
    if aggregate.distinct and aggregate.function not in _IDEMPOTENT:
        return _distinct(aggregate, values)
    if aggregate.function in STATISTICS:
        return statistic(aggregate.function, values, place)
    make = _MAKERS.get(aggregate.function)
    return _NEEDS_ALL.format(aggregate.function) if make is None else make(aggregate, values)


_NEEDS_ALL = "{} needs all of its tuples"
#: aggregates for which it does not matter how often a value stands there
_IDEMPOTENT = frozenset({"min", "max", "bool_and", "bool_or"})


# -- counts and sums --------------------------------------------------------------------------------------------------


def _count(aggregate: Aggregate, values: Values) -> Signed:
    condition = values.text if aggregate.function == "count_if" else ALWAYS
    return Signed((values.count(condition),), lambda columns: f"coalesce({columns[0]}, 0L)")


def _sum(aggregate: Aggregate, values: Values) -> Signed | str:
    argument = cast(TypedExpr, aggregate.arguments[0])
    if is_integer(argument.type):
        parts = (values.count(), values.sum(f"CAST({values.text} AS BIGINT)", BIGINT))
        return Signed(parts, lambda columns: f"CASE WHEN {columns[0]} > 0 THEN {columns[1]} END")
    if argument.type in (FLOAT, DOUBLE):
        return _of_doubles(values, f"CAST({values.text} AS DOUBLE)", lambda total, count: total)
    if argument.type.name == "DECIMAL":
        if argument.type.parameters[0] > _MOST_DIGITS:
            return f"a sum of {argument.type} may overflow on the way"
        parts = (values.count(), values.sum(values.text, aggregate.type))
        return Signed(parts, lambda columns: f"CASE WHEN {columns[0]} > 0 THEN {columns[1]} END")
    return f"a sum of {argument.type} needs all of its tuples"


def _average(aggregate: Aggregate, values: Values) -> Signed | str:
    argument = cast(TypedExpr, aggregate.arguments[0])
    if argument.type.name == "DECIMAL":
        quotient = decimal_quotient(argument.type, aggregate.type)
        if quotient is None:
            return f"an average of {argument.type} may overflow on the way"
        total_type, answer = quotient
        parts = (values.count(), values.sum(values.text, total_type))
        return Signed(parts, lambda columns: f"CASE WHEN {columns[0]} > 0 THEN {answer((columns[1], columns[0]))} END")
    if not is_integer(argument.type) and argument.type not in (FLOAT, DOUBLE):
        return f"an average of {argument.type} needs all of its tuples"
    return _of_doubles(values, f"CAST({values.text} AS DOUBLE)", lambda total, count: f"({total} / {count})")


def _of_doubles(values: Values, number: str, answer: Callable[[str, str], str]) -> Signed:
    """Infinities and NaN are counted, not added: they could not be taken away again."""
    finite = f"abs({number}) < {_INFINITY}"  # NaN is greater than all
    parts = (
        values.count(),
        values.sum(number, DOUBLE, finite),
        values.sum(f"abs({number})", DOUBLE, finite),
        values.magnitude(number, finite),
        values.count(f"isnan({number})"),
        values.count(f"{number} = {_INFINITY}"),
        values.count(f"{number} = -{_INFINITY}"),
    )

    def final(columns: Columns) -> str:
        count, total, _, _, nan, above, below = columns
        return (
            f"CASE WHEN {count} > 0 THEN CASE WHEN {nan} > 0 OR {above} > 0 AND {below} > 0 THEN {_NOT_A_NUMBER} "
            f"WHEN {above} > 0 THEN {_INFINITY} WHEN {below} > 0 THEN -{_INFINITY} "
            f"ELSE {answer(total, count)} END END"
        )

    def sure(columns: Columns) -> str:
        count, _, standing, moved, *_ = columns
        return f"({count} = 0 OR {moved} <= {LOST}D * {standing} AND {moved} < 1E300D)"

    return Signed(parts, final, sure)


# -- distinct values --------------------------------------------------------------------------------------------------


def _distinct(aggregate: Aggregate, values: Values) -> Signed | str:
    """There is a row of the state for each value, which says how often it stands there."""
    if aggregate.function not in ("count", "sum", "avg"):
        return _NEEDS_ALL.format(aggregate.function)
    if len(values.texts) > 1 or values.types[0].name in _CONTAINERS:
        return f"{aggregate.function} of DISTINCT {values.types[0]}s or pairs needs all of its tuples"
    by = f"CASE WHEN {' AND '.join(values.conditions)} THEN {values.text} END"
    stands = f"CASE WHEN {COUNT} > 0 THEN {VALUE} END"
    if aggregate.function == "count":
        return Signed((), lambda columns: f"coalesce({columns[0]}, 0L)", by=by, of_values=f"count({stands})")
    if not is_integer(values.types[0]) and values.types[0] not in (FLOAT, DOUBLE):
        return f"{aggregate.function} of DISTINCT {values.types[0]}s needs all of its tuples"
    if aggregate.function == "sum":
        type_ = BIGINT if is_integer(values.types[0]) else DOUBLE
        total = whole_sum(f"sum({stands})", type_)
        return Signed((), lambda columns: columns[0], by=by, of_values=total)
    average = f"(sum(CAST({stands} AS DOUBLE)) / nullif(count({stands}), 0))"
    return Signed((), lambda columns: columns[0], by=by, of_values=average)


_CONTAINERS = ("ARRAY", "MAP", "STRUCT")


# -- extremes ---------------------------------------------------------------------------------------------------------


def _extreme(aggregate: Aggregate, values: Values) -> Signed | str:
    """What has gone does not matter unless it was the extreme."""
    function = aggregate.function
    if aggregate.type.name in _CONTAINERS:
        return f"{function} of {aggregate.type} needs all of its tuples"
    parts = (
        values.count(),
        values.extreme(function, ">", aggregate.type),
        values.extreme(function, "<", aggregate.type),
    )
    beyond = "<" if function == "max" else ">"

    def sure(columns: Columns) -> str:
        count, come, gone = columns
        return f"({count} = 0 OR {gone} IS NULL OR {gone} {beyond} {come})"

    return Signed(parts, lambda columns: f"CASE WHEN {columns[0]} > 0 THEN {columns[1]} END", sure)


def _boolean(aggregate: Aggregate, values: Values) -> Signed:
    is_any = aggregate.function == "bool_or"
    deciding = values.count(values.text if is_any else f"NOT {values.text}")
    decided = "> 0" if is_any else "= 0"
    return Signed(
        (values.count(), deciding), lambda columns: f"CASE WHEN {columns[0]} > 0 THEN {columns[1]} {decided} END"
    )


_MAKERS: dict[str, Callable[[Aggregate, Values], Signed | str]] = {
    "count": _count,
    "count_if": _count,
    "sum": _sum,
    "avg": _average,
    "min": _extreme,
    "max": _extreme,
    "bool_and": _boolean,
    "bool_or": _boolean,
}
