"""What is known about the operators of an eddy: what they cost, and which tuples of a sample they let pass."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

#: tuples of the sample, the latest; each is known to pass or not to pass every operator
MOST_SAMPLED = 1024
#: what an operator does to all tuples counts as much as so many tuples of those that have come through the others
_PRIOR = 16
#: how much of the latest cost is believed
_LATEST = 0.3
#: standard deviations, and a share of tuples, that a pass rate may be off before it is a surprise
_DEVIATIONS, _TOLERATED = 4.0, 0.03
#: tuples share a decision if so many times as many have passed without a surprise
_QUIET = 64
SMALLEST_PIECE, LARGEST_PIECE = 1 << 10, 1 << 16


@dataclass
class Knowledge:
    """Small enough to travel between the driver and its tasks, so that no task begins from nothing."""

    operators: tuple[str, ...]
    sample: Bools = field(init=False)  # a tuple a row, an operator a column: whether it passes
    costs: Floats = field(init=False)  # seconds for a tuple; NaN: it never ran
    quiet: int = 0  # tuples since the last surprise
    fixed: int = 1  # how many operators the next decision fixes
    budget: float = 0.0  # seconds that may be spent on sampling

    def __post_init__(self) -> None:
        self.sample = np.zeros((0, len(self.operators)), np.bool_)
        self.costs = np.full(len(self.operators), np.nan)

    @property
    def piece(self) -> int:
        """How many tuples the next decision is for."""
        return min(max(self.quiet // _QUIET, SMALLEST_PIECE), LARGEST_PIECE)

    # -- learning -----------------------------------------------------------------------------------------------------

    def sampled(self, passed: Bools) -> None:
        self.sample = np.concatenate([self.sample, passed])[-MOST_SAMPLED:]

    def ran(self, operator: int, tuples: int, seconds: float) -> None:
        cost = seconds / tuples
        known = self.costs[operator]
        self.costs[operator] = cost if np.isnan(known) else known + _LATEST * (cost - known)

    def surprise(self) -> None:
        """The data are not what they were: look at them again, in small steps."""
        self.sample = self.sample[:0]
        self.quiet, self.fixed = 0, 1

    def calm(self, tuples: int) -> None:
        self.quiet += tuples
        self.fixed = min(self.fixed + 1, len(self.operators))

    # -- deciding -----------------------------------------------------------------------------------------------------

    def order(self, taken: Collection[int] = (), sample: Bools | None = None) -> list[int]:
        """The operators that are left, the one first that drops most tuples for its cost, then the next of the rest."""
        passed = self.sample if sample is None else sample
        left = [operator for operator in range(len(self.operators)) if operator not in taken]
        order: list[int] = []
        known = list(taken)
        while left:
            tickets = [self._tickets(operator, known, passed) for operator in left]
            best = left.pop(int(np.argmax(tickets)))
            order.append(best)
            known.append(best)
        return order

    def tickets(self, order: Sequence[int]) -> list[float]:
        """In an order, by operator, the share of its chances: tuples dropped in a second among those that reach it."""
        found = [self._tickets(operator, order[:place], self.sample) for place, operator in enumerate(order)]
        by_operator = dict(zip(order, found, strict=True))
        total = sum(found) or 1.0
        return [by_operator[operator] / total for operator in range(len(self.operators))]

    def passing(self, operator: int, taken: Sequence[int], sample: Bools | None = None) -> tuple[float, int]:
        """The share of tuples that pass an operator after others, and from how many tuples that is known."""
        passed = self.sample if sample is None else sample
        if not len(passed):
            return 0.5, 0
        among = passed[passed[:, list(taken)].all(axis=1), operator]
        overall = (passed[:, operator].sum() + 0.5) / (len(passed) + 1)
        return float((among.sum() + _PRIOR * overall) / (len(among) + _PRIOR)), len(among)

    def is_surprising(self, operator: int, taken: Sequence[int], tuples: int, passed: int) -> bool:
        """Whether so many of these tuples passing an operator after others is far from what the sample says."""
        expected, known = self.passing(operator, taken)
        if not known or not tuples:
            return False
        spread = np.sqrt(max(expected * (1 - expected), 0.01) * (1 / tuples + 1 / known))
        return bool(abs(passed / tuples - expected) > _DEVIATIONS * spread + _TOLERATED)

    def _tickets(self, operator: int, taken: Sequence[int], sample: Bools) -> float:
        passing, _ = self.passing(operator, taken, sample)
        cost = self.costs[operator]
        return (1 - passing) / (1e-9 if np.isnan(cost) else max(float(cost), 1e-9))
