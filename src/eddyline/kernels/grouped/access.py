"""How to find boxes besides by equality: in the way that costs the least for a tuple.

Either by one attribute exactly (`index`), and then the best is the one that leaves the fewest candidates. Or, where
that leaves too many, by a cell of a grid over two attributes (`blocks`), which leaves some more than there are matches.

Constants tell how much the ranges of an attribute overlap, but not where the values of the tuples lie: a range that few
other members share may be the one that all tuples are in. So the choice is made from constants first, and can be made
again from a sample of tuples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddyline.kernels.grouped.blocks import Blocks, blocks_of, shares
from eddyline.kernels.grouped.boxes import Boxes
from eddyline.kernels.grouped.index import Groups, may_be_listed
from eddyline.kernels.grouped.loops import count_inside, locate
from eddyline.kernels.grouped.sample import Sample, sample_of_constants, some

_SAMPLED_BOXES = 1 << 15
#: what else there is to do for a tuple, measured, each as the number of candidates that are checked in the same time
_CELL_COST, _TREE_COST = 120, 300


@dataclass(frozen=True)
class Access:
    """The attribute that boxes are found by, or the blocks of several; neither if boxes are points, or all alike."""

    attribute: str | None = None
    blocks: tuple[Blocks, ...] = ()
    candidates: float = 0.0  # to be expected for a tuple

    def __str__(self) -> str:
        return " × ".join(blocks.attribute for blocks in self.blocks) or str(self.attribute)

    def is_like(self, other: Access) -> bool:
        return str(self) == str(other)


def ranged(boxes: Boxes, groups: Groups) -> tuple[str, ...]:
    """The attributes that there is a choice of."""
    return tuple(name for name in boxes.lows if name not in groups.equal)


def ways(boxes: Boxes, groups: Groups, sample: Sample) -> list[Access]:
    """All that can be chosen from, the best first, judged by a sample of tuples."""
    names = ranged(boxes, groups)
    if not names:
        return [Access()]
    in_group, inside = _candidates(boxes, groups, names, sample)
    found = [Access(name, (), count) for name, count in zip(names, inside, strict=True)]
    # how wide boxes are is a matter of the constants: one has about two leaves for each that it overlaps with
    _, overlaps = _candidates(boxes, groups, names, sample_of_constants(boxes))
    listed = may_be_listed(boxes.members.size, len(names) - 1) / boxes.members.size
    costs = [count + (0 if 2 * width < listed else _TREE_COST) for count, width in zip(inside, overlaps, strict=True)]
    if len(names) > 1:
        cut = [blocks_of(boxes, name) for name in names]
        parts = {blocks: shares(boxes, blocks, sample[blocks.attribute]) for blocks in cut}
        one, other = sorted(parts, key=lambda blocks: float(np.mean(parts[blocks])))[:2]
        found.append(Access(None, (one, other), in_group * float(np.mean(parts[one] * parts[other]))))
        costs.append(found[-1].candidates + _CELL_COST)
    return [found[place] for place in np.argsort(costs, kind="stable")]


def _candidates(boxes: Boxes, groups: Groups, names: tuple[str, ...], sample: Sample) -> tuple[float, list[float]]:
    """How many boxes are in the group of a tuple, and for each attribute, how many of these it lets through."""
    size = len(sample[names[0]])
    if not size:
        return 0.0, [0.0] * len(names)
    nothing = np.zeros(0, np.int64)
    wanted = np.stack([sample[name] for name in groups.equal]) if groups.equal else np.zeros((0, size), np.int64)
    located = np.empty(size, np.int64)
    shift = size.bit_length()
    count = locate(np.arange(size), shift, wanted, groups.slots, groups.keys, nothing, nothing, nothing, located)
    rows, of_rows = located[:count] & ((1 << shift) - 1), located[:count] >> shift
    chosen = some(boxes.members.size, _SAMPLED_BOXES)
    counts = np.zeros(len(names), np.int64)
    count_inside(
        of_rows,
        groups.of_boxes[chosen],
        np.stack([sample[name][rows] for name in names]),
        np.stack([boxes.lows[name][chosen] for name in names]),
        np.stack([boxes.highs[name][chosen] for name in names]),
        counts,
    )
    in_group = np.bincount(groups.of_boxes, minlength=groups.count)[of_rows].sum() / size
    return float(in_group), (counts / size * (boxes.members.size / chosen.size)).tolist()
