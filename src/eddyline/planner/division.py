"""Several joins within limits that hold for all of them together: who gets how much of the memory there is.

Each join has a front of plans (`front.py`), of which more memory buys less processor time. Of all combinations
(`sums.py`) the qualified one with the least processor time is found, which is the one that gives memory where it saves
most.

Joined sets that several joins could store are another matter: the second one has them for nothing. So from that
combination on, each join in turn chooses anew, with what the others keep as free, and each joined set that two of them
have is tried in all that have it at once, as long as the whole becomes better, and the budget lasts.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from eddyline.planner.budget import Budget
from eddyline.planner.choice import find_plan
from eddyline.planner.cost import Limits
from eddyline.planner.finder import FEW_INPUTS
from eddyline.planner.front import front_of, unbeaten
from eddyline.planner.member import Division, Member, Taking, holds, used_by, worth
from eddyline.planner.plan import Plan, planned
from eddyline.planner.sums import Sum, best_of, sums_of
from eddyline.planner.tree import JTree

#: how often each join chooses anew, at most, and how many common sets are tried
_ROUNDS, _MOST_COMMON = 3, 40
#: the part of the budget that the joins have each for itself
_EACH = 0.5


@dataclass(frozen=True)
class Missing:
    """If no combination fits: what would. None where that would not do alone."""

    cpu_limit: float | None  # with memory as it is
    memory_limit: float | None  # with the processor as it is
    without: tuple[str, ...]  # any one of these queries left out, the others fit


@dataclass(frozen=True)
class Divided:
    """The division, and what is missing if it does not fit; `is_cut`: the budget was spent before all was tried.

    `beyond`: joins of which no tree fits into their own limits. They get one that exceeds these least, and have no say
    in what the others get.
    """

    division: Division
    limits: Limits
    missing: Missing | None = None
    is_cut: bool = False
    beyond: frozenset[str] = frozenset()


def divide(
    joins: Sequence[Member], limits: Limits, start: Sequence[JTree] | None = None, budget: Budget | None = None
) -> Divided:
    """The best division that is found; `start` is one that there is, from which on it is tried as well."""
    budget = Budget() if budget is None else budget
    fronts = _fronts(joins, limits, start, budget)
    beyond = _beyond(joins, fronts, start)
    fronts = [[beyond[at]] if at in beyond else front for at, front in enumerate(fronts)]
    joins = [join.settled(beyond[at].tree) if at in beyond else join for at, join in enumerate(joins)]
    joins = [join.within(budget) for join in joins]
    sums = sums_of(joins, fronts, budget)
    known = _known(joins)
    starts = [tuple(plan.tree for plan in best_of(sums, limits).plans)]
    if start is not None:
        starts.append(tuple(start))
    if _in_common(known):
        starts.append(_in_turn(joins, limits, fronts, known))
    found = min(
        (_improved(joins, limits, trees, fronts, known, budget) for trees in dict.fromkeys(starts)),
        key=lambda one: worth(joins, one, limits),
    )
    missing = None if holds(joins, limits, found) else _missing(joins, fronts, sums, limits, budget)
    return Divided(found, limits, missing, budget.is_cut, frozenset(joins[at].name for at in beyond))


# -- each for itself --------------------------------------------------------------------------------------------------


def _fronts(joins: Sequence[Member], limits: Limits, start: Sequence[JTree] | None, budget: Budget) -> list[list[Plan]]:
    """Of each join the plans to choose from, all with the same part of the budget, and what those before have left."""
    found = []
    reserve = budget.left * (1 - _EACH)
    for at, join in enumerate(joins):
        share = budget.part(share_of(budget.left, reserve, len(joins) - at))
        now = None if start is None else start[at]
        if now is not None and share.is_spent:
            found.append([planned(join.model, now)])
        else:
            found.append(_front(join.within(share), limits, now))
        budget.is_cut = budget.is_cut or share.is_cut
    return found


def share_of(left: float, reserve: float, joins: int) -> float:
    """What the next one of some joins gets of what is left, so that a reserve stays.

    >>> share_of(1000.0, 500.0, 5), share_of(900.0, 500.0, 4), share_of(990.0, 500.0, 4), share_of(400.0, 500.0, 1)
    (100.0, 100.0, 122.5, 0.0)
    >>> share_of(math.inf, math.inf, 2)
    inf
    """
    return math.inf if math.isinf(left) else max(0.0, left - reserve) / joins


def _front(join: Member, limits: Limits, now: JTree | None) -> list[Plan]:
    if join.tree is not None:
        return [Plan(join.tree, join.model.of(join.tree))]
    # what does not fit alone fits with nobody
    allowed = join.own.within(limits)
    found = front_of(join.model, allowed)
    if now is not None and join.model.budget.is_cut:
        at_work = planned(join.model, now)
        found = unbeaten([*found, at_work]) if allowed.allow(at_work.used) else found
    if found:
        return found
    if len(join.model.graph.inputs) > FEW_INPUTS:  # it looks where the ways of a front do not lead
        further = find_plan(join.model, allowed).plan
        if further is not None:
            return [further]
    every = front_of(join.model, Limits())
    fitting = [plan for plan in every if join.own.allow(plan.used)]
    if not fitting and len(join.model.graph.inputs) > FEW_INPUTS:
        further = find_plan(join.model, join.own).plan
        fitting = [] if further is None else [further]
    return fitting or list(every)


def _beyond(
    joins: Sequence[Member], fronts: Sequence[Sequence[Plan]], start: Sequence[JTree] | None
) -> dict[int, Plan]:
    """The joins of which no plan fits into their own limits, with the one that exceeds these least."""
    found = {}
    for at, (join, front) in enumerate(zip(joins, fronts, strict=True)):
        if any(join.own.allow(plan.used) for plan in front):
            continue
        plans = front if start is None or join.tree is not None else [*front, planned(join.model, start[at])]
        nearest = min(plans, key=lambda plan: (join.own.strain(plan.used), plan.cpu))
        if not join.own.allow(nearest.used):
            found[at] = nearest
    return found


# -- with states in common --------------------------------------------------------------------------------------------


def _known(joins: Sequence[Member]) -> list[dict[int, Hashable]]:
    """By join, the sets that others could have, too."""
    sets = [join.sets() if len(joins) > 1 and join.tree is None else [] for join in joins]
    return [
        {mask: key for mask in some if (key := join.key(mask)) is not None}
        for join, some in zip(joins, sets, strict=True)
    ]


def _in_turn(
    joins: Sequence[Member],
    limits: Limits,
    fronts: Sequence[Sequence[Plan]],
    known: Sequence[Mapping[int, Hashable]],
) -> tuple[JTree, ...]:
    """Each join by what is best beside what those before it keep."""
    trees: list[JTree] = []
    taking = Taking()
    for join, front, sets in zip(joins, fronts, known, strict=True):
        found = list(front)
        if join.tree is None and not join.model.budget.is_spent:
            free = frozenset(mask for mask, key in sets.items() if key in taking.kept)
            beside = front_of(join.model.sharing(free), limits.left(taking.used))
            found = [plan for plan in beside if join.may_run_by(plan.tree)] or found
        trees.append(found[-1].tree)
        taking.add(join, trees[-1])
    return tuple(trees)


def _improved(
    joins: Sequence[Member],
    limits: Limits,
    trees: Sequence[JTree],
    fronts: Sequence[Sequence[Plan]],
    known: Sequence[Mapping[int, Hashable]],
    budget: Budget,
) -> Division:
    best = used_by(joins, trees)
    for _ in range(_ROUNDS):
        before = best
        for at in range(len(joins)):
            if known[at] and not budget.is_spent:
                best = _chosen_anew(joins, limits, best, at, fronts[at], known[at])
        for masks in _in_common(known):
            if budget.is_spent:
                return best
            trees = [
                joins[at].storing_also(tree, masks[at]) if at in masks else tree for at, tree in enumerate(best.trees)
            ]
            best = min(best, used_by(joins, trees), key=lambda one: worth(joins, one, limits))
        if best is before:
            break
    return best


def _chosen_anew(
    joins: Sequence[Member],
    limits: Limits,
    division: Division,
    at: int,
    front: Sequence[Plan],
    known: Mapping[int, Hashable],
) -> Division:
    """One join by the plan that is best beside what the others keep."""
    join = joins[at]
    others = Taking([*joins[:at], *joins[at + 1 :]], [*division.trees[:at], *division.trees[at + 1 :]])
    free = frozenset(mask for mask, key in known.items() if key in others.kept)
    joined = sorted((mask for mask in free if mask & (mask - 1)), key=int.bit_count, reverse=True)
    if not joined:
        return division  # nothing but inputs: it has chosen by these
    found = division

    def tried(tree: JTree) -> Division:
        beside = used_by(joins, (*found.trees[:at], tree, *found.trees[at + 1 :]))
        return min(found, beside, key=lambda one: worth(joins, one, limits))

    plans = front_of(join.model.sharing(free), limits.left(others.used))
    # what is free to keep may be beyond its own limits: then it is one of those that fit alone
    for tree in dict.fromkeys(plan.tree for plan in (*plans, *front)):
        if join.model.budget.is_spent:
            return found
        if join.may_run_by(tree):
            found = tried(tree)
    for mask in joined:
        if join.model.budget.is_spent:
            return found
        found = tried(join.storing_also(found.trees[at], mask))
    return found


def _in_common(known: Sequence[Mapping[int, Hashable]]) -> list[dict[int, int]]:
    """By join, the joined sets that two of them have, larger ones last."""
    found: dict[Hashable, dict[int, int]] = {}
    for at, some in enumerate(known):
        for mask, key in some.items():
            if mask & (mask - 1):
                found.setdefault(key, {}).setdefault(at, mask)
    several = [masks for masks in found.values() if len(masks) > 1]
    return sorted(several, key=lambda masks: next(iter(masks.values())).bit_count())[:_MOST_COMMON]


# -- what is missing --------------------------------------------------------------------------------------------------


def _missing(
    joins: Sequence[Member], fronts: Sequence[Sequence[Plan]], sums: Sequence[Sum], limits: Limits, budget: Budget
) -> Missing:
    """What is told would do, whether states in common help or not."""
    in_memory = [one.used.cpu for one in sums if limits.holds(one.used.memory)]
    in_time = [one.used.memory for one in sums if limits.allow(one.used.with_memory(0.0))]
    without = []
    for at, join in enumerate(joins):
        if len(joins) == 1 or budget.is_spent:
            break
        rest = sums_of([*joins[:at], *joins[at + 1 :]], [*fronts[:at], *fronts[at + 1 :]], budget)
        if any(limits.allow(one.used) for one in rest):
            without.append(join.name)
    return Missing(min(in_memory, default=None), min(in_time, default=None), tuple(without))
