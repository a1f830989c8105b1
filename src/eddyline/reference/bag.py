"""Bags of rows: equality and difference by value, as SNEEql's `\\\\` has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from eddyline.reference.element import Row
from eddyline.reference.value import row_key


def tagged_key(row: Row) -> Hashable:
    """What makes two rows the same in everything: values and tags."""
    return row_key(row.values), row.marks


def same_rows(left: Sequence[Row], right: Sequence[Row]) -> bool:
    """Whether two bags hold the same rows with the same tags, in whatever order."""
    if len(left) != len(right):
        return False
    return Counter(map(tagged_key, left)) == Counter(map(tagged_key, right))


def minus(left: Iterable[Row], right: Iterable[Row]) -> list[Row]:
    """The bag difference: each row of `right` takes one equal row (by values) out of `left`; order is kept.

    >>> [row.values for row in minus([Row((1,)), Row((1,)), Row((2,))], [Row((1,))])]
    [(1,), (2,)]
    """
    taken = Counter(row_key(row.values) for row in right)
    kept = []
    for row in left:
        key = row_key(row.values)
        if taken[key]:
            taken[key] -= 1
        else:
            kept.append(row)
    return kept
