"""The loops over keyed rows, compiled. All they know is numpy arrays.

Here alone rows are taken one after the other: what one does to a key decides what the next one with that key is, and
chains of rows by key and by index cross each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from eddyline.columnar.compiled import compiled

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

#: kinds of rows
OTHER, INSERT, REPLACE, DELETE = range(4)
#: what becomes of a row: it goes on as it is; it revises the tuple that has its key; it is set aside, because no tuple
#: has its key, because it would move its tuple beyond the horizon, or because another tuple has the key it would give
AS_IT_IS, REVISES, NOBODY, TOO_FAR, TAKEN = range(5)

_LOWEST = -(2**63)
_FNV_START, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@compiled("uint64[::1](int64[::1], uint8[::1])")
def hashes_of_texts(offsets: Ints, data: Bytes) -> Words:
    """FNV-1a of each text."""
    found = np.empty(offsets.size - 1, np.uint64)
    for i in range(found.size):
        word = _FNV_START
        for at in range(offsets[i], offsets[i + 1]):
            word = (word ^ np.uint64(data[at])) * _FNV_PRIME
        found[i] = word
    return found


@compiled(
    "void(int8[::1], boolean[::1], int64[::1], int64[::1], int64[::1], boolean[::1],"
    " int64[::1], int64[::1], boolean[::1], int64[::1], int64, int64, int64, int64[:, ::1], int8[::1],"
    " int64[::1], int64[::1])"
)
def decide(
    kind: npt.NDArray[np.int8],
    by_key: Flags,
    key: Ints,
    place: Ints,
    tick: Ints,
    has_tick: Flags,
    tuple_tick: Ints,
    tuple_key: Ints,
    stands: Flags,
    holder: Ints,
    fresh: int,
    top: int,
    retain: int,
    further: Ints,
    fate: npt.NDArray[np.int8],
    whose: Ints,
    horizons: Ints,
) -> None:
    """Decide about rows in their order, as `reference.log.StreamLog` does.

    Of each row: its kind, whether it names its tuple by key, the number of its key, the place of the tuple that it
    names by index (-1 if that is not there), its tick. Of each tuple by place: tick, key, whether it stands; the places
    from `fresh` on are for those that come. `holder` has the place of the tuple that has each key, -1 if none. `top` is
    the largest tick so far, `retain` -1 if all ticks are taken, `further` how far back connection points reach. Given
    back: the fate of each row, the place of the tuple that it is about (of the one that has its key, if it is TAKEN),
    and the horizon that it met.
    """
    for row in range(kind.size):
        horizon = _LOWEST
        if retain >= 0 and top >= _LOWEST + retain:
            horizon = top - retain
            for point in range(further.shape[0]):
                ticks, floor = further[point, 0], further[point, 1]
                reached = top - ticks if top >= _LOWEST + ticks else _LOWEST
                horizon = min(horizon, max(reached, floor))
        horizons[row] = horizon
        if kind[row] == OTHER:
            continue
        mine = -1
        if by_key[row]:
            mine = holder[key[row]]
            if mine >= 0 and tuple_tick[mine] < horizon:
                mine = -1
        else:
            mine = place[row]
            if mine >= fresh or mine < 0 or not stands[mine] or tuple_tick[mine] < horizon:
                continue
        whose[row] = mine
        if mine < 0:
            if kind[row] != INSERT:
                fate[row] = NOBODY
                continue
            if tick[row] < horizon:
                continue
            mine = fresh
            fresh += 1
            stands[mine] = True
            tuple_key[mine] = key[row]
            holder[key[row]] = mine
        elif kind[row] == DELETE:
            stands[mine] = False
            if holder[tuple_key[mine]] == mine:
                holder[tuple_key[mine]] = -1
            if by_key[row]:
                fate[row] = REVISES
            continue
        else:
            if not has_tick[row]:
                tick[row] = tuple_tick[mine]
            if tick[row] < horizon:
                if by_key[row] and kind[row] == REPLACE:
                    fate[row] = TOO_FAR
                continue
            if by_key[row]:
                fate[row] = REVISES
            elif key[row] != tuple_key[mine]:
                other = holder[key[row]]
                if other >= 0 and tuple_tick[other] >= horizon:
                    fate[row] = TAKEN
                    whose[row] = other
                    continue
                if holder[tuple_key[mine]] == mine:
                    holder[tuple_key[mine]] = -1
                tuple_key[mine] = key[row]
                holder[key[row]] = mine
        tuple_tick[mine] = tick[row]
        top = max(top, tick[row])
