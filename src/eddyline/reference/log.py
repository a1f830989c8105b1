"""The tuples of one stream as they stand now: what revisions of past tuples refer to, and how far back they may go."""

from __future__ import annotations

from collections.abc import Iterator

from eddyline.algebra.retention import beyond, horizon_of, out_of_reach
from eddyline.errors import BeyondRetention, NoSuchTuple
from eddyline.reference.element import Change, Row, Stamped, Values


class StreamLog:
    """Indexes are given in order of arrival and never given again.

    What lies before the horizon stays as it is. A revision says which horizon it meets: for a row that arrives it is
    the log's own, for a statement, which is one step, it is the one that stood when the statement came.
    """

    def __init__(self, name: str, retain: int | None = None) -> None:
        self.name = name
        self.top: int | None = None  # the largest tick of all tuples that have come, standing or not
        self._retain = retain
        self._last = 0  # how many tuples have come
        self._standing: dict[int, Stamped] = {}
        self._deleted: dict[int, int] = {}  # the ticks at which deleted tuples stood

    @property
    def arrived(self) -> int:
        """How many tuples have come, standing or not."""
        return self._last

    @property
    def horizon(self) -> int | None:
        """The smallest tick that is still taken; None if all are."""
        return horizon_of(self.top, self._retain)

    def insert(self, tick: int, values: Values) -> Change:
        self._check(f"tick {tick}", tick, self.horizon)
        self._last += 1
        return Change(self._last, None, self._put(self._last, tick, values))

    def delete(self, index: int, horizon: int | None) -> Change:
        old = self._revisable(index, horizon)
        del self._standing[index]
        self._deleted[index] = old.tick
        return Change(index, old, None)

    def replace(self, index: int, tick: int, values: Values, horizon: int | None) -> Change:
        old = self._revisable(index, horizon)
        self._check(f"_ref {index}: its new tick {tick}", tick, horizon)
        return Change(index, old, self._put(index, tick, values))

    def _put(self, index: int, tick: int, values: Values) -> Stamped:
        self._standing[index] = new = Stamped(tick, Row(values))
        self.top = tick if self.top is None else max(self.top, tick)
        return new

    def _check(self, what: str, tick: int, horizon: int | None) -> None:
        if horizon is not None and tick < horizon:
            raise BeyondRetention(beyond(what, tick, horizon, self.name))

    def _revisable(self, index: int, horizon: int | None) -> Stamped:
        if not 1 <= index <= self._last:
            known = f"{self.name} has tuples 1 to {self._last}" if self._last else f"{self.name} has no tuples yet"
            raise NoSuchTuple(f"_ref {index}: {known}")
        found = self._standing.get(index)
        tick = self._deleted[index] if found is None else found.tick
        # How far beyond, and whether it was deleted before, is not said: whoever forgets such tuples does not know.
        if horizon is not None and tick < horizon:
            raise BeyondRetention(f"_ref {index}: tuple {index} is {out_of_reach(self.name)}")
        if found is None:
            raise NoSuchTuple(f"_ref {index}: tuple {index} is deleted already")
        return found

    def __getitem__(self, index: int) -> Stamped | None:
        return self._standing.get(index)

    def standing(self) -> Iterator[tuple[int, Stamped]]:
        return iter(sorted(self._standing.items()))
