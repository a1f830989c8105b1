"""Which attribute to find boxes by: the one that leaves the fewest candidates for a tuple.

Constants tell how much the ranges of an attribute overlap, but not where the values of the tuples lie: a range that few
other members share may be the one that all tuples are in. So the choice is made from constants first, and can be made
again from a sample of tuples.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eddyline.kernels.grouped.boxes import Boxes
from eddyline.kernels.grouped.index import Groups
from eddyline.kernels.grouped.loops import GREATEST, LEAST, Ints, count_inside, locate

#: so many tuples, and so many boxes, are enough to tell attributes apart
SAMPLED_TUPLES = 256
_SAMPLED_BOXES = 1 << 15

#: codes of some tuples by attribute
Sample = Mapping[str, Ints]


def ranged(boxes: Boxes, groups: Groups) -> tuple[str, ...]:
    """The attributes that there is a choice of."""
    return tuple(name for name in boxes.lows if name not in groups.equal)


def some(count: int, most: int) -> Ints:
    """The places of some of so many; at random, as regular ones may fall in step with the data, but always the same."""
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


def candidates(boxes: Boxes, groups: Groups, sample: Sample) -> dict[str, float]:
    """For each attribute that may be chosen, how many boxes a tuple is checked against if they are found by it."""
    names = ranged(boxes, groups)
    size = len(next(iter(sample.values()))) if sample else 0
    if not names or not size:
        return dict.fromkeys(names, 0.0)
    nothing = np.zeros(0, np.int64)
    wanted = np.stack([sample[name] for name in groups.equal]) if groups.equal else np.zeros((0, size), np.int64)
    located = np.empty(size, np.int64)
    shift = size.bit_length()
    count = locate(np.arange(size), shift, wanted, groups.slots, groups.keys, nothing, nothing, nothing, located)
    rows = located[:count] & ((1 << shift) - 1)
    chosen = some(boxes.members.size, _SAMPLED_BOXES)
    counts = np.zeros(len(names), np.int64)
    count_inside(
        located[:count] >> shift,
        groups.of_boxes[chosen],
        np.stack([sample[name][rows] for name in names]),
        np.stack([boxes.lows[name][chosen] for name in names]),
        np.stack([boxes.highs[name][chosen] for name in names]),
        counts,
    )
    return dict(zip(names, (counts / size * (boxes.members.size / chosen.size)).tolist(), strict=True))


def best(expected: Mapping[str, float]) -> str | None:
    return min(expected, key=lambda name: expected[name], default=None)
