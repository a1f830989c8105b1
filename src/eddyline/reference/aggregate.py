"""Aggregates: one value from the tuples of a group, in the order in which they stand in the window."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from eddyline.algebra.expression import Aggregate
from eddyline.algebra.schema import Schema
from eddyline.algebra.types import INTERVAL, is_integer
from eddyline.errors import InvalidAlgebra
from eddyline.reference import statistics
from eddyline.reference.expression import Row, compile_expression, compile_predicate
from eddyline.reference.value import EXACT, MICROSECOND, fitted, group_key, order_key, row_key, wrap

#: computes the aggregate from the argument tuples of the group
Compute = Callable[[list[Row]], Any]
Maker = Callable[[Aggregate], Compute]


def compile_aggregate(aggregate: Aggregate, schema: Schema) -> Callable[[Sequence[Row]], Any]:
    """The function that computes the aggregate over tuples of this schema."""
    make = AGGREGATES.get(aggregate.function)
    if make is None:
        raise InvalidAlgebra(f"the reference engine has no aggregate {aggregate.function}")
    compute = make(aggregate)
    arguments = [compile_expression(argument, schema) for argument in aggregate.arguments]  # type: ignore[arg-type]
    condition = aggregate.condition
    holds = compile_predicate(condition, schema) if condition is not None else None  # type: ignore[arg-type]

    def evaluate(rows: Sequence[Row]) -> Any:
        kept = rows if holds is None else [row for row in rows if holds(row)]
        values = [tuple([argument(row) for argument in arguments]) for row in kept]
        return compute(_distinct(values) if aggregate.distinct else values)

    return evaluate


def _distinct(values: list[Row]) -> list[Row]:
    """Each combination of values once, where it stood first."""
    first: dict[Row, Row] = {}
    for value in values:
        first.setdefault(row_key(value), value)
    return list(first.values())


def _of_values(compute: Callable[[list[Any]], Any]) -> Maker:
    """An aggregate of one argument for which NULLs do not exist; the same for all types."""
    return lambda _: lambda rows: compute([value for value, *_ in rows if value is not None])


def _count(rows: list[Row]) -> int:
    """Tuples of which no argument is NULL; COUNT(*) has no arguments and counts all."""
    return sum(None not in row for row in rows)


def _sum(aggregate: Aggregate) -> Compute:
    """NULL without values. Whole numbers wrap around, a DECIMAL that overflows is NULL."""
    type_ = aggregate.type

    def total(values: list[Any]) -> Any:
        if not values:
            return None
        if is_integer(type_):
            return wrap(sum(values), 64)
        if type_.name == "DECIMAL":
            return fitted(reduce(EXACT.add, values), type_)
        if type_ == INTERVAL:
            return sum(values, timedelta())
        return _floating_sum(values)

    return _of_values(total)(aggregate)


def _floating_sum(values: list[float]) -> float:
    """From left to right, starting at 0.0, without the correction that Python 3.12 adds to `sum`."""
    total = 0.0
    for value in values:
        total += value
    return total


def _average(aggregate: Aggregate) -> Compute:
    """sum / count; NULL without values."""
    type_ = aggregate.type

    def average(values: list[Any]) -> Any:
        if not values:
            return None
        if type_.name == "DECIMAL":
            return fitted(EXACT.divide(reduce(EXACT.add, values), Decimal(len(values))), type_)
        if type_ == INTERVAL:
            micros = EXACT.divide(Decimal(sum(values, timedelta()) // MICROSECOND), Decimal(len(values)))
            return int(micros.quantize(Decimal(1), rounding=ROUND_HALF_UP)) * MICROSECOND
        return _floating_sum(list(map(float, values))) / len(values)

    return _of_values(average)(aggregate)


def _min(values: list[Any]) -> Any:
    return min(values, key=order_key, default=None)


def _max(values: list[Any]) -> Any:
    return max(values, key=order_key, default=None)


def _by(better: Callable[[Any, Any], bool]) -> Maker:
    """max_by(x, y): the x of the tuple with the best y; the last of equals."""

    def compute(rows: list[Row]) -> Any:
        best: Row | None = None
        for row in rows:
            if row[1] is not None and (best is None or not better(order_key(best[1]), order_key(row[1]))):
                best = row
        return None if best is None else best[0]

    return lambda _: compute


def _chosen(reverse: bool) -> Maker:
    """first and last; with a second argument that is true, NULLs are passed over."""

    def compute(rows: list[Row]) -> Any:
        for value, *ignore_nulls in reversed(rows) if reverse else rows:
            if value is not None or not any(ignore_nulls):
                return value
        return None

    return lambda _: compute


def _collect_set(values: list[Any]) -> tuple[Any, ...]:
    first: dict[Any, Any] = {}
    for value in values:
        first.setdefault(group_key(value), value)
    return tuple(first.values())


def _bits(combine: Callable[[int, int], int]) -> Maker:
    return _of_values(lambda values: reduce(combine, values) if values else None)


def _listagg(rows: list[Row]) -> str | None:
    texts = [text for text, *_ in rows if text is not None]
    delimiter = rows[0][1] if rows and len(rows[0]) > 1 else ""
    return (delimiter or "").join(texts) if texts else None


def _median(values: list[Any]) -> float | None:
    return statistics.percentile(sorted(map(float, values), key=order_key), 0.5)


def _percentile(rows: list[Row]) -> Any:
    """Between two values it is interpolated."""
    values = sorted((value for value, _ in rows if value is not None), key=order_key)
    if not values:
        return None
    share = rows[0][1]
    if isinstance(share, tuple):
        return tuple(statistics.percentile(values, each) for each in share)
    return statistics.percentile(values, share)


def _of_pairs(compute: Callable[[list[tuple[float, float]]], float | None]) -> Maker:
    return lambda _: lambda rows: compute([(x, y) for x, y in rows if x is not None and y is not None])


AGGREGATES: dict[str, Maker] = {
    "count": lambda _: _count,
    "count_if": _of_values(lambda values: sum(map(bool, values))),
    "sum": _sum,
    "avg": _average,
    "min": _of_values(_min),
    "max": _of_values(_max),
    "min_by": _by(lambda best, new: best < new),
    "max_by": _by(lambda best, new: best > new),
    "stddev_samp": _of_values(lambda values: _root(statistics.variance(values, sample=True))),
    "stddev_pop": _of_values(lambda values: _root(statistics.variance(values, sample=False))),
    "var_samp": _of_values(lambda values: statistics.variance(values, sample=True)),
    "var_pop": _of_values(lambda values: statistics.variance(values, sample=False)),
    "skewness": _of_values(statistics.skewness),
    "kurtosis": _of_values(statistics.kurtosis),
    "corr": _of_pairs(statistics.correlation),
    "covar_samp": _of_pairs(lambda pairs: statistics.covariance(pairs, sample=True)),
    "covar_pop": _of_pairs(lambda pairs: statistics.covariance(pairs, sample=False)),
    "median": _of_values(_median),
    "percentile": lambda _: _percentile,
    "first": _chosen(reverse=False),
    "last": _chosen(reverse=True),
    "any_value": _chosen(reverse=False),
    "collect_list": _of_values(tuple),
    "collect_set": _of_values(_collect_set),
    "listagg": lambda _: _listagg,
    "bool_and": _of_values(lambda values: all(values) if values else None),
    "bool_or": _of_values(lambda values: any(values) if values else None),
    "bit_and": _bits(and_),
    "bit_or": _bits(or_),
    "bit_xor": _bits(xor),
}


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)
