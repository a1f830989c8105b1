"""Result segments as tables for people: the changes as they came, or what stands once they are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.marks import KIND
from eddyline.log.answers import HEADER, NUMBER, QUERY, RANK, Reading, read_segments
from eddyline.log.segment import BATCH, DIFF, INDEX, TICK, Segment
from eddyline.log.storage import Storage

WINDOWS, RELATION = "windows", "relation"
#: rows of a revised tuple or window: earlier batches first, and what goes before what comes
_ORDER = [(BATCH, "ascending"), (DIFF, "ascending")]


def changes(
    storage: Storage, segments: Sequence[Segment], shape: Reading, values: pa.Schema, since: int = -1
) -> pa.Table:
    """Every change after a cursor: `_batch`, `_tick`, `_index` or `_window`, `_diff` (+1 comes, -1 goes), the columns.

    That a window is there although it has no rows is not told: `fetch` does.
    """
    table = _read(storage, segments, shape, values, since)
    if HEADER in table.column_names:
        table = table.filter(pc.invert(table.column(HEADER)))
    table = table.sort_by([(BATCH, "ascending"), *_numbers(shape), (DIFF, "ascending"), *_rank(table)])
    return table.select([BATCH, TICK, *(name for name, _ in _numbers(shape) if name != TICK), DIFF, *shape.columns])


def changes_of_all(
    storage: Storage, segments: Sequence[Segment], shape: Reading, values: pa.Schema, names: pa.Array, since: int = -1
) -> pa.Table:
    """The changes of all members of a query class with consecutive numbers, each row with the name of its query."""
    assert shape.seat is not None
    first = shape.seat.number
    table = read_segments(storage, segments, since, shape.seat, first + len(names))
    if table is None:
        table = _empty(shape, values).append_column(QUERY, pa.array([], pa.int64()))
    if HEADER in table.column_names:
        table = table.filter(pc.invert(table.column(HEADER)))
    asked = pc.take(names, pc.subtract(table.column(QUERY), first))
    system = [BATCH, TICK, *(name for name, _ in _numbers(shape) if name != TICK), DIFF]
    table = table.set_column(table.column_names.index(QUERY), QUERY, asked)
    return table.select([QUERY, *system, *shape.columns])


def present(storage: Storage, segments: Sequence[Segment], shape: Reading, values: pa.Schema) -> pa.Table:
    """What stands: the tuples of a stream (`_index`, `_tick`), the rows of each window (`_window`, `_tick`), or the
    rows of a relation."""
    table = _read(storage, segments, shape, values)
    if shape.kind == RELATION:
        return _relation(table, shape)
    if shape.kind == WINDOWS:
        return _windows(table, shape)
    if KIND in table.column_names:  # of a query that tells tags, which stand between its tuples
        table = table.filter(pc.equal(table.column(KIND), "+"))
    ordered = table.sort_by([(INDEX, "ascending"), *_ORDER])
    index = ordered.column(INDEX).to_numpy()
    last = np.ones(len(index), dtype=bool)
    last[:-1] = index[1:] != index[:-1]
    standing = ordered.filter(pa.array(last & (ordered.column(DIFF).to_numpy() > 0)))
    return standing.select([INDEX, TICK, *shape.columns])


def _windows(table: pa.Table, shape: Reading) -> pa.Table:
    """A revised window is said anew as a whole: the latest batch that speaks of it has all its rows."""
    ordered = table.sort_by([(NUMBER, "ascending"), *_ORDER, *_rank(table)])
    window, batch = ordered.column(NUMBER).to_numpy(), ordered.column(BATCH).to_numpy()
    ends = np.flatnonzero(np.append(window[1:] != window[:-1], True)) if len(window) else np.empty(0, np.int64)
    latest = np.repeat(batch[ends], np.diff(np.concatenate([[-1], ends]))) if len(ends) else batch
    stands = (batch == latest) & (ordered.column(DIFF).to_numpy() > 0)
    header = ordered.column(HEADER).to_numpy(zero_copy_only=False).astype(bool)
    return ordered.filter(pa.array(stands & ~header)).select([NUMBER, TICK, *shape.columns])


def _relation(table: pa.Table, shape: Reading) -> pa.Table:
    rows = table.select(list(shape.columns))
    keys = [_groupable(rows.column(name)) for name in shape.columns]
    grouped = pa.table(
        [*keys, table.column(DIFF).cast(pa.int64()), pa.array(np.arange(rows.num_rows))],
        names=[*(f"k{i}" for i in range(len(keys))), "diff", "row"],
    )
    net = grouped.group_by([f"k{i}" for i in range(len(keys))]).aggregate([("diff", "sum"), ("row", "min")])
    net = net.filter(pc.greater(net.column("diff_sum"), 0)).sort_by("row_min")
    copies = np.repeat(net.column("row_min").to_numpy(), net.column("diff_sum").to_numpy())
    return rows.take(pa.array(copies, pa.int64()))


def _groupable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Arrow does not group by lists; by what they say, it does."""
    if not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([pa.array([None if value is None else repr(value) for value in column.to_pylist()])])


def _read(
    storage: Storage, segments: Sequence[Segment], shape: Reading, values: pa.Schema, since: int = -1
) -> pa.Table:
    table = read_segments(storage, segments, since, shape.seat)
    return _empty(shape, values) if table is None else table


def _empty(shape: Reading, values: pa.Schema) -> pa.Table:
    fields: list[Any] = [pa.field(name, pa.int64()) for name in (BATCH, TICK)]
    fields += [pa.field(name, pa.int64()) for name, _ in _numbers(shape) if name != TICK]
    fields.append(pa.field(DIFF, pa.int8()))
    if shape.kind == WINDOWS:
        fields.append(pa.field(HEADER, pa.bool_()))
    return pa.schema([*fields, *values]).empty_table()


def _numbers(shape: Reading) -> list[tuple[str, str]]:
    name = {WINDOWS: NUMBER, RELATION: TICK}.get(shape.kind, INDEX)
    return [(name, "ascending")]


def _rank(table: pa.Table) -> list[tuple[str, str]]:
    return [(RANK, "ascending")] if RANK in table.column_names else []
