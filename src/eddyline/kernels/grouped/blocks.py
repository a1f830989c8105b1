"""Another way to find boxes: the codes of an attribute are cut into blocks, and a box is put into each that it touches.

The block of a tuple is then one more attribute in which boxes are points; with two such attributes, boxes are found by
the cell of a grid. A tuple is in one cell, so it meets a box once. The sides are still to be checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from eddyline.kernels.grouped.boxes import Boxes
from eddyline.kernels.grouped.loops import GREATEST, LEAST, Ints
from eddyline.kernels.grouped.sample import some

#: a box may be in so many blocks of an attribute on average
_BLOCKS_OF_BOX = 2.0
_MOST_BLOCKS = 1 << 14
_SAMPLED_BOXES = 1 << 14


@dataclass(frozen=True, eq=False)
class Blocks:
    attribute: str
    cuts: Ints

    @property
    def name(self) -> str:
        """Of the attribute that the block is; no column has it."""
        return f"\0block of {self.attribute}"

    def of(self, codes: Ints) -> Ints:
        return np.searchsorted(self.cuts, codes, side="right")


def blocks_of(boxes: Boxes, attribute: str) -> Blocks:
    """As many blocks as there can be without putting boxes into too many of them."""
    chosen = some(boxes.members.size, _SAMPLED_BOXES)
    lows, highs = boxes.lows[attribute][chosen], boxes.highs[attribute][chosen]
    ends = np.sort(np.concatenate([lows[lows != LEAST], highs[highs != GREATEST]]))
    best = Blocks(attribute, ends[:0])
    count = 2
    while ends.size and count <= _MOST_BLOCKS:
        blocks = Blocks(attribute, np.unique(ends[np.arange(1, count) * ends.size // count]))
        if 1 + np.mean(blocks.of(highs) - blocks.of(lows)) > _BLOCKS_OF_BOX:
            break
        best, count = blocks, 2 * count
    return best


def shares(boxes: Boxes, blocks: Blocks, codes: Ints) -> npt.NDArray[np.float64]:
    """For each of some tuples, what part of all boxes is in its block."""
    chosen = some(boxes.members.size, _SAMPLED_BOXES)
    first, last = (blocks.of(sides[blocks.attribute][chosen]) for sides in (boxes.lows, boxes.highs))
    count = blocks.cuts.size + 2
    inside = np.cumsum(np.bincount(first, minlength=count) - np.bincount(last + 1, minlength=count))
    return inside[blocks.of(codes)] / chosen.size


def in_blocks(boxes: Boxes, blocks: Blocks) -> Boxes:
    """Each box once for each block that it touches."""
    first, last = (blocks.of(sides[blocks.attribute]) for sides in (boxes.lows, boxes.highs))
    touched = last - first + 1
    copies = np.repeat(np.arange(touched.size), touched)
    number = np.arange(copies.size) - np.repeat(np.cumsum(touched) - touched, touched)  # among those of the same box
    block = first[copies] + number
    return replace(
        boxes,
        members=boxes.members[copies],
        lows={**{name: low[copies] for name, low in boxes.lows.items()}, blocks.name: block},
        highs={**{name: high[copies] for name, high in boxes.highs.items()}, blocks.name: block},
    )
