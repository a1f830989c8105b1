"""The plans of a join among which several joins are weighed against each other: what more memory would save.

Of a join of few inputs they are all that no other plan beats in both resources. Of one with many, or where the budget
does not suffice for that, they are those on the ways of state selection and state removal, from the mjoin to the
bjtree.
"""

from __future__ import annotations

from collections.abc import Iterable

from eddyline.planner.bjtree import find_bjtree
from eddyline.planner.cost import Limits, Model
from eddyline.planner.finder import FEW_INPUTS, OutOfTime, find_jtrees
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.plan import Plan
from eddyline.planner.state_removal import remove_states
from eddyline.planner.state_selection import select_states

#: limits that nothing keeps, so that a planner goes its way to the end
_NOTHING = 1e-300


def front_of(model: Model, limits: Limits) -> list[Plan]:
    """The plans within limits, from the least memory to the least processor time; none if none fits."""
    if len(model.graph.inputs) <= FEW_INPUTS:
        try:
            return unbeaten(find_jtrees(model, limits))
        except OutOfTime:
            pass
    return unbeaten(plan for plan in _on_the_ways(model, limits) if limits.allow(plan.used))


def _on_the_ways(model: Model, limits: Limits) -> Iterable[Plan]:
    mjoin, bjtree = find_mjoin(model), find_bjtree(model)
    adding = select_states(model, Limits(_NOTHING, limits.memory), mjoin)
    return (mjoin, *adding, *remove_states(model, Limits(_NOTHING, _NOTHING), bjtree))


def unbeaten(plans: Iterable[Plan]) -> list[Plan]:
    """Those that no other beats in both resources, by rising memory and falling processor time."""
    found: list[Plan] = []
    for plan in sorted(plans, key=lambda plan: (plan.memory, plan.cpu)):
        if not found or plan.cpu < found[-1].cpu:
            found.append(plan)
    return found
