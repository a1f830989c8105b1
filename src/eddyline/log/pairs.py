"""Answers of a query class to tuples of which each satisfies several members: every tuple is written once.

A segment has pairs first, in the order of members: whose answer it is, and the place of the tuple; then the tuples. In
the file both are rows with the same columns, and what does not belong to them is NULL, which takes neither time nor
room. So a reader that asks for the rows of one member, and those of none, finds all it needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eddyline.algebra.sharing import QUERY

#: of a pair the place of its tuple, of a tuple its own; no column of a query has this name
ROW = "$row"
Ints = npt.NDArray[np.int64]


def paired(tuples: pa.Table, members: Ints, places: Ints) -> pa.Table:
    """Tuples, without a column for members, and whose they are, in the order of members."""
    own = {name: tuples.column(name) for name in tuples.column_names}
    own[ROW] = pa.array(np.arange(tuples.num_rows, dtype=np.int32))
    own[QUERY] = pa.nulls(tuples.num_rows, pa.int64())
    zeros = pa.py_buffer(np.zeros(members.size + 1, np.int64))
    pairs = {name: _nulls(members.size, column.type, zeros) for name, column in own.items()}
    pairs[ROW], pairs[QUERY] = pa.array(places.astype(np.int32)), pa.array(members)
    return pa.concat_tables([pa.table(pairs), pa.table(own)])


def _nulls(count: int, type_: pa.DataType, zeros: pa.Buffer) -> pa.Array:
    """So many NULLs; those of most types need no memory of their own."""
    if pa.types.is_string(type_) or pa.types.is_binary(type_):
        return pa.Array.from_buffers(type_, count, [zeros, zeros, zeros], null_count=count)
    if pa.types.is_primitive(type_) and type_.bit_width <= 64:
        return pa.Array.from_buffers(type_, count, [zeros, zeros], null_count=count)
    return pa.nulls(count, type_)


def is_paired(table: pa.Table) -> bool:
    return ROW in table.column_names


def answers_in(table: pa.Table) -> int:
    return int(table.num_rows - table.column(QUERY).null_count) if is_paired(table) else int(table.num_rows)


def spread(table: pa.Table) -> pa.Table:
    """A row for each answer; of a table that has some of the pairs, and all tuples."""
    if not is_paired(table):
        return table
    tuples, members, places = _parts(table)
    return tuples.take(pa.array(places)).append_column(QUERY, pa.array(members))


def merged(tables: Sequence[pa.Table]) -> pa.Table:
    """All answers in the order of members; tuples that are written once stay so."""
    if not all(map(is_paired, tables)):
        return pa.concat_tables([spread(table) for table in tables], promote_options="default").sort_by(QUERY)
    parts = [_parts(table) for table in tables]
    firsts = np.cumsum([0, *(tuples.num_rows for tuples, _, _ in parts)])
    members = np.concatenate([members for _, members, _ in parts])
    places = np.concatenate([places + first for (_, _, places), first in zip(parts, firsts[:-1], strict=True)])
    order = np.argsort(members, kind="stable")
    return paired(pa.concat_tables([tuples for tuples, _, _ in parts]), members[order], places[order])


def _parts(table: pa.Table) -> tuple[pa.Table, Ints, Ints]:
    """The tuples in their places; members and places of the pairs."""
    is_pair = table.column(QUERY).is_valid().to_numpy()
    rows = table.column(ROW).to_numpy().astype(np.int64)
    members = table.column(QUERY).filter(pa.array(is_pair)).to_numpy().astype(np.int64)
    own = np.flatnonzero(~is_pair)
    in_places = own[np.argsort(rows[own], kind="stable")]
    tuples = table.drop_columns([QUERY, ROW]).take(pa.array(in_places))
    return tuples, members, rows[is_pair]
