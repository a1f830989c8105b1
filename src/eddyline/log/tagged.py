"""The tags of streams as rows come in: each tuple is written down with the tags that cover it.

Tick-tags stand in the log as they came (`#`), and the marks of a tuple in a column that only segments have in which a
tuple has any. What is known of the tags that can still cover something follows from the log alone, and is put together
from it when a database is opened again.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.marks import mark_of, read, written
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import Tagger, TagSpec, TickTag
from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.errors import InvalidTag
from eddyline.log.coverage import Attachment, Condition, Coverage, Stretch, ValueText
from eddyline.log.detached import DETACH, detachment
from eddyline.log.isolated import Isolated, Said, said_by
from eddyline.log.journal import StreamState
from eddyline.log.segment import DIFF, INDEX, MARKS, OP, SEQ, TAG, TICK, Segment
from eddyline.log.storage import Storage

Array = Any
#: what the text of an attachment in the log begins with; that of a source's tag is JSON
_ATTACHED = "ATTACH "
_NONE = pa.array([], pa.int64())
#: bits for the number of tags between two tuples
_TAGS_BETWEEN = 20


class TagReading(Protocol):
    """How tags are understood; that is the same for all engines."""

    def tick_tag(self, fields: Mapping[str, Any], extent: Extent, tick: int, number: int) -> TickTag:
        """The tag that a source's row says; raises InvalidTag."""

    def texts(self, schema: Schema) -> Sequence[ValueText]:
        """How values of the fields are written, for patterns."""

    def condition(self, where: TypedExpr, schema: Schema) -> Condition:
        """Which tuples satisfy a condition, column by column."""


def attachment_text(tagger: Tagger) -> str:
    """An ad hoc ATTACH TAG that waits for its first tuple, as it stands in the log."""
    where = None if tagger.condition is None else [tagger.condition, tagger.input.schema]
    value = {"spec": asdict(tagger.tag), "tagger": tagger.tagger, "where": _packed(where)}
    return _ATTACHED + json.dumps(value)


def tag_text(tagger: Tagger) -> str:
    """An ad hoc tag that stands where the clock stands, as a source would say it."""
    spec = tagger.tag
    on = {"attributes": list(spec.attributes)} if spec.attributes is not None else None
    value = {
        "content": spec.content,
        "sign": spec.sign,
        "lifespan": spec.lifespan,
        "mode": spec.mode,
        "tagger": tagger.tagger,
        "type": spec.type,
        "applies_to": None if on is None else {**on, "value": spec.by_value},
    }
    return json.dumps({name: each for name, each in value.items() if each is not None})


def _packed(where: Any) -> str | None:
    return None if where is None else base64.b64encode(pickle.dumps(where)).decode()


class TaggedStream:
    """The tags of one stream."""

    def __init__(self, extent: Extent, state: StreamState, storage: Storage, reading: TagReading) -> None:
        """`state` is that of the stream now: what its log has is taken in again, from the first tag on."""
        self._extent, self._storage, self._reading = extent, storage, reading
        self._put_together(state)

    def _put_together(self, state: StreamState, kept_from: int | None = None) -> None:
        """From the log; tags that may cover tuples at `kept_from` or later are not forgotten on the way."""
        extent, storage, reading = self._extent, self._storage, self._reading
        first = min((segment.seq[0] for segment in state.segments if segment.tags), default=None)
        before = [s for s in state.segments if first is None or s.seq[1] < first]
        latest = max((s.tick[1] for s in before), default=None) if first is not None else state.top
        self._coverage = Coverage(extent.schema, extent.name, reading.texts(extent.schema), latest, kept_from=kept_from)
        self._last, self._since = -1, 0  # the last tuple before the latest tag, and how many tags there were since
        for rows in () if first is None else _since(first, state, storage, extent):
            self._covered(rows, lambda place, problem: None)
        self._coverage.made.clear()
        self._coverage.forget_before(extent.horizon(state.top))

    def __len__(self) -> int:
        """How many tags are kept, because they can still cover something."""
        return len(self._coverage)

    def active(self) -> set[int]:
        """The numbers of the tags that may cover tuples which are to come."""
        return self._coverage.active()

    def detach(self, text: str) -> bool:
        """Tags are taken back, for the tuples that are to come; whether there are any that could be meant."""
        return self._coverage.detach(detachment(text, self._reading.condition))

    def marked(
        self, rows: pa.Table, has_tick: Array, state: StreamState, set_aside: Callable[[int, str], None]
    ) -> pa.Table:
        """Rows of the log with the marks of their tuples, and without tags that mean nothing, which are set aside.

        `has_tick`: which of the tags among them have a time of their own. `set_aside` is told which tag it is, from 0.
        """
        rows = _with_times(rows, has_tick, state.top)
        self._reach_back(rows, state)
        wrong: list[int] = []

        def refused(place: int, problem: InvalidTag) -> None:
            wrong.append(place)
            set_aside(int(np.searchsorted(places, place)), problem.message)

        places = np.flatnonzero(_is(rows, OP, "#"))
        new, told = self._covered(rows, refused)
        marks = self._of_all(rows, new, told, state)
        if marks.null_count < len(marks):
            rows = rows.append_column(MARKS, marks)
        self._coverage.forget_before(self._extent.horizon(_top(rows, state.top)))
        if wrong:
            kept = np.ones(rows.num_rows, bool)
            kept[wrong] = False
            rows = rows.filter(pa.array(kept))
        made, self._coverage.made = self._coverage.made, []
        return self._with_made(rows, made) if made else rows

    def _reach_back(self, rows: pa.Table, state: StreamState) -> None:
        """Tags are at hand that may cover the tuples that come late, and stay so until all have come."""
        lowest = pc.min(rows.column(TICK).filter(pc.equal(rows.column(OP), "+"))).as_py()
        forgotten = self._coverage.forgotten
        if lowest is not None and forgotten is not None and lowest < forgotten:
            self._put_together(state, lowest)
        self._coverage.kept_from = lowest

    def _with_made(self, rows: pa.Table, made: Sequence[tuple[int, TickTag]]) -> pa.Table:
        """Tags that have found their places stand there, in front of their first tuples."""
        index = np.where(_is(rows, OP, "+"), rows.column(INDEX).to_numpy(), -1)
        before = np.array([int(np.flatnonzero(index == at)[0]) for at, _ in made])
        tags = pa.table(
            {
                INDEX: pa.array([at - 1 for at, _ in made], pa.int64()),
                TICK: pa.array([tag.timestamp for _, tag in made], pa.int64()),
                DIFF: pa.array([0] * len(made), pa.int8()),
                OP: pa.array(["#"] * len(made)),
                MARKS: pa.array([self._told(tag) for _, tag in made], pa.string()),
            }
        )
        together = pa.concat_tables([rows, tags], promote_options="default").select(rows.column_names)
        places = np.concatenate([np.arange(rows.num_rows), before - 0.5])
        together = together.take(pa.array(np.argsort(places, kind="stable")))
        first = rows.column(SEQ)[0].as_py()
        seq = pa.array(first + np.arange(together.num_rows))
        return together.set_column(together.column_names.index(SEQ), SEQ, seq)

    def _told(self, tag: TickTag) -> str | None:
        return written([mark_of(tag, tag.applies_to.positions(self._extent.schema), whole=True)])

    def _covered(self, rows: pa.Table, refused: Callable[[int, InvalidTag], None]) -> tuple[pa.Array, pa.Array]:
        """The marks of the new tuples among rows, in their order, and the texts of the tags.

        Tags take their places on the way. Their numbers tell how many tuples came before them, and how many tags since.
        """
        new = np.flatnonzero(_is(rows, OP, "+"))
        tuples = rows if len(new) == rows.num_rows else rows.take(pa.array(new))
        index, tick = (tuples.column(name).to_numpy() for name in (INDEX, TICK))
        stretch = Stretch(tuples.select(self._extent.schema.names), index, tick)
        places = np.flatnonzero(_is(rows, OP, "#"))
        known = rows if MARKS in rows.column_names else rows.append_column(MARKS, pa.nulls(rows.num_rows, pa.string()))
        tags = known.select([TAG, TICK, INDEX, MARKS]).take(pa.array(places)).combine_chunks()
        texts, ticks, lasts = tags.column(TAG), tags.column(TICK).to_numpy(), tags.column(INDEX).to_numpy()
        upto = np.searchsorted(new, places)
        isolated = Isolated(pa.concat_arrays(texts.chunks or [pa.array([], pa.string())]), upto, index, self._said)
        parts: list[pa.Array] = []
        told: list[pa.Array] = []
        done = at = 0
        while at < len(places):
            end = isolated.end_of_run(at)
            behind = int(upto[end]) if end < len(places) else len(stretch)
            if isolated.simple[at] and self._coverage.is_without(stretch.slice(done, behind)):
                numbers = lasts[at:end] << _TAGS_BETWEEN
                numbers[0] = self._number(int(lasts[at]))
                parts.append(isolated.marks(at, end, done, behind, ticks[at:end], numbers))
                told.append(isolated.told(at, end, ticks[at:end], numbers))
                self._last, self._since = (int(lasts[end - 1]), 0) if end > at + 1 else (self._last, self._since)
                self._coverage.passed(stretch.slice(done, behind))
                done, at = behind, end
                continue
            if upto[at] > done:
                parts.append(pa.array(self._coverage.covered(stretch.slice(done, int(upto[at]))), pa.string()))
                done = int(upto[at])
            tag = None
            try:
                if (text := texts[at].as_py()) is not None:  # or it is there as it was made
                    said = tags.column(MARKS)[at].as_py()
                    tag = self._arrive(text, int(ticks[at]), self._number(int(lasts[at])), said)
            except InvalidTag as problem:
                self._since -= 1  # it is not going to be in the log
                refused(int(places[at]), problem)
            told.append(pa.array([None if tag is None else self._told(tag)], pa.string()))
            at += 1
        if done < len(stretch):
            parts.append(pa.array(self._coverage.covered(stretch.slice(done, len(stretch))), pa.string()))
        nothing = pa.array([], pa.string())
        return pa.concat_arrays(parts or [nothing]), pa.concat_arrays(told or [nothing])

    def _said(self, text: str) -> Said | None:
        """What tags with these words say, if they say it all by themselves."""
        if text.startswith((_ATTACHED, DETACH)):
            return None
        try:
            tag = self._reading.tick_tag(json.loads(text), self._extent, 0, 0)
        except InvalidTag:
            return None
        return said_by(tag, tag.applies_to.positions(self._extent.schema))

    def _number(self, last: int) -> int:
        self._since = self._since + 1 if last == self._last else 0
        self._last = last
        return (last << _TAGS_BETWEEN) + self._since

    def _arrive(self, text: str, tick: int, number: int, said: str | None) -> TickTag | None:
        """`said`: what the log has of a tag that has come before. Its type is by the dictionary of that time."""
        if text.startswith(DETACH):
            self._coverage.detach(detachment(text, self._reading.condition))
            return None
        if not text.startswith(_ATTACHED):
            fields = json.loads(text)
            if said is not None:
                fields["type"], number = read(said)[0].type, read(said)[0].number
            tag = self._reading.tick_tag(fields, self._extent, tick, number)
            self._coverage.arrive(tag)
            return tag
        value = json.loads(text.removeprefix(_ATTACHED))
        spec = dict(value["spec"])
        spec["attributes"] = None if spec["attributes"] is None else tuple(spec["attributes"])
        condition = None
        if value["where"] is not None:
            where, schema = pickle.loads(base64.b64decode(value["where"]))
            condition = self._reading.condition(where, schema)
        self._coverage.attach(Attachment(TagSpec(**spec), value["tagger"], number, condition))
        return None

    def _of_all(self, rows: pa.Table, new: pa.Array, told: pa.Array, state: StreamState) -> pa.Array:
        """The marks of all rows: a tuple's are settled when it comes, a revision hands them on; a tag tells itself."""
        plus = _is(rows, OP, "+")
        marks = np.full(rows.num_rows, -1, np.int64)
        marks[plus] = np.arange(len(new))
        known = pa.concat_arrays([new, told])
        marks[_is(rows, OP, "#")] = len(new) + np.arange(len(told))
        revised = np.flatnonzero(_is(rows, OP, "=") | _is(rows, OP, "-"))
        if len(revised):
            index = rows.column(INDEX).to_numpy()[revised]
            here = index > state.last_index
            first = rows.column(INDEX).to_numpy()[plus]
            marks[revised[here]] = np.searchsorted(first, index[here])
            earlier = marks_in_log(self._storage, state.segments, np.unique(index[~here]))
            at = np.searchsorted(earlier.column(INDEX).to_numpy(), index[~here])
            if earlier.num_rows:
                at = np.minimum(at, earlier.num_rows - 1)
                found = earlier.column(INDEX).to_numpy()[at] == index[~here]
                marks[revised[~here]] = np.where(found, len(known) + at, -1)
                known = pa.concat_arrays([known, earlier.column(MARKS).combine_chunks()])
        return known.take(pa.array(marks, mask=marks < 0))


def has_tags(state: StreamState) -> bool:
    """Whether there has ever been a tag in what a stream retains."""
    return any(segment.tags for segment in state.segments)


def marks_in_log(storage: Storage, segments: Sequence[Segment], indexes: Array) -> pa.Table:
    """The marks of those of some tuples that have any: `_index` and `_tags`, in the order of indexes."""
    found = [pa.table({SEQ: _NONE, INDEX: _NONE, MARKS: pa.array([], pa.string())})]
    wanted = pa.array(indexes, pa.int64())
    for segment in segments if len(indexes) else ():
        if segment.marked and segment.index[0] <= indexes[-1] and indexes[0] <= segment.index[1]:
            table = storage.read_table(segment.path, [SEQ, INDEX, DIFF, MARKS])
            table = table.filter(pc.greater(table.column(DIFF), 0)).drop_columns([DIFF])
            found.append(table.filter(pc.is_in(table.column(INDEX), value_set=wanted)))
    together = pa.concat_tables(found).sort_by([(INDEX, "ascending"), (SEQ, "ascending")])
    index = together.column(INDEX).to_numpy()
    last = np.ones(len(index), bool)
    last[:-1] = index[1:] != index[:-1]
    latest = together.filter(pa.array(last)).select([INDEX, MARKS])  # tags may have been taken back since it came
    return latest.filter(pc.is_valid(latest.column(MARKS)))


def _since(first: int, state: StreamState, storage: Storage, extent: Extent) -> Iterator[pa.Table]:
    """The new tuples and tags of a log from a place on, in order."""
    columns = [SEQ, INDEX, TICK, DIFF, OP, TAG, *arrow_schema(extent.schema).names]
    for segment in sorted(state.segments, key=lambda segment: segment.seq):
        if segment.seq[1] >= first and not segment.minus:
            marks = [MARKS] if segment.marked else []
            yield storage.read_table(segment.path, [*columns, *marks]).sort_by(SEQ)


def _with_times(rows: pa.Table, has_tick: Array, top: int | None) -> pa.Table:
    """Tags without a time of their own stand at the latest tick of the tuples before them."""
    tags = _is(rows, OP, "#")
    if not tags.any() or has_tick.all():
        return rows
    tick = rows.column(TICK).to_numpy().copy()
    lowest = np.iinfo(np.int64).min
    comes = rows.column(DIFF).to_numpy() > 0
    latest = np.maximum.accumulate(np.where(comes, tick, lowest))
    latest = latest if top is None else np.maximum(latest, top)
    places = np.flatnonzero(tags)[~has_tick]
    tick[places] = np.where(latest[places] == lowest, tick[places], latest[places])
    return rows.set_column(rows.column_names.index(TICK), TICK, pa.array(tick))


def _top(rows: pa.Table, top: int | None) -> int | None:
    seen: int | None = pc.max(rows.column(TICK).filter(pc.greater(rows.column(DIFF), 0))).as_py()
    return top if seen is None else seen if top is None else max(seen, top)


def _is(rows: pa.Table, column: str, value: str) -> Array:
    return pc.equal(rows.column(column), value).to_numpy()
