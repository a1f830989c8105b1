"""Who leaves the common batch for a lane of its own, and who comes back, decided from what they cost.

A query may take its share of a batch, by its priority among those that run in it. One that takes more, and so much that
others notice, goes. It has to do so twice in a row: the first batch of a query also pays for what is loaded once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from eddyline.algebra.window import LoopWindow
from eddyline.spark.standing import Standing

#: seconds of work in a batch that nobody notices
FLOOR = 0.5
#: how far beyond its share one goes, and what it must cost at most to come back: in between nothing changes
_BEYOND = 1.25
_CHEAP = 0.5
#: what one step of a lane through the past takes, about
STEP_SECONDS = 0.75
#: rows that a lane catches up with in a step at most. It is not sized by time: a step over many entries looks once at
#: a window that each of them touches, and who is too slow for the pace of its streams must be able to make it up
_ROWS = 250_000
#: a step is at most so many times as large as the one before: the pace was measured on little
_GROWTH = 4


def looks_back(query: Standing) -> bool:
    """Whether a query has the past to read before anything new: it begins in a lane."""
    return query.history or any(isinstance(node, LoopWindow) for stage in query.stages for node in stage.plan.walk())


class Policy:
    """What decides about lanes. One for each executor, asked by the thread that runs batches."""

    def __init__(self) -> None:
        self._costs: dict[str, float] = {}  # by query, the least of its last two batches or steps
        self._latest: dict[str, float] = {}

    def begins_aside(self, query: Standing) -> bool:
        """Whether a query that is new begins in a lane."""
        return looks_back(query)

    def spent(self, seconds: Mapping[str, float]) -> None:
        """What queries have cost in the last batch, or a step of their lanes."""
        for name, cost in seconds.items():
            self._costs[name] = min(cost, self._latest.get(name, 0.0))
            self._latest[name] = cost

    def leaving(self, common: Collection[Standing]) -> list[str]:
        """Those of the common batch that are to have lanes of their own."""
        dear = [query for query in common if self._costs.get(query.name, 0.0) > FLOOR]
        if not dear:
            return []
        total = sum(self._costs.get(query.name, 0.0) for query in common)
        weights = sum(query.priority for query in common)
        return [q.name for q in dear if self._costs[q.name] > _BEYOND * total * q.priority / weights]

    def returns(self, query: Standing) -> bool:
        """Whether one that has caught up in its lane is cheap enough to run with the others."""
        return self._latest.get(query.name, 0.0) < _CHEAP * FLOOR

    def forget(self, name: str) -> None:
        self._costs.pop(name, None)
        self._latest.pop(name, None)

    def size(self, pace: Pace) -> int | None:
        """How much of the past the next step of a lane takes on, in ticks or indexes; None: nobody knows yet."""
        return pace.size

    def rows(self) -> int:
        """How many rows a lane catches up with in a step."""
        return _ROWS


class Pace:
    """How much of the past a lane gets done in a step."""

    def __init__(self) -> None:
        self.size: int | None = None  # what the next step should take on

    def took(self, size: int, seconds: float) -> None:
        wanted = size * STEP_SECONDS / max(seconds, 0.01)
        self.size = max(1, int(min(wanted, _GROWTH * size)))

    def forget(self) -> None:
        """Something else is being counted from now on."""
        self.size = None


__all__ = ["FLOOR", "Pace", "Policy", "looks_back"]
