"""A point in the life of a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
