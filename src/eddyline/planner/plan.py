"""A join tree with what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.planner.cost import Model, Resources
from eddyline.planner.tree import JTree


@dataclass(frozen=True)
class Plan:
    """A tree and what it needs of both resources; the orders of its probes are the model's."""

    tree: JTree
    used: Resources

    @property
    def cpu(self) -> float:
        return self.used.cpu

    @property
    def memory(self) -> float:
        return self.used.memory


def planned(model: Model, tree: JTree) -> Plan:
    """A tree, without states that cannot be stored."""
    tree = model.storing(tree)
    return Plan(tree, model.of(tree))
