"""State exchange: from the nearest plan on, store one state more or one less, whichever comes nearest to the limits.

State selection only ever adds and state removal only ever takes away, so neither gives a state up for a better one.
This is not in the paper; it is what is tried for many inputs, where JTree-Finder is out of reach, before saying that
nothing was found.
"""

from __future__ import annotations

from collections.abc import Iterator

from eddyline.planner.cost import Limits, Model
from eddyline.planner.plan import Plan, planned
from eddyline.planner.state_selection import candidates
from eddyline.planner.tree import JTree, node


def exchange_states(model: Model, limits: Limits, start: Plan) -> list[Plan]:
    """The plans on the way, at most two for every input; the last one is the result, which may not be qualified."""
    way = [start]
    for _ in range(2 * len(model.graph.inputs)):
        if limits.allow(way[-1].used):
            break
        nearest = min(
            (planned(model, tree) for tree in _neighbours(model, way[-1].tree) if not model.budget.is_spent),
            key=lambda plan: _distance(limits, plan),
            default=way[-1],
        )
        if _distance(limits, nearest) >= _distance(limits, way[-1]):
            break
        way.append(nearest)
    return way


def _distance(limits: Limits, plan: Plan) -> tuple[float, float]:
    """How far a plan is from being qualified, by the resource that is exceeded more; then by both."""
    cpu, memory = max(plan.cpu / limits.cpu, 1.0), max(plan.memory / limits.memory, 1.0)
    return max(cpu, memory), cpu + memory


def _neighbours(model: Model, tree: JTree) -> Iterator[JTree]:
    for state in tree.states():
        yield tree.without(state)
    for each in tree.nodes():
        if len(each.children) > 2:
            for one, other in candidates(model, each):
                pair = node((each.children[one], each.children[other]))
                rest = (child for at, child in enumerate(each.children) if at not in (one, other))
                yield tree.replaced(each.mask, node((*rest, pair)))
