"""How the answers of a query are corrected that leaves it to us: from tuples or from kept slices, as costs less.

Keeping slices costs a little in every batch, corrections from tuples a lot in some. Nobody knows what is going to come.
So whoever is at a disadvantage pays, batch by batch, until it has paid as much as the change would cost; then it
changes. If costs were known, that would never be worse than twice what the best choice in hindsight would have cost;
they are measured:

    debt        of one who keeps nothing: what its corrections would have cost less with slices, less what keeping these
                would have cost; of one who keeps them: the other way round. What is long ago counts less and less.
    price       of the change: to make the slices of what has passed from its tuples.

Where slices are kept, each batch takes the cheaper way for the windows it is about. Costs are seconds of the processor
in tasks: what a task waits for others on a busy machine says nothing about a way. They are learned as so much for each
row that is read, and so much for the work as such. All of this may be forgotten at any time: what is kept, and since
when, is in the records of the batches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from eddyline.spark.costs import OLD_NEWS, ByQuery, Line, Lines, in_ms
from eddyline.spark.pair_costs import PairCosts
from eddyline.spark.spans import LOW

#: what it has cost lately that slices do not go back far enough is worth a batch later, and what a debt is, or how far
#: back corrections have reached
_FADES = 0.9
_FORGETS = 0.98
#: slices are made from so much further back than corrections have gone: the next one may go a little further, and then
#: its windows come from their tuples, until slices are made once more
_FURTHER = 1.1
#: after so many batches whose corrections were cheaper without slices, although there were some, they go
_IN_VAIN = 4
#: what a work costs and each row of it, before anything is known: the seconds of one machine of ours
_FROM_TUPLES = (0.010, 1.5e-7)
_FROM_SLICES = (0.012, 4e-7)
_KEEPING = (0.008, 2e-7)
#: what one more task costs beside what it does, which nobody measures
_ONE_MORE_TASK = 0.015


@dataclass(frozen=True)
class Outlook:
    """What a batch is going to be about for an aggregation, in rows, found without touching data."""

    tuples: float  # rows to read if all windows in question come from tuples
    fresh: int  # rows that the batch brings
    reach: int  # how many ticks behind the clock the windows begin that were answered before; 0: there are none
    closed: int  # the clock
    bottom: int  # the smallest tick there is
    passed: float = 0.0  # rows to read to make the slices of what corrections reach back to
    slices: float = 0.0  # rows of slices to read; as `imagined`, if none are kept
    imagined: float = 0.0  # how many these should be, going by the groups that windows have had
    before: float = 0.0  # rows of tuples to read beside them, for windows that begin before slices were kept
    first: int | None = None  # since which tick slices are kept; None: they are not
    point: int | None = None  # how far back a connection point wants them, in ticks; None: there is none

    @property
    def kept(self) -> bool:
        return self.first is not None

    def back(self, ticks: int) -> int:
        """So many ticks behind the clock; before everything, if there is nothing before that."""
        since = self.closed - ticks
        return LOW if since <= self.bottom else since


@dataclass(frozen=True)
class Choice:
    """What is done in a batch: slices are kept or not, anew from a tick on or as they are, and asked or not."""

    keeps: bool = False
    anew: int | None = None
    from_slices: bool = False


UPSTREAM_ONLY, DOWNSTREAM_ONLY = Choice(), Choice(keeps=True, from_slices=True)


@dataclass
class _Lines(Lines):
    tuples: Line = field(default_factory=lambda: Line(_FROM_TUPLES))
    slices: Line = field(default_factory=lambda: Line(_FROM_SLICES))
    keeping: Line = field(default_factory=lambda: Line(_KEEPING))


@dataclass
class _Known:
    """About one query."""

    lines: _Lines
    debt: float = 0.0
    reach: float = 0.0  # how far back corrections have gone lately
    deeper: float = 0.0  # what it has cost that slices do not go back far enough
    crowded: float = 1.0  # how many times as many rows of slices there were as had been imagined
    since: int = 0  # batches with corrections since slices were there
    told: str = ""

    def to_keep(self, rows: float) -> float:
        """What it costs to keep the slices of so many new rows."""
        return self.lines.seconds(self.lines.keeping, rows) + _ONE_MORE_TASK


class Corrections(ByQuery[_Known]):
    """What decides about queries that leave it to us. One for each executor."""

    def __init__(self) -> None:
        super().__init__()
        self._everywhere = _Lines()  # what queries begin with that have not been measured
        self.pairs = PairCosts()  # of joins, which keep no slices

    def knows(self, name: str) -> bool:
        """Whether a batch without corrections makes a difference to a query that keeps nothing."""
        return name in self._queries

    def reach(self, name: str) -> int:
        """How many ticks back the corrections of a query have gone lately."""
        with self._guard:
            known = self._queries.get(name)
            return 0 if known is None else int(known.reach)

    def idle(self, name: str, fresh: int) -> None:
        """A batch has come without corrections, for a query that keeps nothing: to keep would have cost something."""
        with self._guard:
            known = self._queries.get(name)
            if known is not None:
                known.debt = max(0.0, _FORGETS * known.debt - known.to_keep(fresh))

    def choose(self, name: str, outlook: Outlook) -> Choice:
        """What to do in a batch."""
        with self._guard:
            known = self._queries.get(name)
            if known is None:
                known = self._queries[name] = _Known(self._everywhere.copied())
            known.reach = max(_FORGETS * known.reach if outlook.reach else known.reach, outlook.reach)
            return self._kept(known, outlook) if outlook.kept else self._begun(known, outlook)

    def _begun(self, known: _Known, outlook: Outlook) -> Choice:
        lines = known.lines
        known.since += 1
        if known.since > OLD_NEWS:
            lines.slices, known.crowded, known.since = Line(lines.slices.beliefs), 1.0, 0
        keeping, price = known.to_keep(outlook.fresh), known.to_keep(outlook.passed)
        upstream = lines.seconds(lines.tuples, outlook.tuples)
        downstream = lines.seconds(lines.slices, known.crowded * outlook.slices) + keeping
        known.debt = max(0.0, _FORGETS * known.debt + upstream - downstream)
        known.told = (
            f"from tuples it takes {in_ms(upstream)} a batch, with slices it would be {in_ms(downstream)}; "
            f"so far that is {in_ms(known.debt)} too much, slices are made when it is {in_ms(price)}"
        )
        if outlook.point is None and known.debt <= price:
            return UPSTREAM_ONLY
        known.debt = known.deeper = 0.0
        return Choice(keeps=True, anew=self._since(known, outlook))

    def _kept(self, known: _Known, outlook: Outlook) -> Choice:
        lines = known.lines
        known.since = 0
        keeping, price = known.to_keep(outlook.fresh), known.to_keep(outlook.passed)
        upstream = lines.seconds(lines.tuples, outlook.tuples)
        beside = lines.seconds(lines.tuples, outlook.before) if outlook.before else 0.0
        downstream = lines.seconds(lines.slices, outlook.slices) + beside
        if outlook.reach and outlook.imagined and outlook.slices and outlook.tuples > outlook.before:
            whole = 1 - outlook.before / outlook.tuples  # of the windows in question
            known.crowded = outlook.slices / (outlook.imagined * whole)
        if outlook.reach:
            known.debt = max(0.0, _FORGETS * known.debt + keeping + min(upstream, downstream) - upstream)
            if downstream > upstream:  # they would be no use even if they came for nothing
                known.debt += price / _IN_VAIN
        else:
            # What tuples would cost is not measured while they are not read, and slices are for corrections: without
            # any, keeping them is for nothing, however long ago and dear the last ones were.
            known.debt += keeping
        known.told = (
            f"with slices it takes {in_ms(downstream)} a batch and {in_ms(keeping)} to keep them, "
            f"from tuples it would be {in_ms(upstream)}; "
            f"so far that is {in_ms(known.debt)} too much, they go when it is {in_ms(price)}"
        )
        if outlook.point is None and known.debt > price:
            known.debt = 0.0
            return UPSTREAM_ONLY
        known.deeper = _FADES * known.deeper + beside
        assert outlook.first is not None
        promised = outlook.point is not None and outlook.back(outlook.point) < outlook.first
        since = self._since(known, outlook)
        if promised or (known.deeper > price and since < outlook.first):
            known.deeper = 0.0
            return Choice(keeps=True, anew=since)
        return Choice(keeps=True, from_slices=downstream <= upstream)

    def _since(self, known: _Known, outlook: Outlook) -> int:
        """From which tick on slices are wanted: further back than corrections have gone, and as far as a point goes."""
        return outlook.back(max(math.ceil(_FURTHER * known.reach), outlook.point or 0))

    def spent(self, name: str, outlook: Outlook, choice: Choice, answering: float, keeping: float) -> None:
        """What a batch has cost in which there was something to decide."""
        with self._guard:
            known = self._queries.get(name)
            for lines in (self._everywhere, *(() if known is None else (known.lines,))):
                if answering and not choice.from_slices:
                    lines.answered(lines.tuples, outlook.tuples, answering)
                elif answering:
                    beside = lines.tuples.seconds(outlook.before) if outlook.before else 0.0
                    lines.answered(lines.slices, outlook.slices, max(0.0, answering - beside))
                if keeping:
                    lines.keeping.took(outlook.fresh if choice.anew is None else outlook.passed, keeping)

    def forget(self, name: str) -> None:
        super().forget(name)
        self.pairs.forget(name)
