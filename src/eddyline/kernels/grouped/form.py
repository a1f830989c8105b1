"""The one form that the predicates of all members of a grouped filter have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Bound:
    """One end of a range: a column of the members' table, or a constant that is the same for all members.

    A constant is a Python value or a pyarrow scalar. NULL, as a constant or in the column, makes its range never true.
    """

    parameter: str | None
    value: Any = None
    inclusive: bool = True

    def __post_init__(self) -> None:
        if self.parameter is not None and self.value is not None:
            raise ValueError(f"a bound is either the parameter {self.parameter} or a constant, not both")


@dataclass(frozen=True)
class Range:
    """A condition on one attribute: low <= a <= high, or a IS NULL. Without any bound it is a IS NOT NULL."""

    attribute: str
    low: Bound | None = None
    high: Bound | None = None
    is_null: bool = False

    def __post_init__(self) -> None:
        if self.is_null and self.bounds:
            raise ValueError(f"{self.attribute} IS NULL has no bounds")

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return tuple(bound for bound in (self.low, self.high) if bound is not None)


@dataclass(frozen=True)
class Form:
    """An OR of ANDs of ranges. An alternative without ranges is always true; no alternative at all never is."""

    alternatives: tuple[tuple[Range, ...], ...]

    @property
    def ranges(self) -> Iterator[Range]:
        for alternative in self.alternatives:
            yield from alternative

    @property
    def attributes(self) -> tuple[str, ...]:
        """Each once, in the order in which they are first named."""
        return tuple(dict.fromkeys(range_.attribute for range_ in self.ranges))

    def bounds(self, attribute: str) -> tuple[Bound, ...]:
        """Everything that an attribute is compared with, each once."""
        found = (bound for range_ in self.ranges if range_.attribute == attribute for bound in range_.bounds)
        return tuple(dict.fromkeys(found))


def equal(attribute: str, parameter: str) -> Range:
    """attribute = parameter

    >>> equal("symbol", "s").low == equal("symbol", "s").high
    True
    """
    bound = Bound(parameter)
    return Range(attribute, bound, bound)
