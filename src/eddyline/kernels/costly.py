"""Expressions that cost much for each row, computed only for the rows for which somebody asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
_ROWS, _PLACE, _VALUE = "costly_rows", "costly_place", "costly_value"


@dataclass(frozen=True)
class Costly:
    """An expression in the kernel's SQL, and the columns that it is computed from."""

    text: str
    sql: str
    columns: tuple[str, ...]


class CostlyColumns:
    """The values of expressions over a table, each computed once for a row."""

    def __init__(
        self, rows: pa.Table, expressions: Mapping[str, Costly], connection: duckdb.DuckDBPyConnection
    ) -> None:
        self._rows, self._expressions, self._connection = rows, expressions, connection
        self._places = {name: np.full(rows.num_rows, -1, np.int64) for name in expressions}
        self._values: dict[str, list[pa.Array]] = {name: [] for name in expressions}
        self._counts = dict.fromkeys(expressions, 0)

    def of(self, name: str, rows: Ints) -> pa.ChunkedArray:
        """The values for some rows."""
        places = self._places[name]
        missing = rows[places[rows] < 0]
        if missing.size:
            self._compute(name, missing)
        return self._known(name).take(pa.array(places[rows]))

    def as_far_as_known(self, name: str, rows: Ints, type_: pa.DataType) -> pa.ChunkedArray:
        """The values for some rows, NULL where nobody has asked for them."""
        if not self._values[name]:
            return pa.chunked_array([pa.nulls(rows.size, type_)])
        places = self._places[name][rows]
        return self._known(name).take(pa.array(places, mask=places < 0))

    def _known(self, name: str) -> pa.ChunkedArray:
        return pa.chunked_array(self._values[name])

    def _compute(self, name: str, rows: Ints) -> None:
        asked = self._expressions[name]
        given = self._rows.select(list(asked.columns)).take(pa.array(rows))
        given = given.append_column(_PLACE, pa.array(np.arange(rows.size)))
        self._connection.register(_ROWS, given)
        try:
            made = self._connection.sql(f"SELECT {_PLACE}, {asked.sql} AS {_VALUE} FROM {_ROWS}").to_arrow_table()
        finally:
            self._connection.unregister(_ROWS)
        places = made.column(_PLACE).to_numpy()
        self._places[name][rows[places]] = self._counts[name] + np.arange(rows.size)
        self._counts[name] += rows.size
        self._values[name] += made.column(_VALUE).chunks
