"""Where corrections are withheld: stretches of ticks, indexes or iterations, each with how many results it has.

Places are safe, not sharp: in a stretch there may be some without any. Numbers are estimates: of a stretch that is
shortened, what is left has its share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from eddyline.log.spans import parts_of

Array = Any

#: both ends inclusive, and about how many results
Stretch = tuple[int, int, int]
#: what a record keeps of one stage stays small
MOST = 64


def stretches_of(places: Array) -> tuple[Stretch, ...]:
    """The places of single results as few stretches.

    >>> stretches_of(np.array([20, 10, 10, 11]))
    ((10, 11, 3), (20, 20, 1))
    """
    values, counts = np.unique(places, return_counts=True)
    return _few(values, values, counts)


def fewer(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """Those that overlap as one, and of the others so many that the smallest gaps are filled.

    >>> fewer([(5, 9, 1), (1, 2, 2), (8, 12, 3)])
    ((1, 2, 2), (5, 12, 4))
    """
    some = np.array(sorted(stretches), dtype=np.int64).reshape(-1, 3)
    return _few(some[:, 0], np.maximum.accumulate(some[:, 1]), some[:, 2])


def _few(first: Array, last: Array, counts: Array) -> tuple[Stretch, ...]:
    if not len(first):
        return ()
    starts, ends = parts_of(first, last, MOST)
    numbers = np.add.reduceat(counts, starts)
    return tuple((int(first[a]), int(last[b]), int(n)) for a, b, n in zip(starts, ends, numbers, strict=True))


def without(stretches: Sequence[Stretch], spans: Iterable[tuple[int, int]]) -> tuple[Stretch, ...]:
    """What is left outside of some spans.

    >>> without([(1, 9, 9), (20, 20, 1)], [(3, 4), (15, 30)])
    ((1, 2, 2), (5, 9, 5))
    """
    left: list[Stretch] = list(stretches)
    for first, last in spans:
        before = [(whole, whole[0], min(whole[1], first - 1)) for whole in left]
        behind = [(whole, max(whole[0], last + 1), whole[1]) for whole in left]
        left = sorted(_share(*part) for part in (*before, *behind) if part[1] <= part[2])
    return tuple(left)


def _share(whole: Stretch, low: int, high: int) -> Stretch:
    first, last, number = whole
    return low, high, max(1, number * (high - low + 1) // (last - first + 1))
