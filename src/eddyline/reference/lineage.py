"""Which revisions of the input changed an answer, found by looking at each of them alone.

A revised tuple has an old and a new version. Each is sent through the plan by itself, up to where the plan groups: what
comes out says in which windows it is and to which group it belongs. It is a cause of a change if that is where the
answer has changed. A stream inside of a query is answered first; its own changes are the revisions for what is above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from eddyline.algebra.lineage import BATCH, ROW, WINDOW, Cause, Trace, traces, worse
from eddyline.algebra.node import Operator, StreamOp
from eddyline.algebra.relational import RelationChanges
from eddyline.algebra.revision import ReviseIf, StreamRevise, WindowRevise
from eddyline.algebra.stream import (
    RStream,
    StreamAcquire,
    StreamAlias,
    StreamLookup,
    StreamProject,
    StreamReceive,
    StreamSelect,
)
from eddyline.algebra.window import HopWindow, LatestRowsWindow, LoopWindow, RangeWindow, RowWindow, TimeWindow
from eddyline.reference.bag import minus
from eddyline.reference.element import Change, Clock, RelationChange, Row, Stamped, Values, WindowChange
from eddyline.reference.engine import Context, StandingQuery
from eddyline.reference.feed import Batch, Feed
from eddyline.reference.value import row_key

_PER_TUPLE = (StreamSelect, StreamProject, StreamAlias)
_EVER = 2**63 - 1
#: batches that may have caused what is said, each with as much of it as they may have caused
Parts = Callable[[Any], "list[tuple[_Revised, Any]]"]


@dataclass(frozen=True)
class Told:
    """What a query has said, in the batch of this number; with causes (or none) if it corrects what it said before."""

    batch: int
    element: Any  # a Change, a WindowChange or a RelationChange
    causes: tuple[Cause, ...] | None


@dataclass(frozen=True)
class _Revised:
    """What a batch has revised, by stream and index, and ways to find what that has changed."""

    number: int
    changes: dict[str, dict[int, Change]]
    finders: list[Callable[[Any], dict[tuple[str, int], str]]]


class Place(NamedTuple):
    """Where a version of a tuple is: in windows from one tick to another (or in one of them), in a group."""

    first: int
    last: int
    key: Any  # of the window; None: any at these ticks
    group: Values
    sign: int = 0  # -1: the version was there before; 1: it is there now


def revisions(batch: Batch, stream: str, closed: int | None) -> dict[int, Change]:
    """What a batch does to tuples that were there before, or that nobody expected any more, by index."""
    net: dict[int, Change] = {}
    for change in batch.elements.get(stream, ()):
        if isinstance(change, Change):
            before = net.get(change.index)
            net[change.index] = Change(change.index, before.old if before else change.old, change.new)
    return {index: change for index, change in net.items() if _revises(change, closed)}


def _revises(change: Change, closed: int | None) -> bool:
    if change.old is None:
        return change.new is not None and closed is not None and change.new.tick <= closed
    return change.old != change.new


def operation(change: Change) -> str:
    return "+" if change.old is None else "-" if change.new is None else "="


def told(plan: Operator, context: Context) -> list[Told]:
    """Everything that a query says over all that has come, corrections with their causes."""
    return _Query(plan, context, {}).told()


class _Query:
    """A plan over streams; `inner` are those that queries inside of it make, by the names they are read under."""

    def __init__(self, plan: Operator, context: Context, inner: dict[str, list[Told]]) -> None:
        self._context, self._inner = context, inner
        self._plan = self._without_inner_streams(plan)
        self._streams = [op.name for op in self._plan.walk() if isinstance(op, StreamReceive | StreamAcquire)]
        self._root = self._plan  # what decides where an answer comes from
        self._shown: Shown | None = None
        if isinstance(self._plan, StreamRevise | WindowRevise):
            self._root, self._shown = self._plan.input, Shown(self._plan.revise)

    def _without_inner_streams(self, node: Operator) -> Operator:
        """A stream that is made inside of the plan is answered first, and then read like any other."""
        if isinstance(node, StreamRevise):  # what is withheld of a stream is a part of making it
            return node.with_inputs(self._without_inner_streams(node.input))
        return node.with_inputs(
            *(
                self._answered(operator)
                if isinstance(operator, StreamOp)
                and not isinstance(operator, (*_PER_TUPLE, StreamReceive, StreamAcquire))
                else self._without_inner_streams(operator)
                for operator in node.inputs
            )
        )

    def _answered(self, plan: StreamOp) -> StreamReceive:
        query = _Query(plan, self._context, self._inner)
        name, said = f"#{len(self._inner) + 1}", query.told()
        self._inner[name] = [one for one in said if one.causes is not None]
        batches = [
            replace(batch, elements={**batch.elements, name: tuple(o.element for o in said if o.batch == number)})
            for number, batch in enumerate(query._context.feed.batches)
        ]
        self._context = replace(self._context, feed=Feed(batches))
        return StreamReceive(name, plan.schema)

    # -- what was corrected -------------------------------------------------------------------------------------------

    def told(self) -> list[Told]:
        standing, before = StandingQuery(self._plan, self._context), Clock(None, None)
        found: list[Told] = []
        earlier: list[_Revised] = []  # whose corrections may have been withheld
        for number, batch in enumerate(self._context.feed.batches):
            elements = standing.step()
            changes = {stream: self._revised(stream, number, before) for stream in self._streams}
            finders = self._finders(changes, batch.clock) if any(changes.values()) else []
            revised = _Revised(number, changes, finders)
            earlier += [revised] if finders else []
            parts = _wholly(revised) if self._shown is None else self._shown.parts(elements, number, earlier)
            found += [Told(number, element, self._why(element, revised, parts, before)) for element in elements]
            before = batch.clock
        return found

    def _revised(self, stream: str, number: int, before: Clock) -> dict[int, Change]:
        batch = self._context.feed.batches[number]
        if stream not in self._inner:
            return revisions(batch, stream, before.closed)
        return {one.element.index: one.element for one in self._inner[stream] if one.batch == number}

    def _why(self, element: Any, revised: _Revised, parts: Parts, before: Clock) -> tuple[Cause, ...] | None:
        """The causes of what is said in a batch; None if it corrects nothing."""
        if not revised.finders and self._shown is None:
            return None
        if not self._corrects(element, revised.changes, before):
            return None
        these = parts(element)
        levels = zip(*([(batch, part, finder) for finder in batch.finders] for batch, part in these), strict=True)
        found = ([(batch, finder(part)) for batch, part, finder in level] for level in levels)  # the surest first
        surest = next((level for level in found if any(pairs for _, pairs in level)), [])
        causes = [
            cause
            for batch, pairs in surest
            for (stream, index), precision in pairs.items()
            for cause in self._origins(stream, batch, index, precision)
        ]
        return tuple(sorted(_surest(causes), key=lambda cause: (cause.stream, cause.index, cause.batch)))

    def _origins(self, stream: str, batch: _Revised, index: int, precision: str) -> list[Cause]:
        """A revised tuple of a stream of the input; of an inner one, what caused that."""
        change = batch.changes[stream][index]
        if stream not in self._inner:
            return [Cause(stream, index, operation(change), precision, batch.number)]
        (inner,) = [one for one in self._inner[stream] if one.element is change]
        return [replace(cause, precision=worse(cause.precision, precision)) for cause in inner.causes or ()]

    def _corrects(self, element: Any, revised: dict[str, dict[int, Change]], before: Clock) -> bool:
        """Whether it is about something that was answered before."""
        if isinstance(element, WindowChange):
            return element.old is not None
        if isinstance(element, RelationChange):
            return before.closed is not None and element.tick <= before.closed
        if not isinstance(element, Change):
            return False
        if isinstance(self._root, (*_PER_TUPLE, StreamReceive, StreamAcquire)):
            withheld = self._shown is not None and element.old is not None
            return withheld or any(element.index in changes for changes in revised.values())
        if element.old is not None:
            return True
        assert element.new is not None
        hops = any(isinstance(op, HopWindow) for op in self._root.walk())
        due = before.reached if hops else before.closed  # a hopping window is over before its tick is closed
        return due is not None and element.new.tick <= due

    # -- ways to find causes, the surest first ------------------------------------------------------------------------

    def _finders(
        self, revised: dict[str, dict[int, Change]], now: Clock
    ) -> list[Callable[[Any], dict[tuple[str, int], str]]]:
        everything = {(stream, index): BATCH for stream, changes in revised.items() for index in changes}
        if isinstance(self._root, (*_PER_TUPLE, StreamReceive, StreamAcquire)):
            return [lambda element: {at: ROW for at in everything if at[1] == element.index}]
        if any(type(operator).__module__.endswith(".tag") for operator in self._root.walk()):
            return [lambda element: everything]  # tags decide too
        if isinstance(self._root, StreamLookup):
            beside = self._beside(revised)
            return [beside, lambda element: everything]
        places = [
            (trace, at, place)
            for trace in traces(self._root if not isinstance(self._root, StreamOp) else self._root.inputs[0])
            for at, place in self._places(trace, revised, now)
        ]

        def by_row(element: Any) -> dict[tuple[str, int], str]:
            found: dict[tuple[str, int], str] = {}
            for trace, at, place in places:
                exact = self._is_exact(trace)
                signs = (-1, 1) if trace.alone or not exact else (place.sign,)  # a pair is of tuples of one time
                rows = [
                    row
                    for tick, row, sign in _signed(element)
                    if sign in signs and self._is_at(trace, place, element, tick)
                ]
                if any(_agrees(trace, place.group, row) for row in rows):
                    found[at] = ROW if exact else found.get(at, WINDOW)
            return found

        def by_window(element: Any) -> dict[tuple[str, int], str]:
            return {
                at: WINDOW
                for trace, at, place in places
                if any(self._is_at(trace, place, element, tick) for tick in _ticks(element))
            }

        return [by_row, by_window, lambda element: everything]

    def _beside(self, revised: dict[str, dict[int, Change]]) -> Callable[[Any], dict[tuple[str, int], str]]:
        """A tuple beside rows of a table shows itself."""
        assert isinstance(self._root, StreamLookup)
        versions = list(self._versions(self._root.input, revised))
        width = len(self._root.input.schema)

        def found(element: Any) -> dict[tuple[str, int], str]:
            return {
                at: ROW
                for at, stamped in versions
                for tick, row in _rows(element)
                if tick == stamped.tick and row_key(row.values[:width]) == row_key(stamped.row.values)
            }

        return found

    def _versions(
        self, chain: Operator, revised: dict[str, dict[int, Change]]
    ) -> Iterator[tuple[tuple[str, int], Stamped]]:
        """Both versions of each revised tuple, as far as they come through selections and projections."""
        (stream,) = [op.name for op in chain.walk() if isinstance(op, StreamReceive | StreamAcquire)]
        for index, change in revised[stream].items():
            for _, version in change.weights():
                for alone in self._alone(chain, stream, Change(index, None, version), Clock(None, None)):
                    yield (stream, index), alone.new

    def _alone(self, plan: Operator, stream: str, change: Change, clock: Clock) -> list[Any]:
        """What a plan makes of a single tuple."""
        feed = Feed([Batch({stream: (change,)}, clock)])
        return StandingQuery(plan, replace(self._context, feed=feed, flushes=lambda number, query: False)).step()

    # -- where versions are -------------------------------------------------------------------------------------------

    def _places(
        self, trace: Trace, revised: dict[str, dict[int, Change]], now: Clock
    ) -> Iterator[tuple[tuple[str, int], Place]]:
        chain = trace.leaf.inputs[0]
        (stream,) = [op.name for op in chain.walk() if isinstance(op, StreamReceive | StreamAcquire)]
        for index, change in revised[stream].items():
            for sign, version in change.weights():
                for place in self._of_version(trace, stream, Change(index, None, version), now):
                    yield (stream, index), place._replace(sign=sign)

    def _of_version(self, trace: Trace, stream: str, change: Change, now: Clock) -> Iterator[Place]:
        leaf = trace.leaf
        if isinstance(leaf, RowWindow | LatestRowsWindow):
            # which windows there are depends on other tuples: the version is looked at in a window of its own
            everything = _on(trace, RangeWindow(leaf.input, None))
            for element in self._alone(everything, stream, change, Clock(_EVER, _EVER)):
                for row in element.new.rows if element.new else ():
                    yield from self._counted(leaf, change, row.values)
            return
        made = [e.new for e in self._alone(trace.plan, stream, change, now) if e.new is not None]
        for number, window in enumerate(made):
            for row in window.rows:
                if isinstance(leaf, RangeWindow):
                    gone = next((later.tick for later in made[number + 1 :] if not later.rows), _EVER)
                    yield Place(window.tick, gone, None, row.values)
                elif isinstance(leaf, TimeWindow | HopWindow):
                    yield Place(window.tick, window.tick + leaf.slide, None, row.values)
                else:
                    yield Place(window.tick, window.tick, window.order[0], row.values)

    def _counted(self, leaf: Operator, change: Change, group: Values) -> Iterator[Place]:
        if isinstance(leaf, RowWindow):
            first, last = change.index - leaf.scope.end, change.index - leaf.scope.start
            for at in range(-(-first // leaf.slide) * leaf.slide, last + 1, leaf.slide):
                yield Place(-_EVER, _EVER, at, group)
        else:
            assert change.new is not None
            yield Place(change.new.tick, _EVER, None, group)

    def _is_at(self, trace: Trace, place: Place, element: Any, tick: int) -> bool:
        """Whether a change of the answer at a tick is one of a window that the version is in."""
        leaf, root = trace.leaf, self._root
        if not trace.alone:
            return isinstance(leaf, RowWindow | LoopWindow) or place.first <= tick <= place.last - (
                0 if isinstance(leaf, RangeWindow | LatestRowsWindow) else 1
            )
        if isinstance(leaf, LatestRowsWindow):
            return place.first <= tick
        if isinstance(leaf, RangeWindow):
            if isinstance(root, RStream):
                return place.first <= tick < place.last
            return place.first <= tick <= place.last if trace.whole else tick in (place.first, place.last)
        if isinstance(element, WindowChange):
            return element.key == place.key if place.key is not None else tick == place.first
        if isinstance(leaf, RowWindow) or (isinstance(leaf, LoopWindow) and not isinstance(root, RStream)):
            return True  # an answer does not tell which window it is of
        return tick == place.first if isinstance(root, RStream) else tick in (place.first, place.last)

    def _is_exact(self, trace: Trace) -> bool:
        """Whether nothing but its places and its group decides where a version is."""
        leaf, root = trace.leaf, self._root
        untold = isinstance(leaf, RowWindow) or (isinstance(leaf, LoopWindow) and not isinstance(root, RStream))
        if untold and isinstance(root, StreamOp) and not isinstance(root, RelationChanges):
            return False  # an answer does not tell which window it is of
        if not trace.alone and not isinstance(leaf, TimeWindow | HopWindow):
            return False  # where pairs come and go, or which window met which, is not told
        if not trace.alone and isinstance(root, StreamOp) and not isinstance(root, RStream):
            return False
        return trace.is_exact and not isinstance(leaf, LatestRowsWindow)


def _wholly(revised: _Revised) -> Parts:
    return lambda element: [(revised, element)]


class Shown:
    """When each result was shown last: what has changed since then is what a correction adds up."""

    def __init__(self, revise: ReviseIf) -> None:
        self._keys = revise.keys
        self._last: dict[Any, int] = {}

    def parts(self, elements: Sequence[Any], number: int, earlier: Sequence[_Revised]) -> Parts:
        """For what a batch says. A result that was not shown before has no more than what this batch brought."""
        gone = {self._result(e, tick, row) for e in elements for tick, row, sign in _signed(e) if sign < 0}
        since = {result: self._last.get(result, number - 1) for result in gone}
        for element in elements:
            for tick, row, sign in _signed(element):
                if sign > 0:
                    self._last[self._result(element, tick, row)] = number

        def parts(element: Any) -> list[tuple[_Revised, Any]]:
            found = []
            for batch in earlier:

                def adds_up(tick: int, row: Row, batch: _Revised = batch) -> bool:
                    return since.get(self._result(element, tick, row), number - 1) < batch.number

                part = _part(element, adds_up)
                if part is not None:
                    found.append((batch, part))
            return found

        return parts

    def _result(self, element: Any, tick: int, row: Row) -> Any:
        if self._keys is None:
            return element.index
        place = element.key if isinstance(element, WindowChange) else tick
        return place, row_key(tuple(row.values[key] for key in self._keys))


def _part(element: Any, wanted: Callable[[int, Row], bool]) -> Any:
    """What has changed of some rows; None if nothing has."""
    if isinstance(element, Change):
        old, new = (s if s is not None and wanted(s.tick, s.row) else None for s in (element.old, element.new))
        return None if old is None and new is None else Change(element.index, old, new)
    assert isinstance(element, WindowChange)
    kept = {sign: tuple(r for t, r, s in _signed(element) if s == sign and wanted(t, r)) for sign in (-1, 1)}
    if not any(kept.values()):
        return None
    before, after = (w and w._replace(rows=kept[sign]) for w, sign in ((element.old, -1), (element.new, 1)))
    return WindowChange(element.key, before, after)


def _on(trace: Trace, leaf: Operator) -> Operator:
    """The plan of a trace over another window."""

    def exchanged(node: Operator) -> Operator:
        return leaf if node is trace.leaf else node.with_inputs(*map(exchanged, node.inputs))

    return exchanged(trace.plan)


def _rows(element: Any) -> list[tuple[int, Row]]:
    """What has changed, with the ticks: rows that are only before or only after."""
    return [(tick, row) for tick, row, _ in _signed(element)]


def _signed(element: Any) -> list[tuple[int, Row, int]]:
    """The same, with -1 for those that are only before and 1 for those that are only after."""
    if isinstance(element, RelationChange):
        return [(element.tick, element.row, element.weight)]
    if isinstance(element, Change):
        return [(stamped.tick, stamped.row, sign) for sign, stamped in element.weights()]
    old, new = (() if window is None else window.rows for window in (element.old, element.new))
    tick = (element.new or element.old).tick
    return [(tick, row, -1) for row in minus(old, new)] + [(tick, row, 1) for row in minus(new, old)]


def _ticks(element: Any) -> list[int]:
    if isinstance(element, WindowChange):
        return [window.tick for window in (element.old, element.new) if window is not None]
    return [tick for tick, _ in _rows(element)]


def _agrees(trace: Trace, group: Values, row: Row) -> bool:
    """Whether a row shows a group, as far as it shows groups at all."""
    shown = trace.shown
    return row_key(tuple(row.values[place] for place, _ in shown)) == row_key(tuple(group[c] for _, c in shown))


def _surest(causes: Sequence[Cause]) -> list[Cause]:
    """Each cause once, as sure as it is known to be."""
    found: dict[tuple[str, int, str, int], Cause] = {}
    for cause in causes:
        at = cause.stream, cause.index, cause.op, cause.batch
        if at not in found or worse(cause.precision, found[at].precision) == found[at].precision:
            found[at] = cause
    return list(found.values())
