"""Bags of rows: equality and difference by value, as SNEEql's `\\\\` has them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from eddyline.reference.element import Row, Values


def value_key(values: Values) -> Hashable:
    """What makes two tuples the same: NaN equals NaN, and -0.0 equals 0.0, as in Spark's grouping."""
    return tuple(_key(value) for value in values)


def _key(value: object) -> Hashable:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, tuple):
        return value_key(value)
    return value


def row_key(row: Row) -> Hashable:
    """Values and tags."""
    return value_key(row.values), row.marks


def same_rows(left: Sequence[Row], right: Sequence[Row]) -> bool:
    """Whether two bags hold the same rows with the same tags, in whatever order."""
    if len(left) != len(right):
        return False
    return Counter(map(row_key, left)) == Counter(map(row_key, right))


def minus(left: Iterable[Row], right: Iterable[Row]) -> list[Row]:
    """The bag difference: each row of `right` takes one equal row (by values) out of `left`; order is kept.

    >>> [row.values for row in minus([Row((1,)), Row((1,)), Row((2,))], [Row((1,))])]
    [(1,), (2,)]
    """
    taken = Counter(value_key(row.values) for row in right)
    kept = []
    for row in left:
        key = value_key(row.values)
        if taken[key]:
            taken[key] -= 1
        else:
            kept.append(row)
    return kept
