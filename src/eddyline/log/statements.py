"""UPDATE and DELETE on a stream: tasks write revisions down, with the values they take away, and say where they are.

Whoever has given them the tuples commits what they have written, or leaves it: what no entry names is not there.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.types import DATE, TIMESTAMP
from eddyline.catalog.extent import Extent
from eddyline.columnar.gathering import tables_of
from eddyline.columnar.types import arrow_schema
from eddyline.log.carried import Carried, numbered
from eddyline.log.detached import Detached
from eddyline.log.journal import Spans
from eddyline.log.rows import log_table
from eddyline.log.segment import MARKS, PLACES, TICK, Segment, segment_of
from eddyline.log.spans import spans_of
from eddyline.log.storage import Storage
from eddyline.sources.arrival import said_by
from eddyline.sources.intake import time_position

Array = Any
#: so many tuples are put into one segment: a task's memory stays bounded
_TUPLES = 500_000
#: later than any entry
_OPEN = 2**62


@dataclass(frozen=True)
class Statement:
    """What a task must know of an UPDATE or a DELETE. A statement is one step: all of it meets one horizon."""

    extent: Extent
    root: str  # of the storage
    entry: int  # none before it can name what is written
    horizon: int | None
    base: int  # two places in the log are set free for each tuple, this and twice its index from the beginning
    tick_micros: int
    detached: Detached | None = None  # of a DETACH: tuples are replaced by themselves without these tags


@dataclass(frozen=True)
class Made:
    """One segment of revisions, with what its entry must say of it, and what could not be revised."""

    segment: Segment | None = None
    touched: Spans = ()
    top: int | None = None  # the largest tick of a new version
    aside: str | None = None  # a file of tuples that would be beyond the horizon: index, new tick and text of each
    without: str | None = None  # a column that would be NULL and must not: the time, or one of the key


def made_by_task(batches: Iterable[pa.RecordBatch], statement: Statement) -> Iterator[Made]:
    """Write revisions of tuples: `_index`, `_tick` and the values of each; then, if it is replaced, the new ones.

    Behind them may be the marks of a tuple and where its tags stand, which it keeps. The places of the rows follow from
    the tuples, whichever task has them, and however often.
    """
    for found in tables_of(batches, _TUPLES):
        if statement.detached is None:
            yield from _made(found, statement)
        else:
            yield from _without_tags(found, statement, statement.detached)


def _without_tags(found: pa.Table, statement: Statement, detached: Detached) -> Iterator[Made]:
    """Tuples that carry what is taken back, once with it and once without; others stay as they are."""
    before = [found.column(name).combine_chunks() for name in (MARKS, PLACES)]
    after = detached.texts_after(*before)
    changed = pc.or_kleene(pc.is_null(after[0]), pc.not_equal(before[0], after[0]))
    found = found.filter(changed)
    if not found.num_rows:
        return
    values, tick = _values(found, 2, arrow_schema(statement.extent.schema)), found.column(1).to_numpy()
    table = _rows(found.column(0).to_numpy(), [tick, tick], [values, values], statement.base)
    order = np.arange(2 * found.num_rows).reshape(2, found.num_rows).T.ravel()
    for name, was, becomes in zip((MARKS, PLACES), before, after, strict=True):
        both = pa.concat_arrays([was.filter(changed), becomes.filter(changed)])
        table = table.append_column(name, numbered(both.take(pa.array(order))))
    path = _named(statement)
    segment = segment_of(path, Storage(statement.root).write_table(path, table), table)
    yield Made(replace(segment, only_marks=True), spans_of(table.column(TICK)))


def _made(found: pa.Table, statement: Statement) -> Iterator[Made]:
    extent = statement.extent
    schema = arrow_schema(extent.schema)
    width = len(schema)
    replaces = found.num_columns - 2 * (MARKS in found.column_names) > 2 + width
    late: pa.Table | None = None
    ticks = [found.column(1).to_numpy()]
    if replaces:
        new = _values(found, 2 + width, schema)
        for name in (extent.timestamp, *extent.key):
            if name is not None and _column(new, extent, name).null_count:
                yield Made(without=name)
                return
        own = ticks_of(extent, new, statement.tick_micros)
        ticks.append(ticks[0] if own is None else own.to_numpy())
        if statement.horizon is not None:
            too_far = ticks[1] < statement.horizon
            if too_far.any():
                late = _late(found.column(0).to_numpy()[too_far], ticks[1][too_far], new.filter(pa.array(too_far)))
            found, ticks = found.filter(pa.array(~too_far)), [each[~too_far] for each in ticks]
    if late is not None:  # not into the driver's memory: it may be all of the stream
        path = _named(statement)
        Storage(statement.root).write_table(path, late)
        yield Made(aside=path)
    if not found.num_rows:
        return
    versions = [_values(found, 2 + width * n, schema) for n in range(len(ticks))]
    table = _rows(found.column(0).to_numpy(), ticks, versions, statement.base)
    if MARKS in found.column_names and found.column(MARKS).null_count < found.num_rows:
        each = pa.array(np.repeat(np.arange(found.num_rows), len(versions)))
        carried = Carried(numbered(found.column(MARKS)), numbered(found.column(PLACES))).take(each)
        carried = carried.moved(table.column(TICK).to_numpy() - np.repeat(ticks[0], len(versions)))
        table = table.append_column(MARKS, carried.tags).append_column(PLACES, carried.places)
    path = _named(statement)
    segment = segment_of(path, Storage(statement.root).write_table(path, table), table)
    yield Made(segment, spans_of(table.column(TICK)), int(ticks[1].max()) if replaces else None)


def _values(found: pa.Table, first: int, schema: pa.Schema) -> pa.Table:
    own = found.select(list(range(first, first + len(schema))))
    return own.rename_columns(schema.names).cast(schema)


def _column(values: pa.Table, extent: Extent, name: str) -> pa.ChunkedArray:
    names = [each.lower() for each in extent.schema.names]
    return values.column(names.index(name.lower()))


def _named(statement: Statement) -> str:
    """Upkeep takes it for garbage as long as no entry names it, and none can before the statement is over."""
    return f"streams/{statement.extent.name}/{statement.entry:012d}-{uuid.uuid4().hex}.parquet"


def _late(index: Array, tick: Array, new: pa.Table) -> pa.Table:
    texts = [said_by(new.column_names, list(row.values())) for row in new.to_pylist()]
    return pa.table({"index": index, "tick": tick, "text": pa.array(texts, pa.string())})


def late_rows(storage: Storage, made: Sequence[Made]) -> Iterator[tuple[int, int, str]]:
    """Index, new tick and text of what could not be revised, in order; of a few at a time in memory."""
    for part in made:  # tasks have stretches of indexes, one behind the other
        for batch in () if part.aside is None else storage.batches(part.aside):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _rows(index: Array, ticks: Sequence[Array], versions: Sequence[pa.Table], base: int) -> pa.Table:
    """The rows of the log: of each tuple the version that goes and, behind it, the one that comes."""
    each, count = len(versions), len(index)
    order = np.arange(each * count).reshape(each, count).T.ravel()
    return log_table(
        seq=base + np.repeat(2 * index, each) + np.tile(np.arange(each), count),
        index=np.repeat(index, each),
        tick=np.concatenate(ticks)[order],
        diff=np.tile([-1, 1][:each], count),
        op=pa.repeat(pa.scalar("-" if each == 1 else "="), each * count),
        ref=np.repeat(index, each),
        tag=pa.nulls(each * count, pa.string()),
        values=pa.concat_tables(versions).take(pa.array(order)),
    )


def ticks_of(extent: Extent, values: pa.Table, tick_micros: int) -> pa.Array | None:
    """The ticks of tuples by their TIMESTAMP BY column, which is not NULL; None if the extent has none."""
    position = time_position(extent)
    if position is None:
        return None
    column = values.column(position)
    if extent.schema.fields[position].type in (TIMESTAMP, DATE):
        micros = column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        return pa.array(np.floor_divide(micros, tick_micros))
    return pc.cast(column, pa.int64()).combine_chunks()


class Unnamed:
    """Segments that are being written before it is known which entry will name them: they are no garbage yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stretches: list[list[int]] = []  # the first entry that could name them, and the one that did

    def begin(self, first: int) -> list[int]:
        with self._lock:
            self._stretches.append([first, _OPEN])
            return self._stretches[-1]

    def end(self, stretch: list[int], named_by: int) -> None:
        """`named_by` is 0 if nothing came of it."""
        stretch[1] = named_by

    def garbage_upto(self, number: int) -> int:
        """Up to which entry what nothing refers to is garbage, for who has read the journal up to a number."""
        with self._lock:
            self._stretches = [stretch for stretch in self._stretches if stretch[1] > number]
            return min([number, *(first - 1 for first, _ in self._stretches)])
