"""Conditions on rows that are in memory, before any log has them."""

from __future__ import annotations

from threading import Lock
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.kernels.dialect import MACROS, kernel_sql

_asking = Lock()  # one kernel, and it is quick
_kernel: duckdb.DuckDBPyConnection | None = None


def satisfied(rows: pa.Table, condition: str) -> Any:
    """Which rows satisfy a condition, written in Spark's SQL over c0, c1, …; those of which it is unknown do not.

    None if the kernel cannot compute it for one of them (an overflow, for one).
    """
    try:
        return _asked(rows, condition)
    except duckdb.Error:
        return None


def why_not_asked(nothing: pa.Table, condition: str) -> str | None:
    """Why the kernel cannot ask a condition of any rows; None if it can. `nothing` has their columns, and no rows."""
    try:
        _asked(nothing, condition)
    except duckdb.Error as problem:
        return str(problem)
    return None


def _asked(rows: pa.Table, condition: str) -> Any:
    global _kernel
    named = rows.rename_columns([f"c{place}" for place in range(rows.num_columns)])
    text = kernel_sql(f"{condition} AS holds")[0].removesuffix(" AS holds")
    with _asking:
        if _kernel is None:
            _kernel = duckdb.connect()
            for statement in ("SET threads = 1", "SET TimeZone = 'UTC'", *MACROS):
                _kernel.execute(statement)
        _kernel.register("arriving", named)
        try:
            found = _kernel.sql(f"SELECT {text} AS holds FROM arriving").to_arrow_table()
        finally:
            _kernel.unregister("arriving")
    return pc.fill_null(found.column("holds"), False).to_numpy()
