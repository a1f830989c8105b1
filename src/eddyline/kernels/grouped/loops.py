"""The loops over tuples, constants and pairs, compiled. All they know is numpy arrays.

They stand in one file because numba compiles anew what it has kept only when the file of the function has changed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eddyline.columnar.compiled import compiled

Ints = npt.NDArray[np.int64]
ShortInts = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Int = int | np.int64

LEAST, GREATEST = -(2**63), 2**63 - 1
#: the bits of infinity, and of the one NaN that stands for all
_INFINITY, _NAN = 0x7FF0_0000_0000_0000, 0x7FF8_0000_0000_0000
#: a pass of the radix sort has at most so many buckets (as bits): their write positions stay in the fastest cache
_DIGIT = 11
#: an index that is known not to be negative: numba need not look whether it counts from the end, which takes half the
#: time of the innermost loops
_at = np.uint64


# -- codes ------------------------------------------------------------------------------------------------------------


@compiled("void(int64[::1])")
def order_floats(bits: Ints) -> None:
    """The bits of doubles, made integers of the same order in place: -0.0 = 0.0, and NaN = NaN above everything."""
    for i in range(bits.size):
        magnitude = bits[i] & GREATEST
        if magnitude > _INFINITY:
            bits[i] = _NAN
        elif bits[i] < 0:
            bits[i] = -magnitude


@compiled("int64(uint8[::1], int64, int64)")
def _head(data: Bytes, begin: Int, end: Int) -> Int:
    """The first eight bytes as an integer of the same order; what is shorter is filled up with zeros."""
    head = np.int64(0)
    for i in range(8):
        head = head << 8 | (np.int64(data[begin + i]) if begin + i < end else np.int64(0))
    return head ^ LEAST


@compiled("int64[::1](int64[::1], uint8[::1])")
def heads(offsets: Ints, data: Bytes) -> Ints:
    found = np.empty(offsets.size - 1, np.int64)
    for i in range(found.size):
        found[i] = _head(data, offsets[i], offsets[i + 1])
    return found


@compiled("boolean(uint8[::1], int64, int64, uint8[::1], int64, int64)")
def _is_less(data: Bytes, begin: Int, end: Int, other: Bytes, other_begin: Int, other_end: Int) -> bool:
    shorter = min(end - begin, other_end - other_begin)
    for i in range(shorter):
        a, b = data[begin + i], other[other_begin + i]
        if a != b:
            return bool(a < b)
    return bool(shorter < other_end - other_begin)


@compiled("int64[::1](int64[::1], uint8[::1], int64[::1], uint8[::1], int64[::1])")
def rank_bytes(offsets: Ints, data: Bytes, sorted_offsets: Ints, sorted_data: Bytes, sorted_heads: Ints) -> Ints:
    """The place of each text among sorted ones that are all different: 2 r + 1 if it is the r-th, 2 r if before it."""
    ranks = np.empty(offsets.size - 1, np.int64)
    for i in range(ranks.size):
        begin, end = offsets[i], offsets[i + 1]
        head = _head(data, begin, end)
        low, high = 0, sorted_heads.size
        while low < high:
            middle = (low + high) >> 1
            less = sorted_heads[middle] < head
            if sorted_heads[middle] == head:
                less = _is_less(sorted_data, sorted_offsets[middle], sorted_offsets[middle + 1], data, begin, end)
            if less:
                low = middle + 1
            else:
                high = middle
        equal = (
            low < sorted_heads.size
            and sorted_heads[low] == head
            and not _is_less(data, begin, end, sorted_data, sorted_offsets[low], sorted_offsets[low + 1])
        )
        ranks[i] = 2 * low + 1 if equal else 2 * low
    return ranks


# -- finding ----------------------------------------------------------------------------------------------------------


@compiled("int64(int64[:, ::1], int64)")
def _hashed(keys: Ints, i: Int) -> Int:
    """Of the i-th column; multiplied and shifted so that dense and sparse codes spread alike."""
    hashed = np.int64(0)
    for k in range(keys.shape[0]):
        hashed = (hashed ^ keys[k, i]) * np.int64(-7046029254386353131)
        hashed ^= (hashed >> 32) & np.int64(0xFFFFFFFF)
    return hashed


@compiled("int32[::1](int64[:, ::1], int64)")
def hash_table(keys: Ints, size: Int) -> ShortInts:
    """The places of keys that are all different, in a table of a power of two of slots; -1 is an empty slot."""
    slots = np.full(size, -1, np.int32)
    for i in range(keys.shape[1]):
        slot = _hashed(keys, i) & (size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = i
    return slots


@compiled("int64(int32[::1], int64[:, ::1], int64[:, ::1], int64)")
def _looked_up(slots: ShortInts, keys: Ints, wanted: Ints, i: Int) -> Int:
    slot = _hashed(wanted, i) & (slots.size - 1)
    while slots[slot] >= 0:
        place = np.int64(slots[slot])
        same = True
        for k in range(keys.shape[0]):
            same = same and keys[k, place] == wanted[k, i]
        if same:
            return place
        slot = (slot + 1) & (slots.size - 1)
    return -1


@compiled(
    "int64(int64[::1], int64, int64[:, ::1], int32[::1], int64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1])"
)
def locate(
    rows: Ints,
    shift: Int,
    wanted: Ints,
    slots: ShortInts,
    keys: Ints,
    values: Ints,
    cuts: Ints,
    group_starts: Ints,
    located: Ints,
) -> Int:
    """Writes leaf << shift | row for each row that has a leaf, and returns how many there are.

    The group of a row is looked up by its equal attributes; its leaf is the last of the group's cuts that is not above
    its value. Without cuts the group is the leaf.
    """
    count = 0
    for row in rows:
        leaf: Int = np.int64(0)
        if wanted.shape[0] > 0:
            leaf = _looked_up(slots, keys, wanted, row)
            if leaf < 0:
                continue
        if cuts.size > 0:
            value = values[row]
            low, length = group_starts[leaf], group_starts[leaf + 1] - group_starts[leaf]
            if value < cuts[low]:
                continue
            while length > 1:  # no branch that could be foretold wrongly
                half = length >> 1
                low += half * (cuts[_at(low + half)] <= value)
                length -= half
            leaf = low
        located[count] = leaf << shift | row
        count += 1
    return count


@compiled("int64(int64[::1], int64, int64[::1], int64[::1], int32[::1], int64, int32[::1], boolean, int64[::1])")
def locate_from_steps(
    rows: Ints,
    shift: Int,
    values: Ints,
    cuts: Ints,
    steps: ShortInts,
    step: Int,
    leaf_starts: ShortInts,
    is_listed: bool,
    located: Ints,
) -> Int:
    """As `locate`, where boxes are points in no attribute, so that there is one group.

    The codes from the first cut to the last are cut into steps of one size too, of 2 ** `step` codes; `steps` has the
    leaf in which each begins. So there is no search but among the few leaves of a step: searching all of them, one look
    has to wait for the other. If all boxes are listed at leaves, rows whose leaf has none are left out.
    """
    count = 0
    base, last = np.uint64(cuts[0]), np.uint64(steps.size - 1)
    for row in rows:
        value = values[_at(row)]
        if value < cuts[0]:
            continue
        place = (np.uint64(value) - base) >> np.uint64(step)  # the difference may be more than a signed number holds
        if place >= last:
            low, length = np.int64(steps[last]), np.int64(1)
        else:
            low = np.int64(steps[place])
            length = np.int64(steps[place + np.uint64(1)]) - low + 1
        while length > 1:
            half = length >> 1
            low += half * (cuts[_at(low + half)] <= value)
            length -= half
        if is_listed and leaf_starts[_at(low)] == leaf_starts[_at(low + 1)]:
            continue
        located[_at(count)] = low << shift | row
        count += 1
    return count


@compiled("int64(int32[::1], int64, int64, int64)")
def _end_of_low(keys: ShortInts, begin: Int, end: Int, leaf: Int) -> Int:
    """The first place from `begin` whose key is above the leaf, `end` if there is none."""
    while begin + 16 <= end and keys[begin + 15] <= leaf:
        begin += 16
    while begin < end and keys[begin] <= leaf:
        begin += 1
    return begin


@compiled("int64(int32[::1], int64, int64, int64)")
def _end_of_high(keys: ShortInts, begin: Int, end: Int, leaf: Int) -> Int:
    """The first place from `begin` whose key is below the leaf, `end` if there is none."""
    while begin + 16 <= end and keys[begin + 15] >= leaf:
        begin += 16
    while begin < end and keys[begin] >= leaf:
        begin += 1
    return begin


@compiled("int64(int64, int64, int32[::1], int64[:, ::1], int64[:, ::1], int64, int64, int64[::1], int64)")
def _checked(
    begin: Int, end: Int, members: ShortInts, sides: Ints, values: Ints, row: Int, shift: Int, found: Ints, used: Int
) -> Int:
    """Appends the pairs of the row with those boxes from `begin` to `end` whose other sides hold its values too."""
    dimensions = values.shape[0]
    if dimensions == 0:
        for place in range(begin, end):
            found[_at(used)] = np.int64(members[_at(place)]) << shift | row
            used += 1
    elif dimensions == 1:
        value = values[0, row]
        for place in range(begin, end):  # written in any case, kept if it matches: cheaper than a branch
            found[_at(used)] = np.int64(members[_at(place)]) << shift | row
            used += (sides[_at(place), 0] <= value) & (value <= sides[_at(place), 1])
    else:
        for place in range(begin, end):
            inside = True
            for k in range(dimensions):
                value = values[_at(k), _at(row)]
                inside &= (sides[_at(place), _at(2 * k)] <= value) & (value <= sides[_at(place), _at(2 * k + 1)])
            found[_at(used)] = np.int64(members[_at(place)]) << shift | row
            used += inside
    return used


@compiled(
    "int64(int64[::1], int64, int64, int32[::1], int32[::1], int64[:, ::1], int64, int32[::1], int32[::1],"
    " int32[::1], int32[::1], int64[:, ::1], int32[::1], int32[::1], int64[:, ::1],"
    " int64[:, ::1], int64[::1], int64[::1])"
)
def walk(
    located: Ints,
    begin: Int,
    shift: Int,
    leaf_starts: ShortInts,
    leaf_members: ShortInts,
    leaf_sides: Ints,
    height: Int,
    levels: ShortInts,
    node_starts: ShortInts,
    low_keys: ShortInts,
    low_members: ShortInts,
    low_sides: Ints,
    high_keys: ShortInts,
    high_members: ShortInts,
    high_sides: Ints,
    values: Ints,
    found: Ints,
    tally: Ints,
) -> Int:
    """Appends member << shift | row for each box that a row is in: those of its leaf, then up the tree from there.

    Stops before the first row for which there might not be room, and returns its place. The tally: pairs appended so
    far, boxes looked at so far.
    """
    mask = (np.int64(1) << shift) - 1
    for i in range(begin, located.size):
        leaf, row = located[i] >> shift, located[i] & mask
        first = np.int64(leaf_starts[leaf])
        end: Int = np.int64(leaf_starts[leaf + 1])
        used, looked_at = tally[0], end - first
        if used + looked_at > found.size:
            return i
        used = _checked(first, end, leaf_members, leaf_sides, values, row, shift, found, used)
        for level in levels:
            node = (np.int64(1) << (height - level)) + (leaf >> level)
            first, last = np.int64(node_starts[node]), np.int64(node_starts[node + 1])
            if first == last:
                continue
            # the boxes of a node all hold its middle: left of it only where they begin matters, right of it the end
            left = (leaf >> (level - 1)) & 1 == 0
            end = _end_of_low(low_keys, first, last, leaf) if left else _end_of_high(high_keys, first, last, leaf)
            if used + end - first > found.size:
                return i
            looked_at += end - first
            if left:
                used = _checked(first, end, low_members, low_sides, values, row, shift, found, used)
            else:
                used = _checked(first, end, high_members, high_sides, values, row, shift, found, used)
        tally[0] = used
        tally[1] += looked_at
    return located.size


@compiled("int32[::1](int64[::1], int64[::1], int64[::1], int32[::1])")
def boxes_by_leaf(chosen: Ints, first: Ints, last: Ints, starts: ShortInts) -> ShortInts:
    """Which of the chosen boxes hold each leaf, one leaf after the other."""
    ends = starts.copy()
    listed = np.empty(starts[-1], np.int32)
    for box in chosen:
        for leaf in range(first[box], last[box] + 1):
            listed[ends[leaf]] = box
            ends[leaf] += 1
    return listed


@compiled("void(int64[::1], int64[::1], int64[:, ::1], int64[:, ::1], int64[:, ::1], int64[::1])")
def count_inside(groups: Ints, box_groups: Ints, values: Ints, lows: Ints, highs: Ints, counts: Ints) -> None:
    """For each attribute, how many pairs of a tuple and a box of the same group it lets through."""
    for i in range(groups.size):
        for box in range(box_groups.size):
            if groups[i] == box_groups[box]:
                for k in range(counts.size):
                    counts[k] += (lows[k, box] <= values[k, i]) & (values[k, i] <= highs[k, box])


# -- sorting ----------------------------------------------------------------------------------------------------------


@compiled("UniTuple(int64[::1], 2)(int64[::1], int64, int64)")
def radix_sorted(keys: Ints, low_bit: Int, high_bit: Int) -> tuple[Ints, Ints]:
    """Sorted by the bits from `low_bit` up to `high_bit`, stably. The keys given are overwritten.

    The second array is scratch paper: memory that has been used before costs much less than new one.
    """
    other = np.empty_like(keys)
    bits = high_bit - low_bit
    passes = (bits + _DIGIT - 1) // _DIGIT
    for number in range(passes):
        low = low_bit + bits * number // passes
        digit = low_bit + bits * (number + 1) // passes - low
        mask = (np.int64(1) << digit) - 1
        ends = np.zeros((np.int64(1) << digit) + 1, np.int64)
        for key in keys:
            ends[_at(((key >> low) & mask) + 1)] += 1
        for i in range(1, ends.size):
            ends[i] += ends[i - 1]
        for key in keys:
            bucket = _at((key >> low) & mask)
            other[_at(ends[bucket])] = key
            ends[bucket] += 1
        keys, other = other, keys
    return keys, other


@compiled("int64(int64[::1])")
def drop_repeated(keys: Ints) -> Int:
    """Moves each key of a sorted array to the front once, and returns how many there are."""
    kept = 0
    for i in range(keys.size):
        if kept == 0 or keys[i] != keys[kept - 1]:
            keys[kept] = keys[i]
            kept += 1
    return kept


@compiled("void(int64[::1], int64, int64[::1], int64[::1])")
def unpack(keys: Ints, shift: Int, ids: Ints, members: Ints) -> None:
    """Leaves the rows in place of the keys, and writes the ids of the members."""
    mask = (np.int64(1) << shift) - 1
    for i in range(keys.size):
        members[i] = ids[keys[i] >> shift]
        keys[i] &= mask
