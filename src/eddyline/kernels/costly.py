"""Expressions that cost much for each row, computed only for the rows for which somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.user_function import UserFunction
from eddyline.kernels.functions import load
from eddyline.kernels.places import Ints, index, picked
from eddyline.log.storage import Storage

Bools = npt.NDArray[np.bool_]
#: the values of an expression for some rows
Compute = Callable[[Ints], pa.Array]
_ROWS, _PLACE, _VALUE = "costly_rows", "costly_place", "costly_value"
_COMPARE = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
#: the same of numbers, whether it is asked for the contrary: NaN is above all numbers, and so not at most any
_COMPARE_NUMBERS: dict[str, tuple[np.ufunc, bool]] = {
    "=": (np.equal, False),
    "!=": (np.not_equal, False),
    "<": (np.less, False),
    "<=": (np.less_equal, False),
    ">": (np.less_equal, True),
    ">=": (np.less, True),
}


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

    def holds(self, values: pa.Array) -> Bools:
        """Not where there is no value."""
        if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
            return _true(_COMPARE[self.operator](values, pa.scalar(self.constant, values.type)))
        compare, contrary = _COMPARE_NUMBERS[self.operator]
        numbers = values.fill_null(0) if values.null_count else values
        found: Bools = compare(numbers.to_numpy(), self.constant)
        if contrary:
            np.logical_not(found, out=found)
        return found & _true(values.is_valid()) if values.null_count else found


@dataclass(frozen=True)
class Costly:
    text: str
    value: Called | Computed
    comparison: Comparison | None = None


class CostlyColumns:
    """The values of expressions over a table, each computed once for a row. Rows are asked for in ascending order."""

    def __init__(
        self,
        rows: pa.Table,
        expressions: Mapping[str, Costly],
        connection: duckdb.DuckDBPyConnection,
        storage: Storage,
    ) -> None:
        values = {
            costly.value: _Known(rows.num_rows, _computing(costly.value, rows, connection, storage))
            for costly in expressions.values()
        }
        # by name: what an expression is takes longer to hash than some rows to ask
        self._values = {name: values[costly.value] for name, costly in expressions.items()}
        self._comparisons = {name: costly.comparison for name, costly in expressions.items()}

    def of(self, name: str, rows: Ints) -> pa.Array:
        """The values of an expression that is not compared, for some rows."""
        return self._values[name].computed(rows)

    def holds(self, name: str, rows: Ints) -> Bools:
        """Of which rows a condition is true."""
        values, comparison = self._values[name].computed(rows), self._comparisons[name]
        return _true(values) if comparison is None else comparison.holds(values)

    def as_far_as_known(self, name: str, rows: Ints, type_: pa.DataType) -> pa.Array:
        """The values for some rows, NULL where nobody has asked for them."""
        found = self._values[name]
        return found.of(rows) if found.count else pa.nulls(rows.size, type_)


def _computing(
    value: Called | Computed, rows: pa.Table, connection: duckdb.DuckDBPyConnection, storage: Storage
) -> Compute:
    """It knows the rows, but not who asks: both are gone as soon as the answer is found."""
    return _calling(value, rows, storage) if isinstance(value, Called) else _evaluating(value, rows, connection)


def _calling(called: Called, rows: pa.Table, storage: Storage) -> Compute:
    given = [rows.column(name) for name in called.inputs]
    function = cache(lambda: load(storage, called.function))  # not if nobody asks
    return lambda chosen: function()(*(picked(column, chosen) for column in given))


def _evaluating(computed: Computed, rows: pa.Table, connection: duckdb.DuckDBPyConnection) -> Compute:
    given = rows.select(list(computed.columns))

    def evaluate(chosen: Ints) -> pa.Array:
        placed = given.take(pa.array(chosen)).append_column(_PLACE, pa.array(np.arange(chosen.size)))
        connection.register(_ROWS, placed)
        try:
            made = connection.sql(f"SELECT {_PLACE}, {computed.sql} AS {_VALUE} FROM {_ROWS}").to_arrow_table()
        finally:
            connection.unregister(_ROWS)
        return made.sort_by(_PLACE).column(_VALUE).combine_chunks()  # the kernel need not keep the order of rows

    return evaluate


class _Known:
    """The values of one expression, as far as they are known."""

    def __init__(self, rows: int, compute: Compute) -> None:
        self._compute = compute
        self._places = np.full(rows, -1, np.int64)  # by row, where its value is
        self._parts: list[pa.Array] = []
        self.count = 0

    def computed(self, rows: Ints) -> pa.Array:
        """The values for some rows, computed where they are not known."""
        is_missing = self._places[index(rows)] < 0
        if is_missing.all():  # as it mostly is
            return self._add(rows)
        if is_missing.any():
            self._add(rows[is_missing])
        return self.of(rows)

    def _add(self, rows: Ints) -> pa.Array:
        values = self._compute(rows)
        self._places[index(rows)] = np.arange(self.count, self.count + rows.size)
        self.count += rows.size
        self._parts.append(values)
        return values

    def of(self, rows: Ints) -> pa.Array:
        """NULL where nothing is known."""
        places = self._places[rows]
        if not (places < 0).any():
            first = self.count - len(self._parts[-1])
            if places.min(initial=self.count) >= first:  # as it mostly is: asked a moment ago
                return self._parts[-1].take(pa.array(places - first))
        self._put_together()
        found = pa.chunked_array(self._parts).take(pa.array(places, mask=places < 0))
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

    def _put_together(self) -> None:
        """Until each part is at least twice as long as the next: few, and no value is copied often."""
        parts: list[pa.Array] = []
        for part in self._parts:
            parts.append(part)
            while len(parts) > 1 and len(parts[-2]) < 2 * len(parts[-1]):
                parts[-2:] = [pa.concat_arrays(parts[-2:])]
        self._parts = parts


def _true(values: pa.Array) -> Bools:
    """Where there is a value, and it is true."""
    known = values.fill_null(False) if values.null_count else values
    found: Bools = known.to_numpy(zero_copy_only=False)
    return found
