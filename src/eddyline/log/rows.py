"""What comes to a stream as arrays, and what its log keeps of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.retention import beyond
from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.log.journal import StreamState
from eddyline.log.segment import DIFF, INDEX, OP, REF, SEQ, SYSTEM, TAG, TICK
from eddyline.sources.arrival import Reject, said_by
from eddyline.sources.chunk import Chunk
from eddyline.sources.kinds import Kinds
from eddyline.sources.tags_beside import without_row

Array = Any


class Rows:
    """Some rows of a stream's input as arrays, in order of arrival."""

    def __init__(self, extent: Extent, chunks: Sequence[Chunk], arrival_tick: int) -> None:
        self._chunks = chunks
        self.values = pa.concat_tables([chunk.values for chunk in chunks]).cast(arrow_schema(extent.schema))
        self.op = _one([chunk.op for chunk in chunks])
        self.tag = _one([chunk.tag for chunk in chunks])
        kinds = Kinds(self.op)
        self.inserts, self.replaces, self.deletes, self.tags = map(kinds.which, "+=-#")
        self.revisions = self.replaces | self.deletes
        tick, ref = _one([chunk.tick for chunk in chunks]), _one([chunk.ref for chunk in chunks])
        self.has_tick = pc.is_valid(tick).to_numpy(zero_copy_only=False)
        self.tick = _filled(tick, arrival_tick)
        self.ref = np.zeros(len(ref), np.int64) if ref.null_count == len(ref) else _filled(ref, 0)

    def __len__(self) -> int:
        return len(self.inserts)

    def by_index(self, revises: Array, ref: Array, refused: Array) -> None:
        """What some rows said by key is said by index; a tuple that was there already is replaced.

        The rows that are refused are there no more, except to tell what they said.
        """
        upserts = self.inserts & revises
        self.op = pc.if_else(pa.array(upserts), "=", self.op)
        self.ref = ref
        self.inserts = self.inserts & ~upserts
        self.replaces = (self.replaces | upserts) & ~refused
        self.deletes = self.deletes & ~refused
        self.revisions = self.replaces | self.deletes
        self.has_tick = self.has_tick | upserts  # the time of its arrival is its own

    def plain(self, state: StreamState, late: Array, others: Array | int = 0) -> pa.Table:
        """The rows of the log if nothing is revised, without those that come too late.

        `others`: how many more there are up to each, whose places in the log are left free.
        """
        table = log_table(
            seq=state.last_seq + _counted(~late) + others,
            index=state.last_index + _counted(self.inserts & ~late),
            tick=self.tick,
            diff=self.inserts.astype(np.int8),
            op=self.op,
            ref=pa.nulls(len(self), pa.int64()),
            tag=self.tag,
            values=self.values,
        )
        return table.filter(pa.array(~late)) if late.any() else table

    def too_late(self, late: Array, horizon: Array, stream: str) -> Iterator[tuple[int, str]]:
        """The positions of tuples that come too late, with the reasons."""
        for position in np.flatnonzero(late):
            tick = int(self.tick[position])
            yield int(position), beyond(f"tick {tick}", tick, int(horizon[position]), stream)

    def tags_with_rows(self, table: pa.Table, refused: Sequence[int]) -> tuple[pa.Table, Array, list[tuple[int, str]]]:
        """The rows of the log without the tags that came beside rows that are refused; the positions of the others, and
        of these with the reasons."""
        places, lost, first = np.flatnonzero(self.tags), np.zeros(len(self), bool), 0
        reasons: list[tuple[int, str]] = []
        for chunk in self._chunks if refused and len(places) else ():
            last = first + len(chunk.op)
            if chunk.tags_file:
                tags, rows = (np.flatnonzero(kind[first:last]) + first for kind in (self.tags, ~self.tags))
                behind = np.append(rows, -1)[np.searchsorted(rows, tags)]
                gone = np.isin(behind, refused)
                lost[tags[gone]] = True
                lines = (chunk.line[at - first].as_py() for at in behind[gone].tolist())
                reasons += zip(tags[gone].tolist(), map(without_row, lines), strict=True)
            first = last
        if reasons:
            stays = np.ones(table.num_rows, bool)
            stays[pc.equal(table.column(OP), "#").to_numpy()] = ~lost[places]
            table = table.filter(pa.array(stays))
        return table, places[~lost[places]], reasons

    def reject(self, position: int, reason: str) -> Reject:
        for chunk in self._chunks:
            if position < len(chunk.op):
                line, text = chunk.line[position].as_py(), chunk.text[position].as_py()
                if text is None:  # a tuple of a source that keeps no texts
                    text = said_by(chunk.values.column_names, [c[position].as_py() for c in chunk.values.columns])
                is_tag = chunk.op[position].as_py() == "#"
                file = chunk.tags_file if is_tag and chunk.tags_file else chunk.file
                return Reject(chunk.extent, file, line, text, reason)
            position -= len(chunk.op)
        raise AssertionError("a position behind the last row")


def apart(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Rows of the log without tags, and the tags as they came."""
    is_tag = pc.equal(rows.column(DIFF), 0)
    return rows.filter(pc.invert(is_tag)), rows.select([SEQ, INDEX, TICK, DIFF, OP, TAG]).filter(is_tag)


def _one(arrays: Sequence[pa.Array]) -> pa.Array:
    """Arrays one behind the other; texts that are numbered in some of them only are texts."""
    if len(arrays) == 1:
        return arrays[0]
    types = {array.type for array in arrays}
    return pa.concat_arrays(arrays if len(types) == 1 else [array.cast(pa.string()) for array in arrays])


def _filled(numbers: pa.Array, otherwise: int) -> Array:
    return (pc.fill_null(numbers, otherwise) if numbers.null_count else numbers).to_numpy(zero_copy_only=False)


def _counted(rows: Array) -> Array:
    """How many there were up to each row."""
    return np.arange(1, len(rows) + 1) if rows.all() else np.cumsum(rows)


def statement_row(text: str, extent: Extent, state: StreamState, tick: int) -> pa.Table:
    """The row of the log for a statement on tags, behind all that has come."""
    schema = arrow_schema(extent.schema)
    return log_table(
        seq=np.array([state.last_seq + 1]),
        index=np.array([state.last_index]),
        tick=np.array([tick]),
        diff=np.array([0]),
        op=pa.array(["#"]),
        ref=pa.nulls(1, pa.int64()),
        tag=pa.array([text]),
        values=pa.table([pa.nulls(1, field.type) for field in schema], schema=schema),
    )


def log_table(
    seq: Array, index: Array, tick: Array, diff: Array, op: Array, ref: Array, tag: Array, values: pa.Table
) -> pa.Table:
    system = {SEQ: seq, INDEX: index, TICK: tick, DIFF: diff, OP: op, REF: ref, TAG: tag}
    columns = [_column(array, SYSTEM.field(name).type) for name, array in system.items()]
    fields = [*(pa.field(name, column.type) for name, column in zip(system, columns, strict=True)), *values.schema]
    return pa.table([*columns, *values.columns], schema=pa.schema(fields))


def _column(array: Array, type_: pa.DataType) -> pa.Array:
    """Texts may be numbers of a dictionary."""
    column = array if isinstance(array, pa.Array | pa.ChunkedArray) else pa.array(array)
    return column if pa.types.is_dictionary(column.type) or column.type == type_ else column.cast(type_)
