"""From rows with `+`, `-`, `=` and `#` to weighted rows with ticks and indexes, appended to the logs of their streams.

Columns in, columns out: there is no loop over rows. A revision is written with the values of the tuple it takes away,
so that whoever reads the log needs no look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.key import without_key
from eddyline.algebra.retention import beyond
from eddyline.catalog.extent import Extent
from eddyline.errors import MissingKey, MissingTime
from eddyline.log.detached import Detached, is_conditional
from eddyline.log.journal import Entry, Flush, Journal, Spans, StreamState
from eddyline.log.referring import late_among, references, touched_by
from eddyline.log.revision_log import Revised
from eddyline.log.revisions import Revisions
from eddyline.log.rows import Rows, apart, statement_row
from eddyline.log.said import (
    about,
    history_name,
    history_rows,
    is_said,
    reached_by,
    said_in,
    said_since,
    taken_back,
    unsaid,
)
from eddyline.log.segment import DIFF, INDEX, MARKS, OP, PLACES, SEQ, TAG, TICK, Segment, segment_of
from eddyline.log.spans import joined_spans, spans_of
from eddyline.log.statements import Made, late_rows
from eddyline.log.storage import Storage
from eddyline.log.tagged import TaggedStream, TagReading
from eddyline.log.tags_in_log import has_tags
from eddyline.sources.arrival import UPDATE_STATEMENT, Reject
from eddyline.sources.chunk import Chunk
from eddyline.sources.horizon import horizons

if TYPE_CHECKING:
    from eddyline.log.keyed import KeyedStream

Array = Any


@dataclass
class Clock:
    """How far time has come: the largest tick seen, and the tick up to which no more is expected."""

    reached: int | None = None
    closed: int | None = None

    def advance(self, tick: int | None, ended: bool) -> None:
        if tick is not None:
            self.reached = tick if self.reached is None else max(self.reached, tick)
        closed = self.reached if ended or self.reached is None else self.reached - 1
        if closed is not None:
            self.closed = closed if self.closed is None else max(self.closed, closed)


class Ingest:
    """The one writer of a database's stream logs."""

    def __init__(
        self,
        storage: Storage,
        journal: Journal,
        set_aside: Callable[[Reject], None],
        now: Callable[[], int] | None = None,
        reading: TagReading | None = None,
    ) -> None:
        """`now` gives the tick of arrival for tuples without a time of their own; without it the clock does.

        `reading` understands tags; without it they are written down, and cover nothing.
        """
        self._storage = storage
        self._journal = journal
        self._set_aside = set_aside
        self._now = now
        self._clock = Clock(journal.reached, journal.closed)
        self._reserved: dict[str, int] = {}  # by stream, the last place in its log that somebody else may be writing at
        self._keyed: dict[str, KeyedStream] = {}  # those to which rows have come since the database was opened
        self._reading = reading
        self._told: set[str] = set()  # streams of whose tags somebody reads the history
        self._tagged: dict[str, TaggedStream | None] = {}  # of the same streams, those that have ever had tags

    @property
    def clock(self) -> Clock:
        return self._clock

    def append(
        self,
        extents: Mapping[str, Extent],
        chunks: Sequence[Chunk],
        ended: bool = False,
        origin: Mapping[str, int] | None = None,
    ) -> Entry | None:
        """Take rows of one or several streams in as one step; None if it changes nothing.

        With `ended` the input has ended for now: nothing more is expected at the tick that the clock shows. `origin`
        says how far inputs have been read with this step, for whoever reads on after a restart.
        """
        try:
            return self._appended(extents, chunks, ended, origin)
        except BaseException:
            self._tagged.clear()  # what was not written has not come: it is put together from the log again
            raise

    def _appended(
        self, extents: Mapping[str, Extent], chunks: Sequence[Chunk], ended: bool, origin: Mapping[str, int] | None
    ) -> Entry | None:
        before = (self._clock.reached, self._clock.closed)
        segments: dict[str, list[Segment]] = {}
        tables: dict[str, pa.Table] = {}  # of streams whose keys are known
        touched: dict[str, Spans] = {}
        top: dict[str, int] = {}
        revised: dict[str, Revised] = {}
        said: dict[str, pa.Table] = {}
        aside: list[Reject] = []  # told when the rest is in: who tries again would have them twice
        arrived = {name: state.last_index for name, state in self._journal.streams.items()}
        arrival = self._arrival_tick()  # of all streams: they are one step
        by_stream: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            by_stream.setdefault(chunk.extent, []).append(chunk)
        for name, parts in by_stream.items():
            referring = None
            if self._tags_of(extents[name]) is None:  # or somebody has to look at each tuple
                referring = references(extents[name], parts, self._state(name), self._storage)
            if referring is not None:
                segments[name] = referring
                arrived[name] = referring[-1].index[1]
                touched[name] = touched_by(parts)
                top[name] = max(segment.tick[1] for segment in referring)
                if late := late_among(parts, referring, before[1]):
                    revised[name] = Revised(late=late)
                continue
            parts = [part.copied(extents[name]) for part in parts]
            # where tuples bring their time, a tag that brings none stands where they have brought the clock
            now = arrival if extents[name].timestamp is None else before[0] or 0
            table, tags, count, rejects = self._weighted(extents[name], parts, now)
            rejects += [reject for chunk in parts for reject in chunk.rejects]
            aside += sorted(rejects, key=lambda reject: (reject.file, reject.line))
            arrived[name] = self._journal.state(name).last_index + count
            if name in self._told and (told := said_in(table, tags)) is not None:
                said[name] = told
            if table.num_rows or (tags is not None and tags.num_rows):
                segments[name] = self._write(name, table, tags)
                if name in self._keyed:
                    tables[name] = table
                tick, diff = table.column(TICK), table.column(DIFF)
                touched[name] = spans_of(tick.filter(pc.not_equal(diff, 0)))
                seen = pc.max(tick.filter(pc.greater(diff, 0))).as_py()
                if seen is not None:
                    top[name] = seen
                if counts := revised_by(table, segments[name], before[1]):
                    revised[name] = counts
        latest = max(top.values(), default=None)
        for name, tags in said.items():  # behind the clock: tags do not move it
            history = history_name(name)
            state = self._journal.state(history)
            rows = history_rows(tags, extents[name].schema, state.last_index)
            segments[history] = self._write(history, rows)
            arrived[history] = state.last_index + tags.num_rows
            touched[history] = spans_of(rows.column(TICK))
            top[history] = pc.max(rows.column(TICK)).as_py()
        entry = self._commit(segments, touched, latest, ended, before, arrived, origin, top, revised)
        for name, table in tables.items():
            self._keys_follow(name, table)
        for reject in aside:  # last: whoever is told may fail, and what is committed is to be known by then
            self._set_aside(reject)
        return entry

    def advance(self, tick: int | None, ended: bool = False) -> Entry | None:
        """Move the clock without data, so that windows become due."""
        before = (self._clock.reached, self._clock.closed)
        arrived = {name: state.last_index for name, state in self._journal.streams.items()}
        return self._commit({}, {}, tick, ended, before, arrived)

    def touch(self, flushes: Sequence[Flush] = ()) -> Entry:
        """An entry that brings nothing, for those who wait for the next one, or have something to show."""
        arrived = {name: state.last_index for name, state in self._journal.streams.items()}
        return self._journal.append({}, {}, self._clock.reached, self._clock.closed, arrived, flushes=flushes)

    def _commit(
        self,
        segments: Mapping[str, Sequence[Segment]],
        touched: Mapping[str, Spans],
        latest: int | None,
        ended: bool,
        before: tuple[int | None, int | None],
        arrived: Mapping[str, int],
        origin: Mapping[str, int] | None = None,
        top: Mapping[str, int] | None = None,
        revised: Mapping[str, Revised] | None = None,
    ) -> Entry | None:
        clock = self._clock
        try:
            clock.advance(latest, ended)
            if not segments and not origin and (clock.reached, clock.closed) == before:
                return None
            return self._journal.append(segments, touched, clock.reached, clock.closed, arrived, origin, top, revised)
        except BaseException:
            clock.reached, clock.closed = before  # what was not written has not come
            raise

    # -- statements ---------------------------------------------------------------------------------------------------

    def reserve(self, stream: str, places: int) -> int:
        """Set places in the log of a stream free for rows that others write; gives the first."""
        last = self._state(stream).last_seq
        self._reserved[stream] = last + places
        return last + 1

    def take_revisions(self, extent: Extent, made: Sequence[Made], changes_keys: bool) -> int:
        """Append what the tasks of an UPDATE or DELETE have written, as one step; gives how many tuples are revised.

        Raises if a tuple would be without its time or key, or two would have the same: keys count as they are after
        all of it.
        """
        name = extent.name
        without = {part.without for part in made} - {None}
        if extent.timestamp in without:
            raise MissingTime(f"{name}: {extent.timestamp} is NULL, but it is the TIMESTAMP BY column")
        for column in extent.key:
            if column in without:
                raise MissingKey(without_key(name, column))
        segments = [part.segment for part in made if part.segment is not None]
        keys = None
        if extent.key and (changes_keys or name in self._keyed):
            read = [SEQ, INDEX, TICK, DIFF, *extent.key]
            keys = [self._storage.read_table(segment.path, read) for segment in segments]
            if changes_keys and keys:
                new = pa.concat_tables(keys)
                new = new.filter(pc.greater(new.column(DIFF), 0))
                self._keyed_stream(extent).check(new, self._journal.state(name))
        horizon = extent.horizon(self._journal.state(name).top)
        if not segments:
            self._tell_late(name, made, horizon or 0)
            return 0
        tops = [part.top for part in made if part.top is not None]
        before = (self._clock.reached, self._clock.closed)
        arrived = {stream: state.last_index for stream, state in self._journal.streams.items()}
        touched = {name: joined_spans(part.touched for part in made)}
        top = {name: max(tops)} if tops else {}
        gone = sum(segment.minus for segment in segments)
        replaced = sum(segment.rows for segment in segments) - gone
        counts = {name: Revised(deleted=gone - replaced, replaced=replaced)}
        self._commit({name: segments}, touched, max(tops, default=None), False, before, arrived, None, top, counts)
        self._keys_follow(name, None if keys is None else pa.concat_tables(keys))
        self._tell_late(name, made, horizon or 0)  # last: it reads files, and what is committed is to be known by then
        return gone

    def take_back(self, extent: Extent, made: Sequence[Made], what: Detached, text: str) -> tuple[int, bool]:
        """Append a DETACH with what its tasks have written, as one step.

        Gives how many tuples are revised, and whether there was any tag that could be meant.
        """
        try:
            return self._taken_back(extent, made, what, text)
        except BaseException:
            self._tagged.clear()  # what was not written has not come: it is put together from the log again
            raise

    def _taken_back(self, extent: Extent, made: Sequence[Made], what: Detached, text: str) -> tuple[int, bool]:
        name, history = extent.name, history_name(extent.name)
        state, tagged = self._state(name), self._tags_of(extent, now=True)
        found = tagged is not None and tagged.detach(text)
        own = [part.segment for part in made if part.segment is not None]
        row = statement_row(text, extent, state, self._arrival_tick())
        segments = {name: [*own, *self._write(name, *apart(row))]}
        touched = {name: joined_spans(part.touched for part in made)}
        revised = sum(segment.minus for segment in own)
        said, is_meant = None, found or bool(revised)
        if not is_conditional(text):  # what is taken back from some tuples only was said nevertheless
            horizon, place = extent.horizon(state.top), state.last_seq + 1
            is_meant = is_meant or self._was_said(state, what, horizon)
            if name in self._told:
                rows = about(self._storage, self._journal.state(history), what, horizon)
                said = unsaid(rows, what, extent.schema, place)
        if said is not None:
            segments[history], touched[history] = self._write(history, said), spans_of(said.column(TICK))
        counts = {name: Revised(replaced=revised)} if revised else {}
        before = (self._clock.reached, self._clock.closed)
        arrived = {stream: each.last_index for stream, each in self._journal.streams.items()}
        self._commit(segments, touched, None, False, before, arrived, None, None, counts)
        if own:
            self._keys_follow(name, None)
        return revised, is_meant

    def keep_tags(self, extent: Extent) -> None:
        """Write down which tags of a stream stand, before something goes from its log by which this is known."""
        name, tagged = extent.name, self._tags_of(extent)
        state = self._state(name)
        text = None if tagged is None else tagged.standing(state)
        if tagged is None or text is None:
            return
        row = statement_row(text, extent, state, state.top or 0)  # it is as old as the latest tuple
        before = (self._clock.reached, self._clock.closed)
        arrived = {stream: each.last_index for stream, each in self._journal.streams.items()}
        self._commit({name: self._write(name, *apart(row))}, {name: ()}, None, False, before, arrived)
        tagged.is_written()

    def keep_history(self, extent: Extent) -> None:
        """From now on somebody reads what is said about a stream; what was said before is put together as one step."""
        if extent.name not in self._told:
            self._put_together(extent)
            self._told.add(extent.name)

    def _was_said(self, state: StreamState, what: Detached, horizon: int | None) -> bool:
        taken = taken_back(self._storage, state)
        return any(is_said(tags, what, horizon) for tags in said_since(self._storage, state, taken))

    def _put_together(self, extent: Extent) -> None:
        """The history is written a segment of the stream at a time, and is there when all of it is."""
        history = history_name(extent.name)
        state, had = self._journal.state(extent.name), self._journal.state(history)
        reached = reached_by(had)
        taken = taken_back(self._storage, state, reached)
        gone: list[pa.Table] = []
        for place, what in taken if had.segments else ():
            rows = about(self._storage, had, what, extent.horizon(state.top))
            found = unsaid(pa.concat_tables([rows, *gone]), what, extent.schema, place)
            gone += [] if found is None else [found]
        segments = self._write(history, pa.concat_tables(gone)) if gone else []
        touched = [spans_of(rows.column(TICK)) for rows in gone]
        last, tops = had.last_index, []
        for part, tags in enumerate(said_since(self._storage, state, taken, reached)):
            new = history_rows(tags, extent.schema, last)
            segments += self._write(history, new, part=f"s{part}")
            touched.append(spans_of(new.column(TICK)))
            tops.append(segments[-1].tick[1])
            last += new.num_rows
        if not segments:
            return
        before = (self._clock.reached, self._clock.closed)
        arrived = {stream: each.last_index for stream, each in self._journal.streams.items()} | {history: last}
        top = {history: max(tops)} if tops else {}
        self._commit({history: segments}, {history: joined_spans(touched)}, None, False, before, arrived, None, top)

    def _tell_late(self, stream: str, made: Sequence[Made], horizon: int) -> None:
        """Which tuples an UPDATE could not revise: they would be beyond the horizon."""
        for index, tick, text in late_rows(self._storage, made):
            reason = beyond(f"_ref {index}: its new tick {tick}", tick, horizon, stream)
            self._set_aside(Reject(stream, UPDATE_STATEMENT, index, text, reason))

    def _keys_follow(self, stream: str, rows: pa.Table | None) -> None:
        """What is known of the keys of a stream takes in rows of its log.

        Without the rows, or if it fails half-way, it is built anew from the log when it is needed. These rows are in:
        that there is no memory to know their keys is no reason to have them sent again. Whatever else fails is an error
        of ours, and is to be seen.
        """
        keyed = self._keyed.pop(stream, None)
        if keyed is None or rows is None:
            return
        with suppress(MemoryError):
            keyed.take(rows, self._journal.state(stream))
            self._keyed[stream] = keyed

    def _state(self, stream: str) -> StreamState:
        """A stream as it stands, with the places left free that others may be writing at."""
        state = self._journal.state(stream)
        reserved = self._reserved.get(stream, 0)
        return state if reserved <= state.last_seq else replace(state, last_seq=reserved)

    # -- weights ------------------------------------------------------------------------------------------------------

    def _weighted(
        self, extent: Extent, chunks: Sequence[Chunk], now: int
    ) -> tuple[pa.Table, pa.Table | None, int, list[Reject]]:
        """The rows of the log for some of the input, those of tags, how many tuples are new, and what does not fit."""
        found = self._beside(extent, chunks, now)
        if found is not None:
            return *found, found[0].num_rows, []
        rows = Rows(extent, [_among(chunk) for chunk in chunks], now)
        state = self._state(extent.name)
        settled = self._keyed_stream(extent).settle(rows, state) if extent.key else None
        if settled is not None or rows.revisions.any():
            old = None if settled is None else settled.old
            revisions = Revisions(rows, state, self._storage, extent, old)
            table, late, rejected = revisions.table(), revisions.late, revisions.rejected()
        else:
            horizon = horizons(rows.tick, rows.inserts, state.top, extent.retain, extent.further)
            late = rows.inserts & (rows.tick < horizon)
            table, rejected = rows.plain(state, late), rows.too_late(late, horizon, extent.name)
        refused = [*rejected, *(() if settled is None else settled.refused)]
        tagged, tags = self._tags_of(extent, bool(rows.tags.any())), None
        table, places, lost = rows.tags_with_rows(table, [at for at, _ in refused])
        if tagged is None and rows.tags.any():
            table, tags = apart(table)
        if tagged is not None:
            table, tags = tagged.marked(
                table, rows.has_tick[places], state, lambda at, reason: refused.append((int(places[at]), reason))
            )
        rejects = [rows.reject(position, reason) for position, reason in (*refused, *lost)]
        return table, tags, int((rows.inserts & ~late).sum()), rejects

    def _beside(self, extent: Extent, chunks: Sequence[Chunk], now: int) -> tuple[pa.Table, pa.Table] | None:
        """New tuples, and the tags that have come beside them; None if there is more to it, or less."""
        (chunk, *more) = chunks
        if chunk.beside is None or more or extent.key or not chunk.num_rows:
            return None
        rows, state = Rows(extent, chunks, now), self._state(extent.name)
        tagged = self._tags_of(extent, now=True)
        late = rows.tick < horizons(rows.tick, rows.inserts, state.top, extent.retain, extent.further)
        if tagged is None or not rows.inserts.all() or late.any():
            return None
        return tagged.marked_beside(rows.plain(state, late, chunk.beside.up_to(len(rows))), chunk.beside, state)

    def active_tags(self, extent: Extent) -> dict[int, str]:
        """The tags of a stream that may cover tuples which are to come: their numbers, and the lines that list them."""
        tagged = self._tags_of(extent)
        return {} if tagged is None else tagged.active()

    def waiting_tags(self, extent: Extent) -> list[str]:
        """What the attachments to a stream say that have found no tuple yet."""
        tagged = self._tags_of(extent)
        return [] if tagged is None else tagged.waiting

    def _tags_of(self, extent: Extent, now: bool = False) -> TaggedStream | None:
        """What is known of the tags of a stream; None if it has never had any, and has none `now`."""
        name, reading = extent.name, self._reading
        found = self._tagged.get(name)
        if found is None and reading is not None and (now or name not in self._tagged):
            state = self._journal.state(name)
            tagged = now or has_tags(state)
            found = self._tagged[name] = TaggedStream(extent, state, self._storage, reading) if tagged else None
        return found

    def _keyed_stream(self, extent: Extent) -> KeyedStream:
        from eddyline.log.keyed import KeyedStream  # numba is slow to load, and most streams have no key

        keyed = self._keyed.get(extent.name)
        if keyed is None:
            keyed = self._keyed[extent.name] = KeyedStream(extent, self._journal.state(extent.name), self._storage)
        return keyed

    def retention_changed(self, stream: str) -> None:
        """What is known of the keys and tags of a stream was known for another horizon."""
        self._keyed.pop(stream, None)
        self._tagged.pop(stream, None)

    def _arrival_tick(self) -> int:
        if self._now is not None:
            return self._now()
        return self._clock.reached or 0

    def _write(self, stream: str, table: pa.Table, tags: pa.Table | None = None, part: str = "") -> list[Segment]:
        """New tuples, revisions and tags go into segments of their own: the zone maps of the first stay narrow, and
        nobody has to read past the last. `part` tells files apart where one entry is written in several."""
        number = self._journal.number + 1  # of the entry that will name them: no other has segments of that name
        fresh = pc.equal(table.column(OP), "+") if table.num_rows else pa.scalar(True)
        parts = [("", table), ("t", table.slice(0, 0) if tags is None else tags)]
        if table.num_rows and not pc.all(fresh).as_py():
            parts[:1] = [("", table.filter(fresh)), ("r", table.filter(pc.invert(fresh)))]
        segments = []
        for mark, rows in parts:
            if rows.num_rows:
                path = f"streams/{stream}/{number:012d}{mark}{part}.parquet"
                stored = _with_marks(rows)
                if mark == "t":
                    nothing = [TAG] if stored.column(TAG).null_count == stored.num_rows else []
                    stored = stored.drop_columns([DIFF, OP, *nothing])
                segments.append(segment_of(path, self._storage.write_table(path, stored), rows))
        return segments


def _among(chunk: Chunk) -> Chunk:
    return chunk if chunk.beside is None else chunk.beside.among(chunk)


def _with_marks(rows: pa.Table) -> pa.Table:
    """Without the columns for them, if there are none."""
    has_none = MARKS in rows.column_names and rows.column(MARKS).null_count == rows.num_rows
    return rows.drop_columns([MARKS, PLACES]) if has_none else rows


def revised_by(table: pa.Table, segments: Sequence[Segment], closed: int | None) -> Revised:
    """How many tuples some rows of a log revise. Where all are new and in time, their zone maps tell so."""
    late = closed is not None and any(segment.tick[0] <= closed for segment in segments)
    if not late and not any(segment.minus for segment in segments):
        return Revised()
    op, diff = table.column(OP), table.column(DIFF)
    comes, goes = pc.greater(diff, 0), pc.less(diff, 0)
    unexpected = pc.and_(comes, pc.less_equal(table.column(TICK), closed)) if late else pa.scalar(False)
    counted = (
        pc.and_(pc.equal(op, "+"), unexpected),
        pc.and_(pc.equal(op, "-"), goes),
        pc.and_(pc.equal(op, "="), comes),
    )
    return Revised(*(int(pc.sum(found).as_py() or 0) for found in counted))
