"""The tuples of a stream that stand, in order of time. What windows are cut from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from eddyline.reference.element import Change, Row


class History:
    """Tuples by (tick, index). A change takes the old version out and puts the new one in."""

    def __init__(self) -> None:
        self._order: list[tuple[int, int]] = []
        self._rows: dict[tuple[int, int], Row] = {}

    def apply(self, change: Change) -> None:
        for weight, stamped in change.weights():
            place = (stamped.tick, change.index)
            if weight > 0:
                insort(self._order, place)
                self._rows[place] = stamped.row
            else:
                del self._order[bisect_left(self._order, place)]
                del self._rows[place]

    def between(self, left: int, right: int) -> tuple[Row, ...]:
        """The tuples with left ≤ tick ≤ right, oldest first."""
        start = bisect_left(self._order, (left, 0))
        end = bisect_right(self._order, (right, 2**63))
        return tuple(self._rows[place] for place in self._order[start:end])

    def latest_first(self, tick: int) -> Iterator[Row]:
        """The tuples with ticks up to `tick`, latest first."""
        for i in range(bisect_right(self._order, (tick, 2**63)) - 1, -1, -1):
            yield self._rows[self._order[i]]
