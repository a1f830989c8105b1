"""Which rows a stream takes, and for every revision the version that it takes away.

A row's fate hangs on the rows before it alone: whether its tuple was there, was deleted since, or lies beyond the
horizon, which moves on with the latest tick that was taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.retention import beyond, out_of_reach
from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.log.journal import StreamState
from eddyline.log.lookup import last_rows
from eddyline.log.rows import Rows, log_table
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.log.storage import Storage
from eddyline.sources.horizon import LOWEST, horizons

Array = Any


class Revisions:
    """The revisions among some rows. The version that one takes away is a row of the same input or stands in the log.

    A place is a position among the rows or, behind these, among the versions that were found in the log.
    """

    def __init__(
        self, rows: Rows, state: StreamState, storage: Storage, extent: Extent, old: pa.Table | None = None
    ) -> None:
        """`old` are the versions in the log of the tuples that are revised, and perhaps others, if they are known."""
        self._rows, self._state = rows, state
        self._stream, self._retain, self._further = extent.name, extent.retain, extent.further
        self._positions = np.flatnonzero(rows.revisions)
        self._refs = rows.ref[self._positions]
        known = (self._refs >= 1) & (self._refs <= state.last_index)
        if old is None:
            schema = arrow_schema(extent.schema)
            old = last_rows(storage, state.segments, np.unique(self._refs[known]), schema)
        self._old = old
        self._in_log = np.full(len(self._refs), -1, dtype=np.int64)
        index = self._old.column(INDEX).to_numpy()
        if len(index):
            found = np.minimum(np.searchsorted(index, self._refs[known]), len(index) - 1)
            self._in_log[known] = np.where(index[found] == self._refs[known], len(rows) + found, -1)
        standing = self._old.column(DIFF).to_numpy() > 0
        self._stands = np.concatenate([np.ones(len(rows), dtype=bool), standing, [False]])  # of the place -1 too
        self._order = np.lexsort((self._positions, self._refs))
        self._settle()

    def _settle(self) -> None:
        """Decide about all rows.

        Replacements may move the horizon, on which it depends whether they are taken. Each round is right up to the
        first row of which the one before it was wrong, and beyond: as a rule the second changes nothing.
        """
        rows = self._rows
        moves = rows.replaces & rows.has_tick
        while True:
            self._judge(horizons(rows.tick, rows.inserts | moves, self._state.top, self._retain, self._further))
            taken = np.zeros(len(rows), dtype=bool)
            taken[self._positions[self.previous >= 0]] = True
            settled = taken & rows.replaces & rows.has_tick
            if self._retain is None or np.array_equal(settled, moves):
                return
            moves = settled

    def _judge(self, horizon: Array) -> None:
        """Decide about all rows, given the horizon that each meets."""
        rows, state, positions, refs = self._rows, self._state, self._positions, self._refs
        self._horizon = horizon
        self.late = rows.inserts & (rows.tick < horizon)
        inserted = rows.inserts & ~self.late
        self.index = state.last_index + np.cumsum(inserted)  # of the tuple, or of the latest before
        exists = (refs >= 1) & (refs <= self.index[positions])
        # the tuple as it was before all revisions: inserted in this input, or what the log says last
        here = exists & (refs > state.last_index)
        root = self._in_log.copy()
        root[here] = np.flatnonzero(inserted)[refs[here] - state.last_index - 1]
        self._ticks = np.concatenate([rows.tick, self._old.column(TICK).to_numpy(), [LOWEST]])  # of the place -1 too
        self._exists = exists
        self.previous = np.full(len(refs), -1, dtype=np.int64)
        self._version = np.full(len(refs), -1, dtype=np.int64)  # what stands there, or stood last
        self._deleted = np.zeros(len(refs), dtype=bool)
        chained = self._order[exists[self._order]]  # one that came before its tuple did is no link of its chain
        self._follow(chained, root[chained])

    def _follow(self, chained: Array, root: Array) -> None:
        """Follow the revisions of each tuple from one to the next; they are given by tuple, then in order."""
        if not len(chained):
            return
        positions, refs = self._positions[chained], self._refs[chained]
        horizon, deletes = self._horizon[positions], self._rows.deletes[positions]
        first = np.ones(len(refs), dtype=bool)
        first[1:] = refs[1:] != refs[:-1]
        # A replacement without a time of its own stays where its tuple is: where the latest one with a time that can
        # change it put it, or where it was before all of them.
        stays = self._rows.replaces[positions] & ~self._rows.has_tick[positions]
        puts = ~deletes & ~stays & (self._ticks[positions] >= horizon)
        self._ticks[positions[stays]] = self._ticks[_latest_before(puts, positions, first, root)][stays]
        # a replacement that would end up beyond the horizon changes nothing, whatever it refers to
        changes = deletes | (self._ticks[positions] >= horizon)
        version = _latest_before(changes & ~deletes, positions, first, root)
        # Once a tuple is deleted or beyond the horizon, it stays so. Until then all that can change it do.
        ends = ~self._stands[version] | (self._ticks[version] < horizon)
        gone = _any_before(deletes, first) | _any_before(ends, first) | ends
        taken = changes & ~gone
        self._version[chained] = version = _latest_before(taken & ~deletes, positions, first, root)
        self._deleted[chained] = ~self._stands[version] | _any_before(taken & deletes, first)
        self.previous[chained] = np.where(taken, version, -1)

    # -- what comes of it ---------------------------------------------------------------------------------------------

    def rejected(self) -> Iterator[tuple[int, str]]:
        """The positions of the rows that are set aside, with the reasons; these are as in the reference engine."""
        yield from self._rows.too_late(self.late, self._horizon, self._stream)
        for at in np.flatnonzero(self.previous < 0).tolist():
            yield int(self._positions[at]), f"_ref {self._refs[at]}: {self._reason(at)}"

    def _reason(self, at: int) -> str:
        position, ref, version = int(self._positions[at]), int(self._refs[at]), int(self._version[at])
        if not self._exists[at]:
            arrived = int(self.index[position])
            return f"{self._stream} has tuples 1 to {arrived}" if arrived else f"{self._stream} has no tuples yet"
        horizon = int(self._horizon[position])
        if self._ticks[version] < horizon:
            return f"tuple {ref} is {out_of_reach(self._stream)}"
        if self._deleted[at]:
            return f"tuple {ref} is deleted already"
        tick = int(self._ticks[position])
        return beyond(f"its new tick {tick}", tick, horizon, self._stream)

    def table(self) -> pa.Table:
        """The rows of the log: a deletion takes a version away, a replacement takes one away and puts one there."""
        rows, positions = self._rows, self._positions
        good = self.previous >= 0
        index = self.index.copy()
        index[positions] = self._refs
        plus = (rows.inserts & ~self.late) | rows.tags
        plus[positions[good & rows.replaces[positions]]] = True
        # (place in the order, minus before plus, where the values come from)
        at = np.concatenate([positions[good] * 2, np.flatnonzero(plus) * 2 + 1])
        taken = np.concatenate([self.previous[good], np.flatnonzero(plus)])
        minus = np.concatenate([np.ones(good.sum(), dtype=bool), np.zeros(plus.sum(), dtype=bool)])
        order = np.argsort(at, kind="stable")
        own, taken, minus = at[order] // 2, taken[order], minus[order]
        values = pa.concat_tables([rows.values, self._old.select(rows.values.column_names)]).take(pa.array(taken))
        ref = pa.array(np.where(rows.revisions[own], index[own], 0))
        return log_table(
            seq=self._state.last_seq + 1 + np.arange(len(own)),
            index=index[own],
            tick=self._ticks[taken],
            diff=np.where(minus, -1, np.where(rows.tags[own], 0, 1)),
            op=rows.op.take(pa.array(own)),
            ref=pc.if_else(pa.array(rows.revisions[own]), ref, pa.scalar(None, pa.int64())),
            tag=rows.tag.take(pa.array(own)),
            values=values,
        )


def _latest_before(marked: Array, values: Array, first: Array, otherwise: Array) -> Array:
    """For each link the value of the latest marked one before it in its chain; `otherwise` if there is none."""
    places = np.arange(len(marked))
    latest = np.concatenate([[-1], np.maximum.accumulate(np.where(marked, places, -1))[:-1]])
    return np.where(latest >= _starts(first), values[latest], otherwise)


def _any_before(marked: Array, first: Array) -> Array:
    """For each link whether one before it in its chain is marked."""
    before = np.cumsum(marked) - marked
    return before > before[_starts(first)]


def _starts(first: Array) -> Array:
    """For each link where its chain begins, given which links are the first of theirs."""
    return np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))
