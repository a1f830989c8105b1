"""From windows back to streams: RSTREAM, ISTREAM, DSTREAM (SNEEql Figure 8), and the changes of a CQL relation."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, zip_longest
from typing import Any

from eddyline.reference.bag import minus, same_rows, tagged_key
from eddyline.reference.element import (
    Change,
    RelationChange,
    Row,
    Stamped,
    StreamElement,
    Window,
    WindowChange,
    WindowElement,
    batches,
)
from eddyline.reference.value import order_key
from eddyline.reference.withholding import Flushed, Withholding

Key = Any
Share = Callable[[tuple[Row, ...], tuple[Row, ...]], list[Row]]


def all_rows(rows: tuple[Row, ...], _: tuple[Row, ...]) -> list[Row]:
    """RSTREAM: everything in the window."""
    return list(rows)


def inserted(rows: tuple[Row, ...], previous: tuple[Row, ...]) -> list[Row]:
    """ISTREAM: what was not in the window before."""
    return minus(rows, previous)


def deleted(rows: tuple[Row, ...], previous: tuple[Row, ...]) -> list[Row]:
    """DSTREAM: what is no longer in the window."""
    return minus(previous, rows)


class _Sequence:
    """The windows in the order of their list, each with the one before it."""

    def __init__(self) -> None:
        self._order: list[tuple[Any, Key]] = []
        self.windows: dict[Key, Window] = {}

    def apply(self, changes: list[WindowChange]) -> list[Key]:
        """Take changes in; returns the keys whose window or whose predecessor is different now, in order."""
        affected: set[Key] = set()
        orders: dict[Key, Any] = {}  # of windows that are gone
        for change in changes:
            if change.old is not None:
                orders[change.key] = change.old.order
                place = bisect_left(self._order, (change.old.order, change.key))
                del self._order[place]
                del self.windows[change.key]
                affected.add(change.key)
                if place < len(self._order):
                    affected.add(self._order[place][1])
            if change.new is not None:
                insort(self._order, (change.new.order, change.key))
                self.windows[change.key] = change.new
                affected.add(change.key)
                place = bisect_left(self._order, (change.new.order, change.key))
                if place + 1 < len(self._order):
                    affected.add(self._order[place + 1][1])
        orders.update({key: self.windows[key].order for key in affected if key in self.windows})
        return sorted(affected, key=lambda key: orders[key])

    def previous(self, key: Key) -> tuple[Row, ...]:
        place = bisect_left(self._order, (self.windows[key].order, key))
        return self.windows[self._order[place - 1][1]].rows if place else ()


def to_stream(
    elements: Iterator[WindowElement],
    share: Share,
    in_order: bool = False,
    withholding: Withholding | None = None,
    flushed: Flushed = lambda number: False,
) -> Iterator[StreamElement]:
    """What each window contributes, with its tick and a running index.

    A window is a bag: its tuples enter the stream in the order of their values, unless ORDER BY has put them in
    another one (`in_order`). So a row window over the stream does not depend on how the bag came about.

    When a window or the one before it is revised, its contribution is computed again: what is gone is withdrawn, what
    is new is put out, and as far as they can be paired, the new replaces the old under the same index. With
    `withholding`, a correction that does not matter leaves the contribution as it was.
    """
    following = count(1)
    sequence = _Sequence()
    given: dict[Key, list[tuple[int, Stamped]]] = {}
    withheld: set[Key] = set()  # windows of whose contribution a correction is withheld
    for number, (changes, clock) in enumerate(batches(elements)):
        affected = sequence.apply(changes)
        if flushed(number):
            later = withheld.difference(affected) & sequence.windows.keys()
            affected += sorted(later, key=lambda key: sequence.windows[key].order)
        _inherit(affected, sequence.windows, given)
        for key in affected:
            window = sequence.windows.get(key)
            rows = [] if window is None else share(window.rows, sequence.previous(key))
            before = given.pop(key, [])
            withheld.discard(key)
            if withholding is not None and window is not None and not flushed(number):
                true, rows = rows, list(withholding.rows([s.row for _, s in before if s.tick == window.tick], rows))
                if not same_rows(true, rows):
                    withheld.add(key)
            new = [] if window is None else [Stamped(window.tick, row) for row in rows]
            kept, dropped, added = _matched(before, new)
            if not in_order:
                added.sort(key=lambda stamped: order_key(stamped.row.values))
            for old, fresh in zip_longest(dropped, added):
                index = old[0] if old else next(following)
                yield Change(index, old[1] if old else None, fresh)
                if fresh is not None:
                    kept.append((index, fresh))
            if kept:
                given[key] = kept
        yield clock


def _inherit(affected: list[Key], windows: dict[Key, Window], given: dict[Key, list[tuple[int, Stamped]]]) -> None:
    """A window that comes where one of its tick goes has what that one has put out, so that it is said once.

    Windows of a join are known by those that they are made of, and another one on either side makes another pair.
    """
    gone: dict[int, list[Key]] = {}
    for key in affected:
        if key not in windows and key in given:
            gone.setdefault(given[key][0][1].tick, []).append(key)
    for key in affected if gone else ():
        if key in windows and key not in given and gone.get(windows[key].tick):
            given[key] = given.pop(gone[windows[key].tick].pop(0))


def _matched(
    before: list[tuple[int, Stamped]], now: list[Stamped]
) -> tuple[list[tuple[int, Stamped]], list[tuple[int, Stamped]], list[Stamped]]:
    """Which tuples stay, which are dropped and which are added."""
    wanted = Counter((stamped.tick, tagged_key(stamped.row)) for stamped in now)
    kept, dropped = [], []
    for index, stamped in sorted(before, key=lambda given: given[0]):
        key = (stamped.tick, tagged_key(stamped.row))
        if wanted[key]:
            wanted[key] -= 1
            kept.append((index, stamped))
        else:
            dropped.append((index, stamped))
    added = []
    for stamped in now:
        key = (stamped.tick, tagged_key(stamped.row))
        if wanted[key]:
            wanted[key] -= 1
            added.append(stamped)
    return kept, dropped, added


def relation_changes(elements: Iterator[WindowElement]) -> Iterator[Any]:
    """What leaves and what enters a relation, at each tick where it changes. Corrections are changes too."""
    sequence = _Sequence()
    given: dict[Key, list[tuple[int, int, Row]]] = {}  # key → (tick, weight, row)
    for changes, clock in batches(elements):
        # Of one tick there may be a window that went and one that came: all of a batch is one step.
        before: list[tuple[int, int, Row]] = []
        now: list[tuple[int, int, Row]] = []
        for key in sequence.apply(changes):
            window = sequence.windows.get(key)
            before += given.pop(key, [])
            if window is not None:
                previous = sequence.previous(key)
                made = [(window.tick, -1, row) for row in deleted(window.rows, previous)]
                made += [(window.tick, +1, row) for row in inserted(window.rows, previous)]
                now += made
                if made:
                    given[key] = made
        yield from _net_change(before, now)
        yield clock


def _net_change(before: list[tuple[int, int, Row]], now: list[tuple[int, int, Row]]) -> Iterator[RelationChange]:
    """The weights of `now` minus those of `before`, tick by tick, withdrawals first.

    Tags do not say which rows enter and leave; but of those that do, what is corrected is said with its tags.
    """
    weights: dict[int, Counter[Any]] = {}
    rows: dict[Any, Row] = {}
    for sign, entries in ((-1, before), (+1, now)):
        for tick, weight, row in entries:
            key = tagged_key(row)
            weights.setdefault(tick, Counter())[key] += sign * weight
            rows[tick, key] = row
    for tick in sorted(weights):
        for wanted in (-1, +1):
            for key, weight in weights[tick].items():
                for _ in range(max(0, wanted * weight)):
                    yield RelationChange(tick, wanted, rows[tick, key])


def every_tick(elements: Iterator[WindowElement]) -> Iterator[WindowElement]:
    """A relation at each single tick: between two windows the earlier one goes on.

    A relation has one window at a tick, so ticks name its windows.
    """
    ticks: list[int] = []
    windows: dict[int, Window] = {}
    made: dict[int, Window] = {}
    done: int | None = None  # the last tick said
    for changes, clock in batches(elements):
        touched: set[int] = set()
        for change in changes:
            for window in (change.old, change.new):
                if window is not None:
                    touched.add(window.tick)
            _note(ticks, windows, change)
        if clock.closed is not None:
            spans = [range(tick, _next_after(ticks, tick, clock.closed)) for tick in touched]
            if ticks:
                spans.append(range(ticks[0] if done is None else done + 1, clock.closed + 1))
            for tick in sorted({tick for span in spans for tick in span}):
                yield from _instant(ticks, windows, tick, made)
            done = clock.closed if ticks or done is not None else None
        yield clock


def _note(ticks: list[int], windows: dict[int, Window], change: WindowChange) -> None:
    if change.old is not None:
        del windows[change.old.tick]
        del ticks[bisect_left(ticks, change.old.tick)]
    if change.new is not None:
        windows[change.new.tick] = change.new
        insort(ticks, change.new.tick)


def _next_after(ticks: list[int], tick: int, closed: int) -> int:
    place = bisect_right(ticks, tick)
    return min(ticks[place], closed + 1) if place < len(ticks) else closed + 1


def _instant(
    ticks: list[int], windows: dict[int, Window], tick: int, made: dict[int, Window]
) -> Iterator[WindowChange]:
    place = bisect_right(ticks, tick)
    new = Window(tick, (tick,), windows[ticks[place - 1]].rows) if place else None
    old = made.pop(tick, None)
    if new is not None:
        made[tick] = new
    if old != new:
        yield WindowChange(tick, old, new)
