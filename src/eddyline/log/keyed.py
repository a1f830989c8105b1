"""The keys of a stream: what a source says by key is said by index, before anything is written.

All of it is derived from the log, so there is nothing to recover: whoever opens a database builds it when the first row
with a key comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.key import has_it_already, moved_too_far, nobody_has, shown_key, would_both_have
from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.errors import DuplicateKey
from eddyline.log.journal import StreamState
from eddyline.log.key_loops import AS_IT_IS, DELETE, INSERT, NOBODY, OTHER, REPLACE, REVISES, TOO_FAR, decide
from eddyline.log.key_runs import KeyRuns
from eddyline.log.key_values import key_hashes, key_numbers
from eddyline.log.lookup import last_rows, rows_at
from eddyline.log.rows import Rows
from eddyline.log.segment import DIFF, INDEX, SEQ, TICK
from eddyline.log.storage import Storage
from eddyline.sources.horizon import LOWEST

Array = Any


@dataclass(frozen=True)
class Settled:
    """What became of some rows: those that are set aside, and the versions in the log of the tuples they are about."""

    refused: Sequence[tuple[int, str]]  # positions and reasons
    old: pa.Table  # as `last_rows` gives it


class KeyedStream:
    """Knows which tuples have which keys; in the memory of the one writer."""

    def __init__(self, extent: Extent, state: StreamState, storage: Storage) -> None:
        self._extent, self._storage = extent, storage
        self._names = list(extent.key)
        self._runs = KeyRuns()
        self._runs.add(*self._standing(state), LOWEST)

    def __len__(self) -> int:
        """How many entries are kept."""
        return len(self._runs)

    def _standing(self, state: StreamState) -> tuple[Array, Array, Array, Array]:
        """Hash, index, tick and place of all tuples within the horizon that the log says stand."""
        horizon = self._horizon(state)
        parts = [(np.empty(0, np.int64),) * 3 + (np.empty(0, np.int8), np.empty(0, np.uint64))]
        for segment in state.segments:
            # What took a version within the horizon away has that version's tick, so it is in no segment beyond.
            if segment.tick[1] >= horizon and not segment.only_tags:
                table = self._storage.read_table(segment.path, [SEQ, INDEX, TICK, DIFF, *self._names])
                table = table.filter(pc.not_equal(table.column(DIFF), 0))
                system = (table.column(name).to_numpy() for name in (SEQ, INDEX, TICK, DIFF))
                parts.append((*system, key_hashes(table.select(self._names))))
        seq, index, tick, diff, hashes = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((seq, index))
        last = order[_last_of_each(index[order])]
        stands = last[(diff[last] > 0) & (tick[last] >= horizon)]
        return hashes[stands], index[stands], tick[stands], seq[stands]

    def _horizon(self, state: StreamState) -> int:
        horizon = self._extent.horizon(state.top)
        return LOWEST if horizon is None else horizon

    # -- rows that come -----------------------------------------------------------------------------------------------

    def settle(self, rows: Rows, state: StreamState) -> Settled | None:
        """Say by index what rows say by key; None if all of them are new tuples."""
        by_key = rows.inserts | (rows.revisions & (rows.ref == 0))
        has_key = by_key | rows.replaces
        keys = rows.values.select(self._names)
        hashes = np.unique(key_hashes(keys)[has_key])
        index, seq = self._runs.find(hashes, self._horizon(state))
        if not len(index) and not rows.revisions.any() and len(hashes) == has_key.sum():
            return None
        refs = rows.ref[rows.revisions & (rows.ref > 0) & (rows.ref <= state.last_index)]
        old = self._versions(state, np.sort(seq), np.setdiff1d(refs, index))
        fate, whose, horizon = self._decide(rows, by_key, keys, old, state)
        coming = state.last_index + 1 + np.arange(rows.inserts.sum())
        index = np.concatenate([old.column(INDEX).to_numpy(), coming, [0]])  # of the place -1 too
        refused = self._refused(rows, fate, index[whose], horizon)
        revises = fate == REVISES
        rows.by_index(revises, np.where(revises, index[whose], rows.ref), fate > REVISES)
        return Settled(list(refused), old)

    def _versions(self, state: StreamState, places: Array, indexes: Array) -> pa.Table:
        """What the log says last of tuples that are known by the place of their last version, and of others."""
        schema = arrow_schema(self._extent.schema)
        found = rows_at(self._storage, state.segments, places, schema)
        if not len(indexes):
            return found
        others = last_rows(self._storage, state.segments, indexes, schema)
        return pa.concat_tables([found, others]).sort_by([(INDEX, "ascending")])

    def _decide(
        self, rows: Rows, by_key: Array, keys: pa.Table, old: pa.Table, state: StreamState
    ) -> tuple[Array, Array, Array]:
        """The fate of each row, the place of the tuple that it is about, and the horizon that it meets."""
        known, count = old.num_rows, len(rows)
        numbers = key_numbers(pa.concat_tables([keys, old.select(self._names)]))
        tick, stands = old.column(TICK).to_numpy(), old.column(DIFF).to_numpy() > 0
        coming = int(rows.inserts.sum())
        tuple_key = np.concatenate([numbers[count:], np.zeros(coming, np.int64)])
        holder = np.full(numbers.max(initial=0) + 1, -1)
        holding = np.flatnonzero(stands & (tick >= self._horizon(state)))
        holder[tuple_key[holding]] = holding
        kind = np.select([rows.inserts, rows.replaces, rows.deletes], [INSERT, REPLACE, DELETE], OTHER).astype(np.int8)
        retain = self._extent.retain
        fate, whose, horizon = np.full(count, AS_IT_IS, np.int8), np.full(count, -1), np.empty(count, np.int64)
        decide(
            kind,
            by_key,
            numbers[:count],
            self._places(rows, old, state, coming),
            rows.tick.copy(),
            rows.has_tick | rows.inserts,  # a tuple that comes has a time, if only that of its arrival
            np.concatenate([tick, np.zeros(coming, np.int64)]),
            tuple_key,
            np.concatenate([stands, np.zeros(coming, np.bool_)]),
            holder,
            known,
            LOWEST if state.top is None else state.top,
            -1 if retain is None else retain,
            np.array(self._extent.further, np.int64).reshape(-1, 2),
            fate,
            whose,
            horizon,
        )
        return fate, whose, horizon

    def _places(self, rows: Rows, old: pa.Table, state: StreamState, coming: int) -> Array:
        """For each reference the place of its tuple: in the log, behind those if it may come with these rows, or -1."""
        index, ref = old.column(INDEX).to_numpy(), rows.ref
        places = np.where((ref > state.last_index) & (ref <= state.last_index + coming), ref, -1)
        places = np.where(places > 0, places - state.last_index - 1 + len(index), -1)
        if len(index):
            found = np.minimum(np.searchsorted(index, ref), len(index) - 1)
            places = np.where(index[found] == ref, found, places)
        return places

    def _refused(self, rows: Rows, fate: Array, whose: Array, horizon: Array) -> Iterator[tuple[int, str]]:
        stream, forgets = self._extent.name, self._extent.retain is not None
        for at in np.flatnonzero(fate > REVISES).tolist():
            key = self._shown(rows.values, at)
            if fate[at] == NOBODY:
                yield at, nobody_has(key, stream, forgets)
            elif fate[at] == TOO_FAR:
                yield at, moved_too_far(key, int(rows.tick[at]), int(horizon[at]), stream)
            else:
                yield at, has_it_already(int(rows.ref[at]), int(whose[at]), key)

    def _shown(self, values: pa.Table, at: int) -> str:
        return shown_key(self._names, [values.column(name)[at].as_py() for name in self._names])

    # -- statements ---------------------------------------------------------------------------------------------------

    def check(self, new: pa.Table, state: StreamState) -> None:
        """Raise if two tuples would have one key after an UPDATE that gives new versions (with `_index`) to some."""
        keys, mine = new.select(self._names), new.column(INDEX).to_numpy()
        index, seq = self._runs.find(np.unique(key_hashes(keys)), self._horizon(state))
        schema = arrow_schema(self._extent.schema)
        schema = pa.schema([schema.field(name) for name in self._names])
        old = rows_at(self._storage, state.segments, np.sort(seq[~np.isin(index, mine)]), schema)
        numbers = key_numbers(pa.concat_tables([keys.cast(schema), old.select(self._names)]))
        holder = np.full(numbers.max(initial=0) + 1, -1)
        holder[numbers[len(mine) :]] = old.column(INDEX).to_numpy()
        _, first, same = np.unique(numbers[: len(mine)], return_index=True, return_inverse=True)
        holders = np.where(mine[first[same]] != mine, mine[first[same]], holder[numbers[: len(mine)]])
        for at in np.flatnonzero(holders >= 0)[:1].tolist():
            key = self._shown(new, at)
            raise DuplicateKey(would_both_have(int(holders[at]), int(mine[at]), self._extent.name, key))

    # -- what was written ---------------------------------------------------------------------------------------------

    def take(self, table: pa.Table, state: StreamState) -> None:
        """Rows that are in the log from now on; `state` is that with them."""
        table = table.filter(pc.not_equal(table.column(DIFF), 0))
        index, order = table.column(INDEX).to_numpy(), np.argsort(table.column(INDEX).to_numpy(), kind="stable")
        hashes, tick = key_hashes(table.select(self._names)), table.column(TICK).to_numpy()
        diff, seq = table.column(DIFF).to_numpy(), table.column(SEQ).to_numpy()
        last = order[_last_of_each(index[order])]
        first = order[np.concatenate([[True], _last_of_each(index[order])[:-1]])] if len(order) else order
        was, is_ = diff[first] < 0, diff[last] > 0
        stays = was & is_ & (hashes[first] == hashes[last])
        gone, come, moved = first[was & ~stays], last[is_ & ~stays], last[stays]
        self._runs.drop(hashes[gone], index[gone])
        self._runs.move(hashes[moved], index[moved], tick[moved], seq[moved])
        self._runs.add(hashes[come], index[come], tick[come], seq[come], self._horizon(state))


def _last_of_each(index: Array) -> Array:
    """Which rows are the last ones of their tuples, given the tuples in order."""
    return np.concatenate([index[1:] != index[:-1], np.ones(min(1, len(index)), np.bool_)])
