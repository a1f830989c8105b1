"""From which tick to which the tuples of a stream reach. Queries over it start with the first."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.retention import horizon_of


@dataclass
class Reach:
    """The smallest tick of a stream's tuples, late and corrected ones included, and the largest that is sure.

    A tuple beyond the retention is not in the stream, so it does not count. A replacement may turn out to have nothing
    to replace, so it does not move the horizon.
    """

    retain: int | None
    first: int | None = None
    top: int | None = None

    def take(self, tick: int, replaces: bool = False) -> None:
        horizon = horizon_of(self.top, self.retain)
        if horizon is None or tick >= horizon:
            self.add(tick, None if replaces else tick)

    def add(self, first: int | None, top: int | None) -> None:
        """Some tuples at once, all of them within the retention."""
        self.first = min((tick for tick in (self.first, first) if tick is not None), default=None)
        self.top = max((tick for tick in (self.top, top) if tick is not None), default=None)
