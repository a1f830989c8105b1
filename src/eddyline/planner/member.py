"""A join among others, what several of them take together, and whether that fits.

What several joins keep, inputs or joined sets of them, is counted once among the limits that hold for all. The limits
that a query has for itself are another matter: they count all that its tree needs, whoever else keeps it, so that they
mean the same whatever other queries there are, and in whatever order they came.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from eddyline.planner.budget import Budget
from eddyline.planner.cost import Limits, Model, Resources
from eddyline.planner.finder import FEW_INPUTS
from eddyline.planner.tree import JTree, with_state

NOTHING = Resources(0.0, 0.0)


@dataclass(frozen=True)
class Member:
    """A join among others. `key` tells which sets of inputs, joined, are the same as those of another join."""

    name: str
    model: Model
    own: Limits = field(default_factory=Limits)  # that hold for all that its tree needs
    tree: JTree | None = None  # if it runs by this tree, whatever the others do
    key: Callable[[int], Hashable | None] = lambda mask: None
    more: tuple[int, ...] = ()  # sets of which somebody knows that others have them

    def __post_init__(self) -> None:
        """What a join reads twice, of a stream that is joined with itself, is kept once."""
        twice = read_twice(self.key, len(self.model.graph.inputs))
        if not twice <= self.model.free:
            object.__setattr__(self, "model", self.model.sharing(twice))

    def within(self, budget: Budget) -> Member:
        return replace(self, model=self.model.within(budget))

    def settled(self, tree: JTree) -> Member:
        """By this tree, whatever its own limits say."""
        return replace(self, own=_UNLIMITED, tree=tree)

    def free(self, kept: Collection[Hashable], masks: Iterable[int]) -> frozenset[int]:
        """Those of some sets that others keep."""
        return frozenset(mask for mask in masks if (key := self.key(mask)) is not None and key in kept)

    def needs(self, tree: JTree) -> Resources:
        """What a tree needs, whoever else keeps some of it."""
        return self.model.of(tree)

    def strain(self, tree: JTree) -> float:
        """How much of its own limits a tree needs; above 1 it does not fit into these."""
        return 0.0 if self.own == _UNLIMITED else self.own.strain(self.needs(tree))

    def may_run_by(self, tree: JTree) -> bool:
        return self.own == _UNLIMITED or self.own.allow(self.needs(tree))

    def storing_also(self, tree: JTree, mask: int) -> JTree:
        """A tree that stores one state more; what stands across it is stored no longer."""
        return self.model.storing(with_state(tree, mask))

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


def read_twice(key: Callable[[int], Hashable | None], inputs: int) -> frozenset[int]:
    """The inputs of a join that are the same as one before them.

    >>> read_twice({1: "s", 2: "s", 4: "r", 8: None, 16: None}.get, 5)
    frozenset({2})
    """
    seen: set[Hashable] = set()
    found = []
    for at in range(inputs):
        what = key(1 << at)
        if what is not None and what in seen:
            found.append(1 << at)
        seen.add(what)
    return frozenset(found)


_UNLIMITED = Limits()
#: steps of a budget that it takes to see what a tree has in common with others
_STEPS_FOR_KEYS = 4.0


@dataclass(frozen=True)
class Division:
    """A tree for each join, what each takes beside those before it, and what they take together."""

    trees: tuple[JTree, ...]
    parts: tuple[Resources, ...]

    @property
    def used(self) -> Resources:
        return sum(self.parts, NOTHING)


class Taking:
    """Joins one after the other: what each takes beside those before it, and what they keep, inputs among it.

    What several keep is counted once, with the first of them, and made as that one makes it: of what the others have
    below it, nothing is kept for them.
    """

    def __init__(self, joins: Iterable[Member] = (), trees: Iterable[JTree] = ()) -> None:
        self.kept: set[Hashable] = set()
        self.parts: list[Resources] = []
        self.used = NOTHING
        for join, tree in zip(joins, trees, strict=True):
            self.add(join, tree)

    def add(self, join: Member, tree: JTree) -> None:
        masks = [one.mask for one in join.model.kept(tree)]
        free = join.free(self.kept, masks)
        beside = join.model.sharing(free | self._again(join, [mask for mask in masks if mask not in free]))
        self.parts.append(beside.of(tree))
        self.used += self.parts[-1]
        keys = (join.key(one.mask) for one in beside.kept(tree))
        self.kept.update(key for key in keys if key is not None)
        join.model.budget.spend(_STEPS_FOR_KEYS)

    def _again(self, join: Member, masks: Iterable[int]) -> frozenset[int]:
        """The states of one tree that are the same as another one of it: these are kept once, too."""
        seen: set[Hashable] = set()
        found: list[int] = []
        for mask in masks:
            key = join.key(mask) if mask & (mask - 1) else None
            if key is None or any(not mask & ~other for other in found):
                continue
            if key in seen:
                found.append(mask)
            seen.add(key)
        return frozenset(found)


def used_by(joins: Sequence[Member], trees: Sequence[JTree]) -> Division:
    """What trees take together."""
    return Division(tuple(trees), tuple(Taking(joins, trees).parts))


def holds(joins: Sequence[Member], limits: Limits, division: Division) -> bool:
    """Whether all fit together, and each into its own limits."""
    own = all(join.may_run_by(tree) for join, tree in zip(joins, division.trees, strict=True))
    return own and limits.allow(division.used)


def worth(joins: Sequence[Member], division: Division, limits: Limits) -> tuple[float, float]:
    """Of two divisions the one that is smaller is better: what exceeds limits, and how far; then processor time."""
    own = [join.strain(tree) for join, tree in zip(joins, division.trees, strict=True)]
    strain = max([limits.strain(division.used), *own])
    return (strain if strain > 1 + 1e-9 else 1.0), division.used.cpu
