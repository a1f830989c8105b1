"""Windows from streams and tables: time, rows, for-loops, CQL's ranges (SNEEql section 6.2)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from eddyline.algebra import pause
from eddyline.algebra.loop import evaluate
from eddyline.algebra.window import HopWindow, LatestRowsWindow, LoopWindow, RangeWindow, RowWindow, Scan, TimeWindow
from eddyline.errors import TooManyWindows
from eddyline.reference.bag import same_rows
from eddyline.reference.element import (
    ALWAYS,
    Change,
    Clock,
    Row,
    Stamped,
    StreamElement,
    Values,
    Window,
    WindowChange,
    WindowElement,
    batches,
)
from eddyline.reference.history import History
from eddyline.reference.value import row_key


class Span(NamedTuple):
    """A window over the ticks `left` to `right`, to be made once the clock satisfies `due`."""

    number: int
    tick: int
    left: int
    right: int
    due: Callable[[Clock], bool]


def _closed(tick: int) -> Callable[[Clock], bool]:
    return lambda clock: clock.closed is not None and clock.closed >= tick


def _reached(tick: int) -> Callable[[Clock], bool]:
    return lambda clock: clock.reached is not None and clock.reached >= tick


def time_window(node: TimeWindow, elements: Iterator[StreamElement], start: int | None) -> Iterator[WindowElement]:
    """At the multiples of the slide from the query's start on."""

    def spans() -> Iterator[Span]:
        if start is None:
            return
        first = -(-start // node.slide)
        for number in count():
            tick = (first + number) * node.slide
            yield Span(number, tick, tick + node.scope.start, tick + node.scope.end, _closed(tick))

    return span_windows(elements, spans())


def hop_window(node: HopWindow, elements: Iterator[StreamElement], start: int | None) -> Iterator[WindowElement]:
    """Half-open windows, each made when a tuple at or past its end has come."""
    begin = start if node.start is None else node.start

    def spans() -> Iterator[Span]:
        if begin is None:
            return
        for number in count():
            left = begin + number * node.slide
            end = left + node.range
            yield Span(number, end, left, end - 1, _reached(end))

    return span_windows(elements, spans())


def loop_window(node: LoopWindow, elements: Iterator[StreamElement], start: int | None) -> Iterator[WindowElement]:
    """One window for each value of t, in the order of the loop, once the clock has passed t and its right end."""

    def spans() -> Iterator[Span]:
        if start is None:
            return
        latest = ALWAYS
        for number, t in enumerate(node.loop.values(start)):
            left, right = evaluate(node.left, t, start), evaluate(node.right, t, start)
            latest = max(latest, t, right)
            yield Span(number, t, left, right, _closed(latest))

    return span_windows(elements, spans())


def span_windows(elements: Iterator[StreamElement], spans: Iterator[Span]) -> Iterator[WindowElement]:
    """Windows over spans of ticks. A change of a tuple re-opens the windows made already that it falls into."""
    history = History()
    made: dict[int, tuple[Span, Window]] = {}
    waiting = next(spans, None)
    furthest: int | None = None  # the largest right end of a window made; later ticks touch none of them
    for changes, clock in batches(elements):
        touched: set[int] = set()
        for change in changes:
            if not isinstance(change, Change):
                continue
            history.apply(change)
            touched.update(s.tick for _, s in change.weights() if furthest is not None and s.tick <= furthest)
        if touched:
            for number, (span, old) in made.items():
                if any(span.left <= tick <= span.right for tick in touched):
                    new = Window(span.tick, (number,), history.between(span.left, span.right))
                    made[number] = (span, new)
                    if not same_rows(old.rows, new.rows):
                        yield WindowChange(number, old, new)
        since, quiet = ALWAYS if waiting is None else waiting.tick, 0
        while waiting is not None and waiting.due(clock):
            window = Window(waiting.tick, (waiting.number,), history.between(waiting.left, waiting.right))
            made[waiting.number] = (waiting, window)
            furthest = waiting.right if furthest is None else max(furthest, waiting.right)
            yield WindowChange(waiting.number, None, window)
            if window.rows:
                since, quiet = waiting.tick, 0
            else:
                quiet += 1
            if quiet > pause.MOST_EMPTY:
                raise TooManyWindows(pause.too_long_a_pause(since, waiting.tick, pause.MOST_EMPTY))
            waiting = next(spans, None)
        yield clock


def row_window(node: RowWindow, elements: Iterator[StreamElement]) -> Iterator[WindowElement]:
    """At index slide, 2·slide, …, from the first tuple's index to the last's (Figure 6).

    The window at index i holds the standing tuples with indexes in scope; its tick is that of the last standing tuple
    at or before i. Everything is a function of the tuples that stand, so a revision looks at all windows from the
    changed index on.
    """
    indexes: list[int] = []
    standing: dict[int, Stamped] = {}
    made: dict[int, Window] = {}

    def window_at(i: int) -> Window | None:
        before = bisect_right(indexes, i)
        if not before or i > indexes[-1]:
            return None
        start, end = bisect_left(indexes, i + node.scope.start), bisect_right(indexes, i + node.scope.end)
        rows = tuple(standing[index].row for index in indexes[start:end])
        return Window(standing[indexes[before - 1]].tick, (i,), rows)

    for changes, clock in batches(elements):
        highest = indexes[-1] if indexes else 0
        lowest: int | None = None
        for change in changes:
            if not isinstance(change, Change):
                continue
            lowest = min(change.index, highest + 1, change.index if lowest is None else lowest)
            if change.index in standing:
                del indexes[bisect_left(indexes, change.index)]
                del standing[change.index]
            if change.new is not None:
                insort(indexes, change.index)
                standing[change.index] = change.new
        if lowest is not None:
            now_highest = indexes[-1] if indexes else 0
            last = max(highest, now_highest)
            lowest = min(lowest, now_highest + 1)  # windows behind the last tuple that is left are gone
            for i in range(-(-lowest // node.slide) * node.slide, last + 1, node.slide):
                yield from _revised(made, i, window_at(i))
        yield clock


def _revised(made: dict[int, Window], key: int, new: Window | None) -> Iterator[WindowChange]:
    """Note the window as it is now and tell the difference, if there is one."""
    old = made.pop(key, None)
    if new is not None:
        made[key] = new
    unchanged = old is not None and new is not None and old.tick == new.tick and same_rows(old.rows, new.rows)
    if (old is not None or new is not None) and not unchanged:
        yield WindowChange(key, old, new)


def range_window(node: RangeWindow, elements: Iterator[StreamElement], start: int | None) -> Iterator[WindowElement]:
    """CQL: at tick T the tuples of T − range … T; with a slide, T rounded down to its multiple."""
    slide = node.slide or 1

    def contents(history: History, tick: int) -> tuple[Row, ...]:
        right = tick // slide * slide
        return history.between(ALWAYS if node.range is None else right - node.range, right)

    def changing(tick: int) -> Iterator[int]:
        enters = -(-tick // slide) * slide
        if node.range is None:
            yield enters
            return
        leaves = (tick + node.range) // slide * slide + slide
        if enters < leaves:  # with a slide above the range, a tuple between two stops is in no window
            yield enters
            yield leaves

    def until(tick: int) -> int | None:
        return None if node.range is None else tick + node.range + slide

    return relation_windows(elements, start, contents, changing, until)


def latest_rows_window(
    node: LatestRowsWindow, elements: Iterator[StreamElement], start: int | None
) -> Iterator[WindowElement]:
    """CQL: at every tick the latest rows by (tick, index), of each partition if there are partitions."""
    schema = node.input.schema
    positions = [schema.position(column.name, column.relation) for column in node.partition]
    sizes: Counter[object] = Counter()  # of the partitions, so that the search back in time knows when to stop

    def partition(row: Row) -> object:
        return row_key(tuple(row.values[p] for p in positions))

    def counted() -> Iterator[StreamElement]:
        for element in elements:
            if isinstance(element, Change):
                for weight, stamped in element.weights():
                    sizes[partition(stamped.row)] += weight
            yield element

    def contents(history: History, tick: int) -> tuple[Row, ...]:
        wanted = sum(min(node.rows, size) for size in sizes.values())
        taken: Counter[object] = Counter()
        rows: list[Row] = []
        for row in history.latest_first(tick):
            if len(rows) == wanted:
                break
            if taken[partition(row)] < node.rows:
                taken[partition(row)] += 1
                rows.append(row)
        return tuple(reversed(rows))

    return relation_windows(counted(), start, contents, lambda tick: iter((tick,)), lambda tick: None)


def relation_windows(
    elements: Iterator[StreamElement],
    start: int | None,
    contents: Callable[[History, int], tuple[Row, ...]],
    changing: Callable[[int], Iterable[int]],
    until: Callable[[int], int | None],
) -> Iterator[WindowElement]:
    """A CQL relation as windows at the ticks where it can change, from the query's start on.

    `changing` gives the ticks at which a tuple enters and leaves, `until` the last at which it can matter (None: all
    later ones).
    """
    history = History()
    stops = _Stops(start)
    made: dict[int, Window] = {}
    order: list[int] = []  # the ticks in `made`
    for changes, clock in batches(elements):
        closed = clock.closed
        late: set[int] = set()
        for change in changes:
            if not isinstance(change, Change):
                continue
            history.apply(change)
            for weight, stamped in change.weights():
                if order and stamped.tick <= order[-1]:
                    late.add(stamped.tick)
                stops.count(changing(stamped.tick), weight)
        ticks = stops.due(closed)
        for tick in late:
            last = until(tick)
            end = len(order) if last is None else bisect_right(order, last)
            ticks.update(order[bisect_left(order, tick) : end])
        for tick in sorted(ticks):
            if (tick in made) != stops.stands(tick):
                order.remove(tick) if tick in made else insort(order, tick)
            new = Window(tick, (tick,), contents(history, tick)) if stops.stands(tick) else None
            yield from _revised(made, tick, new)
        yield clock


class _Stops:
    """The ticks at which a relation can change, each with the number of tuples that enter or leave there."""

    def __init__(self, start: int | None) -> None:
        self._start = start
        self._uses: Counter[int] = Counter()
        self._changed: set[int] = set()  # whose number has changed since they were last looked at
        if start is not None:
            self.count((start,), 1)  # the relation begins, empty or not

    def count(self, ticks: Iterable[int], weight: int) -> None:
        for tick in ticks:
            # what was there before the query began is there when it begins
            stop = tick if self._start is None else max(tick, self._start)
            self._uses[stop] += weight
            if not self._uses[stop]:
                del self._uses[stop]
            self._changed.add(stop)

    def due(self, closed: int | None) -> set[int]:
        """The changed ticks that are closed; the others wait."""
        due = {tick for tick in self._changed if closed is not None and tick <= closed}
        self._changed -= due
        return due

    def stands(self, tick: int) -> bool:
        return tick in self._uses


def scan(
    node: Scan, clocks: Iterator[Clock], start: int | None, table: Callable[[], Sequence[Values]]
) -> Iterator[WindowElement]:
    """The table when the query starts and every interval after (Figure 5); without an interval it was always there."""
    number = 0
    for clock in clocks:
        if node.interval is None:
            if number == 0:
                yield WindowChange(0, None, Window(ALWAYS, (0,), tuple(Row(values) for values in table())))
                number = 1
        else:
            tick = (start or 0) + number * node.interval
            while clock.closed is not None and tick <= clock.closed:
                rows = tuple(Row(values) for values in table())
                yield WindowChange(number, None, Window(tick, (number,), rows))
                number += 1
                tick += node.interval
        yield clock
