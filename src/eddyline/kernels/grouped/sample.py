"""Some tuples, to tell from them what finding boxes would cost."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eddyline.kernels.grouped.boxes import Boxes
from eddyline.kernels.grouped.loops import GREATEST, LEAST, Ints

#: so many are enough to tell attributes apart
SAMPLED_TUPLES = 256

#: codes by attribute
Sample = Mapping[str, Ints]


def some(count: int, most: int) -> Ints:
    """The places of some of so many; at random, as regular ones may fall in step with the data, but always the same.

    >>> some(3, 5).tolist(), some(1000, 5).size
    ([0, 1, 2], 5)
    """
    if count <= most:
        return np.arange(count)
    return np.random.default_rng(count).integers(0, count, most)


def sample_of_constants(boxes: Boxes) -> Sample:
    """Tuples that lie on the sides of boxes: nothing better is known before there is data."""
    chosen = some(boxes.members.size, SAMPLED_TUPLES)
    sample = {}
    for name in boxes.lows:
        lows, highs = boxes.lows[name][chosen], boxes.highs[name][chosen]
        at_low = (np.arange(chosen.size) % 2 == 0) & (lows != LEAST) | (highs == GREATEST)
        sample[name] = np.where(at_low, lows, highs)
    return sample
