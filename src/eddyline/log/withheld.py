"""Where corrections are withheld: stretches of ticks, indexes or iterations, each with how many results it has.

They are safe, not sharp: in a stretch there may be places without any, and a stretch that was shortened still has the
number that it had.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

#: both ends inclusive, and how many results at most
Stretch = tuple[int, int, int]
#: what a record keeps of one stage stays small
MOST = 64


def stretches_of(places: np.ndarray[Any, Any]) -> tuple[Stretch, ...]:
    """The places of single results as few stretches.

    >>> stretches_of(np.array([20, 10, 10, 11]))
    ((10, 11, 3), (20, 20, 1))
    """
    values, counts = np.unique(places, return_counts=True)
    cuts = np.flatnonzero(np.diff(values) > 1) + 1
    parts = zip(np.split(values, cuts), np.split(counts, cuts), strict=True)
    return fewer([(int(part[0]), int(part[-1]), int(number.sum())) for part, number in parts if len(part)])


def fewer(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """Those that overlap as one, and of the others so many that the smallest gaps are filled.

    >>> fewer([(5, 9, 1), (1, 2, 2), (8, 12, 3)])
    ((1, 2, 2), (5, 12, 4))
    """
    found: list[Stretch] = []
    for low, high, count in sorted(stretches):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]), found[-1][2] + count)
        else:
            found.append((low, high, count))
    while len(found) > MOST:
        at = min(range(1, len(found)), key=lambda i: found[i][0] - found[i - 1][1])
        found[at - 1 : at + 1] = [(found[at - 1][0], found[at][1], found[at - 1][2] + found[at][2])]
    return tuple(found)


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
