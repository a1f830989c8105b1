"""The tuples of one stream as they stand now: what revisions of past tuples refer to."""

from __future__ import annotations

from collections.abc import Iterator

from eddyline.errors import NoSuchTuple
from eddyline.reference.element import Change, Row, Stamped, Values


class StreamLog:
    """Indexes are given in order of arrival and never given again."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._last = 0  # how many tuples have come
        self._standing: dict[int, Stamped] = {}

    @property
    def arrived(self) -> int:
        """How many tuples have come, standing or not."""
        return self._last

    def insert(self, tick: int, values: Values) -> Change:
        self._last += 1
        stamped = Stamped(tick, Row(values))
        self._standing[self._last] = stamped
        return Change(self._last, None, stamped)

    def delete(self, index: int) -> Change:
        return Change(index, self._take(index), None)

    def replace(self, index: int, tick: int, values: Values) -> Change:
        old = self._take(index)
        new = Stamped(tick, Row(values))
        self._standing[index] = new
        return Change(index, old, new)

    def _take(self, index: int) -> Stamped:
        found = self._standing.pop(index, None)
        if found is None:
            known = f"{self.name} has tuples 1 to {self._last}" if self._last else f"{self.name} has no tuples yet"
            reason = f"tuple {index} is deleted already" if 1 <= index <= self._last else known
            raise NoSuchTuple(f"_ref {index}: {reason}")
        return found

    def __getitem__(self, index: int) -> Stamped | None:
        return self._standing.get(index)

    def standing(self) -> Iterator[tuple[int, Stamped]]:
        return iter(sorted(self._standing.items()))
