"""What a user's function gives for keys, held to what its table was declared as."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.columnar.vectorised import alike, said
from eddyline.errors import FunctionFailed

#: behind the columns c0, c1, … of an answer: whether there is such a row, or only the key, for which there is none
FOUND = "_found"


def answers(name: str, code: Callable[..., Any], keys: pa.Array, columns: pa.Schema, key: str) -> pa.Table:
    """The rows for distinct keys as c0, c1, … and `_found`; a key for which there is nothing has a row that says so.

    What goes wrong in the function, or with what it gives, is a FunctionFailed that names the table.
    """
    try:
        given = code(keys)
    except (Exception, SystemExit) as problem:  # one that exits would end the worker, and nobody would know why
        raise FunctionFailed(f"the look-up of {name} failed: {said(problem)}") from problem
    rows = _fitting(name, given, columns)
    rows = rows.filter(pc.is_in(rows.column(key), value_set=keys))  # also those without a key are nobody's answer
    missing = keys.filter(pc.invert(pc.is_in(keys, value_set=rows.column(key).combine_chunks())))
    nothing = [missing if field.name == key else pa.nulls(len(missing), field.type) for field in columns]
    both = pa.concat_tables([rows, pa.Table.from_arrays(nothing, schema=_nullable(columns))])
    found = pa.chunked_array([pa.repeat(True, rows.num_rows), pa.repeat(False, len(missing))], pa.bool_())
    return both.rename_columns([f"c{place}" for place in range(len(columns))]).append_column(FOUND, found)


def scanned(columns: pa.Schema, rows: pa.Table, key: str) -> pa.Table:
    """The rows of a whole table in the form of answers."""
    rows = rows.select(columns.names).filter(pc.is_valid(rows.column(key))).cast(_nullable(columns))
    named = rows.rename_columns([f"c{place}" for place in range(len(columns))])
    return named.append_column(FOUND, pa.repeat(True, rows.num_rows))


def _fitting(name: str, given: Any, columns: pa.Schema) -> pa.Table:
    """All columns of the declared types and in their order; others are left out."""
    if isinstance(given, Mapping) or hasattr(given, "__arrow_c_stream__") or isinstance(given, pa.RecordBatch):
        try:
            table = pa.table(given)
        except (pa.ArrowException, TypeError, ValueError) as problem:
            raise FunctionFailed(f"the look-up of {name} gave what is no table: {said(problem)}") from problem
    else:
        raise FunctionFailed(f"the look-up of {name} gave something of type {type(given).__name__}, not an Arrow table")
    made = [_column(name, table, field) for field in columns]
    return pa.Table.from_arrays(made, schema=_nullable(columns))


def _column(name: str, table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    if table.column_names.count(field.name) != 1:
        raise FunctionFailed(f"the look-up of {name} gave no column {field.name}, but {_listed(table.column_names)}")
    column = table.column(field.name)
    if not alike(column.type, field.type):
        raise FunctionFailed(f"the look-up of {name} gave {column.type} as {field.name}, which is {field.type}")
    try:
        return column.cast(field.type)
    except pa.ArrowException as problem:
        raise FunctionFailed(
            f"the look-up of {name} gave a {field.name} that does not fit: {said(problem)}"
        ) from problem


def _nullable(columns: pa.Schema) -> pa.Schema:
    return pa.schema([(field.name, field.type) for field in columns])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
