"""Calls that remember how the user wrote them.

`mean(x)` is `avg(x)` to every engine, and `a BETWEEN 1 AND 2` is a conjunction; but the column is named as it was
written. The spelling does not count in comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from eddyline.algebra.expression import Aggregate, Call


@dataclass(frozen=True)
class SpeltCall(Call):
    """A call written with another name than that of the function it is."""

    spelling: str = field(default="", compare=False)


@dataclass(frozen=True)
class SpeltAggregate(Aggregate):
    """An aggregate written with another name."""

    spelling: str = field(default="", compare=False)
