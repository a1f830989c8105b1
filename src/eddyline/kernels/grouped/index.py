"""An index of boxes: by the attributes in which they are points, and by the sides of one other attribute.

Boxes with the same points form a group, found by hashing. The sides of a group's boxes cut the codes of the other
attribute into elementary intervals, the leaves: a binary search gives the leaf of a value, and a box holds a value if
its leaf is among the leaves of the box.

A box of few leaves is listed at each of them, which is the fastest way to find it. Wider ones would be listed too
often. For them, the leaves of all groups stand in one row under one implicit binary tree, and a box lives in the lowest
node that has all its leaves below it (an interval tree). Each node lists its boxes twice, by their first leaf and by
their last leaf downwards: as they all hold the middle of the node, the boxes that hold a given leaf are the beginning
of one of the lists. So a tuple costs as much as it has candidates, plus at most a step for each level of the tree, for
narrow and wide and one-sided ranges alike, and the index takes memory in proportion to the boxes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eddyline.kernels.grouped.boxes import Boxes
from eddyline.kernels.grouped.loops import GREATEST, Ints, ShortInts, boxes_by_leaf, hash_table

#: so much memory, for each member, may be spent on listing boxes at leaves
_LISTED_BYTES = 64
#: … or so much in all: the caches hold it
_LISTED_BYTES_AT_LEAST = 1 << 21
#: so few are searched as fast
_FEW_CUTS = 16
#: as a power of two; each has four bytes
_MOST_STEPS = 22


@dataclass(frozen=True)
class Groups:
    """The different combinations of values of the equal attributes, and which of them each box has."""

    equal: tuple[str, ...]
    of_boxes: Ints
    keys: Ints  # an attribute a row, a group a column
    slots: ShortInts

    @property
    def count(self) -> int:
        return self.keys.shape[1] if self.equal else 1


def groups_of(boxes: Boxes) -> Groups:
    equal = boxes.equal
    if not equal:
        return Groups((), np.zeros(boxes.members.size, np.int64), np.zeros((0, 1), np.int64), np.zeros(1, np.int32))
    of_boxes = np.zeros(boxes.members.size, np.int64)
    for name in equal:  # one attribute after the other, so that a number below boxes × boxes tells a combination
        distinct, places = np.unique(boxes.lows[name], return_inverse=True)
        _, of_boxes = np.unique(of_boxes * distinct.size + places, return_inverse=True)
    first = np.zeros(int(of_boxes.max()) + 1, np.int64)
    first[of_boxes] = np.arange(of_boxes.size)  # any box of the group tells its values
    keys = np.stack([boxes.lows[name][first] for name in equal])
    size = 1 << int(2 * first.size).bit_length()
    return Groups(equal, of_boxes, keys, hash_table(keys, size))


@dataclass(frozen=True)
class Listed:
    """Boxes in some order."""

    leaves: ShortInts  # what they are ordered by inside of a node
    members: ShortInts
    sides: Ints  # a box a row: low and high of each attribute that is still to be checked

    @property
    def bytes(self) -> int:
        return self.leaves.nbytes + self.members.nbytes + self.sides.nbytes


@dataclass(frozen=True)
class Steps:
    """The codes from the first cut to the last in steps of 2 ** `size`, and in which leaf each begins."""

    size: int
    leaves: ShortInts


@dataclass(frozen=True)
class Tree:
    """The root is node 1; below node n are 2 n and 2 n + 1; the leaves are the last nodes."""

    height: int
    levels: ShortInts  # those with boxes, the leaves being level 0
    starts: ShortInts  # where the boxes of each node begin in the lists
    by_first: Listed
    by_last: Listed


@dataclass(frozen=True)
class Index:
    """What `loops.locate` and `loops.walk` need."""

    groups: Groups
    access: str | None  # the attribute of the leaves; None: the groups are the leaves
    cuts: Ints  # where each leaf begins
    group_starts: Ints  # where the leaves of each group begin
    steps: Steps | None  # where to look for the leaf of a value, if all boxes are of one group
    leaf_starts: ShortInts  # where the boxes of each leaf begin in the list
    by_leaf: Listed
    tree: Tree
    checked: tuple[str, ...]
    first: ShortInts  # by box, its first and its last leaf
    last: ShortInts

    @property
    def leaves(self) -> int:
        return self.leaf_starts.size - 1

    @property
    def bytes(self) -> int:
        arrays = (self.groups.keys, self.groups.slots, self.cuts, self.group_starts, self.leaf_starts, self.tree.starts)
        lists = (self.by_leaf, self.tree.by_first, self.tree.by_last)
        steps = 0 if self.steps is None else self.steps.leaves.nbytes
        return steps + sum(array.nbytes for array in arrays) + sum(listed.bytes for listed in lists)


def index_of(boxes: Boxes, groups: Groups, access: str | None, members: int) -> Index:
    """The members are those of the boxes; there may be several boxes of one, but no more memory for them."""
    if access is None:
        first = last = groups.of_boxes
        cuts, group_starts, leaves = np.zeros(0, np.int64), np.zeros(0, np.int64), groups.count
    else:
        first, last, cuts, group_starts = _leaves(boxes.lows[access], boxes.highs[access], groups)
        leaves = cuts.size
    checked = tuple(name for name in boxes.lows if name not in groups.equal and name != access)
    is_narrow = _are_narrow(last - first + 1, may_be_listed(members, len(checked)))
    narrow, wide = np.flatnonzero(is_narrow), np.flatnonzero(~is_narrow)
    leaf_starts = _starts(first[narrow], last[narrow], leaves)
    by_leaf = boxes_by_leaf(narrow, first, last, leaf_starts)
    return Index(
        groups,
        access,
        cuts,
        group_starts,
        _steps(cuts) if not groups.equal and cuts.size > _FEW_CUTS else None,
        leaf_starts,
        _listed(boxes, by_leaf, first[:0], checked),
        _tree(boxes, wide, first, last, leaves, checked),
        checked,
        first.astype(np.int32),
        last.astype(np.int32),
    )


def _steps(cuts: Ints) -> Steps:
    """About two for each cut. Codes of floating numbers lie close where they are small, so there some have none."""
    first, last = int(cuts[0]), int(cuts[-1])
    wanted = min(int(2 * cuts.size).bit_length(), _MOST_STEPS)
    size = max(0, (last - first).bit_length() - wanted)
    count = ((last - first) >> size) + 1
    begins = np.uint64(first % 2**64) + (np.arange(count, dtype=np.uint64) << np.uint64(size))
    leaves = np.searchsorted(cuts, begins.astype(np.int64), side="right") - 1
    return Steps(size, np.append(leaves, cuts.size - 1).astype(np.int32))


def may_be_listed(members: int, checked: int) -> int:
    """How often boxes may be listed at leaves, in all, if each has so many attributes that are still to be checked."""
    return max(_LISTED_BYTES * members, _LISTED_BYTES_AT_LEAST) // (4 + 16 * checked)


def _are_narrow(widths: Ints, listings: int) -> npt.NDArray[np.bool_]:
    """The narrowest boxes, so that listed at each of their leaves they are `listings` at most."""
    listed = np.cumsum(np.bincount(widths) * np.arange(widths.max() + 1))
    return widths < max(2, int(np.searchsorted(listed, listings, side="right")))


def _starts(first: Ints, last: Ints, leaves: int) -> ShortInts:
    """Where the boxes of each leaf begin, if each box is listed at each of its leaves."""
    change = np.bincount(first, minlength=leaves + 1) - np.bincount(last + 1, minlength=leaves + 1)
    starts = np.zeros(leaves + 1, np.int64)
    np.cumsum(np.cumsum(change[:leaves]), out=starts[1:])
    return starts.astype(np.int32)


def _tree(boxes: Boxes, wide: Ints, first: Ints, last: Ints, leaves: int, checked: tuple[str, ...]) -> Tree:
    height = int(leaves - 1).bit_length()
    first, last = first[wide], last[wide]
    # the lowest common ancestor of two leaves is as many levels up as their numbers differ in low bits
    levels = np.frexp((first ^ last).astype(np.float64))[1].astype(np.int64)
    nodes = (1 << (height - levels)) + (first >> levels)
    size = 2 << height if wide.size else 0
    starts = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(nodes, minlength=size), out=starts[1:])
    by_first = np.argsort(nodes << height | first)
    by_last = np.argsort(nodes << height | ((1 << height) - 1 - last))
    return Tree(
        height,
        np.unique(levels).astype(np.int32),
        starts,
        _listed(boxes, wide[by_first], first[by_first], checked),
        _listed(boxes, wide[by_last], last[by_last], checked),
    )


def _leaves(lows: Ints, highs: Ints, groups: Groups) -> tuple[Ints, Ints, Ints, Ints]:
    """The first and last leaf of each box, where each leaf begins, and where the leaves of each group begin."""
    ended = np.flatnonzero(highs != GREATEST)  # the others reach to the end of their group
    values, places = np.unique(np.concatenate([lows, highs[ended] + 1]), return_inverse=True)
    group = np.concatenate([groups.of_boxes, groups.of_boxes[ended]])
    cuts, leaves = np.unique(group * values.size + places, return_inverse=True)
    group_starts = np.searchsorted(cuts, np.arange(groups.count + 1) * values.size)
    last = group_starts[groups.of_boxes + 1] - 1
    last[ended] = leaves[lows.size :] - 1
    return leaves[: lows.size], last, values[cuts % values.size], group_starts


def _listed(boxes: Boxes, order: Ints | ShortInts, leaves: Ints, checked: tuple[str, ...]) -> Listed:
    sides = np.empty((order.size, 2 * len(checked)), np.int64)
    for k, name in enumerate(checked):
        sides[:, 2 * k] = boxes.lows[name][order]
        sides[:, 2 * k + 1] = boxes.highs[name][order]
    return Listed(leaves.astype(np.int32), boxes.members.astype(np.int32)[order], sides)
