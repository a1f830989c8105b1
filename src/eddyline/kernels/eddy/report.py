"""What an eddy has done, for EXPLAIN ANALYZE and for the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from eddyline.kernels.eddy.knowledge import Knowledge


@dataclass
class Report:
    operators: tuple[str, ...]
    came: list[int] = field(init=False)  # tuples, by operator
    passed: list[int] = field(init=False)
    seconds: list[float] = field(init=False)
    decisions: int = 0
    sampled: int = 0  # tuples that were shown to all operators
    orders: Counter[tuple[int, ...]] = field(default_factory=Counter)  # tuples that took each
    learned: Knowledge | None = None

    def __post_init__(self) -> None:
        self.came, self.passed = [0] * len(self.operators), [0] * len(self.operators)
        self.seconds = [0.0] * len(self.operators)

    def decided(self, order: Sequence[int], tuples: int) -> None:
        self.decisions += 1
        self.orders[tuple(order)] += tuples

    def ran(self, operator: int, came: int, passed: int, seconds: float) -> None:
        self.came[operator] += came
        self.passed[operator] += passed
        self.seconds[operator] += seconds

    def add(self, other: Report) -> None:
        """What another task has done with the same operators; what was learned latest is kept."""
        for operator in range(len(self.operators)):
            self.ran(operator, other.came[operator], other.passed[operator], other.seconds[operator])
        self.decisions += other.decisions
        self.sampled += other.sampled
        self.orders += other.orders
        self.learned = other.learned or self.learned
