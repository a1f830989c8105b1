"""Stretches of a log of slices that a batch has made anew: what earlier segments say of them does not count any more.

Each has its ends and the number of the batch. Of a segment that is merged of earlier and of later ones, the merge has
left out what does not count, so that it counts as late as the latest of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from eddyline.log.segment import TICK, Segment

#: first tick, last tick, batch
Remade = tuple[tuple[int, int, int], ...]
#: so many batches at most have stretches that still matter: whoever reads slices has a condition for each
MOST = 32


def later_than(segment: Segment, remade: Remade) -> Remade:
    """The stretches that were made anew since a segment was written, as far as they are in it."""
    low, high = segment.tick
    return tuple(one for one in remade if segment.seq[1] < one[2] and one[0] <= high and low <= one[1])


def still_needed(remade: Remade, segments: Sequence[Segment]) -> Remade:
    """Those that make a difference to any of the segments, and are not part of later ones."""
    some = [one for one in remade if any(later_than(segment, (one,)) for segment in segments)]
    return tuple(one for one in some if not any(_covers(other, one) for other in some))


def _covers(later: tuple[int, int, int], one: tuple[int, int, int]) -> bool:
    return later[2] > one[2] and later[0] <= one[0] and one[1] <= later[1]


def has_room(remade: Remade) -> bool:
    return len({batch for _, _, batch in remade}) < MOST


def what_counts(table: pa.Table, segment: Segment, remade: Remade) -> pa.Table:
    """The rows of a segment without those of stretches that were made anew since."""
    spans = later_than(segment, remade)
    if not spans:
        return table
    ticks = table.column(TICK).to_numpy()
    gone = np.zeros(len(ticks), np.bool_)
    for low, high, _ in spans:
        gone |= (ticks >= low) & (ticks <= high)
    return table.filter(pa.array(~gone))
