"""From rows with `+`, `-`, `=` and `#` to weighted rows with ticks and indexes, appended to the logs of their streams.

Columns in, columns out: there is no loop over rows. A revision is written with the values of the tuple it takes away,
so that whoever reads the log needs no look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.retention import beyond
from eddyline.catalog.extent import Extent
from eddyline.log.journal import Entry, Flush, Journal, Spans
from eddyline.log.revision_log import Revised
from eddyline.log.revisions import Revisions
from eddyline.log.rows import Rows
from eddyline.log.segment import DIFF, INDEX, OP, TICK, Segment, segment_of
from eddyline.log.storage import Storage
from eddyline.sources.arrival import UPDATE_STATEMENT, Reject, said_by
from eddyline.sources.chunk import Chunk
from eddyline.sources.horizon import horizons

if TYPE_CHECKING:
    from eddyline.log.keyed import KeyedStream

Array = Any
#: how many stretches of touched ticks an entry keeps apart
_SPANS = 32


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
    ) -> None:
        """`now` gives the tick of arrival for tuples without a time of their own; without it the clock does."""
        self._storage = storage
        self._journal = journal
        self._set_aside = set_aside
        self._now = now
        self._clock = Clock(journal.reached, journal.closed)
        self._keyed: dict[str, KeyedStream] = {}  # those to which rows have come since the database was opened

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
        before = (self._clock.reached, self._clock.closed)
        segments: dict[str, list[Segment]] = {}
        tables: dict[str, pa.Table] = {}  # of streams whose keys are known
        touched: dict[str, Spans] = {}
        top: dict[str, int] = {}
        revised: dict[str, Revised] = {}
        arrived = {name: state.last_index for name, state in self._journal.streams.items()}
        by_stream: dict[str, list[Chunk]] = {}
        for chunk in chunks:
            by_stream.setdefault(chunk.extent, []).append(chunk)
        for name, parts in by_stream.items():
            table, count, rejects = self._weighted(extents[name], parts)
            rejects += [reject for chunk in parts for reject in chunk.rejects]
            for reject in sorted(rejects, key=lambda reject: (reject.file, reject.line)):
                self._set_aside(reject)
            arrived[name] = self._journal.state(name).last_index + count
            if table.num_rows:
                segments[name] = self._write(name, table)
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
        entry = self._commit(segments, touched, latest, ended, before, arrived, origin, top, revised)
        for name, table in tables.items():
            keyed = self._keyed.pop(name)  # if this fails, it is built anew from the log
            keyed.take(table, self._journal.state(name))
            self._keyed[name] = keyed
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

    def revise(self, extent: Extent, revisions: pa.Table) -> int:
        """Send revisions made by a statement; gives how many tuples were revised.

        `_index` and `_was` are the index and tick of the tuple, `_new` is false for a deletion, `_tick` and the values
        are the new ones. A statement is one step: all of it meets the horizon that stands when it comes, and keys count
        as they are after all of it.
        """
        horizon = extent.horizon(self._journal.state(extent.name).top)
        late = revisions.slice(0, 0)
        if horizon is not None:
            revisions = revisions.filter(pc.greater_equal(revisions.column("_was"), horizon))
            too_far = pc.less(revisions.column(TICK), horizon)
            late, revisions = revisions.filter(too_far), revisions.filter(pc.invert(too_far))
        if extent.key:
            self._check_keys(extent, late, revisions)
        for row in late.to_pylist():
            self._set_aside(_updated_too_late(extent, row, horizon or 0))
        count = revisions.num_rows
        if not count:
            return 0
        new = revisions.column("_new")
        chunk = Chunk(
            extent=extent.name,
            file="",
            values=revisions.select(list(extent.schema.names)),
            tick=revisions.column(TICK).combine_chunks(),
            op=pc.if_else(new, "=", "-").combine_chunks(),
            ref=revisions.column(INDEX).combine_chunks(),
            tag=pa.nulls(count, pa.string()),
            line=pa.array(np.arange(1, count + 1)),
            text=pa.nulls(count, pa.string()),
            rejects=(),
            bytes_read=0,
        )
        self.append({extent.name: replace(extent, retain=None, further=(), key=())}, [chunk])
        return int(count)

    def _check_keys(self, extent: Extent, late: pa.Table, revisions: pa.Table) -> None:
        """Raise if a statement would leave a tuple without a key, or two with the same."""
        keyed = self._keyed_stream(extent)
        for table in (late, revisions):
            keyed.check_present(table.filter(table.column("_new")))
        keyed.check(revisions.filter(revisions.column("_new")), self._journal.state(extent.name))

    # -- weights ------------------------------------------------------------------------------------------------------

    def _weighted(self, extent: Extent, chunks: Sequence[Chunk]) -> tuple[pa.Table, int, list[Reject]]:
        """The rows of the log for some rows of the input, how many tuples are new among them, and what does not fit."""
        rows = Rows(extent, chunks, self._arrival_tick())
        state = self._journal.state(extent.name)
        settled = self._keyed_stream(extent).settle(rows, state) if extent.key else None
        if settled is not None or rows.revisions.any():
            old = None if settled is None else settled.old
            revisions = Revisions(rows, state, self._storage, extent, old)
            table, late, rejected = revisions.table(), revisions.late, revisions.rejected()
        else:
            horizon = horizons(rows.tick, rows.inserts, state.top, extent.retain, extent.further)
            late = rows.inserts & (rows.tick < horizon)
            table, rejected = rows.plain(state, late), rows.too_late(late, horizon, extent.name)
        refused = () if settled is None else settled.refused
        rejects = [rows.reject(position, reason) for position, reason in (*rejected, *refused)]
        return table, int((rows.inserts & ~late).sum()), rejects

    def _keyed_stream(self, extent: Extent) -> KeyedStream:
        from eddyline.log.keyed import KeyedStream  # numba is slow to load, and most streams have no key

        keyed = self._keyed.get(extent.name)
        if keyed is None:
            keyed = self._keyed[extent.name] = KeyedStream(extent, self._journal.state(extent.name), self._storage)
        return keyed

    def retention_changed(self, stream: str) -> None:
        """What is known of the keys of a stream was known for another horizon."""
        self._keyed.pop(stream, None)

    def _arrival_tick(self) -> int:
        if self._now is not None:
            return self._now()
        return self._clock.reached or 0

    def _write(self, stream: str, table: pa.Table) -> list[Segment]:
        """New tuples and revisions go into segments of their own: the zone maps of the first stay narrow."""
        number = self._journal.number + 1  # of the entry that will name them: no other has segments of that name
        fresh = pc.or_(pc.equal(table.column(OP), "+"), pc.equal(table.column(DIFF), 0))
        segments = []
        parts = (
            [("", table)]
            if pc.all(fresh).as_py()
            else [("", table.filter(fresh)), ("r", table.filter(pc.invert(fresh)))]
        )
        for mark, part in parts:
            if part.num_rows:
                path = f"streams/{stream}/{number:012d}{mark}.parquet"
                segments.append(segment_of(path, self._storage.write_table(path, part), part))
        return segments


def _updated_too_late(extent: Extent, row: Mapping[str, Any], horizon: int) -> Reject:
    index, tick = row[INDEX], row[TICK]
    reason = beyond(f"_ref {index}: its new tick {tick}", tick, horizon, extent.name)
    text = said_by(extent.schema.names, [row[name] for name in extent.schema.names])
    return Reject(extent.name, UPDATE_STATEMENT, index, text, reason)


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


def spans_of(ticks: Array, most: int = _SPANS) -> Spans:
    """The ticks as few stretches; where there are too many, those with the smallest gaps between them are joined.

    >>> spans_of(pa.array([1, 2, 3, 9, 2]))
    ((1, 3), (9, 9))
    """
    values = _different(ticks.to_numpy(zero_copy_only=False) if isinstance(ticks, pa.Array) else ticks.to_numpy())
    if not len(values):
        return ()
    gaps = np.diff(values)
    cuts = np.flatnonzero(gaps > 1)
    if len(cuts) > most - 1:
        cuts = np.sort(cuts[np.argsort(gaps[cuts])[-(most - 1) :]])
    starts = np.concatenate([[0], cuts + 1])
    ends = np.concatenate([cuts, [len(values) - 1]])
    return tuple((int(values[a]), int(values[b])) for a, b in zip(starts, ends, strict=True))


def _different(values: Array) -> Array:
    """The values in order, each once. Most streams bring them in order."""
    if (values[1:] >= values[:-1]).all():
        return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values
    return np.unique(values)
