"""What comes in: every arrival becomes a change of its stream, arrivals become batches, and the clock moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from eddyline.algebra.dictionary import Words, extended
from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.key import without_key
from eddyline.algebra.retention import beyond
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import Applicability, Tagger, TagSpec, Withdrawal
from eddyline.algebra.tag_places import has_room, no_room
from eddyline.catalog.extent import SENSED, Extent
from eddyline.errors import BeyondRetention, DuplicateKey, InvalidTag, MissingKey, MissingTime, NoSuchTuple
from eddyline.reference.coverage import Attach
from eddyline.reference.detach import Detach
from eddyline.reference.element import Change, Clock, TagElement
from eddyline.reference.expression import compile_expression, compile_predicate
from eddyline.reference.feed import Arrived, Batch, Feed
from eddyline.reference.log import StreamLog
from eddyline.reference.tag_input import tick_tag
from eddyline.sources.arrival import (
    DELETE,
    INSERT,
    INSERT_STATEMENT,
    REPLACE,
    TAG,
    UPDATE_STATEMENT,
    Arrival,
    said_by,
)
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
        self._elements: dict[str, list[Arrived]] = {}
        self._tags = 0
        self._behind: dict[str, tuple[int, int]] = {}  # by stream, a tuple and how many tags stand behind it
        self._attached: dict[str, set[tuple[TagSpec, str]]] = {}  # what statements have attached, with its tagger
        self._tagged: dict[str, None] = {}  # the streams that have tags, in the order in which they got them
        self._words: dict[tuple[str, str], Words] = {}  # those of the user's own in the dictionary

    def add_stream(self, extent: Extent) -> None:
        self._extents[extent.name] = extent
        self._logs[extent.name] = StreamLog(extent.name, extent.retain, extent.key, extent.key_positions)

    def connect(self, stream: str, point: str, ticks: int | None) -> None:
        self._logs[stream].connect(point, ticks)

    def disconnect(self, stream: str, point: str) -> None:
        self._logs[stream].disconnect(point)

    def learn(self, words: Words, gone: bool) -> None:
        """The types of tags that come from now on are found with these words, or without them."""
        if gone:
            self._words.pop(words.key, None)
        else:
            self._words[words.key] = words

    # -- arrivals -----------------------------------------------------------------------------------------------------

    def take(self, arrival: Arrival) -> None:
        """A row of a source. One that cannot be applied is set aside with its reason."""
        try:
            element = self._element(arrival)
        except (NoSuchTuple, BeyondRetention, DuplicateKey, InvalidTag) as problem:
            self._set_aside(arrival, problem.message)
            return
        self._add(arrival.extent, element)

    def _element(self, arrival: Arrival) -> Arrived:
        log = self._logs[arrival.extent]
        if arrival.op == TAG:
            return self._tag(arrival)
        values = arrival.values or ()
        if arrival.op == DELETE:
            return log.delete_by_key(values) if arrival.ref is None else log.delete(arrival.ref, log.horizon)
        tick = arrival.tick if arrival.tick is not None else self.reached or 0
        if arrival.op == INSERT:
            return log.insert(tick, values)
        if arrival.ref is None:
            return log.replace_by_key(arrival.tick, values)
        if arrival.tick is None:  # no time of its own: it keeps that of the tuple it replaces
            standing = log[arrival.ref]
            tick = standing.tick if standing is not None else tick
        return log.replace(arrival.ref, tick, values, log.horizon)

    def _tag(self, arrival: Arrival) -> TagElement:
        extent = self._extents[arrival.extent]
        top = self._logs[extent.name].top
        tick = next((tick for tick in (arrival.tick, top, self.reached) if tick is not None), 0)
        known = extended(tuple(self._words.values()))
        last = self._logs[extent.name].arrived
        if not has_room(between := self._between(extent.name)):
            raise no_room()
        tag = tick_tag(
            arrival.tag or {},
            extent.name,
            extent.schema,
            tick,
            self._tick_micros,
            known,
            self._tags + 1,
            last,
            self.feed.taggers.names,
        )
        self._behind[extent.name] = last, between + 1
        self._tags += 1
        self._tagged[extent.name] = None
        return TagElement(tick, tag)

    def _between(self, stream: str) -> int:
        """How many tags stand behind the tuple that came last to a stream."""
        last, count = self._behind.get(stream, (0, 0))
        return count if last == self._logs[stream].arrived else 0

    def _add(self, stream: str, element: Arrived) -> None:
        self._elements.setdefault(stream, []).append(element)
        self.pending += 1
        if isinstance(element, Change) and element.new is not None:
            tick = element.new.tick
            self.reached = tick if self.reached is None else max(tick, self.reached)

    # -- statements ---------------------------------------------------------------------------------------------------

    def insert(self, extent: Extent, values: Values, number: int) -> None:
        """The row with this number, from 1, of an INSERT."""
        self.take(inserted(extent, values, number, self._logs[extent.name].arrived, self._tick_micros))

    def revise(
        self, extent: Extent, schema: Schema, where: TypedExpr | None, values: Sequence[TypedExpr] | None
    ) -> None:
        """Send a revision of every standing tuple that satisfies the condition, or of none if one cannot be revised.

        Tuples beyond the retention stay as they are.
        """
        log = self._logs[extent.name]
        horizon = log.horizon
        satisfies = None if where is None else compile_predicate(where, schema)
        compute = None if values is None else [compile_expression(value, schema) for value in values]
        gone: list[int] = []
        new_versions: list[tuple[int, int, Values]] = []
        too_late: list[tuple[int, int, Values]] = []
        for index, stamped in log.standing():
            if horizon is not None and stamped.tick < horizon:
                continue
            row = (*stamped.row.values, stamped.tick, index)
            if satisfies is not None and not satisfies(row):
                continue
            if compute is None:
                gone.append(index)
                continue
            new = tuple(function(row) for function in compute)
            if new != stamped.row.values:
                tick = tick_of(extent, new, self._tick_micros)
                tick = stamped.tick if tick is None else tick
                check_key(extent, new)
                moved_too_far = horizon is not None and tick < horizon
                (too_late if moved_too_far else new_versions).append((index, tick, new))
        for change in log.replace_all(new_versions, horizon):
            self._add(extent.name, change)
        for index in gone:
            self._add(extent.name, log.delete(index, horizon))
        for index, tick, new in too_late:
            reason = beyond(f"_ref {index}: its new tick {tick}", tick, horizon or 0, extent.name)
            self._set_aside(updated(extent, new, index, tick), reason)

    def attach(self, extent: Extent, tagger: Tagger) -> None:
        """An ad hoc tag stands where the clock stands or, under a condition, before the first tuple to satisfy it."""
        spec = tagger.tag
        self._attached.setdefault(extent.name, set()).add((spec, tagger.tagger))
        self._behind[extent.name] = self._logs[extent.name].arrived, self._between(extent.name) + 1
        self._tagged[extent.name] = None
        if tagger.condition is not None:
            condition = compile_predicate(tagger.condition, tagger.asked)
            self._add(extent.name, Attach(spec, tagger.tagger, condition))
        elif self.reached is None:  # time begins with the first tuple
            self._add(extent.name, Attach(spec, tagger.tagger))
        else:
            self._tags += 1
            type_ = spec.type or extended(()).classify(spec.content)
            tag = spec.tag(extent.name, tagger.tagger, self.reached, type_, self._tags, None)
            self._add(extent.name, TagElement(self.reached, tag))

    def detach(self, extent: Extent, withdrawal: Withdrawal, schema: Schema) -> bool:
        """Take back tags that `attach` has attached; False if there is none that could be meant."""
        fields = Applicability(extent.name, attributes=withdrawal.attributes).positions(extent.schema)
        where = withdrawal.condition
        detach = Detach(
            withdrawal.content,
            withdrawal.tagger,
            fields,
            withdrawal.by_value,
            None if where is None else compile_predicate(where, schema),
            self._logs[extent.name].horizon,
        )
        found = False
        for spec, tagger in self._attached.get(extent.name, ()):
            on = Applicability(extent.name, attributes=spec.attributes).positions(extent.schema)
            found |= detach.is_about(spec.content, tagger, on, spec.by_value)
        self._add(extent.name, detach)
        return found

    def arrived(self, stream: str) -> int:
        """The last index that a tuple of a stream has got."""
        return self._logs[stream].arrived

    def arriving(self, stream: str) -> Sequence[Arrived]:
        """What has come to a stream for the batch that is being filled."""
        return self._elements.get(stream, ())

    @property
    def tagged_streams(self) -> list[str]:
        """The streams that any tags have come to."""
        return list(self._tagged)

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

    def flush_batch(self, flushed: str) -> None:
        """A batch that brings nothing, for those who have something to say nevertheless."""
        self.feed.batches.append(Batch({}, Clock(self.reached, self._closed), flushed))

    def _before_reached(self) -> int | None:
        return None if self.reached is None else self.reached - 1


def constants(rows: Iterable[Sequence[TypedExpr]]) -> list[Values]:
    """The values of rows of constant expressions."""
    nothing = Schema(())
    return [tuple(compile_expression(value, nothing)(()) for value in row) for row in rows]


def inserted(extent: Extent, values: Values, number: int, arrived: int, tick_micros: int) -> Arrival:
    """A row of an INSERT, from 1, into a stream to which some tuples have come before."""
    tick = tick_of(extent, values, tick_micros)
    check_key(extent, values)
    if tick is None:
        tick = acquired_tick(extent, arrived)
    text = said_by(extent.schema.names, values)
    return Arrival(extent.name, number, INSERT, values, tick, file=INSERT_STATEMENT, text=text)


def updated(extent: Extent, values: Values, index: int, tick: int) -> Arrival:
    """What an UPDATE makes of a tuple."""
    text = said_by(extent.schema.names, values)
    return Arrival(extent.name, index, REPLACE, values, tick, index, file=UPDATE_STATEMENT, text=text)


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


def check_key(extent: Extent, values: Values) -> None:
    """That a tuple which a statement makes has a key."""
    for name, position in zip(extent.key, extent.key_positions, strict=True):
        if values[position] is None:
            raise MissingKey(without_key(extent.name, name))
