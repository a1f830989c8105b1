"""If no plan is qualified: which one is nearest, what it exceeds and by how much, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from eddyline.planner.cost import Limits, Model
from eddyline.planner.graph import JoinGraph
from eddyline.planner.plan import Plan
from eddyline.planner.two_layers import find_in_two_layers

#: how finely windows and rates that would fit are told
STEPS = 100


@dataclass(frozen=True)
class Shortfall:
    """The nearest plan, and each single change that would make some plan qualified; None where none would."""

    nearest: Plan
    cpu_limit: float | None  # that would do, with memory as it is
    memory_limit: float | None  # that would do, with the processor as it is
    windows: float | None  # which part of all windows would fit
    rates: float | None  # which part of all tuples would fit
    fastest: Plan  # the one that needs least of the processor, of those that were looked at

    @property
    def is_both(self) -> bool:
        """Whether neither limit would do alone, so that it takes both."""
        return self.cpu_limit is None and self.memory_limit is None


def shortfall(model: Model, limits: Limits, plans: Sequence[Plan]) -> Shortfall:
    """What is missing, by the plans that were looked at. Whatever it says would help, does."""
    nearest = min(plans, key=lambda plan: (limits.strain(plan.used), plan.cpu))
    in_memory = [plan.cpu for plan in plans if limits.holds(plan.memory)]
    in_time = [plan.memory for plan in plans if limits.allow(plan.used.with_memory(0.0))]
    return Shortfall(
        nearest,
        min(in_memory, default=None),
        min(in_time, default=None),
        _largest(model, limits, lambda graph, part: graph.scaled(windows=part)),
        _largest(model, limits, lambda graph, part: graph.scaled(rates=part)),
        min(plans, key=lambda plan: (plan.cpu, plan.memory)),
    )


def _largest(model: Model, limits: Limits, scaled: Callable[[JoinGraph, float], JoinGraph]) -> float | None:
    """The largest part, in hundredths, with which a qualified plan is found; by halving, so it is one that fits."""

    def fits(hundredths: int) -> bool:
        smaller = replace(model, graph=scaled(model.graph, hundredths / STEPS))
        return find_in_two_layers(smaller, limits).plan is not None

    low, high = 0, STEPS
    while high - low > 1 and not model.budget.is_spent:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low / STEPS if low else None
