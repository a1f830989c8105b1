"""What a batch has done to the tuples of a stream that were there before, or that nobody expected any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.schema import Schema
from eddyline.columnar.types import arrow_schema
from eddyline.log.revision_log import Correction, RevisedEntry
from eddyline.log.segment import DIFF, INDEX, OP, SEQ, SYSTEM, TICK, Segment
from eddyline.log.storage import Storage

Array = Any


@dataclass(frozen=True)
class Versions:
    """Both versions of revised tuples: `_index`, `_tick`, `_diff` (-1 was there before, +1 is there now), the values.

    `changed` says for each of the tuples, in order, what happened: it was deleted (-), replaced (=) or came late (+).
    """

    rows: pa.Table
    columns: tuple[str, ...]  # the values

    @property
    def operations(self) -> tuple[Array, Array]:
        """The indexes of the tuples in order, and for each what has happened to it."""
        index, diff = self.rows.column(INDEX).to_numpy(), self.rows.column(DIFF).to_numpy()
        indexes = np.unique(index)
        old, new = (np.isin(indexes, index[diff == sign]) for sign in (-1, 1))
        return indexes, np.where(old & new, "=", np.where(old, "-", "+"))

    def of(self, indexes: Array) -> Versions:
        """Those of some tuples."""
        return Versions(
            self.rows.filter(pc.is_in(self.rows.column(INDEX), pa.array(indexes, pa.int64()))), self.columns
        )

    def only(self, sign: int) -> Versions:
        """Those that were there before (-1), or those that are there now (+1)."""
        return Versions(self.rows.filter(pc.equal(self.rows.column(DIFF), sign)), self.columns)


def of_stream(
    storage: Storage,
    segments: Sequence[Segment],
    schema: Schema,
    entries: Sequence[RevisedEntry],
    correction: Correction,
) -> Versions:
    """The revisions of one stream that a query was corrected for; `entries` are the appends that brought them."""
    values = arrow_schema(schema)
    names = [SEQ, INDEX, TICK, DIFF, *values.names]
    found = [pa.schema([*(SYSTEM.field(name) for name in names[:4]), *values]).empty_table()]
    for entry in entries:
        low, high = entry.seq
        wanted = (pc.field(SEQ) >= low) & (pc.field(SEQ) <= high) & (pc.field(DIFF) != 0)
        late = pc.scalar(False) if entry.closed is None else pc.field(TICK) <= entry.closed
        wanted &= (pc.field(OP) != "+") | late
        for segment in segments:
            if segment.seq[0] <= high and low <= segment.seq[1] and not segment.only_tags:
                found.append(storage.read_table(segment.path, names, wanted))
    rows = pa.concat_tables(found).sort_by([(INDEX, "ascending"), (SEQ, "ascending")])
    (stream,) = {entry.stream for entry in entries}
    return Versions(_net(rows, correction.arrived.get(stream, 0), correction.closed), tuple(values.names))


def _net(rows: pa.Table, arrived: int, closed: int | None) -> pa.Table:
    """The version that stood before all of some rows, and the one that stands after them, of each tuple."""
    index, diff, tick = (rows.column(name).to_numpy() for name in (INDEX, DIFF, TICK))
    first, last = np.ones(len(index), bool), np.ones(len(index), bool)
    first[1:] = last[:-1] = index[1:] != index[:-1]
    known = index <= arrived  # others came in the same batch: only what is left of them counts
    late = np.zeros(len(index), bool) if closed is None else tick <= closed
    old = first & known & (diff < 0)
    new = last & (diff > 0) & (known | late)
    before, after = rows.filter(pa.array(old)), rows.filter(pa.array(new))
    same = _unchanged(before, after)
    both = pa.concat_tables([before, after]).drop_columns([SEQ])
    changed = pc.invert(pc.is_in(both.column(INDEX), pa.array(same, pa.int64())))
    return both.filter(changed).sort_by([(INDEX, "ascending"), (DIFF, "ascending")])


def _unchanged(before: pa.Table, after: pa.Table) -> Array:
    """The indexes of tuples that are said to be replaced, but are as they were."""
    there, here = before.column(INDEX).to_numpy(), after.column(INDEX).to_numpy()
    both = np.intersect1d(there, here)
    one, other = before.take(np.searchsorted(there, both)), after.take(np.searchsorted(here, both))
    same = np.ones(len(both), bool)
    for name in (name for name in before.column_names if name not in (SEQ, DIFF)):
        same &= _same(one.column(name), other.column(name))
    return both[same]


def _same(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Array:
    if pa.types.is_nested(one.type):
        return np.array([a == b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)], bool)
    if pa.types.is_floating(one.type):  # NaN is what it was
        a, b = (c.to_numpy() for c in (one, other))
        return (a == b) | (np.isnan(a) & np.isnan(b) & (one.is_null().to_numpy() == other.is_null().to_numpy()))
    equal = pc.equal(one, other).fill_null(False).to_numpy()
    return equal | (one.is_null().to_numpy() & other.is_null().to_numpy())


def of_stage(rows: pa.Table, columns: Sequence[str], indexes: Array) -> Versions:
    """What a batch has corrected in the stream that a stage makes, given its rows and which tuples they correct."""
    chosen = rows.select([INDEX, TICK, DIFF, *columns])
    chosen = chosen.filter(pc.is_in(chosen.column(INDEX), pa.array(indexes, pa.int64())))
    return Versions(chosen.sort_by([(INDEX, "ascending"), (DIFF, "ascending")]), tuple(columns))
