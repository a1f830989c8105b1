"""Which tuples an alternative may be true for, as far as some attributes tell that are known before the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from eddyline.kernels.grouped.alternative import Alternative, Found
from eddyline.kernels.grouped.batch import Batch
from eddyline.kernels.grouped.boxes import Boxes
from eddyline.kernels.grouped.codes import Bools
from eddyline.kernels.grouped.loops import Ints

#: finding out that so many members may want some tuples costs more than it can save
_MOST_PAIRS = 4_000_000


@dataclass(frozen=True)
class Union:
    """Intervals of codes that do not meet, in order."""

    lows: Ints
    highs: Ints

    @classmethod
    def of(cls, lows: Ints, highs: Ints) -> Union:
        """All codes that are in some of the intervals.

        >>> Union.of(np.array([5, 1, 2]), np.array([9, 3, 2]))
        Union(lows=array([1, 5]), highs=array([3, 9]))
        """
        order = np.argsort(lows, kind="stable")
        lows, highs = lows[order], np.maximum.accumulate(highs[order])
        begins = np.flatnonzero(np.concatenate([[True], lows[1:] > highs[:-1]]))
        return cls(lows[begins], highs[np.concatenate([begins[1:] - 1, [lows.size - 1]])])

    def holds(self, codes: Ints) -> Bools:
        place = np.searchsorted(self.lows, codes, side="right") - 1
        return np.asarray((place >= 0) & (codes <= self.highs[place]))


class Possible:
    """What the boxes of an alternative say about some of their attributes."""

    def __init__(self, boxes: Boxes) -> None:
        self._boxes = boxes
        self._unions: dict[str, Union] = {}
        self._indexes: dict[frozenset[str], Alternative] = {}

    def asks_for(self, attribute: str) -> bool:
        boxes = self._boxes
        return attribute in boxes.lows or attribute in boxes.common or attribute in boxes.present | boxes.missing

    def by(self, attributes: frozenset[str], batch: Batch) -> Bools:
        """The tuples for which the ranges of these attributes are true for some member; maybe some more."""
        boxes = _only(self._boxes, attributes)
        found = np.zeros(batch.size, np.bool_)
        rows = batch.rows(boxes)
        for name in boxes.lows:
            rows = rows[self._union(name).holds(batch.codes(name)[rows])]
        found[rows] = True
        if len(boxes.lows) > 1 and rows.size:
            found &= self._by_index(attributes, boxes, batch)
        return found

    def _by_index(self, attributes: frozenset[str], boxes: Boxes, batch: Batch) -> Bools:
        """Several attributes at once: each may be in the range of some member, but not all in those of one."""
        if attributes not in self._indexes:
            self._indexes[attributes] = Alternative(boxes)
        found = Found(max(1, batch.size.bit_length()), 8 * batch.size + 1024, _MOST_PAIRS)
        if not self._indexes[attributes].find(batch, found):
            return np.ones(batch.size, np.bool_)
        holds = np.zeros(batch.size, np.bool_)
        holds[found.keys[: found.tally[0]] & ((1 << found.shift) - 1)] = True
        return holds

    def _union(self, name: str) -> Union:
        if name not in self._unions:
            self._unions[name] = Union.of(self._boxes.lows[name], self._boxes.highs[name])
        return self._unions[name]


def _only(boxes: Boxes, attributes: frozenset[str]) -> Boxes:
    return replace(
        boxes,
        lows={name: low for name, low in boxes.lows.items() if name in attributes},
        highs={name: high for name, high in boxes.highs.items() if name in attributes},
        common={name: box for name, box in boxes.common.items() if name in attributes},
        present=boxes.present & attributes,
        missing=boxes.missing & attributes,
    )
