"""The rows of a query that is answered at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from eddyline.log.answers import python_rows

#: how many rows are printed
SHOWN = 20


class Rows:
    """Rows that print as a table. Whatever takes Arrow data (pandas, Polars, DuckDB) takes them too."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._table.column_names)

    def to_arrow(self) -> pa.Table:
        return self._table

    def to_pandas(self) -> Any:
        return self._table.to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(python_rows(self.columns, self._table))

    def __str__(self) -> str:
        shown = python_rows(self.columns, self._table.slice(0, SHOWN))
        text = laid_out(self.columns, shown)
        more = len(self) - len(shown)
        return f"{text}\n… and {more} more row{'s' if more > 1 else ''}" if more > 0 else text

    __repr__ = __str__


def laid_out(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns under their names, numbers to the right.

    >>> print(laid_out(["n", "name"], [(1, "a"), (None, "bc")]))
       n  name
       1  a
    NULL  bc
    """
    cells = [["NULL" if value is None else str(value) for value in row] for row in rows]
    numeric = [
        any(value is not None for value in column) and all(value is None or _is_number(value) for value in column)
        for column in ([row[i] for row in rows] for i in range(len(columns)))
    ]
    widths = [max(len(name), *(len(row[i]) for row in cells), 0) for i, name in enumerate(columns)]
    lines = [list(columns), *cells]
    laid = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join(laid)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
