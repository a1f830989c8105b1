"""One alternative of a form: its boxes, their index, and what is known of the tuples that it has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddyline.kernels.grouped.access import Access, ranged, ways
from eddyline.kernels.grouped.batch import Batch
from eddyline.kernels.grouped.blocks import in_blocks
from eddyline.kernels.grouped.boxes import Boxes
from eddyline.kernels.grouped.index import groups_of, index_of
from eddyline.kernels.grouped.loops import Int, Ints, ShortInts, locate, locate_from_steps, radix_sorted, walk
from eddyline.kernels.grouped.sample import SAMPLED_TUPLES, Sample, sample_of_constants, some

#: an index beyond it (in bytes) does not stay in the processor's caches, unless tuples with near leaves come together
_CACHED = 1 << 24


class Found:
    """Pairs found so far, each as member << shift | row."""

    def __init__(self, shift: int, room: int, most: int | None = None) -> None:
        self.shift = shift
        self.keys = np.empty(room, np.int64)
        self.tally = np.zeros(2, np.int64)  # pairs and candidates
        self.by_row = True  # whether rows stand in order
        self._most = most

    @property
    def is_too_much(self) -> bool:
        return self._most is not None and bool(self.tally[0] > self._most)

    def grow(self, at_least: int) -> None:
        longer = np.empty(max(2 * self.keys.size, int(self.tally[0]) + at_least), np.int64)
        longer[: self.tally[0]] = self.keys[: self.tally[0]]
        self.keys = longer


@dataclass(frozen=True)
class Spans:
    """Rows in an order in which those of each box stand beside each other."""

    rows: ShortInts
    starts: ShortInts  # by box
    ends: ShortInts


class Alternative:
    def __init__(self, boxes: Boxes) -> None:
        self.boxes = boxes
        self._groups = groups_of(boxes)
        self._sample: Sample | None = None
        self.rebuild(self.ways()[0])

    def rebuild(self, access: Access) -> None:
        """Finds boxes in this way from now on."""
        self.access = access
        boxes = self.boxes
        for blocks in access.blocks:
            boxes = in_blocks(boxes, blocks)
        groups = groups_of(boxes) if access.blocks else self._groups
        self._index = index_of(boxes, groups, access.attribute, self.boxes.members.size)

    @property
    def bytes(self) -> int:
        return self._index.bytes

    def find(self, batch: Batch, found: Found) -> bool:
        """Adds the pairs of a batch; false if they are too many, and then not all are there."""
        index, rows = self._index, batch.rows(self.boxes)
        if not rows.size:
            return True
        self._observe(batch, rows)
        located = self._located(batch, rows, found.shift)
        count = located.size
        if index.bytes > _CACHED and count > 1:
            located, _ = radix_sorted(located, found.shift, found.shift + int(index.leaves - 1).bit_length())
            found.by_row = False
        values, tree = batch.stacked(index.checked), index.tree
        begin: Int = 0
        while True:
            begin = walk(
                located,
                begin,
                found.shift,
                index.leaf_starts,
                index.by_leaf.members,
                index.by_leaf.sides,
                tree.height,
                tree.levels,
                tree.starts,
                tree.by_first.leaves,
                tree.by_first.members,
                tree.by_first.sides,
                tree.by_last.leaves,
                tree.by_last.members,
                tree.by_last.sides,
                values,
                found.keys,
                found.tally,
            )
            if found.is_too_much:
                return False
            if begin == count:
                return True
            found.grow(at_least=self.boxes.members.size)

    def spans(self, batch: Batch) -> Spans | None:
        """The rows in the order of their leaves, of which each box has some beside each other; pairs are not looked at.
        None if it takes more than the leaf of a row to tell whether a box holds it."""
        index = self._index
        if index.checked or self.access.blocks:
            return None
        shift = max(1, batch.size.bit_length())
        located = self._located(batch, batch.rows(self.boxes), shift)
        located, _ = radix_sorted(located, shift, shift + int(index.leaves - 1).bit_length())
        ends = np.zeros(index.leaves + 1, np.int32)
        np.cumsum(np.bincount(located >> shift, minlength=index.leaves), out=ends[1:])
        rows = (located & ((1 << shift) - 1)).astype(np.int32)
        return Spans(rows, ends[index.first], ends[index.last + 1])

    def _located(self, batch: Batch, rows: Ints, shift: int) -> Ints:
        """The leaves of rows, as leaf << shift | row."""
        index, located = self._index, np.empty(rows.size, np.int64)
        values = batch.codes(index.access) if index.access is not None else np.zeros(0, np.int64)
        if index.steps is not None:
            count = locate_from_steps(
                rows,
                shift,
                values,
                index.cuts,
                index.steps.leaves,
                index.steps.size,
                index.leaf_starts,
                not index.tree.levels.size,
                located,
            )
        else:
            groups, wanted = index.groups, self._wanted(batch)
            count = locate(
                rows, shift, wanted, groups.slots, groups.keys, values, index.cuts, index.group_starts, located
            )
        return located[:count]

    def _wanted(self, batch: Batch) -> Ints:
        """What tuples are grouped by, an attribute a row."""
        blocks = {each.name: each for each in self.access.blocks}
        if not blocks:
            return batch.stacked(self._index.groups.equal)
        names = self._index.groups.equal
        return np.stack(
            [blocks[n].of(batch.codes(blocks[n].attribute)) if n in blocks else batch.codes(n) for n in names]
        )

    def _observe(self, batch: Batch, rows: Ints) -> None:
        """Keeps some of the latest tuples, if there is a choice to be made from them."""
        if len(ranged(self.boxes, self._groups)) < 2:
            return
        chosen = rows[some(rows.size, SAMPLED_TUPLES)]
        older = self._sample or {}
        self._sample = {
            name: np.concatenate([older.get(name, chosen[:0]), batch.codes(name)[chosen]])[-SAMPLED_TUPLES:]
            for name in self.boxes.lows
        }

    def ways(self) -> list[Access]:
        """The ways to find boxes, the best first for tuples like those seen so far, if there were any."""
        return ways(self.boxes, self._groups, self._sample or sample_of_constants(self.boxes))
