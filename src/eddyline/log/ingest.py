"""From rows with `+`, `-`, `=` and `#` to weighted rows with ticks and indexes, appended to the logs of their streams.

Columns in, columns out: there is no loop over rows. A revision is written with the values of the tuple it takes away,
so that whoever reads the log needs no look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.log.journal import Entry, Journal, Spans, StreamState
from eddyline.log.lookup import standing_rows
from eddyline.log.segment import DIFF, INDEX, OP, REF, SEQ, SYSTEM, TAG, TICK, Segment, segment_of
from eddyline.log.storage import Storage
from eddyline.sources.arrival import Reject
from eddyline.sources.chunk import Chunk

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
        touched: dict[str, Spans] = {}
        latest: int | None = None
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
                touched[name] = spans_of(table.filter(pc.not_equal(table.column(DIFF), 0)).column(TICK))
                seen = pc.max(table.filter(pc.greater(table.column(DIFF), 0)).column(TICK)).as_py()
                latest = seen if latest is None or (seen is not None and seen > latest) else latest
        return self._commit(segments, touched, latest, ended, before, arrived, origin)

    def advance(self, tick: int | None, ended: bool = False) -> Entry | None:
        """Move the clock without data, so that windows become due."""
        before = (self._clock.reached, self._clock.closed)
        arrived = {name: state.last_index for name, state in self._journal.streams.items()}
        return self._commit({}, {}, tick, ended, before, arrived)

    def touch(self) -> Entry:
        """An entry that brings nothing, for those who wait for the next one."""
        arrived = {name: state.last_index for name, state in self._journal.streams.items()}
        return self._journal.append({}, {}, self._clock.reached, self._clock.closed, arrived)

    def _commit(
        self,
        segments: Mapping[str, Sequence[Segment]],
        touched: Mapping[str, Spans],
        latest: int | None,
        ended: bool,
        before: tuple[int | None, int | None],
        arrived: Mapping[str, int],
        origin: Mapping[str, int] | None = None,
    ) -> Entry | None:
        self._clock.advance(latest, ended)
        if not segments and not origin and (self._clock.reached, self._clock.closed) == before:
            return None
        try:
            return self._journal.append(segments, touched, self._clock.reached, self._clock.closed, arrived, origin)
        except BaseException:
            self._clock.reached, self._clock.closed = before  # what was not written has not come
            raise

    def revise(self, extent: Extent, revisions: pa.Table) -> Entry | None:
        """Send revisions made by a statement: `_index`, `_new` (false: delete), `_tick` and the new values."""
        count = revisions.num_rows
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
        return self.append({extent.name: extent}, [chunk])

    # -- weights ------------------------------------------------------------------------------------------------------

    def _weighted(self, extent: Extent, chunks: Sequence[Chunk]) -> tuple[pa.Table, int, list[Reject]]:
        """The rows of the log for some rows of the input, how many tuples are new among them, and what does not fit."""
        rows = _Rows(extent, chunks, self._arrival_tick())
        state = self._journal.state(extent.name)
        if not rows.revisions.any():
            return rows.plain(state), int(rows.inserts.sum()), []
        old = _Predecessors(rows, state, self._storage, extent)
        rejects = [rows.reject(position, reason) for position, reason in old.rejected(extent.name)]
        return old.table(state), int(rows.inserts.sum()), rejects

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


class _Rows:
    """The input as arrays."""

    def __init__(self, extent: Extent, chunks: Sequence[Chunk], arrival_tick: int) -> None:
        self._chunks = chunks
        self.values = pa.concat_tables([chunk.values for chunk in chunks]).cast(arrow_schema(extent.schema))
        self.op = pa.chunked_array([chunk.op for chunk in chunks]).combine_chunks()
        self.tag = pa.chunked_array([chunk.tag for chunk in chunks]).combine_chunks()
        op = self.op.to_numpy(zero_copy_only=False).astype("U1")
        self.inserts, self.replaces, self.deletes, self.tags = (op == mark for mark in "+=-#")
        self.revisions = self.replaces | self.deletes
        tick = pa.chunked_array([chunk.tick for chunk in chunks]).combine_chunks()
        self.has_tick = pc.is_valid(tick).to_numpy(zero_copy_only=False)
        self.tick = pc.fill_null(tick, arrival_tick).to_numpy(zero_copy_only=False)
        self.ref = pc.fill_null(pa.chunked_array([chunk.ref for chunk in chunks]).combine_chunks(), 0).to_numpy(
            zero_copy_only=False
        )

    def __len__(self) -> int:
        return len(self.inserts)

    def plain(self, state: StreamState) -> pa.Table:
        """The rows of the log if nothing is revised."""
        count = len(self)
        index = state.last_index + np.cumsum(self.inserts)
        return _log_table(
            seq=state.last_seq + 1 + np.arange(count),
            index=index,
            tick=self.tick,
            diff=np.where(self.inserts, 1, 0),
            op=self.op,
            ref=pa.nulls(count, pa.int64()),
            tag=self.tag,
            values=self.values,
        )

    def reject(self, position: int, reason: str) -> Reject:
        for chunk in self._chunks:
            if position < len(chunk.op):
                line, text = chunk.line[position].as_py(), chunk.text[position].as_py() or ""
                return Reject(chunk.extent, chunk.file, line, text, reason)
            position -= len(chunk.op)
        raise AssertionError("a position behind the last row")


class _Predecessors:
    """For every revision the version that it takes away: a row of the same input, or one that stands in the log."""

    def __init__(self, rows: _Rows, state: StreamState, storage: Storage, extent: Extent) -> None:
        self._rows, self._state = rows, state
        arrived = state.last_index + np.cumsum(rows.inserts)  # how many tuples there are at each row
        positions = np.flatnonzero(rows.revisions)
        refs = rows.ref[positions]
        exists = (refs >= 1) & (refs <= arrived[positions])
        wanted = np.unique(refs[exists & (refs <= state.last_index)])
        self._old = standing_rows(storage, state.segments, wanted, arrow_schema(extent.schema))
        old_index = self._old.column(INDEX).to_numpy()
        # a place in rows + old: the tuple that was inserted in this input, or the version that stands in the log
        inserted_at = np.flatnonzero(rows.inserts)
        root = np.full(len(refs), -1, dtype=np.int64)
        here = exists & (refs > state.last_index)
        root[here] = inserted_at[refs[here] - state.last_index - 1]
        there = exists & (refs <= state.last_index)
        if len(old_index):
            found = np.searchsorted(old_index, refs[there])
            found = np.minimum(found, len(old_index) - 1)
            root[there] = np.where(old_index[found] == refs[there], len(rows) + found, -1)
        previous = np.full(len(refs), -1, dtype=np.int64)
        # one that came before its tuple did is no link of the tuple's chain
        previous[exists] = _previous_in_chain(
            refs[exists], positions[exists], root[exists], rows.deletes[positions[exists]]
        )
        self.positions, self.refs, self.root, self.previous = positions, refs, root, previous
        self._arrived = arrived

    def rejected(self, stream: str) -> list[tuple[int, str]]:
        reasons = []
        for at in np.flatnonzero(self.previous < 0):
            position, ref = int(self.positions[at]), int(self.refs[at])
            arrived = int(self._arrived[position])
            known = f"{stream} has tuples 1 to {arrived}" if arrived else f"{stream} has no tuples yet"
            reason = f"tuple {ref} is deleted already" if 1 <= ref <= arrived else known
            reasons.append((position, f"_ref {ref}: {reason}"))
        return reasons

    def table(self, state: StreamState) -> pa.Table:
        """The rows of the log: a deletion takes a version away, a replacement takes one away and puts one there."""
        rows = self._rows
        good = self.previous >= 0
        ticks = np.concatenate([rows.tick, self._old.column(TICK).to_numpy()])
        # a replacement without a time of its own stays where the tuple is
        stays = good & rows.replaces[self.positions] & ~rows.has_tick[self.positions]
        ticks[self.positions[stays]] = ticks[self.root[stays]]
        index = state.last_index + np.cumsum(rows.inserts)
        index[self.positions] = self.refs
        plus = rows.inserts | rows.tags
        plus[self.positions[good & rows.replaces[self.positions]]] = True
        # (place in the order, minus before plus, where the values come from)
        at = np.concatenate([self.positions[good] * 2, np.flatnonzero(plus) * 2 + 1])
        taken = np.concatenate([self.previous[good], np.flatnonzero(plus)])
        minus = np.concatenate([np.ones(good.sum(), dtype=bool), np.zeros(plus.sum(), dtype=bool)])
        order = np.argsort(at, kind="stable")
        own, taken, minus = at[order] // 2, taken[order], minus[order]
        values = pa.concat_tables([rows.values, self._old.select(rows.values.column_names)]).take(pa.array(taken))
        ref = pa.array(np.where(rows.revisions[own], index[own], 0))
        return _log_table(
            seq=state.last_seq + 1 + np.arange(len(own)),
            index=index[own],
            tick=ticks[taken],
            diff=np.where(minus, -1, np.where(rows.tags[own], 0, 1)),
            op=rows.op.take(pa.array(own)),
            ref=pc.if_else(pa.array(rows.revisions[own]), ref, pa.scalar(None, pa.int64())),
            tag=rows.tag.take(pa.array(own)),
            values=values,
        )


def _previous_in_chain(refs: Array, positions: Array, root: Array, deletes: Array) -> Array:
    """What each revision finds: the revision of the same tuple before it, or the root; -1 if the tuple is gone."""
    previous = np.full(len(refs), -1, dtype=np.int64)
    if not len(refs):
        return previous
    order = np.lexsort((positions, refs))
    first = np.ones(len(order), dtype=bool)
    first[1:] = refs[order][1:] != refs[order][:-1]
    group = np.cumsum(first) - 1
    deleted = deletes[order].astype(np.int64)
    before = np.cumsum(deleted) - deleted  # deletions before this row …
    before -= before[np.flatnonzero(first)][group]  # … of the same tuple
    chained = np.where(first, root[order], np.concatenate([[-1], positions[order][:-1]]))
    gone = (before > 0) | (root[order] < 0)
    previous[order] = np.where(gone, -1, chained)
    return previous


def _log_table(
    seq: Array, index: Array, tick: Array, diff: Array, op: Array, ref: Array, tag: Array, values: pa.Table
) -> pa.Table:
    system = {SEQ: seq, INDEX: index, TICK: tick, DIFF: diff, OP: op, REF: ref, TAG: tag}
    columns = [pa.array(array).cast(SYSTEM.field(name).type) for name, array in system.items()]
    fields = [*(SYSTEM.field(name) for name in system), *values.schema]
    return pa.table([*columns, *values.columns], schema=pa.schema(fields))


def spans_of(ticks: Array, most: int = _SPANS) -> Spans:
    """The ticks as few stretches; where there are too many, those with the smallest gaps between them are joined.

    >>> spans_of(pa.array([1, 2, 3, 9, 2]))
    ((1, 3), (9, 9))
    """
    values = np.unique(ticks.to_numpy(zero_copy_only=False) if isinstance(ticks, pa.Array) else ticks.to_numpy())
    if not len(values):
        return ()
    gaps = np.diff(values)
    cuts = np.flatnonzero(gaps > 1)
    if len(cuts) > most - 1:
        cuts = np.sort(cuts[np.argsort(gaps[cuts])[-(most - 1) :]])
    starts = np.concatenate([[0], cuts + 1])
    ends = np.concatenate([cuts, [len(values) - 1]])
    return tuple((int(values[a]), int(values[b])) for a, b in zip(starts, ends, strict=True))
