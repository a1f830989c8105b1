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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from eddyline.algebra.expression import Aggregate, TypedExpr
from eddyline.algebra.types import BIGINT, DOUBLE, FLOAT, DataType, is_integer
from eddyline.log.segment import DIFF
from eddyline.spark.expression import Names, spark_sql, spark_type, whole_sum

Columns = Sequence[str]
ALWAYS = "true"
#: a sum may have lost as many of its digits as a factor of so much costs: ten of 53 bits
_LOST = 1024
_INFINITY = "CAST('Infinity' AS DOUBLE)"
_NOT_A_NUMBER = "CAST('NaN' AS DOUBLE)"
_MOST_DIGITS = 27


@dataclass(frozen=True)
class Part:
    """One column of the state: how tuples make it, how it is put together, and its type."""

    made: str
    merge: str  # sum, min or max
    type: DataType

    def merged(self, column: str) -> str:
        if self.type.name == "DECIMAL":  # the sum of DECIMALs has more digits than they have
            return f"CAST({self.merge}({column}) AS {spark_type(self.type)})"
        return whole_sum(f"{self.merge}({column})", self.type if self.merge == "sum" else DOUBLE)


@dataclass(frozen=True)
class Signed:
    """An aggregate in signed parts; `final` and `sure` take the SQL text of the merged columns."""

    parts: tuple[Part, ...]
    final: Callable[[Columns], str]
    sure: Callable[[Columns], str] = lambda columns: ALWAYS


def signed_or_reason(aggregate: Aggregate, names: Names) -> Signed | str:
    """The signed parts of an aggregate, or why it has none."""
    make = _MAKERS.get(aggregate.function)
    if make is None:
        return f"{aggregate.function} needs all of its tuples"
    if aggregate.distinct and aggregate.function not in _IDEMPOTENT:
        return "DISTINCT needs all of its tuples"
    return make(aggregate, _Values(aggregate, names))


#: aggregates for which it does not matter how often a value stands there
_IDEMPOTENT = frozenset({"min", "max", "bool_and", "bool_or"})


class _Values:
    """The argument of an aggregate over the tuples that it looks at."""

    def __init__(self, aggregate: Aggregate, names: Names) -> None:
        self._among = "" if aggregate.condition is None else f"({spark_sql(aggregate.condition, names)}) AND "
        self.texts = [spark_sql(argument, names) for argument in aggregate.arguments]

    @property
    def text(self) -> str:
        return self.texts[0]

    def count(self, condition: str = ALWAYS) -> Part:
        """How many of the values that are not NULL satisfy a condition."""
        present = "".join(f"{text} IS NOT NULL AND " for text in self.texts)
        made = f"sum(CASE WHEN {self._among}{present}{condition} THEN {DIFF} ELSE 0 END)"
        return Part(whole_sum(made, BIGINT), "sum", BIGINT)

    def sum(self, value: str, type_: DataType, condition: str = ALWAYS) -> Part:
        """Of nothing it is 0, so that it can be added to others."""
        zero = f"CAST(0 AS {spark_type(type_)})"
        weighted = f"CASE WHEN {DIFF} > 0 THEN {value} ELSE -({value}) END"
        made = f"sum(CASE WHEN {self._among}{self.text} IS NOT NULL AND {condition} THEN {weighted} ELSE {zero} END)"
        cast_to = f"CAST({made} AS {spark_type(type_)})" if type_.name == "DECIMAL" else whole_sum(made, type_)
        return Part(cast_to, "sum", type_)

    def magnitude(self, value: str, condition: str) -> Part:
        """How much was ever added and taken away."""
        made = f"sum(CASE WHEN {self._among}{self.text} IS NOT NULL AND {condition} THEN abs({value}) ELSE 0D END)"
        return Part(made, "sum", DOUBLE)

    def extreme(self, function: str, sign: str, type_: DataType) -> Part:
        """The least or largest value among those that have come (`>`) or gone (`<`)."""
        return Part(f"{function}(CASE WHEN {self._among}{DIFF} {sign} 0 THEN {self.text} END)", function, type_)


# -- counts and sums --------------------------------------------------------------------------------------------------


def _count(aggregate: Aggregate, values: _Values) -> Signed:
    condition = values.text if aggregate.function == "count_if" else ALWAYS
    return Signed((values.count(condition),), lambda columns: f"coalesce({columns[0]}, 0L)")


def _sum(aggregate: Aggregate, values: _Values) -> Signed | str:
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


def _average(aggregate: Aggregate, values: _Values) -> Signed | str:
    argument = cast(TypedExpr, aggregate.arguments[0])
    if not is_integer(argument.type) and argument.type not in (FLOAT, DOUBLE):
        return f"an average of {argument.type} needs all of its tuples"
    return _of_doubles(values, f"CAST({values.text} AS DOUBLE)", lambda total, count: f"({total} / {count})")


def _of_doubles(values: _Values, number: str, answer: Callable[[str, str], str]) -> Signed:
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
        return f"({count} = 0 OR {moved} <= {_LOST}D * {standing} AND {moved} < 1E300D)"

    return Signed(parts, final, sure)


# -- extremes ---------------------------------------------------------------------------------------------------------


def _extreme(aggregate: Aggregate, values: _Values) -> Signed | str:
    """What has gone does not matter unless it was the extreme."""
    function = aggregate.function
    if aggregate.type.name in ("ARRAY", "MAP", "STRUCT"):
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


def _boolean(aggregate: Aggregate, values: _Values) -> Signed:
    is_any = aggregate.function == "bool_or"
    deciding = values.count(values.text if is_any else f"NOT {values.text}")
    decided = "> 0" if is_any else "= 0"
    return Signed(
        (values.count(), deciding), lambda columns: f"CASE WHEN {columns[0]} > 0 THEN {columns[1]} {decided} END"
    )


_MAKERS: dict[str, Callable[[Aggregate, _Values], Signed | str]] = {
    "count": _count,
    "count_if": _count,
    "sum": _sum,
    "avg": _average,
    "min": _extreme,
    "max": _extreme,
    "bool_and": _boolean,
    "bool_or": _boolean,
}
