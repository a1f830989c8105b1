"""Expressions that cost much for each row, computed only for the rows for which somebody asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.user_function import UserFunction
from eddyline.kernels.functions import load
from eddyline.log.storage import Storage

Ints = npt.NDArray[np.int64]
_ROWS, _PLACE, _VALUE = "costly_rows", "costly_place", "costly_value"
_COMPARE = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
#: what is true of NaN and a number: NaN is above all numbers
_TRUE_OF_NAN = frozenset({"!=", ">", ">="})


@dataclass(frozen=True)
class Called:
    """A user's function over columns. Asking it takes hundredths of a millisecond, a statement of the kernel some."""

    function: UserFunction
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Computed:
    """An expression in the kernel's SQL, and the columns that it is computed from."""

    sql: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """What is done with the value of a call: compared with a constant of its type."""

    operator: str
    constant: Any

    def of(self, values: pa.Array) -> pa.Array:
        found = _COMPARE[self.operator](values, pa.scalar(self.constant, values.type))
        if not pa.types.is_floating(values.type):
            return found
        return pc.if_else(pc.is_nan(values), self.operator in _TRUE_OF_NAN, found)


@dataclass(frozen=True)
class Costly:
    text: str
    value: Called | Computed
    comparison: Comparison | None = None


class CostlyColumns:
    """The values of expressions over a table, each computed once for a row."""

    def __init__(
        self,
        rows: pa.Table,
        expressions: Mapping[str, Costly],
        connection: duckdb.DuckDBPyConnection,
        storage: Storage,
    ) -> None:
        self._rows, self._expressions = rows, expressions
        self._connection, self._storage = connection, storage
        self._known = {costly.value: _Known(rows.num_rows) for costly in expressions.values()}

    def of(self, name: str, rows: Ints) -> pa.Array:
        """The values for some rows."""
        asked = self._expressions[name]
        values = self._values(asked.value, rows)
        return values if asked.comparison is None else asked.comparison.of(values)

    def _values(self, value: Called | Computed, rows: Ints) -> pa.Array:
        known = self._known[value]
        missing = known.missing(rows)
        if missing.size:
            found = self._called(value, missing) if isinstance(value, Called) else self._computed(value, missing)
            known.add(missing, found)
            if missing.size == rows.size:
                return found
        return known.of(rows)

    def as_far_as_known(self, name: str, rows: Ints, type_: pa.DataType) -> pa.Array:
        """The values for some rows, NULL where nobody has asked for them."""
        found = self._known[self._expressions[name].value]
        return found.of(rows) if found.count else pa.nulls(rows.size, type_)

    def _called(self, called: Called, rows: Ints) -> pa.Array:
        taken = pa.array(rows)
        given = [self._rows.column(name).take(taken) for name in called.inputs]
        return load(self._storage, called.function)(*given)

    def _computed(self, computed: Computed, rows: Ints) -> pa.Array:
        given = self._rows.select(list(computed.columns)).take(pa.array(rows))
        given = given.append_column(_PLACE, pa.array(np.arange(rows.size)))
        self._connection.register(_ROWS, given)
        try:
            made = self._connection.sql(f"SELECT {_PLACE}, {computed.sql} AS {_VALUE} FROM {_ROWS}").to_arrow_table()
        finally:
            self._connection.unregister(_ROWS)
        return made.sort_by(_PLACE).column(_VALUE).combine_chunks()  # the kernel need not keep the order of rows


class _Known:
    """The values of one expression, as far as they are known."""

    def __init__(self, rows: int) -> None:
        self._places = np.full(rows, -1, np.int64)  # by row, where its value is
        self._parts: list[pa.Array] = []  # each at least twice as long as the next, or they would be put together
        self.count = 0

    def missing(self, rows: Ints) -> Ints:
        return rows[self._places[rows] < 0]

    def add(self, rows: Ints, values: pa.Array) -> None:
        self._places[rows] = self.count + np.arange(rows.size)
        self.count += rows.size
        self._parts.append(values)
        while len(self._parts) > 1 and len(self._parts[-2]) < 2 * len(self._parts[-1]):
            self._parts[-2:] = [pa.concat_arrays(self._parts[-2:])]

    def of(self, rows: Ints) -> pa.Array:
        """NULL where nothing is known."""
        places = self._places[rows]
        if not (places < 0).any():
            first = self.count - len(self._parts[-1])
            if places.min(initial=self.count) >= first:  # as it mostly is: asked a moment ago
                return self._parts[-1].take(pa.array(places - first))
        found = pa.chunked_array(self._parts).take(pa.array(places, mask=places < 0))
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
