"""Rows that a program pushes: dicts, tuples, an Arrow table or a pandas frame become a chunk, as rows of a file do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.catalog.extent import Extent
from eddyline.errors import DuplicateName, TypeMismatch, UnknownColumn, nearest
from eddyline.sources.arrival import DELETE, INSERT, TAG, Arrival
from eddyline.sources.batch_intake import BatchIntake, Stretch
from eddyline.sources.chunk import Chunk
from eddyline.sources.columns import OP, REF, RESERVED, ColumnPlan
from eddyline.sources.columns import TAG as TAG_COLUMN
from eddyline.sources.conversion import RowConversion
from eddyline.sources.intake import BadRow
from eddyline.sources.native_value import native_converter, plain_value
from eddyline.sources.parquet_batches import take_batch
from eddyline.sources.pushed_tags import FILE as TAGS_FILE
from eddyline.sources.pushed_tags import tags_beside
from eddyline.sources.reasons import written

#: what stands in place of a file's name
FILE = "push"
_PUSHABLE = "push a list of rows, an Arrow table or a pandas frame"


def chunk_of(extent: Extent, rows: Any, tick_micros: int, turns: int = 0, tags: Any = None) -> Chunk:
    """The rows as a chunk; those that do not fit are its rejects, with their position from 1 as line.

    `rows` is an Arrow table or record batch, a pandas frame, or an iterable of dicts (columns by name), tuples and
    lists (columns in the order of the schema). `turns` says how many rows of a sensed stream came before: they give it
    its ticks where it has no time of its own. Columns that do not fit raise, and then nothing has been pushed.

    `tags`, in any of these forms, stand among the rows: each has a `_tag`, and in `_before` the number of the row that
    it stands in front of, from 1; one more than there are rows is behind them all.
    """
    rows = _as_table(rows)
    found = _chunk(extent, rows, tick_micros, turns, FILE)
    if tags is None:
        return found
    size = rows.num_rows if isinstance(rows, pa.Table) else int(found.last_line)
    beside, wrong = tags_beside(
        extent, _as_table(tags), size, found, lambda table: _chunk(extent, table, tick_micros, 0, TAGS_FILE)
    )
    return replace(found, beside=beside if len(beside) else None, rejects=(*found.rejects, *wrong))


def taken_turns(chunk: Chunk) -> int:
    """How many of the rows that were pushed have taken their site's turn in an acquisition, also if they do not fit."""
    rejected = sum(reject.file == FILE for reject in chunk.rejects)
    return int(pc.sum(pc.equal(chunk.op, INSERT)).as_py() or 0) + rejected


def _chunk(extent: Extent, rows: Any, tick_micros: int, turns: int, file: str) -> Chunk:
    intake = BatchIntake(extent, RowConversion(extent.schema, native_converter), tick_micros, turns)
    intake.file = file
    stretch = Stretch(intake, file)
    if isinstance(rows, pa.Table):
        return stretch.chunk(_take_table(rows, stretch), 0)
    if not isinstance(rows, Iterable):
        raise TypeMismatch(f"what is pushed to {extent.name} is no rows: {rows!r:.60}", hint=_PUSHABLE)
    _Rows(extent, stretch).take([rows] if isinstance(rows, Mapping) else rows)
    return stretch.chunk([], 0)


def _as_table(rows: Any) -> Any:
    """A batch or frame as a table, if it can be one; whatever else it is as it is."""
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    elif _is_frame(rows):
        rows = _from_frame(rows)
    return _with_plain_kinds(rows) if isinstance(rows, pa.Table) else rows


def _with_plain_kinds(table: pa.Table) -> pa.Table:
    """Kinds of rows and tags as Arrow's usual texts: in other forms of texts not everything can be looked for."""
    for at, (name, type_) in enumerate(zip(table.schema.names, table.schema.types, strict=True)):
        if name.lower() in (OP, TAG_COLUMN) and (pa.types.is_large_string(type_) or pa.types.is_string_view(type_)):
            table = table.set_column(at, name, table.column(at).cast(pa.string()))
    return table


# -- tables and frames ------------------------------------------------------------------------------------------------


def _is_frame(rows: Any) -> bool:
    """Whether it is a pandas frame, without loading pandas: who has one has loaded it."""
    return any(cls.__module__.split(".")[0] == "pandas" and cls.__name__ == "DataFrame" for cls in type(rows).__mro__)


def _from_frame(frame: Any) -> pa.Table | list[dict[str, Any]]:
    named = frame.rename(columns=str)
    try:
        return pa.Table.from_pandas(named, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        # Columns of mixed objects have no Arrow type; as single values they may fit, and else have a reason.
        present = named.notna().to_numpy().tolist()
        records = named.astype(object).to_numpy().tolist()
        names = [str(name) for name in named.columns]
        return [
            {name: value if given else None for name, value, given in zip(names, record, have, strict=True)}
            for record, have in zip(records, present, strict=True)
        ]


def _take_table(table: pa.Table, stretch: Stretch) -> list[Chunk]:
    extent = stretch.intake.extent
    found = _found(extent, table.schema.names)
    for field in extent.schema.fields:
        if field.name.lower() not in found:
            if not _needs_no_values(table, found.get(OP)):
                raise _missing(extent, field.name, table.schema.names)
            found[field.name.lower()] = table.num_columns
            table = table.append_column(field.name, pa.nulls(table.num_rows))
    order = tuple(found[name.lower()] for name in extent.schema.names)
    plan = ColumnPlan(order, found.get(OP), found.get(REF), found.get(TAG_COLUMN))
    sure, first = [], 1
    for batch in table.combine_chunks().to_batches():
        lines = np.arange(first, first + batch.num_rows)
        sure.append(take_batch(batch, plan, lines, stretch, whole_floats=True))
        first += batch.num_rows
    return sure


def _needs_no_values(table: pa.Table, op: int | None) -> bool:
    if op is None or not pa.types.is_string(table.column(op).type):
        return False
    kinds = pc.is_in(table.column(op), value_set=pa.array([DELETE, TAG]))
    return bool(pc.all(kinds).as_py())


def _found(extent: Extent, names: Iterable[str]) -> dict[str, int]:
    """Positions by lower-case name."""
    declared = {name.lower(): name for name in extent.schema.names}
    found: dict[str, int] = {}
    for position, name in enumerate(names):
        key = str(name).lower()
        if key not in declared and (key not in RESERVED or not extent.is_stream):
            guess = nearest(key, [*extent.schema.names, *(RESERVED if extent.is_stream else ())])
            raise UnknownColumn(
                f"{extent.name} has no column '{name}'",
                hint=f"did you mean {guess}?" if guess else f"its columns are {', '.join(extent.schema.names)}",
            )
        if key in found:
            raise DuplicateName(f"the rows pushed to {extent.name} have two columns '{name}'")
        found[key] = position
    return found


def _missing(extent: Extent, column: str, names: Iterable[str]) -> UnknownColumn:
    return UnknownColumn(
        f"the rows pushed to {extent.name} have no column '{column}', which it declares",
        hint=f"their columns are {', '.join(map(str, names))}",
    )


# -- single rows ------------------------------------------------------------------------------------------------------


class _Rows:
    """Takes rows one by one, each with columns of its own."""

    def __init__(self, extent: Extent, stretch: Stretch) -> None:
        self._extent = extent
        self._stretch = stretch
        self._keys = [name.lower() for name in extent.schema.names]
        self._known: dict[tuple[Any, ...], dict[str, Any]] = {}  # the names of earlier rows, by what they mean

    def take(self, rows: Iterable[Any]) -> None:
        for number, row in enumerate(rows, 1):
            if isinstance(row, Mapping):
                arrival = self._by_name(number, row)
            elif isinstance(row, Sequence) and not isinstance(row, str | bytes):
                arrival = self._by_position(number, row)
            else:
                raise TypeMismatch(
                    f"row {number} pushed to {self._extent.name} is neither a dict nor a tuple: {row!r:.60}",
                    hint=_PUSHABLE,
                )
            said = _said(row)
            self._stretch.intake.said = said
            self._stretch.take(number, arrival, said)

    def _by_name(self, number: int, row: Mapping[Any, Any]) -> Callable[[], Arrival]:
        names = tuple(row)
        spelled = self._known.get(names)
        if spelled is None:
            spelled = self._known[names] = dict(zip(_found(self._extent, names), names, strict=True))
        given = {key: plain_value(row[name]) for key, name in spelled.items()}
        op = given.get(OP)
        if not (isinstance(op, str) and op.strip() in (DELETE, TAG)):
            for key, declared in zip(self._keys, self._extent.schema.names, strict=True):
                if key not in given:
                    raise _missing(self._extent, declared, names)
        raw = [given.get(key) for key in self._keys]
        intake = self._stretch.intake
        return lambda: intake.row(number, op, given.get(REF), given.get(TAG_COLUMN), raw)

    def _by_position(self, number: int, row: Sequence[Any]) -> Callable[[], Arrival]:
        intake, width = self._stretch.intake, len(self._keys)

        def arrival() -> Arrival:
            if len(row) != width:
                intake.lost()
                raise BadRow(f"too {'few' if len(row) < width else 'many'} fields: {len(row)} instead of {width}")
            return intake.row(number, None, None, None, [plain_value(value) for value in row])

        return arrival


def _said(row: Any) -> Callable[[], str]:
    plain = dict(row) if isinstance(row, Mapping) else list(row)
    return lambda: written(plain)
