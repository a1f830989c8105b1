"""Where corrections are withheld: stretches of ticks, indexes or iterations, each with how many results it has.

They are safe, not sharp: in a stretch there may be places without any, and a stretch that was shortened still has the
number that it had.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from eddyline.log.spans import parts_of

Array = Any

#: both ends inclusive, and how many results at most
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
    """What is left outside of some spans, which are in order and apart.

    >>> without([(1, 9, 4), (20, 20, 1)], [(3, 4), (15, 30)])
    ((1, 2, 4), (5, 9, 4))
    """
    left: list[Stretch] = list(stretches)
    for first, last in spans:
        parts = [((low, min(high, first - 1), n), (max(low, last + 1), high, n)) for low, high, n in left]
        left = [part for pair in parts for part in pair if part[0] <= part[1]]
    return tuple(left)
