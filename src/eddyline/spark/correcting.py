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
import threading
from dataclasses import dataclass, field

from eddyline.spark.spans import LOW

#: what was learned of costs is worth a batch later, and what a debt is, or how far back corrections have reached
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
#: a batch that took so many times as long as it should have was disturbed: what it took beyond that teaches nothing
_DISTURBED, _AT_LEAST = 4.0, 0.02
#: the same of the first of its kind, of which nothing is known but what is believed
_SURPRISING = 16.0
#: a work with many rows
_LARGE = 100_000.0
#: no work takes less
_LEAST = 1e-4
#: after so many works, what a line says changes because works do, not because it is still learning
_SETTLED = 10
#: after so many batches with corrections, what slices have cost is old news: they may be tried again
_OLD_NEWS = 200


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


class Line:
    """Seconds as so much for a work and so much for each of its rows, learned from the latest works.

    Works of about one size say how long such a work takes, but not how much of that is for the rows. So what was
    believed of that stays, as a straight line that is as steep as all that has been seen: two points on it, each worth
    half a work. Works of different sizes outweigh them.
    """

    def __init__(self, known: tuple[float, float]) -> None:
        self.beliefs = known
        self.works = 0
        self._n, self._x, self._y, self._xx, self._xy = 0.0, 0.0, 0.0, 0.0, 0.0

    def took(self, rows: float, seconds: float) -> None:
        most = (_DISTURBED if self.works else _SURPRISING) * self.seconds(rows) + _AT_LEAST
        seconds = min(seconds, most)
        self.works += 1
        sums = (1.0, rows, seconds, rows * rows, rows * seconds)
        old = (self._n, self._x, self._y, self._xx, self._xy)
        self._n, self._x, self._y, self._xx, self._xy = (_FADES * a + b for a, b in zip(old, sums, strict=True))

    def slowed(self, times: float) -> None:
        """All works of this kind take so many times as long as they did, or so it seems from others."""
        self._y, self._xy = times * self._y, times * self._xy

    @property
    def pace(self) -> float | None:
        """How many times as long works took as was believed; None: there were none."""
        fixed, slope = self.beliefs
        return self._y / (fixed * self._n + slope * self._x) if self.works else None

    @property
    def known(self) -> tuple[float, float]:
        pace = self.pace
        if pace is None:
            return self.beliefs
        n, x, y, xx, xy = self._n, self._x, self._y, self._xx, self._xy
        for rows in (0.0, max(2 * x / n, _LARGE)):
            seconds = pace * self.believed(rows)
            n, x, y = n + 0.5, x + 0.5 * rows, y + 0.5 * seconds
            xx, xy = xx + 0.5 * rows * rows, xy + 0.5 * rows * seconds
        slope = max((xy - x * y / n) / (xx - x * x / n), self.beliefs[1] / 50)
        return max(_LEAST, (y - slope * x) / n), slope

    def seconds(self, rows: float) -> float:
        fixed, slope = self.known
        return fixed + slope * rows

    def believed(self, rows: float) -> float:
        fixed, slope = self.beliefs
        return fixed + slope * rows


@dataclass
class _Lines:
    tuples: Line = field(default_factory=lambda: Line(_FROM_TUPLES))
    slices: Line = field(default_factory=lambda: Line(_FROM_SLICES))
    keeping: Line = field(default_factory=lambda: Line(_KEEPING))

    def copied(self) -> _Lines:
        return _Lines(Line(self.tuples.known), Line(self.slices.known), Line(self.keeping.known))

    def answered(self, line: Line, rows: float, seconds: float) -> None:
        """What answering took; if it takes longer than it did, half of that is believed of the other ways too.

        The machine may have become slower, and then so has the way that is not taken, which nobody measures. Without
        this, a query that had found slices to be no use tried them again whenever the machine was busy.
        """
        settled, before = line.works >= _SETTLED, line.seconds(rows)
        line.took(rows, seconds)
        for other in (self.tuples, self.slices, self.keeping) if settled else ():
            if other is not line and other.pace is not None:
                other.slowed(math.sqrt(line.seconds(rows) / before))

    def seconds(self, line: Line, rows: float) -> float:
        """What a work is going to take; of a kind that was never done, more than is believed if others took more.

        Some of what is slow about a query (its many groups, the answers it is compared with) is slow on either way,
        some on one of them alone: nobody knows how much before it is tried.
        """
        if line.pace is not None:
            return line.seconds(rows)
        paces = [each.pace for each in (self.tuples, self.slices, self.keeping) if each.pace is not None]
        return line.believed(rows) * math.sqrt(max(paces, default=1.0))


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


class Corrections:
    """What decides about queries that leave it to us. One for each executor; lanes ask from threads of their own."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._queries: dict[str, _Known] = {}
        self._everywhere = _Lines()  # what queries begin with that have not been measured

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
        if known.since > _OLD_NEWS:
            lines.slices, known.crowded, known.since = Line(lines.slices.beliefs), 1.0, 0
        keeping, price = known.to_keep(outlook.fresh), known.to_keep(outlook.passed)
        upstream = lines.seconds(lines.tuples, outlook.tuples)
        downstream = lines.seconds(lines.slices, known.crowded * outlook.slices) + keeping
        known.debt = max(0.0, _FORGETS * known.debt + upstream - downstream)
        known.told = (
            f"from tuples it takes {_ms(upstream)} a batch, with slices it would be {_ms(downstream)}; "
            f"so far that is {_ms(known.debt)} too much, slices are made when it is {_ms(price)}"
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
            f"with slices it takes {_ms(downstream)} a batch and {_ms(keeping)} to keep them, "
            f"from tuples it would be {_ms(upstream)}; "
            f"so far that is {_ms(known.debt)} too much, they go when it is {_ms(price)}"
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

    def told(self, name: str) -> str:
        """The costs that have decided, in words; nothing if there was nothing to decide."""
        with self._guard:
            known = self._queries.get(name)
            return "" if known is None else known.told

    def forget(self, name: str) -> None:
        with self._guard:
            self._queries.pop(name, None)


def _ms(seconds: float) -> str:
    """
    >>> _ms(0.01234), _ms(0.0004), _ms(12.3456)
    ('12 ms', '0.4 ms', '12,346 ms')
    """
    return f"{1_000 * seconds:,.0f} ms" if seconds >= 0.001 else f"{1_000 * seconds:.1f} ms"
