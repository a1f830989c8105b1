"""The horizons that rows meet one after the other, as a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from eddyline.algebra.retention import Further

Array = Any
#: before every tick
LOWEST = np.iinfo(np.int64).min


def horizons(ticks: Array, brings: Array, top: int | None, retain: int | None, further: Further = ()) -> Array:
    """The smallest tick that the stream takes when each row arrives; `LOWEST` if it takes all.

    `brings` says which rows bring their tick to the stream. The largest of these so far (`top` before all of them) less
    the retention is the horizon, unless a connection point reaches `further` back. A row beyond it brings nothing, but
    as it is not the latest it may be counted.

    >>> horizons(np.array([5, 20, 8]), np.array([True, True, True]), None, 10).tolist()[1:]
    [-5, 10]
    """
    if retain is None:
        return np.full(len(ticks), LOWEST)
    brought = np.where(brings, ticks, LOWEST)
    before = np.concatenate([np.array([LOWEST if top is None else top], np.int64), brought])[:-1]
    latest = np.maximum.accumulate(before)
    found = _less(latest, retain)
    for ticks, floor in further:
        found = np.minimum(found, np.maximum(_less(latest, ticks), floor))
    return found


def _less(latest: Array, ticks: int) -> Array:
    return np.where(latest < LOWEST + ticks, LOWEST, latest - ticks)  # no number is smaller than LOWEST
