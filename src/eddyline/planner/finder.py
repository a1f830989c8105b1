"""JTree-Finder: dynamic programming over all partitions of all sets of inputs (the multi-join paper, algorithm 1).

What a sub-tree adds to a plan does not depend on the rest of it. So of all trees over a set only those matter that no
other beats in both resources, and of these only those that leave room for the rest: the states of all other inputs, the
upkeep of the set's own state and the joined tuples of the whole. A qualified plan is found exactly when there is one.
The paper, which weighs each sub-tree alone, stops at the first size at which none is qualified. With the room for the
rest counted that would be wrong: where no state fits, the mjoin may.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

from eddyline.errors import NotSupported
from eddyline.planner.cost import ROUNDING, Limits, Model, Resources
from eddyline.planner.graph import mask_of, members
from eddyline.planner.plan import Plan, planned
from eddyline.planner.tree import JTree, leaf, mjoin_of, node

#: up to so many inputs all join trees are weighed, in some hundredths of a second
FEW_INPUTS = 6
#: steps of a budget that it takes to see whether a part can be one
_STEPS_FOR_PART = 0.3


class OutOfTime(NotSupported):
    """There are more trees than could be looked at in the time that was given."""


@dataclass(frozen=True)
class _Sub:
    """A tree over a set of inputs: the processor time of its nodes, the memory of what stands below its root."""

    used: Resources
    tree: JTree


def find_jtrees(model: Model, limits: Limits, every: bool = False) -> tuple[Plan, ...]:
    """The qualified plans, those with the least processor time first; none if there is none.

    `every` gives all of them; otherwise only those that no other beats in both resources, which is much faster. Orders
    of probes are those of the model: a plan that fits only by orders that nobody runs by is of no use. Raises OutOfTime
    when the model's budget is spent.
    """
    search = _Search(model, limits, every)
    plans = [planned(model, sub.tree) for sub in search.qualified()]
    return tuple(sorted((p for p in plans if limits.allow(p.used)), key=lambda plan: (plan.cpu, plan.memory)))


class _Search:
    def __init__(self, model: Model, limits: Limits, every: bool) -> None:
        self._model = model
        self._graph = model.graph
        self._limits = limits
        self._every = every
        self._found: dict[int, list[_Sub]] = {
            1 << at: [_Sub(Resources(0.0, model.state(1 << at)), leaf(at))] for at in range(len(self._graph.inputs))
        }
        self._least = {mask: self._least_of(mask) for mask in self._found}
        self._answers = self._graph.rate(self._graph.all) * (model.costs.join + model.costs.answer)

    def qualified(self) -> list[_Sub]:
        for size in range(2, len(self._graph.inputs) + 1):
            for inputs in combinations(range(len(self._graph.inputs)), size):
                mask = mask_of(inputs)
                if kept := self._trees_over(mask):
                    self._found[mask] = kept
                    self._least[mask] = self._least_of(mask)
        return self._found.get(self._graph.all, [])

    def _least_of(self, mask: int) -> Resources:
        """What a part needs at least in any tree in which a node joins it: its trees' best, its state, its upkeep."""
        subs = self._found[mask]
        memory = min(sub.used.memory for sub in subs)
        if mask & (mask - 1):
            memory += self._model.state(mask)
        return Resources(min(sub.used.cpu for sub in subs) + self._model.upkeep(mask), memory)

    def _around(self, mask: int) -> Resources:
        """What any whole plan with a node over this set needs at least beside the node's own tree."""
        found = Resources(0.0, 0.0)
        for at in members(self._graph.all & ~mask):
            found += self._least[1 << at]
        if mask != self._graph.all:
            found += Resources(self._model.upkeep(mask) + self._answers, self._model.state(mask))
        return found

    def _allows(self, used: Resources) -> bool:
        return self._limits.allow(used, 2 * ROUNDING)  # the sums here are rounded in another order than a plan's

    def _trees_over(self, mask: int) -> list[_Sub]:
        if mask != self._graph.all:
            if not self._model.is_storable(mask):
                return []
            if mask in self._model.free:
                return [_Sub(Resources(0.0, 0.0), mjoin_of(mask))]  # however others make it
        around = self._around(mask)
        own = Resources(self._graph.rate(mask) * self._model.costs.join, 0.0)
        kept: list[_Sub] = []
        for parts in self._partitions(mask, mask, around + own):
            node_cpu = self._model.node(parts).cpu
            states = sum(self._model.state(part) for part in parts if part & (part - 1))
            for subs in product(*(self._found[part] for part in parts)):
                used = Resources(
                    node_cpu + sum(sub.used.cpu for sub in subs), states + sum(sub.used.memory for sub in subs)
                )
                self._model.budget.spend()
                if self._allows(used + around):
                    kept = self._with(kept, used, subs)
        return kept

    def _with(self, kept: list[_Sub], used: Resources, subs: tuple[_Sub, ...]) -> list[_Sub]:
        """One more tree, unless another beats it; without those that it beats."""
        if not self._every:
            if any(sub.used.cpu <= used.cpu and sub.used.memory <= used.memory for sub in kept):
                return kept
            kept = [sub for sub in kept if sub.used.cpu < used.cpu or sub.used.memory < used.memory]
        return [*kept, _Sub(used, node(sub.tree for sub in subs))]

    def _partitions(self, mask: int, left: int, least: Resources) -> Iterator[tuple[int, ...]]:
        """The ways to cut `left` into parts that have trees, as long as a plan with them can still fit."""
        if not left:
            yield ()
            return
        lowest = left & -left
        rest = left ^ lowest
        some = rest
        while True:
            self._model.budget.spend(_STEPS_FOR_PART)
            if self._model.budget.is_spent:
                raise OutOfTime(f"{len(self._graph.inputs)} inputs have too many join trees to look at all of them")
            part = some | lowest
            if part != mask and part in self._found:
                with_part = least + self._least[part]
                if self._allows(with_part):
                    for others in self._partitions(mask, left ^ part, with_part):
                        yield (part, *others)
            if not some:
                return
            some = (some - 1) & rest
