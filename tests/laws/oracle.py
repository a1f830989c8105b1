"""SNEEql's Figures 1–8 (and CQL's and TelegraphCQ's definitions) written down once more, over finite lists.

Nothing here knows about batches, clocks or revisions: a plan is evaluated over the tuples that stand at the end. The
engine, which sees the tuples come, be late, be revised and be withdrawn, must fold to the same. Written straight from
the papers and slow on purpose; it shares with the engine only the evaluation of scalar expressions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from eddyline.algebra import relational, stream, window
from eddyline.algebra.loop import evaluate
from eddyline.algebra.node import WINDOW, WTIME, Operator
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT
from eddyline.reference.aggregate import compile_aggregate
from eddyline.reference.expression import compile_expression, compile_predicate
from laws.values import the_nan

Values = tuple[Any, ...]


class TaggedTuple(NamedTuple):
    tick: int
    index: int
    values: Values


class Win(NamedTuple):
    tick: float  # -inf for a table that was always there
    rows: list[Values]


@dataclass
class Oracle:
    """The standing tuples of each stream in order of index, the tables, the query's start and the last tick."""

    streams: dict[str, list[TaggedTuple]]
    tables: dict[str, list[Values]]
    start: int
    last: int

    def evaluate(self, node: Operator) -> Any:
        return getattr(self, f"_{type(node).__name__}")(node)

    # -- Figure 1 -----------------------------------------------------------------------------------------------------

    def _StreamReceive(self, node: stream.StreamReceive) -> list[TaggedTuple]:
        tuples = self.streams[node.name]
        return [t._replace(values=(*t.values, t.tick, t.index)) for t in tuples] if node.implicit else tuples

    def _StreamSelect(self, node: stream.StreamSelect) -> list[TaggedTuple]:
        satisfies = compile_predicate(node.predicate, node.input.schema)
        return [t for t in self.evaluate(node.input) if satisfies(t.values)]

    def _StreamProject(self, node: stream.StreamProject) -> list[TaggedTuple]:
        compute = [_computed(compile_expression(c.expr, node.input.schema)) for c in node.columns]
        return [t._replace(values=tuple(f(t.values) for f in compute)) for t in self.evaluate(node.input)]

    def _StreamAlias(self, node: stream.StreamAlias) -> list[TaggedTuple]:
        return self.evaluate(node.input)

    # -- Figures 5 and 6 ----------------------------------------------------------------------------------------------

    def _Scan(self, node: window.Scan) -> list[Win]:
        rows = self.tables[node.table]
        if node.interval is None:
            return [Win(float("-inf"), rows)]
        return [Win(tick, rows) for tick in range(self.start, self.last + 1, node.interval)]

    def _TimeWindow(self, node: window.TimeWindow) -> list[Win]:
        tuples = self.evaluate(node.input)
        ticks = [tick for tick in range(self.start, self.last + 1) if tick % node.slide == 0]
        return [
            Win(now, [t.values for t in tuples if now + node.scope.start <= t.tick <= now + node.scope.end])
            for now in ticks
        ]

    def _RowWindow(self, node: window.RowWindow) -> list[Win]:
        tuples = self.evaluate(node.input)
        windows = []
        for i in range(node.slide, max((t.index for t in tuples), default=0) + 1, node.slide):
            taken = [t for t in tuples if t.index <= i]  # takeWhile (lessEqualsIndex index)
            if taken:
                scope = [t.values for t in taken if i + node.scope.start <= t.index <= i + node.scope.end]
                windows.append(Win(taken[-1].tick, scope))
        return windows

    # -- CQL and TelegraphCQ ------------------------------------------------------------------------------------------

    def _RangeWindow(self, node: window.RangeWindow) -> list[Win]:
        tuples = self.evaluate(node.input)
        windows = []
        for now in range(self.start, self.last + 1):
            end = now // node.slide * node.slide if node.slide else now
            first = float("-inf") if node.range is None else end - node.range
            windows.append(Win(now, [t.values for t in tuples if first <= t.tick <= end]))
        return windows

    def _LatestRowsWindow(self, node: window.LatestRowsWindow) -> list[Win]:
        tuples = sorted(self.evaluate(node.input), key=lambda t: (t.tick, t.index))
        keys = [node.input.schema.position(c.name, c.relation) for c in node.partition]
        windows = []
        for now in range(self.start, self.last + 1):
            groups: dict[Values, list[Values]] = {}
            for t in tuples:
                if t.tick <= now:
                    groups.setdefault(tuple(t.values[k] for k in keys), []).append(t.values)
            windows.append(Win(now, [row for rows in groups.values() for row in rows[-node.rows :]]))
        return windows

    def _LoopWindow(self, node: window.LoopWindow) -> list[Win]:
        tuples = self.evaluate(node.input)
        windows, latest = [], float("-inf")
        for t in node.loop.values(self.start):
            left, right = evaluate(node.left, t, self.start), evaluate(node.right, t, self.start)
            latest = max(latest, t, right)
            if latest > self.last:
                break
            windows.append(Win(t, [u.values for u in tuples if left <= u.tick <= right]))
        return windows

    def _HopWindow(self, node: window.HopWindow) -> list[Win]:
        tuples = self.evaluate(node.input)
        begin = self.start if node.start is None else node.start
        windows = []
        while begin + node.range <= self.last:
            end = begin + node.range
            windows.append(Win(end, [t.values for t in tuples if begin <= t.tick < end]))
            begin += node.slide
        return windows

    # -- single windows -----------------------------------------------------------------------------------------------

    def _WindowAlias(self, node: relational.WindowAlias) -> list[Win]:
        return self.evaluate(node.input)

    def _WindowSelect(self, node: relational.WindowSelect) -> list[Win]:
        satisfies = compile_predicate(node.predicate, _within(node.input))
        return [w._replace(rows=[r for r in w.rows if satisfies((*r, w.tick))]) for w in self.evaluate(node.input)]

    def _WindowProject(self, node: relational.WindowProject) -> list[Win]:
        compute = [_computed(compile_expression(c.expr, _within(node.input))) for c in node.columns]
        return [
            w._replace(rows=[tuple(f((*r, w.tick)) for f in compute) for r in w.rows])
            for w in self.evaluate(node.input)
        ]

    def _WindowAggregation(self, node: relational.WindowAggregation) -> list[Win]:
        keys = [_computed(compile_expression(k.expr, _within(node.input))) for k in node.keys]
        within = _within(node.input)
        compute = [_computed(compile_aggregate(a.expr, within)) for a in node.aggregates]  # type: ignore[arg-type]
        windows = []
        for w in self.evaluate(node.input):
            rows = [(*r, w.tick) for r in w.rows]
            groups: dict[Values, list[Values]] = {} if keys else {(): []}
            for row in rows:
                groups.setdefault(tuple(k(row) for k in keys), []).append(row)
            windows.append(w._replace(rows=[(*k, *(f(g) for f in compute)) for k, g in groups.items()]))
        return windows

    def _WindowDistinct(self, node: relational.WindowDistinct) -> list[Win]:
        return [w._replace(rows=list(dict.fromkeys(w.rows))) for w in self.evaluate(node.input)]

    # -- Figure 7 -----------------------------------------------------------------------------------------------------

    def _WindowCrossProduct(self, node: relational.WindowCrossProduct) -> list[Win]:
        return self._pairs(node, lambda a, b, _: [x + y for x in a for y in b])

    def _WindowJoin(self, node: relational.WindowJoin) -> list[Win]:
        satisfies = compile_predicate(node.predicate, _within(node))
        empty = (None,) * len(node.left.schema), (None,) * len(node.right.schema)

        def joined(a: list[Values], b: list[Values], tick: int) -> list[Values]:
            matches = [(i, j) for i in range(len(a)) for j in range(len(b)) if satisfies((*a[i], *b[j], tick))]
            rows = [a[i] + b[j] for i, j in matches]
            if node.kind in ("LEFT", "FULL"):
                rows += [x + empty[1] for i, x in enumerate(a) if i not in {m[0] for m in matches}]
            if node.kind in ("RIGHT", "FULL"):
                rows += [empty[0] + y for j, y in enumerate(b) if j not in {m[1] for m in matches}]
            return rows

        return self._pairs(node, joined)

    def _pairs(self, node: Any, combine: Any) -> list[Win]:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        windows = []
        for tick in sorted({w.tick for w in left + right if w.tick <= self.last}):
            latest = []
            for side in (left, right):
                ticks = [w.tick for w in side if w.tick <= tick]
                latest.append([w for w in side if ticks and w.tick == max(ticks)])
            windows += [Win(tick, combine(a.rows, b.rows, tick)) for a in latest[0] for b in latest[1]]
        return windows

    # -- Figure 8 -----------------------------------------------------------------------------------------------------

    def _RStream(self, node: stream.RStream) -> list[TaggedTuple]:
        return _numbered([(w.tick, row) for w in self.evaluate(node.input) for row in w.rows])

    def _IStream(self, node: stream.IStream) -> list[TaggedTuple]:
        windows = self.evaluate(node.input)
        befores = [[], *(w.rows for w in windows)]
        return _numbered([(w.tick, r) for w, b in zip(windows, befores, strict=False) for r in _minus(w.rows, b)])

    def _DStream(self, node: stream.DStream) -> list[TaggedTuple]:
        windows = self.evaluate(node.input)
        befores = [[], *(w.rows for w in windows)]
        return _numbered([(w.tick, r) for w, b in zip(windows, befores, strict=False) for r in _minus(b, w.rows)])

    def _Instants(self, node: relational.Instants) -> list[Win]:
        return self.evaluate(node.input)  # here a relation has a window at every tick anyway

    def _RelationChanges(self, node: relational.RelationChanges) -> Counter[tuple[int, Values]]:
        """The weight of every row that enters or leaves, by tick."""
        changes: Counter[tuple[int, Values]] = Counter()
        before: list[Values] = []
        for w in self.evaluate(node.input):
            changes.update((w.tick, row) for row in _minus(w.rows, before))
            changes.subtract((w.tick, row) for row in _minus(before, w.rows))
            before = w.rows
        return Counter({key: weight for key, weight in changes.items() if weight})


def _computed(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda given: the_nan(function(given))


def _within(node: Any) -> Schema:
    return node.schema + Schema((Field(WTIME, BIGINT, WINDOW),))


def _minus(left: list[Values], right: list[Values]) -> list[Values]:
    """Haskell's list difference: each element of the right takes its first occurrence out of the left."""
    rest = list(left)
    for row in right:
        if row in rest:
            rest.remove(row)
    return rest


def _numbered(tuples: list[tuple[int, Values]]) -> list[TaggedTuple]:
    return [TaggedTuple(tick, i, values) for i, (tick, values) in enumerate(tuples, start=1)]
