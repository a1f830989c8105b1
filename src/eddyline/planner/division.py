"""Several joins within limits that hold for all of them together: who gets how much of the memory there is.

Each join has a front of plans (`front.py`), of which more memory buys less processor time. The sums of one plan of each
are made join by join, and of these only those are kept that no other sum beats in both resources: what a join adds does
not depend on what the others have chosen. So of all combinations the qualified one with the least processor time is
found, which is the one that gives memory where it saves most. Inputs that several joins read are counted once.

Joined sets that several joins could store are another matter: the second one has them for nothing. So from that
combination on, each join in turn chooses anew, with what the others keep as free, and each joined set that two of them
have is tried in all that have it at once, as long as the whole becomes better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from eddyline.planner.choice import FEW_INPUTS, choose
from eddyline.planner.cost import Limits, Model, Resources
from eddyline.planner.front import Storing, front_of
from eddyline.planner.plan import Plan, planned
from eddyline.planner.tree import JTree, node

#: so many sums are kept for each join that is added: beyond that, neighbours are left out
_MOST_SUMS = 300
#: how often each join chooses anew, at most, and how many common sets are tried
_ROUNDS, _MOST_COMMON = 3, 40

NOTHING = Resources(0.0, 0.0)
#: where nothing is left
_LITTLE = 1e-9


@dataclass(frozen=True)
class Member:
    """A join among others. `key` tells which sets of inputs, joined, are the same as those of another join."""

    name: str
    model: Model
    own: Limits = field(default_factory=Limits)
    tree: JTree | None = None  # if it runs by this tree, whatever the others do
    storing: Storing = lambda tree: tree
    key: Callable[[int], Hashable | None] = lambda mask: None
    more: tuple[int, ...] = ()  # sets of which somebody knows that others have them

    def keys(self, tree: JTree) -> dict[int, Hashable]:
        """What a tree keeps that others may keep as well, inputs among it."""
        found = {one.mask: self.key(one.mask) for one in Model.kept(self.model, tree)}
        return {mask: key for mask, key in found.items() if key is not None}

    def free(self, kept: Iterable[Hashable], masks: Iterable[int]) -> frozenset[int]:
        """Those of some sets that others keep."""
        known = set(kept)
        return frozenset(mask for mask in masks if (key := self.key(mask)) is not None and key in known)

    def sets(self) -> list[int]:
        """The sets of its inputs that are worth asking about: all of few inputs, pairs of many, and the inputs."""
        many = len(self.model.graph.inputs)
        largest = many - 1 if many <= FEW_INPUTS else 2
        found = [1 << at for at in range(many)]
        for size in range(2, largest + 1):
            masks = (sum(1 << at for at in some) for some in combinations(range(many), size))
            found += [mask for mask in masks if self._is_connected(mask)]
        return list(dict.fromkeys((*found, *self.more)))

    def _is_connected(self, mask: int) -> bool:
        reached = mask & -mask
        while more := self.model.graph.neighbours(reached) & mask:
            reached |= more
        return reached == mask


@dataclass(frozen=True)
class Division:
    """A tree for each join, what each takes beside those before it, and what they take together."""

    trees: tuple[JTree, ...]
    parts: tuple[Resources, ...]

    @property
    def used(self) -> Resources:
        return sum(self.parts, NOTHING)


@dataclass(frozen=True)
class Missing:
    """If no combination fits: what would. None where that would not do alone."""

    cpu_limit: float | None  # with memory as it is
    memory_limit: float | None  # with the processor as it is
    without: tuple[str, ...]  # any one of these queries left out, the others fit


@dataclass(frozen=True)
class Divided:
    """The division, whether it fits, and what is missing if it does not."""

    division: Division
    limits: Limits
    missing: Missing | None = None


def divide(joins: Sequence[Member], limits: Limits, start: Sequence[JTree] | None = None) -> Divided:
    """The best division that is found; `start` is one that there is, from which on it is tried as well."""
    fronts = [_front(join, limits) for join in joins]
    sums = _sums(joins, fronts)
    known = _known(joins)
    starts = [tuple(plan.tree for plan in _best(sums, limits).plans)]
    if start is not None:
        starts.append(tuple(start))
    if _in_common(known):
        starts.append(_in_turn(joins, limits, fronts, known))
    found = min(
        (_improved(joins, limits, trees, known) for trees in dict.fromkeys(starts)),
        key=lambda one: worth(joins, one, limits),
    )
    fits = limits.allow(found.used) and _own_hold(joins, found)
    return Divided(found, limits, None if fits else _missing(joins, fronts, sums, limits))


def used_by(joins: Sequence[Member], trees: Sequence[JTree]) -> Division:
    """What trees take together: what several keep is counted once, with the first of them."""
    kept: set[Hashable] = set()
    parts = []
    for join, tree in zip(joins, trees, strict=True):
        masks = [one.mask for one in Model.kept(join.model, tree)]
        parts.append(join.model.sharing(join.free(kept, masks)).of(tree))
        kept.update(join.keys(tree).values())
    return Division(tuple(trees), tuple(parts))


# -- without states in common -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sum:
    """One plan of each of some joins."""

    used: Resources
    plans: tuple[Plan, ...]


def _front(join: Member, limits: Limits) -> list[Plan]:
    if join.tree is not None:
        return [Plan(join.tree, join.model.of(join.tree))]
    # what does not fit alone fits with nobody
    allowed = join.own.within(limits)
    found = front_of(join.model, allowed, join.storing)
    if found:
        return found
    further = choose(join.model, allowed).plan  # of many inputs: it looks where the ways of a front do not lead
    if further is not None and allowed.allow((plan := planned(join.model, join.storing(further.tree))).used):
        return [plan]
    every = front_of(join.model, Limits(), join.storing)
    fitting = [plan for plan in every if join.own.allow(plan.used)]
    return fitting or [min(every, key=lambda plan: (join.own.strain(plan.used), plan.cpu))]


def _sums(joins: Sequence[Member], fronts: Sequence[Sequence[Plan]]) -> list[_Sum]:
    """All sums that no other beats, by rising memory; what the inputs take that several read is counted once."""
    found = [_Sum(NOTHING, ())]
    known: set[Hashable] = set()
    for join, front in zip(joins, fronts, strict=True):
        inputs = [1 << at for at in range(len(join.model.graph.inputs))]
        shared = join.free(known, inputs)
        spared = Resources(
            math.fsum(join.model.upkeep(mask) for mask in shared), math.fsum(join.model.state(mask) for mask in shared)
        )
        known.update(key for mask in inputs if (key := join.key(mask)) is not None)
        made = (_Sum(one.used + plan.used - spared, (*one.plans, plan)) for one in found for plan in front)
        kept: list[_Sum] = []
        for one in sorted(made, key=lambda one: (one.used.memory, one.used.cpu)):
            if not kept or one.used.cpu < kept[-1].used.cpu:
                kept.append(one)
        found = _thinned(kept)
    return found


def _thinned(sums: list[_Sum]) -> list[_Sum]:
    """Not too many; the first and the last, which need least of one resource, stay."""
    if len(sums) <= _MOST_SUMS:
        return sums
    step = (len(sums) - 1) / (_MOST_SUMS - 1)
    return [sums[round(at * step)] for at in range(_MOST_SUMS)]


def _best(sums: Sequence[_Sum], limits: Limits) -> _Sum:
    """The qualified one with the least processor time, or the nearest."""
    fitting = [one for one in sums if limits.allow(one.used)]
    if fitting:
        return min(fitting, key=lambda one: one.used.cpu)
    return min(sums, key=lambda one: (limits.strain(one.used), one.used.cpu))


# -- with states in common --------------------------------------------------------------------------------------------


def _own_hold(joins: Sequence[Member], division: Division) -> bool:
    return all(join.own.allow(used) for join, used in zip(joins, division.parts, strict=True))


def worth(joins: Sequence[Member], division: Division, limits: Limits) -> tuple[float, float]:
    """Of two divisions the one that is smaller is better: what exceeds limits, and how far; then processor time."""
    strains = [limits.strain(division.used), *(j.own.strain(p) for j, p in zip(joins, division.parts, strict=True))]
    strain = max(strains)
    return (strain if strain > 1 + 1e-9 else 1.0), division.used.cpu


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
    for at, join in enumerate(joins):
        before = joins[:at]
        kept = {key for one, tree in zip(before, trees, strict=True) for key in one.keys(tree).values()}
        free = frozenset(mask for mask, key in known[at].items() if key in kept)
        left = _left(limits, used_by(before, trees).used)
        found = [] if join.tree is not None else front_of(join.model.sharing(free), join.own.within(left), join.storing)
        trees.append((found or fronts[at])[-1].tree if found or join.tree is None else join.tree)
    return tuple(trees)


def _left(limits: Limits, taken: Resources) -> Limits:
    """What is left of limits; next to nothing if nothing is."""
    cpu, memory = limits.cpu - taken.cpu, limits.memory - taken.memory
    return Limits(max(cpu, limits.cpu * 1e-6, _LITTLE), max(memory, limits.memory * 1e-6, _LITTLE))


def _improved(
    joins: Sequence[Member], limits: Limits, trees: Sequence[JTree], known: Sequence[Mapping[int, Hashable]]
) -> Division:
    best = used_by(joins, trees)
    for _ in range(_ROUNDS):
        before = best
        for at in range(len(joins)):
            if known[at]:
                best = _chosen_anew(joins, limits, best, at, known[at])
        for masks in _in_common(known):
            trees = [
                _storing_also(joins[at], tree, masks[at]) if at in masks else tree for at, tree in enumerate(best.trees)
            ]
            best = min(best, used_by(joins, trees), key=lambda one: worth(joins, one, limits))
        if best is before:
            break
    return best


def _chosen_anew(
    joins: Sequence[Member], limits: Limits, division: Division, at: int, known: Mapping[int, Hashable]
) -> Division:
    """One join by the plan that is best beside what the others keep."""
    join = joins[at]
    others = [one for number, one in enumerate(joins) if number != at]
    trees = [tree for number, tree in enumerate(division.trees) if number != at]
    kept = {key for one, tree in zip(others, trees, strict=True) for key in one.keys(tree).values()}
    free = frozenset(mask for mask, key in known.items() if key in kept)
    if not any(mask & (mask - 1) for mask in free):
        return division  # nothing but inputs: it has chosen by these
    left = _left(limits, used_by(others, trees).used)
    found = division
    for plan in front_of(join.model.sharing(free), join.own.within(left), join.storing):
        tried = used_by(joins, (*division.trees[:at], plan.tree, *division.trees[at + 1 :]))
        found = min(found, tried, key=lambda one: worth(joins, one, limits))
    for mask in sorted((mask for mask in free if mask & (mask - 1)), key=int.bit_count, reverse=True):
        tree = _storing_also(join, found.trees[at], mask)
        tried = used_by(joins, (*found.trees[:at], tree, *found.trees[at + 1 :]))
        found = min(found, tried, key=lambda one: worth(joins, one, limits))
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


def _storing_also(join: Member, tree: JTree, mask: int) -> JTree:
    """A tree that stores one state more; what stands across it is stored no longer."""
    return join.storing(with_state(tree, mask))


def with_state(tree: JTree, mask: int) -> JTree:
    """
    >>> from eddyline.planner.tree import tree_of
    >>> with_state(tree_of(((0, 1), 2, 3)), 0b110) == tree_of((0, (1, 2), 3))
    True
    """
    for state in tree.states():
        if state & mask and state & ~mask and mask & ~state:
            tree = tree.without(state)
    holding = min((one for one in tree.nodes() if one.mask & mask == mask), key=lambda one: one.mask.bit_count())
    if holding.mask == mask:
        return tree
    inside = [child for child in holding.children if child.mask & mask]
    outside = [child for child in holding.children if not child.mask & mask]
    return tree.replaced(holding.mask, node([*outside, node(inside)]))


# -- what is missing --------------------------------------------------------------------------------------------------


def _missing(
    joins: Sequence[Member], fronts: Sequence[Sequence[Plan]], sums: Sequence[_Sum], limits: Limits
) -> Missing:
    """What is told would do, whether states in common help or not."""
    in_memory = [one.used.cpu for one in sums if limits.holds(one.used.memory)]
    in_time = [one.used.memory for one in sums if limits.allow(one.used.with_memory(0.0))]
    without = []
    for at, join in enumerate(joins):
        rest = [(one, front) for number, (one, front) in enumerate(zip(joins, fronts, strict=True)) if number != at]
        left = _sums([one for one, _ in rest], [front for _, front in rest])
        if rest and any(limits.allow(one.used) for one in left):
            without.append(join.name)
    return Missing(min(in_memory, default=None), min(in_time, default=None), tuple(without))
