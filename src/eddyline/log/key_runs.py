"""Which tuples may have a key, by the key's hash: sorted runs in memory, merged as they grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
#: what stands in place of an index whose entry is dropped; indexes count from 1
_DROPPED = 0


@dataclass
class _Run:
    """Entries in the order of their hashes."""

    hashes: Array  # of 64 bits
    index: Array
    tick: Array
    seq: Array

    def __len__(self) -> int:
        return len(self.hashes)

    def places(self, hashes: Array) -> tuple[Array, Array]:
        """Where the run has these hashes: positions among those asked for, and in the run."""
        first: Array = np.searchsorted(self.hashes, hashes, "left")
        counts = np.searchsorted(self.hashes, hashes, "right") - first
        asked = np.repeat(np.arange(len(hashes)), counts)
        begins = np.cumsum(counts) - counts  # of each hash's places among all that are found
        return asked, first[asked] + np.arange(len(asked)) - begins[asked]


class KeyRuns:
    """Entries of hash, index, tick and place in the log, one for each tuple that stands within the horizon.

    32 bytes each: the tick says when an entry may be forgotten, and the place which segment has the tuple's last
    version. A new batch is a run of its own. Each run is at least twice as long as the next one, so there are few, and
    an entry is merged a few times in its life. Entries that were dropped, or are beyond the horizon, go when their run
    is merged.
    """

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def find(self, hashes: Array, horizon: int) -> tuple[Array, Array]:
        """All tuples within the horizon whose keys have one of these (different) hashes: indexes and places."""
        index, seq = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for run in self._runs:
            _, at = run.places(hashes)
            at = at[(run.index[at] != _DROPPED) & (run.tick[at] >= horizon)]
            index.append(run.index[at])
            seq.append(run.seq[at])
        return np.concatenate(index), np.concatenate(seq)

    def add(self, hashes: Array, index: Array, tick: Array, seq: Array, horizon: int) -> None:
        """Entries for tuples that have none under these hashes."""
        if not len(hashes):
            return
        self._runs.append(_sorted(hashes, index, tick, seq))
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            self._runs.append(_merged(self._runs.pop(), self._runs.pop(), horizon))

    def drop(self, hashes: Array, index: Array) -> None:
        for run in self._runs:
            asked, at = run.places(hashes)
            run.index[at[run.index[at] == index[asked]]] = _DROPPED

    def move(self, hashes: Array, index: Array, tick: Array, seq: Array) -> None:
        """Tuples that keep their keys have new versions."""
        for run in self._runs:
            asked, at = run.places(hashes)
            same = run.index[at] == index[asked]
            run.tick[at[same]], run.seq[at[same]] = tick[asked[same]], seq[asked[same]]


def _sorted(hashes: Array, index: Array, tick: Array, seq: Array) -> _Run:
    order = np.argsort(hashes)
    return _Run(hashes[order], index[order], tick[order], seq[order])


def _merged(one: _Run, other: _Run, horizon: int) -> _Run:
    hashes, index, tick, seq = (
        np.concatenate([getattr(one, name), getattr(other, name)]) for name in ("hashes", "index", "tick", "seq")
    )
    kept = (index != _DROPPED) & (tick >= horizon)
    return _sorted(hashes[kept], index[kept], tick[kept], seq[kept])
