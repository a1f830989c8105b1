"""What it costs to correct a join: from all tuples of its windows, or by differences, which changed tuples make alone.

Nothing is kept either way, so nothing is paid for a change: each batch takes what costs less by what is known. Costs
are seconds of the processor in tasks, learned for each query; queries begin with what others have taught.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from eddyline.spark.costs import OLD_NEWS, ByQuery, Line, Lines, in_ms

#: what a work costs and each tuple in the windows in question, before anything is known: the seconds of one machine of
#: ours. To read and plan what tells the differences takes longer than to join some tens of thousands of tuples.
_FROM_TUPLES = (0.070, 6.8e-7)
_BY_DIFFERENCES = (0.115, 3e-8)
#: a tuple that has changed is joined with all others: it costs as much as so many that are only read
_CHANGED = 160


@dataclass(frozen=True)
class Changes:
    """What a batch is about for a join, in tuples, found from zone maps."""

    tuples: float  # in the windows in question, before the batch
    fresh: float  # of these windows, that the batch brings

    @property
    def work(self) -> float:
        """What differences are made of, in tuples that are read."""
        return self.tuples + _CHANGED * self.fresh


@dataclass
class _Ways(Lines):
    tuples: Line = field(default_factory=lambda: Line(_FROM_TUPLES))
    differences: Line = field(default_factory=lambda: Line(_BY_DIFFERENCES))


@dataclass
class _Known:
    """About one query."""

    ways: _Ways
    same: int = 0  # so many batches in a row were corrected in the same way
    by_differences: bool = False
    told: str = ""


class PairCosts(ByQuery[_Known]):
    """What decides about joins that leave it to us. One for each executor."""

    def __init__(self) -> None:
        super().__init__()
        self._everywhere = _Ways()  # what queries begin with that have not been measured

    def by_differences(self, name: str, changes: Changes) -> bool:
        """Which way a batch is to take."""
        with self._guard:
            known = self._queries.get(name)
            if known is None:
                known = self._queries[name] = _Known(self._everywhere.copied())
            ways = known.ways
            if known.same >= OLD_NEWS:  # what is never done is never measured
                if known.by_differences:
                    ways.tuples = Line(ways.tuples.beliefs)
                else:
                    ways.differences = Line(ways.differences.beliefs)
                known.same = 0
            upstream = ways.seconds(ways.tuples, changes.tuples)
            downstream = ways.seconds(ways.differences, changes.work)
            known.told = (
                f"the last one: {in_ms(upstream)} from tuples, {in_ms(downstream)} by differences, "
                f"for {changes.tuples:,.0f} tuples and {changes.fresh:,.0f} that had changed"
            )
            chosen = downstream < upstream
            known.same = known.same + 1 if chosen == known.by_differences else 1
            known.by_differences = chosen
            return chosen

    def spent(self, name: str, changes: Changes, by_differences: bool, seconds: float) -> None:
        """What a batch has cost."""
        with self._guard:
            known = self._queries.get(name)
            for ways in (self._everywhere, *(() if known is None else (known.ways,))):
                if by_differences:
                    ways.answered(ways.differences, changes.work, seconds)
                else:
                    ways.answered(ways.tuples, changes.tuples, seconds)
