"""One plan of each of several joins, added up: of all combinations those that no other beats in both resources.

They are made join by join, and after each join only those are kept that no other sum beats: what a join adds does not
depend on what the others have chosen. Inputs that several joins read are counted once.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from eddyline.planner.budget import Budget
from eddyline.planner.cost import Limits, Resources
from eddyline.planner.member import NOTHING, Member
from eddyline.planner.plan import Plan

#: so many sums are kept for each join that is added: beyond that, neighbours are left out
MOST_SUMS = 300


@dataclass(frozen=True)
class Sum:
    """What one plan of each of some joins takes: of the last of them, and of those before it."""

    used: Resources
    last: Plan | None = None
    before: Sum | None = None

    @property
    def plans(self) -> tuple[Plan, ...]:
        return tuple(reversed(list(self._backwards())))

    def _backwards(self) -> Iterator[Plan]:
        one: Sum | None = self
        while one is not None and one.last is not None:
            yield one.last
            one = one.before


def sums_of(joins: Sequence[Member], fronts: Sequence[Sequence[Plan]], budget: Budget) -> list[Sum]:
    """All sums that no other beats, by rising memory; fewer if the budget does not suffice for all."""
    found = [Sum(NOTHING)]
    known: set[Hashable] = set()
    for at, (join, front) in enumerate(zip(joins, fronts, strict=True)):
        found = _thinned(found, _most(budget, len(joins) - at, len(front)), budget)
        inputs = [1 << at for at in range(len(join.model.graph.inputs))]
        shared = join.free(known, inputs)
        spared = Resources(
            math.fsum(join.model.upkeep(mask) for mask in shared), math.fsum(join.model.state(mask) for mask in shared)
        )
        known.update(key for mask in inputs if (key := join.key(mask)) is not None)
        made = [Sum(one.used + plan.used - spared, plan, one) for one in found for plan in front]
        budget.spend(len(made))
        found = []
        for one in sorted(made, key=lambda one: (one.used.memory, one.used.cpu)):
            if not found or one.used.cpu < found[-1].used.cpu:
                found.append(one)
    return _thinned(found, MOST_SUMS, budget)


def _most(budget: Budget, joins: int, plans: int) -> int:
    """To how many sums the plans of one more join are added, so that something is left for those behind it."""
    if math.isinf(budget.left):
        return MOST_SUMS
    return min(MOST_SUMS, max(2, int(budget.left / (2 * joins * plans))))


def _thinned(sums: list[Sum], most: int, budget: Budget) -> list[Sum]:
    """Not too many; the first and the last, which need least of one resource, stay."""
    if len(sums) <= most:
        return sums
    budget.is_cut = budget.is_cut or most < MOST_SUMS
    step = (len(sums) - 1) / (most - 1)
    return [sums[round(at * step)] for at in range(most)]


def best_of(sums: Sequence[Sum], limits: Limits) -> Sum:
    """The qualified one with the least processor time, or the nearest."""
    fitting = [one for one in sums if limits.allow(one.used)]
    if fitting:
        return min(fitting, key=lambda one: one.used.cpu)
    return min(sums, key=lambda one: (limits.strain(one.used), one.used.cpu))
