"""What is seen of a join while it runs, with decay: rates, windows, and how selective its conditions are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from eddyline.algebra.printing import sql_text
from eddyline.algebra.user_function import functions_of
from eddyline.algebra.window import Scan
from eddyline.errors import EddylineError
from eddyline.kernels.dialect import Untranslatable
from eddyline.kernels.sheet import Sheet
from eddyline.kernels.task import KernelFailed, Work, answered
from eddyline.planner.graph import JoinGraph, mask_of
from eddyline.planner.multi_join import LEAST_SIZE, MultiJoin, multi_join
from eddyline.planner.statistics import Statistics
from eddyline.spark.evaluate.batch import Batch, Log
from eddyline.spark.evaluate.holding import Held, added_by, held
from eddyline.spark.evaluate.sampling import ALL, FOUND, WHAT, is_sampled, sampling
from eddyline.spark.join_inputs import JoinInputs, window_of
from eddyline.spark.spans import LOW

#: how much of what was seen before counts beside a batch; half is forgotten after seven of them
_FADING = 0.9
#: how much a new sample counts beside those before
_NEW = 0.5
#: a sample is drawn in the first batches that are powers of two, then in one of so many, and when something drifts
_SAMPLED_EVERY = 8
#: what a node gives or takes has drifted if it is so many times what it was, and so much at least (tuples, seconds)
_DRIFTED, _LEAST_GIVEN, _LEAST_CPU = 1.6, 100, 0.02
#: a condition fits other pairs than before if it is by so many times, and beyond so many standard deviations; the same
#: goes for the rate of a stream, if it is so more than once
_OTHER, _DEVIATIONS, _AGAIN = 2.0, 3.0, 2
#: as many pairs are needed to say how many of them fit
_LEAST_PAIRS = 50


@dataclass
class Faded:
    """A number per second, of which old times count less and less."""

    amount: float = 0.0
    seconds: float = 0.0

    def add(self, amount: float, seconds: float) -> None:
        """What comes while the clock stands still belongs to the time that has passed before."""
        fading = _FADING if seconds > 0 else 1.0
        self.amount = self.amount * fading + amount
        self.seconds = self.seconds * fading + seconds

    @property
    def rate(self) -> float | None:
        return self.amount / self.seconds if self.seconds > 0 else None


@dataclass
class Arriving(Faded):
    """The rate of a stream. If what comes is clearly more or less than before, and again the next time, all that was
    before is over: to forget it little by little would take longer than it takes to change a plan. One batch that
    covers an hour, after a pause, would else count more than all those of a second that follow.

    >>> stream = Arriving()
    >>> for amount in (1000, 1000, 1000, 5000, 1000, 20_000, 20_000, 20_000):
    ...     stream.add(amount, 1.0)
    ...     print(round(stream.rate))
    1000
    1000
    1000
    2163
    1879
    5746
    8479
    20000
    """

    #: beyond so many standard deviations of a number of tuples; 0: what is counted does not come by chance
    deviations: float = _DEVIATIONS
    #: what has come since the clock has moved last, and how far it has moved
    now: tuple[float, float] = (0.0, 0.0)
    before: float | None = None
    away: tuple[float, float] = (0.0, 0.0)  # what has come while it was unlike that …
    times: int = 0  # … as often as that, below 0 if it was less
    turns: int = 0  # how often all that was before was over

    def add(self, amount: float, seconds: float) -> None:
        if seconds > 0:
            self._judge()
            self.now = (0.0, 0.0)
        self.now = (self.now[0] + amount, self.now[1] + seconds)
        super().add(amount, seconds)

    def _judge(self) -> None:
        came, seconds = self.now
        if seconds <= 0:
            return
        expected = came if self.before is None else self.before * seconds
        larger, smaller = max(came, expected), min(came, expected)
        if larger <= _OTHER * smaller or larger - smaller <= self.deviations * math.sqrt(max(0.0, larger)):
            self.times, self.away, self.before = 0, (0.0, 0.0), self.rate
            return
        side = 1 if came > expected else -1
        if self.times * side < 0:
            self.times, self.away = 0, (0.0, 0.0)
        self.times += side
        self.away = (self.away[0] + came, self.away[1] + seconds)
        if abs(self.times) >= _AGAIN:
            self.amount, self.seconds = self.away
            self.turns += 1
            self.times, self.away, self.before = 0, (0.0, 0.0), self.rate


@dataclass
class Node:
    """What a node of the tree gives, and what it takes of the processor."""

    given: Arriving = field(default_factory=Arriving)
    cpu: Arriving = field(default_factory=lambda: Arriving(deviations=0.0))


@dataclass
class Observed:
    """What is known of one join. It may be forgotten at any time: whoever starts again looks again.

    It is seen by the thread of a batch or of a lane, while others look at it: what they go through is not added to, but
    replaced.
    """

    join: JoinInputs
    batches: int = 0
    at_first: dict[str, float] = field(default_factory=dict)  # rates of the first batch, by log
    streams: dict[str, Arriving] = field(default_factory=dict)  # tuples, by log
    passing: dict[int, float] = field(default_factory=dict)  # by input, the part of its stream's tuples that it takes
    selectivities: dict[str, float] = field(default_factory=dict)  # by the text of a condition
    sizes: dict[int, Held] = field(default_factory=dict)  # by input, what its window holds of its stream
    rows: dict[str, float] = field(default_factory=dict)  # of tables
    batch: Arriving = field(default_factory=lambda: Arriving(deviations=0.0))  # batches, by seconds of the streams
    nodes: dict[str, Node] = field(default_factory=dict)  # by stage
    sampled: int = 0  # in which batch a sample was last drawn
    unsampled: str = ""  # why the last sample could not be drawn, if it could not
    turned: int = 0  # how often a condition has clearly fitted more or fewer pairs than before

    def see(self, view: Batch, tick_seconds: float, root: str, nodes: Mapping[str, tuple[int, float]]) -> None:
        """A batch is done; by stage, how many tuples it gave, and its processor time."""
        if view.before.reached <= LOW:  # nobody knows how long that has taken
            self._begin(view, tick_seconds, root)
            return
        seconds = max(0, view.now.reached - view.before.reached) * tick_seconds
        self.batches += 1
        self.batch.add(1, seconds)
        self.sizes = {at: _holding(self.sizes.get(at), now) for at, now in held(self.join, view).items()}
        self.streams = {**{name: Arriving() for name in view.logs}, **self.streams}
        for name, log in view.logs.items():
            self.streams[name].add(_tuples(log), seconds)
        drifts = any(name in self.nodes and _drifts(self.nodes[name], nodes[name], seconds) for name in nodes)
        self.nodes = {name: self.nodes.get(name, Node()) for name in nodes}
        for name, (given, cpu) in nodes.items():
            self.nodes[name].given.add(given, seconds)
            self.nodes[name].cpu.add(cpu, seconds)
        due = self.batches & (self.batches - 1) == 0 or self.batches % _SAMPLED_EVERY == 0
        if due or (drifts and self.batches > self.sampled + 1):
            self.sampled = self.batches
            self._sample(view, root)

    def _begin(self, view: Batch, tick_seconds: float, root: str) -> None:
        """The first batch tells enough to order the next one, by the ticks of what has come."""
        for name, log in view.logs.items():
            if tuples := _tuples(log):
                ticks = [tick for segment in log.fresh for tick in segment.tick]
                self.at_first[name] = tuples / ((max(ticks) - min(ticks) + 1) * tick_seconds)
        self.sizes = held(self.join, view)
        self._sample(view, root)

    def _sample(self, view: Batch, root: str) -> None:
        """A few hundred tuples of each input, in this process: a twentieth of a second, a second for 190 conditions."""
        sheet = Sheet()
        try:
            asked = sampling(self.join, replace(view, frames=sheet, join=None), self.rows)  # type: ignore[arg-type]
            if asked is None or sheet.found:
                return
            statements = [frame.statement() for frame in asked.frames]  # type: ignore[attr-defined]
        except Untranslatable as problem:
            self.unsampled = str(problem)
            return
        work = Work("", 0, root, "", sheet.files, sheet.tables, functions=functions_of(self.join.node))
        try:
            rows = [row for each in statements for row in answered(replace(work, statement=each)).to_pylist()]
        except (KernelFailed, EddylineError) as problem:
            self.unsampled = str(problem)
            return
        self.unsampled = ""
        texts, inputs = asked.texts(), len(self.join.inputs)
        for row in rows:
            what, all_, fits = row[WHAT], row[ALL], row[FOUND] or 0
            if what < inputs:
                window = window_of(self.join.inputs[what])
                if isinstance(window, Scan):
                    self.rows = {**self.rows, window.table: float(all_)}
                elif (part := asked.part(what, fits)) is not None:
                    self.passing[what] = _mixed(self.passing.get(what), part, asked.drawn[what])
            elif all_ >= _LEAST_PAIRS:
                text = texts[what - inputs]
                seen = min(1.0, max(fits, 0.5) / all_)
                before = self.selectivities.get(text)
                self.selectivities[text] = _mixed(before, seen, all_)
                self.turned += before is not None and self.selectivities[text] == seen != before

    @property
    def turns(self) -> int:
        """How often something was clearly another than before: a plan that was made before is to be looked at again."""
        return self.turned + sum(stream.turns for stream in self.streams.values())

    @property
    def is_enough(self) -> bool:
        """Whether a tree could be chosen by what was seen. What can never be seen is assumed."""
        return self.batches >= 2 and self.is_enough_for_orders

    @property
    def is_enough_for_orders(self) -> bool:
        """Orders cost nothing to change, so the first sample will do."""
        sampled = mask_of(at for at, one in enumerate(self.join.inputs) if is_sampled(window_of(one)))
        pairs = [c for c in self.join.conditions if c.inputs.bit_count() == 2 and not c.inputs & ~sampled]
        return bool(self.rates()) and all(sql_text(c.expr) in self.selectivities for c in pairs)

    def rates(self) -> dict[str, float]:
        seen = {name: rate for name, faded in self.streams.items() if (rate := faded.rate) is not None}
        return {**self.at_first, **seen}

    def described(self, tick_seconds: float) -> MultiJoin:
        """The join as the planner sees it, by what was seen; what was not is assumed, and it says so.

        What a window holds is counted. That is another matter than how fast tuples come: a stream that pauses has a
        window full of them. Only while a window is not yet full it is taken for as large as the rate will make it, if
        that is more.
        """
        known = self.rates()
        statistics = Statistics(tick_seconds, known, self.rows, self.selectivities)
        made = multi_join(self.join.node, statistics)
        inputs = []
        for at, one in enumerate(made.graph.inputs):
            part, window = self.passing.get(at), window_of(self.join.inputs[at])
            if part is not None and not isinstance(window, Scan):
                log = next(op for op in window.walk() if not op.inputs)
                stream = known.get(getattr(log, "name", ""))
                if stream and one.rate > 0:
                    one = one.scaled(stream * part / one.rate, 1.0)
                if (holds := self.sizes.get(at)) is not None:
                    tuples = max(holds.tuples * part, LEAST_SIZE)
                    one = replace(one, size=tuples if holds.is_full else max(one.size, tuples))
            inputs.append(one)
        graph = JoinGraph(tuple(inputs), made.graph.predicates, made.graph.keys)
        return replace(made, graph=graph)


def _tuples(log: Log) -> int:
    """How many more there are by a batch."""
    return max(0, sum(map(added_by, log.fresh)))


def _holding(before: Held | None, now: Held) -> Held:
    """What a window holds, a mean with what it did, or as it is now if that is clearly another.

    >>> [_holding(Held(100, True), Held(now, True)).tuples for now in (110, 10, 250)]
    [105.0, 10, 250]
    """
    if before is None or max(before.tuples, now.tuples) > _OTHER * min(before.tuples, now.tuples):
        return now
    return Held((before.tuples + now.tuples) / 2, now.is_full)


def _mixed(before: float | None, now: float, of: float) -> float:
    """A part of so many, beside what it was: a mean, or the new one if it is clear that something has changed.

    >>> _mixed(None, 0.5, 100), _mixed(0.4, 0.5, 100), _mixed(0.001, 0.5, 100), _mixed(0.5, 0.001, 10_000)
    (0.5, 0.45, 0.5, 0.001)
    """
    if before is None:
        return now
    larger, smaller = max(before, now), min(before, now)
    if larger > _OTHER * smaller and (larger - smaller) * of > _DEVIATIONS * math.sqrt(larger * of):
        return now
    return before * (1 - _NEW) + now * _NEW


def _drifts(node: Node, now: tuple[int, float], seconds: float) -> bool:
    """Whether a node gives or takes much more or less than it did."""
    if seconds <= 0:
        return False
    for had, amount, least in zip((node.given.rate, node.cpu.rate), now, (_LEAST_GIVEN, _LEAST_CPU), strict=True):
        larger, smaller = max((had or 0.0) * seconds, amount), min((had or 0.0) * seconds, amount)
        if had is not None and larger >= least and larger > _DRIFTED * smaller:
            return True
    return False
