"""Which plan a join gets: the best of all if its inputs are few, that of the two layers if they are many."""

from __future__ import annotations

from dataclasses import dataclass, replace

from eddyline.planner.bjtree import find_bjtree
from eddyline.planner.cost import Limits, Model
from eddyline.planner.finder import FEW_INPUTS, OutOfTime, find_jtrees
from eddyline.planner.front import front_of
from eddyline.planner.kept_states import choose_states
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.plan import Plan
from eddyline.planner.shortfall import Shortfall, shortfall
from eddyline.planner.state_exchange import exchange_states
from eddyline.planner.two_layers import BJTREE, MJOIN, Considered, find_in_two_layers

#: where the others find nothing, each of the last two may look for so many steps of the budget (about a second)
PATIENCE = 200_000
FINDER, EXCHANGE, STATES, TWO_LAYERS = "JTree-Finder", "state exchange", "choice of states", "two layers"
BOTH_WAYS = "state selection and state removal"


@dataclass(frozen=True)
class Choice:
    """The plan, or what is missing for one; `certain`: if there is none, there is really none.

    `is_cut`: the budget was spent before all was looked at that would have been.
    """

    plan: Plan | None
    by: str
    others: tuple[Considered, ...]
    missing: Shortfall | None = None
    certain: bool = True
    is_cut: bool = False


def choose(model: Model, limits: Limits) -> Choice:
    """The plan for a join within limits; if there is none, what is missing."""
    found = find_plan(model, limits)
    if found.plan is None:
        looked_at = _all_plans(model) or [one.plan for one in found.others]
        missing = shortfall(model, limits, looked_at)
        found = replace(found, others=_without(missing.nearest, found.others), missing=missing)
    return replace(found, is_cut=model.budget.is_cut)


def find_plan(model: Model, limits: Limits) -> Choice:
    """The same without a word about what is missing, which takes longer than the search itself."""
    if len(model.graph.inputs) <= FEW_INPUTS:
        try:
            return _of_all(model, limits)
        except OutOfTime:
            pass
    found = find_in_two_layers(model, limits)
    if found.plan is not None:
        return _cheapest(model, limits, found.plan, found.considered)
    mjoin = found.considered[0].plan
    if not limits.holds(mjoin.memory):
        return Choice(None, TWO_LAYERS, found.considered)
    nearest = min(found.considered, key=lambda one: limits.strain(one.plan.used)).plan
    way = tuple(Considered(EXCHANGE, plan) for plan in exchange_states(model, limits, nearest)[1:])
    looked_at = (*found.considered, *way)
    if way and limits.allow(way[-1].plan.used):
        return _chosen(way[-1].plan, EXCHANGE, looked_at)
    stored = choose_states(model.within(model.budget.part(PATIENCE)), limits, find_bjtree(model).tree)
    if stored:
        return _chosen(min(stored, key=lambda plan: (plan.cpu, plan.memory)), STATES, looked_at)
    try:
        plans = find_jtrees(model.within(model.budget.part(PATIENCE)), limits)
    except OutOfTime:
        return Choice(None, TWO_LAYERS, looked_at, certain=False)
    return _chosen(plans[0], FINDER, looked_at) if plans else Choice(None, TWO_LAYERS, looked_at)


def _of_all(model: Model, limits: Limits) -> Choice:
    ends = (Considered(MJOIN, find_mjoin(model)), Considered(BJTREE, find_bjtree(model)))
    plans = find_jtrees(model, limits)
    if not plans:
        return Choice(None, FINDER, ends)
    return _chosen(plans[0], FINDER, (*ends, *(Considered(FINDER, plan) for plan in plans[1:])))


def _cheapest(model: Model, limits: Limits, plan: Plan, considered: tuple[Considered, ...]) -> Choice:
    """The two layers end with the first plan that fits. One that stores more, and fits, may need less time."""
    best = min(front_of(model, limits), key=lambda one: one.cpu, default=plan)
    if best.cpu >= plan.cpu:
        return _chosen(plan, considered[-1].by, considered)
    return _chosen(best, BOTH_WAYS, considered)


def _all_plans(model: Model) -> tuple[Plan, ...]:
    """Of few inputs all that no other beats, whatever the limits."""
    try:
        return find_jtrees(model, Limits()) if len(model.graph.inputs) <= FEW_INPUTS else ()
    except OutOfTime:
        return ()


def _chosen(plan: Plan, by: str, considered: tuple[Considered, ...]) -> Choice:
    return Choice(plan, by, _without(plan, considered))


def _without(plan: Plan, considered: tuple[Considered, ...]) -> tuple[Considered, ...]:
    """Every other tree once, by whoever came to it first."""
    seen = {plan.tree}
    found = []
    for one in considered:
        if one.plan.tree not in seen:
            seen.add(one.plan.tree)
            found.append(one)
    return tuple(found)
