"""Answers of a query class to tuples of which each satisfies several members: every tuple is written once.

A segment has pairs first, in the order of members: whose answer it is, and the place of the tuple; then the tuples. In
the file both are rows with the same columns, and what does not belong to them is NULL, which takes next to no time and
room. Who reads the answers of one member reads its pairs, and the tuples. When segments are merged, there is a row for
each answer again: there are too many tuples then to read all of them for one member.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from eddyline.algebra.sharing import QUERY
from eddyline.log.storage import Storage

#: of a pair the place of its tuple, of a tuple its own; no column of a query has this name
ROW = "$row"
#: so many tuples are as soon read as a part of a segment that has a row for each answer
MOST_TUPLES = 1 << 17
#: how such segments are named
ONCE = ".once.parquet"
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
    """A row for each answer."""
    if not is_paired(table):
        return table
    pairs = answers_in(table)
    return _answers(table.slice(0, pairs).select([QUERY, ROW]), table.slice(pairs).drop_columns([QUERY, ROW]))


def answers_of(storage: Storage, path: str, first: int, last: int) -> pa.Table:
    """The answers of members with these numbers, of a segment in which tuples are written once."""
    pairs, tuples = storage.read_parts(path, QUERY, first, last, [QUERY, ROW])
    return _answers(pairs, tuples.drop_columns([QUERY, ROW]))


def _answers(pairs: pa.Table, tuples: pa.Table) -> pa.Table:
    return tuples.take(pairs.column(ROW)).append_column(QUERY, pairs.column(QUERY))


def merged(tables: Sequence[pa.Table]) -> pa.Table:
    """All answers in the order of members."""
    return pa.concat_tables([spread(table) for table in tables], promote_options="default").sort_by(QUERY)
