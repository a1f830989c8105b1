"""How fast tuples come out of an operator, and how many stand in its windows at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eddyline.algebra import relational, stream, window
from eddyline.algebra.expression import Call, Expr, TypedExpr, conjuncts
from eddyline.algebra.loop import evaluate
from eddyline.algebra.node import Operator
from eddyline.algebra.printing import sql_text
from eddyline.algebra.remote import Remote
from eddyline.errors import InvalidLoop
from eddyline.planner.statistics import Statistics


@dataclass(frozen=True)
class Estimate:
    """Tuples in a second, and tuples at a time; of a stream, which keeps none, the latter is 0.

    `counted`: there are as many at a time however fast they come. `shortest`: so much of that stays however short the
    window is made.
    """

    rate: float
    size: float = 0.0
    counted: bool = False
    shortest: float = 0.0

    def __mul__(self, part: float) -> Estimate:
        return replace(self, rate=self.rate * part, size=self.size * part)


@dataclass
class Estimator:
    """Asks the statistics, and notes in `assumed` what they did not know."""

    statistics: Statistics
    assumed: list[str] = field(default_factory=list)

    def of(self, operator: Operator) -> Estimate:
        rule = next((rule for kind, rule in _RULES.items() if isinstance(operator, kind)), None)
        if rule is not None:
            return rule(self, operator)
        # what neither adds nor drops tuples
        return self.of(operator.inputs[0]) if operator.inputs else Estimate(0.0, 1.0)

    def filtered(self, below: Estimate, predicate: TypedExpr) -> Estimate:
        """What is left of tuples of one input after a condition."""
        for part in conjuncts(predicate):
            below = below * self._passing(part)
        return below

    def _passing(self, part: TypedExpr) -> float:
        text = sql_text(part)
        known = self.statistics.selectivities.get(text)
        if known is not None:
            return known
        assume = self.statistics.assumptions
        found = assume.filter_equal if _is_equality(part) else assume.filter_other
        self._assume(f"{text} holds for {found:.3g} of the tuples")
        return found

    def _assume(self, text: str) -> None:
        if text not in self.assumed:
            self.assumed.append(text)

    # -- streams ------------------------------------------------------------------------------------------------------

    def _received(self, operator: stream.StreamReceive) -> Estimate:
        return Estimate(self._rate(operator.name, None))

    def _acquired(self, operator: stream.StreamAcquire) -> Estimate:
        if operator.interval is None:
            return Estimate(self._rate(operator.name, None))
        readings = len(operator.sites) / (operator.interval * self.statistics.tick_seconds)
        return Estimate(self._rate(operator.name, readings or None))

    def _rate(self, name: str, declared: float | None) -> float:
        known = self.statistics.rate(name)
        if known is None and declared is None:
            declared = self.statistics.assumptions.rate
            self._assume(f"{name} brings {declared:g} tuples in a second")
        return known if known is not None else declared or 0.0

    def _selected(self, operator: stream.StreamSelect | relational.WindowSelect) -> Estimate:
        return self.filtered(self.of(operator.input), operator.predicate)

    def _looked_up(self, operator: stream.StreamLookup) -> Estimate:
        if isinstance(operator.table, Remote):  # a key has about one row
            return self.of(operator.input)
        below = self.of(operator.input) * self.of(operator.table).size
        return below if operator.predicate is None else self.filtered(below, operator.predicate)

    # -- windows ------------------------------------------------------------------------------------------------------

    def _scanned(self, operator: window.Scan) -> Estimate:
        known = self.statistics.rows_of(operator.table)
        if known is None:
            known = self.statistics.assumptions.rows
            self._assume(f"{operator.table} has {known:g} rows")
        return Estimate(0.0, known, counted=True)

    def _lasting(self, below: Operator, ticks: float) -> Estimate:
        """A window over a stream that is so many ticks wide."""
        rate = self.of(below).rate
        return Estimate(rate, rate * ticks * self.statistics.tick_seconds, shortest=1.0 / max(ticks, 1.0))

    def _timed(self, operator: window.TimeWindow) -> Estimate:
        return self._lasting(operator.input, operator.scope.end - operator.scope.start + 1)

    def _hopping(self, operator: window.HopWindow) -> Estimate:
        return self._lasting(operator.input, operator.range)

    def _ranged(self, operator: window.RangeWindow) -> Estimate:
        if operator.range is None:
            return self._endless(operator.input)
        return self._lasting(operator.input, operator.range + 1)

    def _endless(self, below: Operator) -> Estimate:
        seconds = self.statistics.assumptions.unbounded
        self._assume(f"a window without an end reaches back {seconds:,.0f} seconds")
        return self._lasting(below, seconds / self.statistics.tick_seconds)

    def _looped(self, operator: window.LoopWindow) -> Estimate:
        """As wide as it is at two values of t, if it is the same at both; else it grows, and nobody knows how far."""
        try:
            widths = {evaluate(operator.right, t, 0) - evaluate(operator.left, t, 0) + 1 for t in (1_000, 2_000)}
        except InvalidLoop:
            widths = set()
        if len(widths) == 1 and (width := widths.pop()) > 0:
            return self._lasting(operator.input, width)
        return self._endless(operator.input)

    def _by_rows(self, operator: window.RowWindow) -> Estimate:
        return self._counting(operator.input, operator.scope.end - operator.scope.start + 1)

    def _counting(self, below: Operator, rows: int, groups: float = 1.0) -> Estimate:
        return Estimate(self.of(below).rate, rows * groups, counted=True, shortest=1.0 / max(rows, 1))

    def _latest(self, operator: window.LatestRowsWindow) -> Estimate:
        groups = 1.0
        if operator.partition:
            groups = self.statistics.assumptions.groups
            self._assume(f"PARTITION BY makes {groups:g} parts")
        return self._counting(operator.input, operator.rows, groups)

    # -- relations ----------------------------------------------------------------------------------------------------

    def _grouped(self, operator: relational.WindowAggregation) -> Estimate:
        below = self.of(operator.input)
        if not operator.keys:
            return Estimate(below.rate, 1.0, counted=True, shortest=1.0)
        groups = self.statistics.assumptions.groups
        if groups >= below.size:
            return below
        self._assume(f"GROUP BY makes {groups:g} groups")
        return Estimate(below.rate, groups, counted=True, shortest=1.0)

    def _sorted(self, operator: relational.WindowSort) -> Estimate:
        below = self.of(operator.input)
        if operator.limit is None or operator.limit >= below.size:
            return below
        return Estimate(below.rate, max(operator.limit, 1.0), counted=True, shortest=1.0)

    def _joined(self, operator: relational.WindowJoin | relational.WindowCrossProduct) -> Estimate:
        left, right = self.of(operator.left), self.of(operator.right)
        counted, shortest = left.counted and right.counted, max(left.shortest, right.shortest)
        both = Estimate(left.rate * right.size + right.rate * left.size, left.size * right.size, counted, shortest)
        if isinstance(operator, relational.WindowCrossProduct):
            return both
        found = self.filtered(both, operator.predicate)
        for side, kinds in ((left, ("LEFT", "FULL")), (right, ("RIGHT", "FULL"))):
            if operator.kind in kinds:  # each of its tuples stays, with or without a partner
                found = Estimate(max(found.rate, side.rate), max(found.size, side.size), counted, shortest)
        return found


def _is_equality(part: Expr) -> bool:
    return isinstance(part, Call) and part.function in ("=", "<=>", "in", "is null")


_RULES: Mapping[type[Operator], Callable[[Estimator, Any], Estimate]] = {
    stream.StreamReceive: Estimator._received,
    stream.StreamAcquire: Estimator._acquired,
    stream.StreamSelect: Estimator._selected,
    stream.StreamLookup: Estimator._looked_up,
    window.Scan: Estimator._scanned,
    window.TimeWindow: Estimator._timed,
    window.HopWindow: Estimator._hopping,
    window.RangeWindow: Estimator._ranged,
    window.LoopWindow: Estimator._looped,
    window.RowWindow: Estimator._by_rows,
    window.LatestRowsWindow: Estimator._latest,
    relational.WindowSelect: Estimator._selected,
    relational.WindowAggregation: Estimator._grouped,
    relational.WindowSort: Estimator._sorted,
    relational.WindowJoin: Estimator._joined,
    relational.WindowCrossProduct: Estimator._joined,
}
