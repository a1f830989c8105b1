"""Rows of kept slices that say what has changed become rows that say what it comes to.

The columns of such a log tell by their names what becomes of them: keys begin with k, the parts of aggregates with the
function that puts them together.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.log.segment import TICK

#: how the logs are called that can be added up
SLICES = "slices"
_FUNCTIONS = ("sum", "min", "max")


def is_added_up(log: str) -> bool:
    """Whether the rows of a log can be added up."""
    return log.endswith(f"/{SLICES}")


def added_up(tables: Sequence[pa.Table]) -> pa.Table:
    """One row for each slice and group; all columns keep their names, types and places."""
    table = pa.concat_tables(tables)
    if any(_has_nan(table.column(name)) for name in table.column_names):
        return table  # which is above all numbers, but not to Arrow
    keys = [name for name in table.column_names if name == TICK or name.startswith("k")]
    # the rest is the number of the batch and the weight, which is 1 in all rows
    others = [(name, _function(name)) for name in table.column_names if name not in keys]
    try:
        made = table.group_by(keys).aggregate(others)
    except pa.ArrowNotImplementedError:  # for keys that are no plain values, for one
        return table
    named = made.rename_columns([*keys, *(name for name, _ in others)])
    return named.select(table.column_names).cast(table.schema)


def _has_nan(column: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


def _function(name: str) -> str:
    return next((function for function in _FUNCTIONS if name.startswith(function)), "max")
