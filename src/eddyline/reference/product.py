"""The cross product of windows, and joins: the rule of SNEEql's Figure 7."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from typing import Any

from eddyline.algebra.node import Operator, WindowOp
from eddyline.algebra.relational import WindowCrossProduct, WindowJoin
from eddyline.algebra.window import LoopWindow, OneRow, RowWindow, Scan
from eddyline.reference.bag import same_rows
from eddyline.reference.element import Row, Window, WindowChange, WindowElement, batches
from eddyline.reference.expression import compile_predicate
from eddyline.reference.marks import join_marks
from eddyline.reference.relational import within

Key = Any
Combine = Callable[[Window, Window, int], tuple[Row, ...]]
#: the key of a pair, from the keys of its windows and its tick
Named = Callable[[Key, Key, int], Key]


class _Side:
    """The windows of one input, by tick."""

    def __init__(self) -> None:
        self.ticks: list[int] = []
        self._at: dict[int, dict[Key, Window]] = {}

    def apply(self, change: WindowChange) -> list[int]:
        """Take a change in; returns the ticks at which something is different now."""
        touched = []
        if change.old is not None:
            touched.append(change.old.tick)
            windows = self._at[change.old.tick]
            del windows[change.key]
            if not windows:
                del self._at[change.old.tick]
                del self.ticks[bisect_left(self.ticks, change.old.tick)]
        if change.new is not None:
            touched.append(change.new.tick)
            if change.new.tick not in self._at:
                insort(self.ticks, change.new.tick)
                self._at[change.new.tick] = {}
            self._at[change.new.tick][change.key] = change.new
        return touched

    def latest(self, tick: int) -> list[tuple[Key, Window]]:
        """All windows of the latest tick at or before `tick`, in their order."""
        place = bisect_right(self.ticks, tick)
        if not place:
            return []
        return sorted(self._at[self.ticks[place - 1]].items(), key=lambda item: item[1].order)

    def after(self, tick: int) -> int | None:
        place = bisect_right(self.ticks, tick)
        return self.ticks[place] if place < len(self.ticks) else None

    def stands_at(self, tick: int) -> bool:
        return tick in self._at


def pairs(
    node: WindowCrossProduct | WindowJoin,
    left: Iterator[WindowElement],
    right: Iterator[WindowElement],
    combine: Combine,
) -> Iterator[WindowElement]:
    """At every closed tick at which either side has a window, each latest left with each latest right one.

    A change of a window at tick x can matter from x up to that side's next window.
    """
    named, descending = _naming(node), _goes_backward(node.left, node.right)
    sides = (_Side(), _Side())
    made: dict[int, dict[Key, Window]] = {}  # tick → pair → window
    closed: int | None = None
    for (left_changes, clock), (right_changes, _) in zip(batches(left), batches(right), strict=True):
        ticks: set[int] = set()
        for side, changes in zip(sides, (left_changes, right_changes), strict=True):
            touched = {tick for change in changes for tick in side.apply(change)}
            for tick in touched:
                ticks.update(_stretch(sides, tick, side.after(tick)))
        if clock.closed is not None:
            for side in sides:
                first = 0 if closed is None else bisect_right(side.ticks, closed)
                ticks.update(side.ticks[first : bisect_right(side.ticks, clock.closed)])
        closed = clock.closed
        due = (tick for tick in ticks if closed is not None and tick <= closed)
        yield from _changes_at(sides, sorted(due, reverse=descending), made, combine, named)
        yield clock


def _stretch(sides: tuple[_Side, _Side], first: int, end: int | None) -> Iterator[int]:
    yield first
    for side in sides:
        start = bisect_left(side.ticks, first)
        stop = len(side.ticks) if end is None else bisect_left(side.ticks, end)
        yield from side.ticks[start:stop]


def _changes_at(
    sides: tuple[_Side, _Side], ticks: list[int], made: dict[int, dict[Key, Window]], combine: Combine, named: Named
) -> Iterator[WindowChange]:
    """Make the pairs at these ticks anew and tell what is different. Beside a table, windows of rows may have moved."""
    before: dict[Key, Window] = {}
    now: dict[Key, Window] = {}
    for tick in ticks:
        before.update(made.pop(tick, {}))
        pairs_now = _pairs_at(sides, tick, combine, named)
        if pairs_now:
            made[tick] = pairs_now
            now.update(pairs_now)
    for key, old in before.items():
        if key not in now:
            yield WindowChange(key, old, None)
    for key, new in now.items():
        earlier = before.get(key)
        if earlier is None or earlier.tick != new.tick or not same_rows(earlier.rows, new.rows):
            yield WindowChange(key, earlier, new)


def _pairs_at(sides: tuple[_Side, _Side], tick: int, combine: Combine, named: Named) -> dict[Key, Window]:
    if not any(side.stands_at(tick) for side in sides):
        return {}
    found = {}
    for left_key, left in sides[0].latest(tick):
        for right_key, right in sides[1].latest(tick):
            key = named(left_key, right_key, tick)
            # Not by the order of the two windows: another one may become the latest, and the pair look as before.
            found[key] = Window(tick, (tick, key), combine(left, right, tick))
    return found


def _joined(left: Row, right: Row, widths: tuple[int, int]) -> Row:
    marks = join_marks(left.marks, widths[0], right.marks, widths[1]) if left.marks or right.marks else ()
    return Row(left.values + right.values, marks)


def cross_product(
    node: WindowCrossProduct, left: Iterator[WindowElement], right: Iterator[WindowElement]
) -> Iterator[WindowElement]:
    widths = (len(node.left.schema), len(node.right.schema))

    def combine(a: Window, b: Window, _: int) -> tuple[Row, ...]:
        return tuple(_joined(x, y, widths) for x in a.rows for y in b.rows)

    return pairs(node, left, right, combine)


def join(node: WindowJoin, left: Iterator[WindowElement], right: Iterator[WindowElement]) -> Iterator[WindowElement]:
    """A cross product with a predicate; outer joins pad the tuples of a window that found no partner in the other."""
    widths = (len(node.left.schema), len(node.right.schema))
    satisfies = compile_predicate(node.predicate, within(node.schema))
    nothing = (Row((None,) * widths[0]), Row((None,) * widths[1]))

    def combine(a: Window, b: Window, tick: int) -> tuple[Row, ...]:
        rows = []
        matched: set[int] = set()
        for x in a.rows:
            found = False
            for i, y in enumerate(b.rows):
                if satisfies((*x.values, *y.values, tick)):
                    found = True
                    matched.add(i)
                    rows.append(_joined(x, y, widths))
            if not found and node.kind in ("LEFT", "FULL"):
                rows.append(_joined(x, nothing[1], widths))
        if node.kind in ("RIGHT", "FULL"):
            rows += [_joined(nothing[0], y, widths) for i, y in enumerate(b.rows) if i not in matched]
        return tuple(rows)

    return pairs(node, left, right, combine)


def _goes_backward(left: WindowOp, right: WindowOp) -> bool:
    """Whether both sides move backward in time: then the pairs that become due together do so too."""
    loops = [op.loop for side in (left, right) for op in side.walk() if isinstance(op, LoopWindow)]
    return bool(loops) and all(loop.backward for loop in loops)


def _naming(node: WindowCrossProduct | WindowJoin) -> Named:
    """How pairs are named: by their tick and whatever else it takes to tell the pairs of one tick apart.

    Not by both windows: which window of the other side is the latest one depends on where that side has changed, and a
    relation that has one more change would give another name to a pair that looks as before. Beside what was always
    there, a pair is the window it is made of, wherever that moves.
    """
    left, right = node.left, node.right
    if _always(left) or _always(right):
        return lambda a, b, tick: (a, b)
    return lambda a, b, tick: (tick, _beside_tick(left, a), _beside_tick(right, b))


def _always(node: WindowOp) -> bool:
    """Whether its one window was always there."""
    if isinstance(node, Scan | OneRow):
        return isinstance(node, OneRow) or node.interval is None
    return all(isinstance(side, WindowOp) and _always(side) for side in node.inputs)


def _beside_tick(node: Operator, key: Key) -> Key:
    """What tells a window from the others of its tick: only windows of rows and pairs of them stand side by side."""
    if isinstance(node, WindowCrossProduct | WindowJoin):
        left, right = key[-2:]
        if _always(node.left) or _always(node.right):
            return _beside_tick(node.left, left), _beside_tick(node.right, right)
        return left, right
    if isinstance(node, RowWindow):
        return key
    below = node.inputs[0] if len(node.inputs) == 1 else None
    return _beside_tick(below, key) if isinstance(below, WindowOp) else None
