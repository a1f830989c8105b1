"""Which plan a join gets: the best of all if its inputs are few, that of the two layers if they are many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from eddyline.planner.bjtree import find_bjtree
from eddyline.planner.cost import Limits, Model
from eddyline.planner.finder import OutOfTime, find_jtrees
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.plan import Plan, planned
from eddyline.planner.shortfall import Shortfall, shortfall
from eddyline.planner.state_exchange import exchange_states
from eddyline.planner.tree import JTree
from eddyline.planner.two_layers import BJTREE, MJOIN, Considered, Found, find_in_two_layers

#: up to so many inputs all join trees are weighed, in some hundredths of a second
FEW_INPUTS = 6
#: where the others find nothing, JTree-Finder may look for so many seconds
PATIENCE = 1.0
FINDER, EXCHANGE, TWO_STATES = "JTree-Finder", "state exchange", "removal of two states"


@dataclass(frozen=True)
class Choice:
    """The plan, or what is missing for one; `certain`: if there is none, there is really none."""

    plan: Plan | None
    by: str
    others: tuple[Considered, ...]
    missing: Shortfall | None = None
    certain: bool = True


def choose(model: Model, limits: Limits) -> Choice:
    """The plan for a join within limits."""
    if len(model.graph.inputs) <= FEW_INPUTS:
        return _of_all(replace(model, exact=True), limits)
    found = find_in_two_layers(model, limits)
    if found.plan is not None:
        return Choice(found.plan, found.considered[-1].by, _without(found.plan, found.considered))
    mjoin = found.considered[0].plan
    certain = not limits.holds(mjoin.memory)
    if not certain:
        nearest = min(found.considered, key=lambda one: limits.strain(one.plan.used)).plan
        way = tuple(Considered(EXCHANGE, plan) for plan in exchange_states(model, limits, nearest)[1:])
        found = Found(None, (*found.considered, *way))
        if way and limits.allow(way[-1].plan.used):
            return Choice(way[-1].plan, EXCHANGE, _without(way[-1].plan, found.considered))
        fewer = _qualified(model, limits, without_two(find_bjtree(model).tree))
        if fewer is not None:
            return Choice(fewer, TWO_STATES, _without(fewer, found.considered))
        try:
            plans = find_jtrees(model, limits, seconds=PATIENCE)
        except OutOfTime:
            pass
        else:
            certain = True
            if plans:
                return Choice(plans[0], FINDER, _without(plans[0], found.considered))
    missing = shortfall(model, limits, [one.plan for one in found.considered])
    return Choice(None, "two layers", _without(missing.nearest, found.considered), missing, certain)


def without_two(tree: JTree) -> list[JTree]:
    """A tree without any one and any two of its states: removing the best one first may lead away from these."""
    one = [tree.without(state) for state in tree.states()]
    return list(dict.fromkeys((*one, *(each.without(state) for each in one for state in each.states()))))


def _qualified(model: Model, limits: Limits, trees: Iterable[JTree]) -> Plan | None:
    """Of some trees the one that fits and needs the least processor time."""
    plans = [plan for tree in trees if limits.allow((plan := planned(model, tree)).used)]
    return min(plans, key=lambda plan: (plan.cpu, plan.memory), default=None)


def _of_all(model: Model, limits: Limits) -> Choice:
    ends = (Considered(MJOIN, find_mjoin(model)), Considered(BJTREE, find_bjtree(model)))
    plans = find_jtrees(model, limits)
    if plans:
        others = (*ends, *(Considered(FINDER, plan) for plan in plans[1:]))
        return Choice(plans[0], FINDER, _without(plans[0], others))
    unlimited = find_jtrees(model, Limits())
    missing = shortfall(model, limits, unlimited)
    return Choice(None, FINDER, _without(missing.nearest, ends), missing)


def _without(plan: Plan, considered: tuple[Considered, ...]) -> tuple[Considered, ...]:
    """Every other tree once, by whoever came to it first."""
    seen = {plan.tree}
    found = []
    for one in considered:
        if one.plan.tree not in seen:
            seen.add(one.plan.tree)
            found.append(one)
    return tuple(found)
