"""Conditions that cost much, for one query: the eddy chooses in which order they are asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from eddyline.kernels.costly import Costly, CostlyColumns
from eddyline.kernels.eddy.eddies import Eddies
from eddyline.kernels.eddy.eddy import Operator
from eddyline.kernels.places import Ints
from eddyline.log.storage import Storage


@dataclass(frozen=True)
class Selection:
    """A leaf that is found before the statement runs: the rows of another statement that satisfy all conditions."""

    leaf: str
    name: str
    statement: str
    conditions: Mapping[str, Costly]
    kept: tuple[str, ...]  # columns of the rows

    @property
    def leaves(self) -> tuple[str, ...]:
        return (self.leaf,)

    def described(self) -> list[str]:
        """How the leaf is found, for EXPLAIN."""
        asked = ", ".join(costly.text for costly in self.conditions.values())
        return [f"{self.leaf}: those rows that pass, in an order that an eddy chooses: {asked}"]

    def tables(
        self, connection: duckdb.DuckDBPyConnection, storage: Storage, eddies: Eddies
    ) -> Iterator[tuple[str, pa.Table]]:
        """The rows, piece by piece; an empty table first."""
        rows = connection.sql(self.statement).to_arrow_table().combine_chunks()
        kept = rows.select(list(self.kept))
        yield self.leaf, kept.slice(0, 0)
        if not rows.num_rows:
            return
        computed = CostlyColumns(rows, self.conditions, connection, storage)
        operators = {text: _operator(computed, text) for text in self.conditions}
        chosen = [*eddies.eddy(self.name, operators).route(np.arange(rows.num_rows))]
        yield self.leaf, kept.take(pa.array(np.concatenate(chosen)))


def _operator(computed: CostlyColumns, condition: str) -> Operator:
    def passing(rows: Ints, alone: bool) -> Ints:
        return rows[computed.holds(condition, rows)]

    return passing
