"""What is known of streams, tables and predicates, and what is taken where nothing is known.

Of joins that run, what was counted is told here (`spark/observing.py`); of others rates are those of the streams' logs,
if there are any. All else is assumed, and whoever asks is told what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Assumptions:
    """For what nobody has said. Selectivities are those that query optimizers have taken for decades."""

    rate: float = 100.0  # tuples of a stream in a second
    rows: float = 1_000.0  # of a table
    equal: float = 0.01  # pairs with the same key
    near: float = 0.1  # pairs within a band
    ordered: float = 1 / 3  # pairs of which one is less
    other: float = 1 / 3  # pairs with any other property
    filter_equal: float = 0.1  # tuples with a given value
    filter_other: float = 1 / 3
    groups: float = 100.0  # of GROUP BY or PARTITION BY
    unbounded: float = 86_400.0  # seconds that a window without an end is taken to reach back


@dataclass(frozen=True)
class Statistics:
    """Rates (tuples in a second) and numbers of rows by name, selectivities by the text of a condition."""

    tick_seconds: float = 1.0
    rates: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, float] = field(default_factory=dict)
    selectivities: Mapping[str, float] = field(default_factory=dict)
    assumptions: Assumptions = Assumptions()

    def rate(self, stream: str) -> float | None:
        return _named(self.rates, stream)

    def rows_of(self, table: str) -> float | None:
        return _named(self.rows, table)


def _named(values: Mapping[str, float], name: str) -> float | None:
    return next((value for known, value in values.items() if known.lower() == name.lower()), None)
