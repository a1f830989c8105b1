"""What comes in: every arrival becomes a change of its stream, arrivals become batches, and the clock moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from eddyline.algebra.dictionary import shipped
from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import Tagger
from eddyline.catalog.extent import SENSED, Extent
from eddyline.errors import InvalidTag, MissingTime, NoSuchTuple
from eddyline.reference.coverage import Attach
from eddyline.reference.element import Change, Clock, TagElement
from eddyline.reference.expression import compile_expression, compile_predicate
from eddyline.reference.feed import Arrived, Batch, Feed
from eddyline.reference.log import StreamLog
from eddyline.reference.tag_input import tick_tag
from eddyline.sources.arrival import DELETE, INSERT, TAG, Arrival
from eddyline.sources.intake import time_position, to_tick

Values = tuple[Any, ...]
SetAside = Callable[[Arrival, str], None]


class Inflow:
    """The streams as they stand, the batch being filled, and the clock."""

    def __init__(self, tick_micros: int, set_aside: SetAside) -> None:
        self.feed = Feed()
        self.reached: int | None = None
        self.pending = 0  # arrivals in the batch being filled
        self._closed: int | None = None
        self._tick_micros = tick_micros
        self._set_aside = set_aside
        self._extents: dict[str, Extent] = {}
        self._logs: dict[str, StreamLog] = {}
        self._latest: dict[str, int] = {}  # the largest tick of each stream
        self._elements: dict[str, list[Arrived]] = {}
        self._tags = 0

    def add_stream(self, extent: Extent) -> None:
        self._extents[extent.name] = extent
        self._logs[extent.name] = StreamLog(extent.name)

    # -- arrivals -----------------------------------------------------------------------------------------------------

    def take(self, arrival: Arrival) -> None:
        """A row of a source. One that cannot be applied is set aside with its reason."""
        try:
            element = self._element(arrival)
        except (NoSuchTuple, InvalidTag) as problem:
            self._set_aside(arrival, problem.message)
            return
        self._add(arrival.extent, element)

    def _element(self, arrival: Arrival) -> Arrived:
        log = self._logs[arrival.extent]
        if arrival.op == TAG:
            return self._tag(arrival)
        if arrival.op == DELETE:
            return log.delete(arrival.ref or 0)
        tick = arrival.tick if arrival.tick is not None else self.reached or 0
        values = arrival.values or ()
        if arrival.op == INSERT:
            return log.insert(tick, values)
        if arrival.tick is None:  # no time of its own: it keeps that of the tuple it replaces
            standing = log[arrival.ref or 0]
            tick = standing.tick if standing is not None else tick
        return log.replace(arrival.ref or 0, tick, values)

    def _tag(self, arrival: Arrival) -> TagElement:
        extent = self._extents[arrival.extent]
        tick = arrival.tick if arrival.tick is not None else self._latest.get(extent.name, self.reached or 0)
        tag = tick_tag(
            arrival.tag or {}, extent.name, extent.schema, tick, self._tick_micros, shipped(), self._tags + 1
        )
        self._tags += 1
        return TagElement(tick, tag)

    def _add(self, stream: str, element: Arrived) -> None:
        self._elements.setdefault(stream, []).append(element)
        self.pending += 1
        if isinstance(element, Change) and element.new is not None:
            tick = element.new.tick
            self._latest[stream] = max(tick, self._latest.get(stream, tick))
            self.reached = tick if self.reached is None else max(tick, self.reached)

    # -- statements ---------------------------------------------------------------------------------------------------

    def insert(self, extent: Extent, values: Values) -> None:
        log = self._logs[extent.name]
        tick = tick_of(extent, values, self._tick_micros)
        if tick is None:
            tick = acquired_tick(extent, log.arrived)
        self._add(extent.name, log.insert(self.reached or 0 if tick is None else tick, values))

    def revise(
        self, extent: Extent, schema: Schema, where: TypedExpr | None, values: Sequence[TypedExpr] | None
    ) -> None:
        """Send a revision of every standing tuple that satisfies the condition, or of none if one cannot be revised."""
        log = self._logs[extent.name]
        satisfies = None if where is None else compile_predicate(where, schema)
        compute = None if values is None else [compile_expression(value, schema) for value in values]
        revisions: list[tuple[int, int, Values | None]] = []
        for index, stamped in log.standing():
            row = (*stamped.row.values, stamped.tick, index)
            if satisfies is not None and not satisfies(row):
                continue
            new = None if compute is None else tuple(function(row) for function in compute)
            if new != stamped.row.values:
                tick = None if new is None else tick_of(extent, new, self._tick_micros)
                revisions.append((index, stamped.tick if tick is None else tick, new))
        for index, tick, new in revisions:
            self._add(extent.name, log.delete(index) if new is None else log.replace(index, tick, new))

    def attach(self, extent: Extent, tagger: Tagger) -> None:
        """An ad hoc tag stands where the clock stands or, under a condition, before the first tuple to satisfy it."""
        spec = tagger.tag
        if tagger.condition is not None:
            condition = compile_predicate(tagger.condition, tagger.input.schema)
            self._add(extent.name, Attach(spec, tagger.tagger, condition))
        elif self.reached is None:  # time begins with the first tuple
            self._add(extent.name, Attach(spec, tagger.tagger))
        else:
            self._tags += 1
            type_ = shipped().classify(spec.content)
            tag = spec.tag(extent.name, tagger.tagger, self.reached, type_, self._tags, None)
            self._add(extent.name, TagElement(self.reached, tag))

    # -- batches ------------------------------------------------------------------------------------------------------

    def end_batch(self, ended: bool = False) -> bool:
        """Close the batch; with `ended` the input has ended for now. False if there is nothing new to tell."""
        closed = self.reached if ended else self._before_reached()
        if self._closed is not None and (closed is None or closed < self._closed):
            closed = self._closed
        nothing_new = not self.pending and closed == self._closed and bool(self.feed.batches)
        if nothing_new:
            return False
        elements = {stream: tuple(elements) for stream, elements in self._elements.items()}
        self._elements = {}
        self.pending = 0
        self._closed = closed
        self.feed.batches.append(Batch(elements, Clock(self.reached, closed)))
        return True

    def _before_reached(self) -> int | None:
        return None if self.reached is None else self.reached - 1


def constants(rows: Iterable[Sequence[TypedExpr]]) -> list[Values]:
    """The values of rows of constant expressions."""
    nothing = Schema(())
    return [tuple(compile_expression(value, nothing)(()) for value in row) for row in rows]


def acquired_tick(extent: Extent, arrived: int) -> int | None:
    """When a sensor without a clock of its own is read: all sites at once, interval after interval (Figure 2)."""
    if extent.kind != SENSED or extent.interval is None:
        return None
    return arrived // max(1, len(extent.sites)) * extent.interval


def tick_of(extent: Extent, values: Values, tick_micros: int) -> int | None:
    """The tick of a tuple by its TIMESTAMP BY column; None if the extent has none."""
    position = time_position(extent)
    if position is None:
        return None
    if values[position] is None:
        raise MissingTime(f"{extent.name}: {extent.timestamp} is NULL, but it is the TIMESTAMP BY column")
    return to_tick(extent, tick_micros)(values[position])
