"""Bags of rows: equality and difference by value, as SNEEql's `\\\\` has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from eddyline.reference.element import Row
from eddyline.reference.value import row_key


def tagged_key(row: Row) -> tuple[Hashable, Hashable]:
    """What makes two rows the same in everything: values and tags."""
    return row_key(row.values), row.marks


def same_rows(left: Sequence[Row], right: Sequence[Row]) -> bool:
    """Whether two bags hold the same rows with the same tags, in whatever order."""
    if len(left) != len(right):
        return False
    return Counter(map(tagged_key, left)) == Counter(map(tagged_key, right))


def minus(left: Iterable[Row], right: Iterable[Row]) -> list[Row]:
    """The bag difference: each row of `right` takes one equal row (by values) out of `left`, and that is one with the
    same tags if there is one; order is kept.

    >>> [row.values for row in minus([Row((1,)), Row((1,)), Row((2,))], [Row((1,))])]
    [(1,), (2,)]
    """
    same = Counter(map(tagged_key, right))
    others = _less(left, same, tagged_key)
    alike: Counter[Hashable] = Counter()
    for (values, _), number in same.items():  # what is left of them
        alike[values] += number
    return _less(others, alike, lambda row: row_key(row.values))


def _less(rows: Iterable[Row], taken: Counter[Any], key_of: Callable[[Row], Hashable]) -> list[Row]:
    """Rows without as many of each key as are `taken`; those that take one are taken out there."""
    kept = []
    for row in rows:
        key = key_of(row)
        if taken[key]:
            taken[key] -= 1
        else:
            kept.append(row)
    return kept
