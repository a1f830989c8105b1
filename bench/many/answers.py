"""What each query must answer, worked out with numpy alone, and what a side did answer, both as one digest per query:
how many rows it gave, and the sum (modulo 2⁶⁴) of a hash of each row.

The expected digests of selections need no pair of tuple and query: with the tuples in the order of their prices a range
takes a run of them, and the sum of the hashes of a run is the difference of two running sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.many.queries import Kind
from bench.many.ticks import FIRST, GRID, LAST, symbol

Array = np.ndarray[Any, Any]
#: of an answer: the number of the query, then these
SELECTED, AGGREGATED = ("t", "sym", "price", "volume"), ("t", "sym", "mean", "n")


@dataclass(frozen=True)
class Digests:
    rows: Array
    sums: Array

    def different(self, other: Digests) -> int:
        """For how many queries."""
        return int(((self.rows != other.rows) | (self.sums != other.sums)).sum())


def digests(kind: Kind, size: int, table: pa.Table) -> Digests:
    """Of the answers of a side: `query` (a name or a number), and the columns SELECTED or AGGREGATED."""
    if kind.windows:
        table = table.filter(pc.less(table["t"], LAST))  # where files end, windows that are not over end too
    query, t, code = _numbers(table["query"]), _numpy(table["t"]), _numbers(table["sym"])
    if kind.windows:
        n = _numpy(table["n"])
        hashes = _hash(t, code, n, np.rint(_numpy(table["mean"]) * n * GRID))
    else:
        hashes = _hash(t, code, _numpy(table["price"]) * GRID, _numpy(table["volume"]))
    rows = np.bincount(query, minlength=size)
    sums = np.zeros(len(rows), np.uint64)
    np.add.at(sums, query, hashes)
    return Digests(rows, sums)


def expected(kind: Kind, constants: pa.Table, ticks: pa.Table) -> Digests:
    code, price, t = _numbers(ticks["sym"]), _numpy(ticks["price"]), _numpy(ticks["t"])
    order = np.lexsort((price, code))
    bounds = np.searchsorted(code[order], np.arange(code.max() + 2))
    found = Digests(np.zeros(len(constants), np.int64), np.zeros(len(constants), np.uint64))
    hashes = _hash(t, code, price * GRID, _numpy(ticks["volume"]))
    wanted = _Ranges(kind, constants)
    for number in range(len(bounds) - 1):
        rows = order[bounds[number] : bounds[number + 1]]
        if not kind.windows:
            _add_selected(found, wanted, number, price[rows], hashes[rows])
        for length, slide in kind.windows:
            members = np.flatnonzero((_numpy(constants["length"]) == length) & (_numpy(constants["slide"]) == slide))
            for tick in range(-(-FIRST // slide) * slide, LAST, slide):
                inside = rows[(t[rows] > tick - length) & (t[rows] <= tick)]
                _add_aggregated(found, wanted, number, tick, price[inside], members)
    return found


class _Ranges:
    """What run of some sorted prices each query takes."""

    def __init__(self, kind: Kind, constants: pa.Table) -> None:
        self._by_symbol = kind.by_symbol
        if kind.by_symbol:
            self._sym, self._floor = _numbers(constants["sym"]), _numpy(constants["floor"])
        else:
            self._low, self._high = _numpy(constants["low"]), _numpy(constants["high"])

    def of(self, number: int, prices: Array, members: Array | slice) -> tuple[Array, Array]:
        if self._by_symbol:
            begin = np.searchsorted(prices, self._floor[members], "right")
            return begin, np.where(self._sym[members] == number, len(prices), begin)
        return np.searchsorted(prices, self._low[members]), np.searchsorted(prices, self._high[members])


def _add_selected(found: Digests, wanted: _Ranges, number: int, prices: Array, hashes: Array) -> None:
    running = np.concatenate(([np.uint64(0)], np.cumsum(hashes, dtype=np.uint64)))
    begin, end = wanted.of(number, prices, slice(None))
    found.rows[:] += end - begin
    found.sums[:] += running[end] - running[begin]


def _add_aggregated(found: Digests, wanted: _Ranges, number: int, tick: int, prices: Array, members: Array) -> None:
    running = np.concatenate(([0], np.cumsum((prices * GRID).astype(np.int64))))
    begin, end = wanted.of(number, prices, members)
    n = end - begin
    hashes = _hash(np.full(len(n), tick), np.full(len(n), number), n, running[end] - running[begin])
    found.rows[members] += n > 0
    found.sums[members] += np.where(n > 0, hashes, np.uint64(0))


def _hash(*columns: Array) -> Array:
    mixed = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.int64).astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _numpy(column: pa.ChunkedArray) -> Array:
    values: Array = column.to_numpy()
    return values


def _numbers(column: pa.ChunkedArray) -> Array:
    """Of names as S017 or q42; numbers stay as they are."""
    if pa.types.is_integer(column.type):
        return _numpy(column)
    coded = (column if pa.types.is_dictionary(column.type) else column.dictionary_encode()).combine_chunks()
    if isinstance(coded, pa.ChunkedArray):  # as some versions of Arrow give it
        coded = pa.concat_arrays(coded.chunks) if coded.num_chunks else pa.array([], column.type).dictionary_encode()
    values = np.array([int(value[1:]) for value in coded.dictionary.to_pylist()], np.int64)
    return values[coded.indices.to_numpy()] if len(values) else np.zeros(0, np.int64)


assert symbol(17)[1:] == "017"
