"""Which states of a tree to store: all choices at once.

To do without one state after the other (`state_removal.py`) may lead away from a choice that fits. What a node costs
depends on the sets that its children join, and on nothing else. So of all choices below a node only those count that no
other beats in both resources, for each way in which it may stand below the node above: as a state of its own, or as the
parts that it would join, which are then parts of that one. A chain of states has few such ways, however long it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eddyline.planner.cost import Limits, Model, Resources
from eddyline.planner.graph import members
from eddyline.planner.plan import Plan, planned
from eddyline.planner.tree import JTree, node

#: steps of a budget that it takes to put two choices together
_TWO = 0.3


@dataclass(frozen=True)
class _Choice:
    """What it takes to have some parts below a node, and the parts."""

    cpu: float
    memory: float
    parts: tuple[JTree, ...]


#: by the sets that the parts join, the choices that no other beats
_Choices = Mapping[tuple[int, ...], list[_Choice]]


def choose_states(model: Model, limits: Limits, tree: JTree) -> list[Plan]:
    """The trees that store some of a tree's states and fit: those that no other beats, by rising memory.

    Some are missing if the budget was spent.
    """
    return _Search(model, limits, tree.mask).of(tree)


class _Search:
    def __init__(self, model: Model, limits: Limits, mask: int) -> None:
        self._model, self._limits = model, limits
        self._inputs = math.fsum(model.state(1 << at) for at in members(mask))

    def of(self, tree: JTree) -> list[Plan]:
        found = []
        for sets, choices in self._inside(tree).items():
            whole = self._model.node(sets).cpu
            found += [_Choice(one.cpu + whole, one.memory, one.parts) for one in choices]
        plans = (planned(self._model, node(one.parts)) for one in self._unbeaten(found))
        return [plan for plan in plans if self._limits.allow(plan.used)]

    def _below(self, tree: JTree) -> _Choices:
        """The ways in which a tree may stand below the node above."""
        itself = (tree.mask,)
        if tree.is_leaf:
            return {itself: [_Choice(0.0, 0.0, (tree,))]}
        inside = self._inside(tree)
        if not self._model.is_storable(tree.mask):
            return inside
        if tree.mask in self._model.free:
            return {**inside, itself: [_Choice(0.0, 0.0, (tree,))]}
        state, stored = self._model.state(tree.mask), []
        for sets, choices in inside.items():
            if self._model.budget.is_spent:
                break
            made = self._model.node(sets).cpu
            stored += [_Choice(one.cpu + made, one.memory + state, (node(one.parts),)) for one in choices]
        return {**inside, itself: kept} if (kept := self._unbeaten(stored)) else inside

    def _inside(self, tree: JTree) -> _Choices:
        """The parts that a tree may join: each of its children as one, or as the parts of that one."""
        found: _Choices = {(): [_Choice(0.0, 0.0, ())]}
        for child in tree.children:
            more = self._below(child)
            beside: dict[tuple[int, ...], list[_Choice]] = {}
            for sets, choices in found.items():
                for others, following in more.items():
                    self._model.budget.spend(_TWO * len(choices) * len(following))
                    if beside and self._model.budget.is_spent:
                        break
                    both = tuple(sorted((*sets, *others), key=lambda mask: mask & -mask))
                    beside.setdefault(both, []).extend(
                        _Choice(one.cpu + other.cpu, one.memory + other.memory, (*one.parts, *other.parts))
                        for one in choices
                        for other in following
                    )
            found = {sets: self._unbeaten(choices) for sets, choices in beside.items()}
        return found

    def _unbeaten(self, choices: Iterable[_Choice]) -> list[_Choice]:
        """Those that leave room for the inputs and that no other beats, by rising memory and falling processor time."""
        found: list[_Choice] = []
        for one in sorted(choices, key=lambda one: (one.memory, one.cpu)):
            used = Resources(one.cpu, one.memory + self._inputs)
            if self._limits.allow(used) and (not found or one.cpu < found[-1].cpu):
                found.append(one)
        return found
