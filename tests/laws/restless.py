"""Whatever may be decided is decided at random: lanes as busy as they can be, slices that come and go."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from eddyline.spark import kernel_job, spreading
from eddyline.spark.correcting import UPSTREAM_ONLY, Choice, Corrections, Outlook
from eddyline.spark.fairness import Pace, Policy
from eddyline.spark.lanes import Lane
from eddyline.spark.spans import LOW
from eddyline.spark.standing import Standing
from laws.without_spark import LanesInTurn


class Restless(Policy):
    """Anybody may run aside at any time, in the smallest of steps."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self._dice = dice

    def begins_aside(self, query: Standing) -> bool:
        return query.history or self._dice.random() < 0.3

    def leaving(self, common: Collection[Standing]) -> list[str]:
        return [query.name for query in common if self._dice.random() < 0.4]

    def returns(self, query: Standing) -> bool:
        return self._dice.random() < 0.5

    def size(self, pace: Pace) -> int | None:
        return self._dice.randint(1, 6)

    def rows(self) -> int:
        return self._dice.randint(1, 8)


def late_lanes(dice: random.Random) -> type[LanesInTurn]:
    class LateLanes(LanesInTurn):
        """What is done is committed some batches later."""

        def finished(self) -> dict[str, Lane]:
            return {name: lane for name, lane in super().finished().items() if dice.random() < 0.6}

    return LateLanes


class Fickle(Corrections):
    """Slices are kept, made anew from anywhere, asked or not, and given up at any moment."""

    def __init__(self, dice: random.Random, made: list[Choice] | None = None) -> None:
        super().__init__()
        self._dice = dice
        self.made = [] if made is None else made

    def choose(self, name: str, outlook: Outlook) -> Choice:
        super().choose(name, outlook)  # it must bear whatever comes
        choice = self._thrown(outlook)
        self.made.append(choice)
        return choice

    def _thrown(self, outlook: Outlook) -> Choice:
        if self._dice.random() < 0.2:
            return UPSTREAM_ONLY
        if not outlook.kept or self._dice.random() < 0.15:
            return Choice(keeps=True, anew=self._dice.choice([LOW, outlook.back(self._dice.randint(0, 12))]))
        return Choice(keeps=True, from_slices=self._dice.random() < 0.8)


@contextmanager
def spread_thin() -> Iterator[None]:
    """A row is worth a task of its own, also where there are few of them."""
    with ExitStack() as stack:
        for name in ("_SELECTED_ROWS", "_GROUPED_ROWS", "_WIDTHS"):
            stack.enter_context(patch.object(spreading, name, 1))
        stack.enter_context(patch.object(kernel_job, "_FEW_ROWS", -1))
        yield
