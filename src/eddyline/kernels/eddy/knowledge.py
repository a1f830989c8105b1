"""What is known about the operators of an eddy: what they cost, and which tuples of a sample they let pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
#: by operator, the share of tuples that pass it after others, and from how many tuples that is known
Passing = tuple[list[float], int]

#: tuples of the sample, the latest; each is known to pass or not to pass every operator
MOST_SAMPLED = 1024
#: what an operator does to all tuples counts as much as so many tuples of those that have come through the others
_PRIOR = 16
#: how much of what was known before the latest run is forgotten
_LATEST = 0.3
#: an order is thought over again when a cost has changed by so much
_DRIFT = 0.1
#: standard deviations, and a share of tuples, that a pass rate may be off before it is a surprise
_DEVIATIONS, _TOLERATED = 4.0, 0.03
#: tuples share a decision if so many times as many have passed without a surprise
_QUIET = 16
#: … but for no less than so many seconds of work: a decision and what goes with it take some tenths of a millisecond
_WORTH_A_DECISION = 0.02
SMALLEST_PIECE, LARGEST_PIECE = 1 << 8, 1 << 16


@dataclass
class Knowledge:
    """Small enough to travel between the driver and its tasks, so that no task begins from nothing."""

    operators: tuple[str, ...]
    sample: Bools = field(init=False)  # a tuple a row, an operator a column: whether it passes
    seconds: list[float] = field(init=False)  # that each operator took lately: what was long ago counts for less
    asked: list[float] = field(init=False)  # … for so many tuples
    quiet: int = 0  # tuples since the last surprise
    fixed: int = 1  # how many operators the next decision fixes
    budget: float = 0.0  # seconds that may be spent on sampling
    pace: float = 0.0  # seconds for a tuple on its way through all operators, lately

    def __post_init__(self) -> None:
        self.sample = np.zeros((0, len(self.operators)), np.bool_)
        self.seconds, self.asked = [0.0] * len(self.operators), [0.0] * len(self.operators)
        self._priced = self.costs
        self._orders: dict[tuple[int, ...], list[int]] = {}  # by those taken before
        self._passing: dict[tuple[int, ...], Passing] = {}

    @property
    def piece(self) -> int:
        """How many tuples the next decision is for."""
        worth = int(_WORTH_A_DECISION / self.pace) if self.pace else 0
        return min(max(self.quiet // _QUIET, worth, SMALLEST_PIECE), LARGEST_PIECE)

    @property
    def costs(self) -> list[float]:
        """By operator, seconds for a tuple; NaN: it never ran."""
        return [seconds / asked if asked else math.nan for seconds, asked in zip(self.seconds, self.asked, strict=True)]

    # -- learning -----------------------------------------------------------------------------------------------------

    def sampled(self, passed: Bools) -> None:
        self.sample = np.concatenate([self.sample, passed])[-MOST_SAMPLED:]
        self._look_again()

    def ran(self, operator: int, tuples: int, seconds: float) -> None:
        """A run counts by its tuples: of few, most of the time is that of asking at all."""
        self.seconds[operator] += seconds - _LATEST * self.seconds[operator]
        self.asked[operator] += tuples - _LATEST * self.asked[operator]
        cost, priced = self.seconds[operator] / self.asked[operator], self._priced[operator]
        if not abs(cost - priced) < _DRIFT * priced:
            self._think_again()

    def went(self, tuples: int, seconds: float) -> None:
        """Tuples have gone all the way, as far as each of them came."""
        pace = seconds / tuples
        self.pace = pace if not self.pace else self.pace + _LATEST * (pace - self.pace)

    def surprise(self) -> None:
        """The data are not what they were: look at them again, in small steps."""
        self.sample = self.sample[:0]
        self.quiet, self.fixed = 0, 1
        self._look_again()

    def calm(self, tuples: int) -> None:
        self.quiet += tuples
        self.fixed = min(self.fixed + 1, len(self.operators))

    def _look_again(self) -> None:
        self._passing.clear()
        self._think_again()

    def _think_again(self) -> None:
        self._priced = self.costs
        self._orders.clear()

    def copy(self) -> Knowledge:
        """Of one's own: several tasks may begin with the same."""
        other = replace(self)
        other.sample, other.seconds, other.asked = self.sample, self.seconds.copy(), self.asked.copy()
        other._think_again()
        return other

    # -- deciding -----------------------------------------------------------------------------------------------------

    def order(self, taken: Sequence[int] = (), sample: Bools | None = None) -> list[int]:
        """The operators that are left, the one first that drops most tuples for its cost, then the next of the rest.

        `sample`: of tuples that have come so far, if they are not like the others.
        """
        known = tuple(taken)
        if sample is not None:
            return self._ordered(known, lambda taken: _passing(sample, taken))
        if known not in self._orders:
            self._orders[known] = self._ordered(known, self._expected)
        return self._orders[known]

    def _ordered(self, taken: tuple[int, ...], passing: Callable[[tuple[int, ...]], Passing]) -> list[int]:
        left = [operator for operator in range(len(self.operators)) if operator not in taken]
        order: list[int] = []
        while len(left) > 1:
            rates, _ = passing((*taken, *order))
            tickets = [self._dropped(operator, rates) for operator in left]
            order.append(left.pop(tickets.index(max(tickets))))
        return order + left

    def tickets(self, order: Sequence[int]) -> list[float]:
        """In an order, by operator, the share of its chances: tuples dropped in a second among those that reach it."""
        found = [
            self._dropped(operator, self._expected(tuple(order[:place]))[0]) for place, operator in enumerate(order)
        ]
        by_operator = dict(zip(order, found, strict=True))
        total = sum(found) or 1.0
        return [by_operator[operator] / total for operator in range(len(self.operators))]

    def is_surprising(self, operator: int, taken: Sequence[int], tuples: int, passed: int) -> bool:
        """Whether so many of these tuples passing an operator after others is far from what the sample says."""
        rates, known = self._expected(tuple(taken))
        if not known or not tuples:
            return False
        expected = rates[operator]
        spread = math.sqrt(max(expected * (1 - expected), 0.01) * (1 / tuples + 1 / known))
        return abs(passed / tuples - expected) > _DEVIATIONS * spread + _TOLERATED

    def _dropped(self, operator: int, passing: Sequence[float]) -> float:
        """Tuples in a second."""
        cost = self._priced[operator]
        return (1 - passing[operator]) / (1e-9 if math.isnan(cost) else max(cost, 1e-9))

    def _expected(self, taken: tuple[int, ...]) -> Passing:
        if taken not in self._passing:
            self._passing[taken] = _passing(self.sample, taken)
        return self._passing[taken]


def _passing(sample: Bools, taken: Sequence[int]) -> Passing:
    if not len(sample):
        return [0.5] * sample.shape[1], 0
    among = sample[sample[:, list(taken)].all(axis=1)]
    overall = (sample.sum(axis=0) + 0.5) / (len(sample) + 1)
    rates: Floats = (among.sum(axis=0) + _PRIOR * overall) / (len(among) + _PRIOR)
    return rates.tolist(), len(among)
