"""A point in the life of a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Beginning:
    """When a query begins, as far as it says with whom it can be answered together."""

    start: int | None  # the first tick that it is answered for; None: the first that its streams bring
    entry: int = 0  # of the journal, after which it was created
    past: int | None = None  # the entries that it looks back at; None: it does not, or nobody remembers
    reached: int | None = None  # the tick that the clock had reached; None: it looks back, or nothing has come


@dataclass(frozen=True)
class Moment:
    """The clock, the journal's last entry, and what had come to each stream."""

    reached: int | None
    closed: int | None
    entry: int
    arrived: Mapping[str, int]

    @property
    def start(self) -> int | None:
        """The first tick that a query is answered for which is created then; None: the first that its streams bring.

        What is closed by then is over. Were it a part of the query, it would be compared with what comes next, and
        would never have been answered itself.
        """
        if self.reached is None or self.closed is None:
            return self.reached
        return max(self.reached, self.closed + 1)

    def beginning(self, past: int | None = None) -> Beginning:
        """That of a query which is created then; `past`: how many entries it looks back at, if it does."""
        if past is not None and self.start is not None:
            return Beginning(self.start, self.entry, past)
        return Beginning(self.start, self.entry, reached=self.reached)
