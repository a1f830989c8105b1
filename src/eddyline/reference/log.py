"""The tuples of one stream as they stand now: what revisions of past tuples refer to, and how far back they may go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eddyline.algebra.key import has_it_already, moved_too_far, nobody_has, shown_key, would_both_have
from eddyline.algebra.retention import beyond, horizon_of, out_of_reach, reaching
from eddyline.errors import BeyondRetention, DuplicateKey, NoSuchTuple
from eddyline.reference.element import Change, Row, Stamped, Values
from eddyline.reference.value import row_key


class StreamLog:
    """Indexes are given in order of arrival and never given again.

    What lies before the horizon stays as it is. A revision says which horizon it meets: for a row that arrives it is
    the log's own, for a statement, which is one step, it is the one that stood when the statement came.

    With a key (columns by name and position), no two tuples within the horizon have the same values in these. What lies
    before it has no key any more, so that whoever forgets it gives the same answers.
    """

    def __init__(
        self, name: str, retain: int | None = None, key: Sequence[str] = (), key_positions: Sequence[int] = ()
    ) -> None:
        self.name = name
        self.top: int | None = None  # the largest tick of all tuples that have come, standing or not
        self._retain = retain
        self._points: dict[str, tuple[int, int]] = {}  # by connection point, how far back it reaches and not beyond
        self._key, self._key_positions = key, key_positions
        self._last = 0  # how many tuples have come
        self._standing: dict[int, Stamped] = {}
        self._deleted: dict[int, int] = {}  # the ticks at which deleted tuples stood
        self._holders: dict[Values, int] = {}  # the latest standing tuple with each key

    @property
    def arrived(self) -> int:
        """How many tuples have come, standing or not."""
        return self._last

    @property
    def horizon(self) -> int | None:
        """The smallest tick that is still taken; None if all are."""
        return horizon_of(self.top, self._retain, tuple(self._points.values()))

    def connect(self, point: str, ticks: int | None) -> None:
        """Take what comes so late from now on; None: however late. What is out of reach by now stays so."""
        self._points[point] = reaching(ticks, self.horizon)

    def disconnect(self, point: str) -> None:
        self._points.pop(point, None)

    def insert(self, tick: int, values: Values) -> Change:
        """A new tuple, or the new version of the one that has its key."""
        self._check(f"tick {tick}", tick, self.horizon)
        holder = self._holder(values, self.horizon)
        if holder is not None:
            return self._put(holder, tick, values)
        self._last += 1
        return self._put(self._last, tick, values)

    # -- revisions by index -------------------------------------------------------------------------------------------

    def delete(self, index: int, horizon: int | None) -> Change:
        self._revisable(index, horizon)
        return self._take_away(index)

    def replace(self, index: int, tick: int, values: Values, horizon: int | None) -> Change:
        self._revisable(index, horizon)
        self._check(f"_ref {index}: its new tick {tick}", tick, horizon)
        holder = self._holder(values, horizon)
        if holder is not None and holder != index:
            raise DuplicateKey(has_it_already(index, holder, self._shown(values)))
        return self._put(index, tick, values)

    # -- revisions by key ---------------------------------------------------------------------------------------------

    def delete_by_key(self, values: Values) -> Change:
        """`values` needs those of the key only."""
        return self._take_away(self._named(values))

    def replace_by_key(self, tick: int | None, values: Values) -> Change:
        """Without a tick it keeps that of the tuple."""
        index = self._named(values)
        new = self._standing[index].tick if tick is None else tick
        horizon = self.horizon
        if horizon is not None and new < horizon:
            raise BeyondRetention(moved_too_far(self._shown(values), new, horizon, self.name))
        return self._put(index, new, values)

    # -- revisions by a statement -------------------------------------------------------------------------------------

    def replace_all(self, new: Sequence[tuple[int, int, Values]], horizon: int | None) -> list[Change]:
        """New versions (index, tick, values) of tuples within the horizon, in one step.

        Keys count as they are after all of it: tuples may exchange theirs. If two would have the same, nothing changes.
        """
        revised = {index for index, _, _ in new}
        holders: dict[Values, int] = {}
        for index, _, values in new if self._key else ():
            holder = holders.setdefault(self._key_of(values), index)
            if holder == index:
                standing = self._holder(values, horizon)
                holder = index if standing is None or standing in revised else standing
            if holder != index:
                raise DuplicateKey(would_both_have(holder, index, self.name, self._shown(values)))
        return [self._put(index, tick, values) for index, tick, values in new]

    # -- what stands --------------------------------------------------------------------------------------------------

    def _put(self, index: int, tick: int, values: Values) -> Change:
        old = self._standing.get(index)
        if old is not None:
            self._give_up_key(index, old)
        self._standing[index] = new = Stamped(tick, Row(values))
        if self._key:
            self._holders[self._key_of(values)] = index
        self.top = tick if self.top is None else max(self.top, tick)
        return Change(index, old, new)

    def _take_away(self, index: int) -> Change:
        old = self._standing.pop(index)
        self._give_up_key(index, old)
        self._deleted[index] = old.tick
        return Change(index, old, None)

    def _give_up_key(self, index: int, old: Stamped) -> None:
        key = self._key_of(old.row.values)
        if self._holders.get(key) == index:  # else another has it by now
            del self._holders[key]

    def _key_of(self, values: Values) -> Values:
        return row_key(tuple(values[position] for position in self._key_positions))

    def _shown(self, values: Values) -> str:
        return shown_key(self._key, [values[position] for position in self._key_positions])

    def _holder(self, values: Values, horizon: int | None) -> int | None:
        """The tuple within the horizon that has the key of some values."""
        index = self._holders.get(self._key_of(values)) if self._key else None
        if index is None or (horizon is not None and self._standing[index].tick < horizon):
            return None
        return index

    def _named(self, values: Values) -> int:
        index = self._holder(values, self.horizon)
        if index is None:
            raise NoSuchTuple(nobody_has(self._shown(values), self.name, self._retain is not None))
        return index

    def _check(self, what: str, tick: int, horizon: int | None) -> None:
        if horizon is not None and tick < horizon:
            raise BeyondRetention(beyond(what, tick, horizon, self.name))

    def _revisable(self, index: int, horizon: int | None) -> None:
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

    def __getitem__(self, index: int) -> Stamped | None:
        return self._standing.get(index)

    def standing(self) -> Iterator[tuple[int, Stamped]]:
        return iter(sorted(self._standing.items()))
