"""The tags of streams as rows come in: each tuple is written down with the tags that cover it.

Tick-tags are rows of the log (`#`), in segments of their own, with all that they say; the marks of a tuple stand in a
column that only segments have in which a tuple has any, and where their tags stand in another. What is known of the
tags that can still cover something follows from the log alone, and is put together from it when a database is opened
again.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.dictionary import shipped
from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.marks import GIVEN, mark_of
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import TickTag
from eddyline.algebra.tag_places import has_room, no_room, number_of, told_apart
from eddyline.catalog.extent import Extent
from eddyline.errors import InvalidTag
from eddyline.log.active_tag import Attachment, Condition, Stretch, ValueText
from eddyline.log.borne import TagKey
from eddyline.log.carried import Carried, numbered, told_by
from eddyline.log.coverage import Coverage
from eddyline.log.detached import DETACH, detachment
from eddyline.log.isolated import Isolated, Run, Said, said_by
from eddyline.log.journal import StreamState
from eddyline.log.picking import Picking
from eddyline.log.segment import DIFF, INDEX, MARKS, OP, PLACES, REF, SEQ, TAG, TICK
from eddyline.log.standing_tags import asked, latest_standing, standing_of, standing_text
from eddyline.log.storage import Storage
from eddyline.log.tag_texts import AT_ONCE, ATTACHED, MADE, spec_of
from eddyline.log.tags_in_log import marks_in_log, tuples_and_tags
from eddyline.sources.tags_beside import TagsBeside

Array = Any
_NO_TEXT = pa.scalar(None, pa.string())
_SYSTEM = [SEQ, INDEX, TICK, DIFF, OP, TAG]
#: of so many different words it is known what they mean
_MOST_WORDS = 10_000


class TagReading(Protocol):
    """How tags are understood; that is the same for all engines."""

    def tick_tag(self, fields: Mapping[str, Any], extent: Extent, tick: int, number: int) -> TickTag:
        """The tag that a source's row says; raises InvalidTag."""

    def way(self) -> object:
        """Something that is another one when tags that say the same mean something else."""

    def texts(self, schema: Schema) -> Sequence[ValueText]:
        """How values of the fields are written, for patterns."""

    def condition(self, where: TypedExpr, schema: Schema) -> Condition:
        """Which tuples satisfy a condition, column by column."""


class TaggedStream:
    """The tags of one stream."""

    def __init__(self, extent: Extent, state: StreamState, storage: Storage, reading: TagReading) -> None:
        """`state` is that of the stream now: what its log has is taken in again, from the first tag on."""
        self._extent, self._storage, self._reading = extent, storage, reading
        self._way: object = None  # in which words are understood …
        self._words: dict[str, Said | None] = {}  # … and what is known of some
        self._put_together(state)

    def _put_together(self, state: StreamState, kept_from: int | None = None) -> None:
        """From the log; tags that may cover tuples at `kept_from` or later are not forgotten on the way."""
        extent, storage, reading = self._extent, self._storage, self._reading
        first = min((segment.seq[0] for segment in state.segments if segment.tags), default=None)
        # what came in place of another is no new tuple: it moves no tag's time
        before = [s for s in state.segments if (first is None or s.seq[1] < first) and not s.minus and not s.only_tags]
        latest = max((s.tick[1] for s in before), default=None)
        self._coverage = Coverage(extent.schema, extent.name, reading.texts(extent.schema), latest, kept_from=kept_from)
        self._last, self._since = -1, 0  # the last tuple before the latest tag, and how many tags there were since
        #: whether tags that are over would be there again if only some of what tells of them went from the log
        self._may_return = False
        place = None if first is None else self._resumed(state)
        first = first if place is None else place + 1
        for rows in () if first is None else tuples_and_tags(first, state, storage, extent):
            self._covered(rows, _Kinds(rows), lambda place, problem: None, again=True)
        self._coverage.made.clear()
        self._coverage.forget_before(extent.horizon(state.top))

    def _resumed(self, state: StreamState) -> int | None:
        """Go on from what the log says stood somewhere last; gives the place, None if it does not say it."""
        found = latest_standing(self._storage, state)
        if found is None:
            return None
        place, text = found
        standing = standing_of(text, self._reading.condition)
        self._coverage.resume(standing["coverage"])
        self._last, self._since = standing["last"], standing["since"]
        self._may_return = len(self._coverage) > 0
        return place

    def standing(self, state: StreamState) -> str | None:
        """What stands, for the log; None if nothing does, and nothing could come back.

        What tells of it may go then. So there is all of it that tuples which come late may need, more than is kept.
        """
        horizon, forgotten = self._extent.horizon(state.top), self._coverage.forgotten
        if horizon is not None and forgotten is not None and horizon < forgotten:
            self._put_together(state, horizon)
        if not len(self._coverage) and not self._may_return:
            return None
        coverage = self._coverage.standing()
        return standing_text({"coverage": coverage, "last": self._last, "since": self._since})

    def is_written(self) -> None:
        """The log says what stands."""
        self._may_return = len(self._coverage) > 0

    @property
    def waiting(self) -> list[str]:
        """What the attachments say that have found no tuple yet."""
        return self._coverage.waiting_contents

    def active(self) -> dict[int, str]:
        """The tags that may cover tuples which are to come: their numbers, and the lines that list them."""
        schema = self._extent.schema
        marks = (mark_of(tag, tag.applies_to.positions(schema), GIVEN) for tag in self._coverage.active())
        return {mark.number: TagKey.of(mark, schema.names).line for mark in marks}

    def detach(self, text: str) -> bool:
        """Tags are taken back, for the tuples that are to come; whether there are any that could be meant."""
        self._may_return = True
        return self._coverage.detach(detachment(text, asked(self._reading.condition)))

    def marked(
        self, rows: pa.Table, has_tick: Array, state: StreamState, set_aside: Callable[[int, str], None]
    ) -> tuple[pa.Table, pa.Table]:
        """Rows of the log with the marks of their tuples, and what is written down of tags.

        `has_tick`: which of the tags among them have a time of their own. Tags that mean nothing are set aside;
        `set_aside` is told which tag it is, from 0.
        """
        rows = _with_times(rows, has_tick, state.top)
        kinds = _Kinds(rows)
        self._reach_back(rows.column(TICK).to_numpy()[kinds.new], state)
        wrong: list[int] = []

        def refused(place: int, problem: InvalidTag) -> None:
            wrong.append(place)
            set_aside(int(np.searchsorted(places, place)), problem.message)

        places = kinds.tags
        new, told = self._covered(rows, kinds, refused)
        self._coverage.forget_before(self._extent.horizon(_top(rows, kinds, state.top)))
        made, self._coverage.made = self._coverage.made, []
        if not wrong and not made and not len(kinds.revised):  # there is nothing but new tuples and tags
            return _with(_tuples(rows, kinds.new), new), _written(rows, places, told)
        rows = _with(rows, self._of_all(rows, kinds, new, told, state))
        if wrong:
            kept = np.ones(rows.num_rows, bool)
            kept[wrong] = False
            rows = rows.filter(pa.array(kept))
        rows = self._with_made(rows, made) if made else rows
        kinds = _Kinds(rows)
        told = Carried(*(numbered(rows.column(name)).take(pa.array(kinds.tags)) for name in (MARKS, PLACES)))
        others = rows.filter(pc.not_equal(rows.column(DIFF), 0))
        return others, _written(rows.drop_columns([MARKS, PLACES]), kinds.tags, told)

    def marked_beside(self, tuples: pa.Table, tags: TagsBeside, state: StreamState) -> tuple[pa.Table, pa.Table] | None:
        """The same of new tuples that stand in the log already apart from their tags, if each tag is through before
        the next one comes; None if there is more to it."""
        index, tick = (tuples.column(name).to_numpy() for name in (INDEX, TICK))
        self._reach_back(tick, state)
        stretch = Stretch.of(tuples.select(self._extent.schema.names), index, tick)
        isolated = Isolated.said_in(tags.tags.tag, tags.before, index, self._said)
        if not isolated.simple.all():
            return None
        ticks = tags.tags.tick.to_numpy() if tags.tags.tick.null_count == 0 else tick[tags.before]
        if not self._coverage.is_without(stretch, ticks):
            return None
        lasts = index[tags.before] - 1
        if not self._has_room(int(lasts[0])):
            return None
        run = Run(0, len(tags), ticks, lasts, self._between(int(lasts[0])))
        silent = isolated.silent(run, tick)
        carried, told = isolated.carried(run, 0, len(stretch), tick, silent), isolated.told(run, silent)
        self._went_through(run)
        self._may_return = True
        self._coverage.passed(stretch)
        latest = int(tick.max())
        self._coverage.forget_before(self._extent.horizon(latest if state.top is None else max(latest, state.top)))
        places = np.arange(len(tags))
        if silent.all():
            return _with(tuples, carried), _written(tuples.slice(0, 0), places[:0], Carried.nothing(0))
        rows = pa.table(
            {
                SEQ: pa.array(state.last_seq + 1 + tags.before + places),
                INDEX: pa.array(lasts),
                TICK: pa.array(ticks),
                DIFF: pa.repeat(pa.scalar(0, pa.int8()), len(tags)),
                OP: pa.repeat("#", len(tags)),
                TAG: tags.tags.tag,
            }
        )
        return _with(tuples, carried), _written(rows, places, told)

    def _went_through(self, run: Run) -> None:
        """The tags of a run have covered what they can."""
        if len(run.lasts) > 1:
            self._last, self._since = int(run.lasts[-1]), 0

    def _reach_back(self, came: Array, state: StreamState) -> None:
        """Tags are at hand that may cover the tuples that come late, and stay so until all have come.

        `came`: the ticks of the new tuples.
        """
        forgotten = self._coverage.forgotten
        lowest = int(came.min()) if len(came) else None
        if lowest is not None and forgotten is not None and lowest < forgotten:
            self._put_together(state, lowest)
        self._coverage.kept_from = lowest

    def _with_made(self, rows: pa.Table, made: Sequence[tuple[int, TickTag]]) -> pa.Table:
        """Tags that have found their places stand there, in front of their first tuples."""
        index = np.where(_is(rows, OP, "+"), rows.column(INDEX).to_numpy(), -1)
        before = np.array([int(np.flatnonzero(index == at)[0]) for at, _ in made])
        told = Carried.of_texts(*zip(*(self._told(tag, tag.timestamp, at - 1) for at, tag in made), strict=True))
        tags = pa.table(
            {
                INDEX: pa.array([at - 1 for at, _ in made], pa.int64()),
                TICK: pa.array([tag.timestamp for _, tag in made], pa.int64()),
                DIFF: pa.array([0] * len(made), pa.int8()),
                OP: pa.array(["#"] * len(made)),
                TAG: pa.array([MADE] * len(made)).cast(rows.schema.field(TAG).type),
                MARKS: told.tags,
                PLACES: told.places,
            }
        )
        together = pa.concat_tables([rows, tags], promote_options="default").select(rows.column_names)
        places = np.concatenate([np.arange(rows.num_rows), before - 0.5])
        together = together.take(pa.array(np.argsort(places, kind="stable")))
        first = rows.column(SEQ)[0].as_py()
        seq = pa.array(first + np.arange(together.num_rows))
        return together.set_column(together.column_names.index(SEQ), SEQ, seq)

    def _told(self, tag: TickTag, tick: int, index: int) -> tuple[str | None, str]:
        return told_by(tag, self._extent.schema, tick, index)

    def _covered(
        self, rows: pa.Table, kinds: _Kinds, refused: Callable[[int, InvalidTag], None], again: bool = False
    ) -> tuple[Carried, Carried]:
        """What the new tuples among rows carry, in their order, and the tags themselves.

        Tags take their places on the way. Their numbers tell how many tuples came before them, and how many tags since.
        Rows that come `again` are those of the log, where tags are as they were understood.
        """
        new, places = kinds.new, kinds.tags
        self._may_return = self._may_return or len(places) > 0
        index, tick = (rows.column(name).to_numpy()[new] for name in (INDEX, TICK))
        stretch = Stretch(rows.select(self._extent.schema.names), new, index, tick)
        ticks, lasts = (rows.column(name).to_numpy()[places] for name in (TICK, INDEX))
        picked = Picking(places)
        tags = {name: picked.of(_one(rows.column(name))) for name in (TAG, *((MARKS, PLACES) if again else ()))}
        texts = tags[TAG]
        upto = np.searchsorted(new, places) if len(kinds.revised) else places - np.arange(len(places))
        if again:
            plain = pc.if_else(pc.is_null(texts), tags[MARKS], pa.scalar(None, pa.string()))
            isolated = Isolated.told_in(plain, lasts, upto, index)
        else:
            isolated = Isolated.said_in(texts, upto, index, self._said)
        parts: list[Carried] = []
        told: list[Carried] = []
        done = at = 0
        while at < len(places):
            end = isolated.end_of_run(at)
            behind = int(upto[end]) if end < len(places) else len(stretch)
            alone = isolated.simple[at] and self._has_room(int(lasts[at]))
            if alone and self._coverage.is_without(stretch.slice(done, behind), ticks[at:end]):
                run = Run(at, end, ticks[at:end], lasts[at:end], self._between(int(lasts[at])))
                if not again:
                    silent = isolated.silent(run, tick)
                    parts.append(isolated.carried(run, done, behind, tick[done:behind], silent))
                    told.append(isolated.told(run, silent))
                self._went_through(run)
                self._coverage.passed(stretch.slice(done, behind))
                done, at = behind, end
                continue
            if upto[at] > done:
                parts.append(self._coverage.covered(stretch.slice(done, int(upto[at]))))
                done = int(upto[at])
            tag, stands = None, (int(ticks[at]), int(lasts[at]))
            try:
                between = self._between(stands[1])
                if not again and not has_room(between):
                    raise no_room()
                number = number_of(stands[1], between)
                if (text := texts[at].as_py()) is None:
                    said, place = (tags[name][at].as_py() for name in (MARKS, PLACES))
                    (mark,) = told_apart(said, place, *stands)
                    self._coverage.arrive(replace(mark.tick_tag, number=mark.number))
                elif text != MADE:  # which comes to be again
                    tag = self._arrive(text, stands[0], number)
            except InvalidTag as problem:
                self._since -= 1  # it is not going to be in the log
                refused(int(places[at]), problem)
            told.append(Carried.nothing(1) if tag is None else Carried.of_texts(*zip(self._told(tag, *stands))))
            at += 1
        if done < len(stretch):
            parts.append(self._coverage.covered(stretch.slice(done, len(stretch))))
        return Carried.joined(parts), Carried.joined(told)

    def _said(self, texts: Sequence[str]) -> list[Said | None]:
        """What tags with these words say, if they say it all by themselves."""
        way = self._reading.way()
        if way != self._way or len(self._words) > _MOST_WORDS:
            self._way, self._words = way, {}
        for text in texts:
            if text not in self._words:
                self._words[text] = self._understood(text)
        return [self._words[text] for text in texts]

    def _understood(self, text: str) -> Said | None:
        if text.startswith((ATTACHED, AT_ONCE, DETACH)):
            return None
        fields = json.loads(text)
        try:
            tag = self._reading.tick_tag(fields, self._extent, 0, 0)
        except InvalidTag:
            return None
        return said_by(tag, tag.applies_to.positions(self._extent.schema), _following(fields))

    def _has_room(self, last: int) -> bool:
        """Whether another tag can stand behind a tuple."""
        return last != self._last or has_room(self._since + 1)

    def _between(self, last: int) -> int:
        """How many tags there have been behind a tuple before another one."""
        self._since = self._since + 1 if last == self._last else 0
        self._last = last
        return self._since

    def _arrive(self, text: str, tick: int, number: int) -> TickTag | None:
        """A tag takes its place, an attachment waits, or tags are taken back."""
        if text.startswith(DETACH):
            self._coverage.detach(detachment(text, asked(self._reading.condition)))
            return None
        if text.startswith(ATTACHED):
            value = json.loads(text.removeprefix(ATTACHED))
            condition = None
            if value["where"] is not None:
                where, schema = pickle.loads(base64.b64decode(value["where"]))
                condition = asked(self._reading.condition)(where, schema)
            self._coverage.attach(Attachment(spec_of(value), value["tagger"], number, condition))
            return None
        if text.startswith(AT_ONCE):
            value = json.loads(text.removeprefix(AT_ONCE))
            spec = spec_of(value)
            type_ = spec.type or shipped().classify(spec.content)
            tag = spec.tag(self._extent.name, value["tagger"], tick, type_, number)
        else:
            tag = self._reading.tick_tag(json.loads(text), self._extent, tick, number)
        self._coverage.arrive(tag)
        return tag

    def _of_all(self, rows: pa.Table, kinds: _Kinds, new: Carried, told: Carried, state: StreamState) -> Carried:
        """The marks of all rows: a tuple's are settled when it comes, a revision hands them on; a tag tells itself."""
        marks = np.full(rows.num_rows, -1, np.int64)
        marks[kinds.new] = np.arange(len(new))
        parts = [new, told]
        marks[kinds.tags] = len(new) + np.arange(len(told))
        revised = kinds.revised
        by = np.zeros(rows.num_rows, np.int64)  # how far a revision moves the tuple
        if len(revised):
            index, tick = (rows.column(name).to_numpy() for name in (INDEX, TICK))
            here = revised[index[revised] > state.last_index]
            others = revised[index[revised] <= state.last_index]
            marks[here] = np.searchsorted(index[kinds.new], index[here])
            by[here] = tick[here] - tick[kinds.new][marks[here]]
            earlier = marks_in_log(self._storage, state.segments, np.unique(index[others]))
            if earlier.num_rows:
                known, was = (earlier.column(name).to_numpy() for name in (INDEX, TICK))
                at = np.minimum(np.searchsorted(known, index[others]), earlier.num_rows - 1)
                found = known[at] == index[others]
                marks[others] = np.where(found, len(new) + len(told) + at, -1)
                by[others] = np.where(found, tick[others] - was[at], 0)
                parts.append(Carried(numbered(earlier.column(MARKS)), numbered(earlier.column(PLACES))))
        return Carried.joined(parts).take(pa.array(marks, mask=marks < 0)).moved(by)


class _Kinds:
    """Where among rows of a log new tuples, revisions and tags are."""

    def __init__(self, rows: pa.Table) -> None:
        diff = rows.column(DIFF).to_numpy()
        self.tags = np.flatnonzero(diff == 0)
        if (diff < 0).any():  # what comes in place of another is no new tuple
            new = _is(rows, OP, "+")
            self.new, self.revised = np.flatnonzero(new), np.flatnonzero(~new & (diff != 0))
        else:
            self.new, self.revised = np.flatnonzero(diff > 0), np.array([], np.int64)


def _following(fields: Mapping[str, Any]) -> bool:
    """Whether a tag is on some of the tuples that come next."""
    return (fields.get("applies_to") or {}).get("next") is not None


def _tuples(rows: pa.Table, places: Array) -> pa.Table:
    """New tuples at some places. What is the same for all need not be copied one by one."""
    if len(places) == rows.num_rows:
        return rows
    same = {DIFF: pa.scalar(1, pa.int8()), OP: pa.scalar("+"), REF: pa.scalar(None, pa.int64()), TAG: _NO_TEXT}
    picked = Picking(places)
    columns = [
        pa.repeat(same[name], len(places)) if name in same else picked.of(_one(rows.column(name)))
        for name in rows.column_names
    ]
    return pa.table(columns, rows.column_names)


def _with(rows: pa.Table, carried: Carried) -> pa.Table:
    return rows.append_column(MARKS, carried.tags).append_column(PLACES, carried.places)


def _written(rows: pa.Table, places: Array, told: Carried) -> pa.Table:
    """What is written down of the tags at some places: not the words of those that are written as they were understood,
    and nothing of those that tuples tell all about."""
    texts = numbered(rows.column(TAG))
    begin = [pc.starts_with(texts.dictionary, each) for each in (ATTACHED, DETACH, MADE)]
    said = np.logical_or.reduce([each.to_numpy(zero_copy_only=False) for each in begin])
    statements = np.zeros(len(places), bool)
    if said.any():
        codes = pc.fill_null(texts.indices, -1).to_numpy(zero_copy_only=False)[places]
        statements = np.append(said, False)[codes]
    kept = np.flatnonzero(statements | pc.is_valid(told.tags).to_numpy(zero_copy_only=False))
    if not len(kept):
        return _with(rows.select(_SYSTEM).slice(0, 0), Carried.nothing(0))
    tags = rows.select(_SYSTEM).take(pa.array(places[kept]))
    words = pc.if_else(pa.array(statements[kept]), _one(tags.column(TAG)).cast(pa.string()), _NO_TEXT)
    return _with(tags.set_column(_SYSTEM.index(TAG), TAG, words), told.take(pa.array(kept)))


def _with_times(rows: pa.Table, has_tick: Array, top: int | None) -> pa.Table:
    """Tags without a time of their own stand at the latest tick of the tuples before them."""
    tags = rows.column(DIFF).to_numpy() == 0
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


def _top(rows: pa.Table, kinds: _Kinds, top: int | None) -> int | None:
    came = rows.column(TICK).to_numpy()
    if len(kinds.revised):
        came = came[rows.column(DIFF).to_numpy() > 0]
    elif len(kinds.tags):
        came = came[kinds.new]
    seen = int(came.max()) if len(came) else None
    return top if seen is None else seen if top is None else max(seen, top)


def _one(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _is(rows: pa.Table, column: str, value: str) -> Array:
    return pc.equal(rows.column(column), value).to_numpy()
