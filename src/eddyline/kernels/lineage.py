"""The lineage of tuples on their way through a grouped filter: which alternatives of its form can still be true.

A tuple is dropped when no alternative can be true for any member, and then nothing more is computed for it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from eddyline.kernels.costly import CostlyColumns
from eddyline.kernels.eddy.eddies import Eddies
from eddyline.kernels.eddy.eddy import Operator
from eddyline.kernels.grouped.codes import Bools
from eddyline.kernels.grouped.filter import GroupedFilter
from eddyline.kernels.places import Ints, index, picked

_INDEX = "index"


class Lineage:
    def __init__(
        self,
        filter_: GroupedFilter,
        rows: pa.Table,
        columns: Mapping[str, str],
        costly: Mapping[str, str],
        computed: CostlyColumns,
        types: Mapping[str, pa.DataType],
    ) -> None:
        """`columns` and `costly`: by attribute, the column that it is; some of them cost much."""
        self._filter, self._rows, self._computed, self._types = filter_, rows, computed, types
        self._cheap = {name: column for name, column in columns.items() if name not in costly}
        self._costly = costly
        self._alive = np.ones((rows.num_rows, filter_.alternatives), np.bool_)

    def routed(self, eddies: Eddies, name: str, texts: Mapping[str, str]) -> Ints:
        """The tuples that come through; `texts`: what attributes that cost much are called."""
        rows = np.arange(self._rows.num_rows)
        operators: dict[str, Operator] = {texts[attribute]: self._costly_operator(attribute) for attribute in texts}
        if any(self._filter.asks_for(name).any() for name in self._cheap):
            operators = {_INDEX: self._by_index, **operators}
        if not rows.size:
            return rows
        return np.concatenate([*eddies.eddy(name, operators).route(rows)])

    def _by_index(self, rows: Ints, alone: bool) -> Ints:
        """Members are looked up by all that costs little."""
        columns = {name: self._rows.column(column) for name, column in self._cheap.items()}
        given = {name: picked(column, rows).cast(self._types[name]) for name, column in columns.items()}
        return self._narrowed(rows, self._filter.possible(pa.table(given)), alone)

    def _costly_operator(self, attribute: str) -> Operator:
        asks = self._filter.asks_for(attribute)

        def passing(rows: Ints, alone: bool) -> Ints:
            if alone:
                return self._narrowed(rows, self._possible_by(attribute, rows), alone)
            at = index(rows)
            needed = rows[self._alive[at][:, asks].any(axis=1)]  # by none of the others: it need not be computed
            if needed.size:
                self._alive[index(needed)] &= self._possible_by(attribute, needed)
            return rows[self._alive[at].any(axis=1)]

        return passing

    def _possible_by(self, attribute: str, rows: Ints) -> Bools:
        values = self._computed.of(self._costly[attribute], rows).cast(self._types[attribute])
        return self._filter.possible(pa.table({attribute: pa.chunked_array([values])}))

    def _narrowed(self, rows: Ints, possible: Bools, alone: bool) -> Ints:
        at = index(rows)
        self._alive[at] &= possible
        return rows[(possible if alone else self._alive[at]).any(axis=1)]
