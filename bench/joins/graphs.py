"""Random joins, and limits within which a plan is known to exist."""

from __future__ import annotations

import math
from random import Random

from eddyline.planner.bjtree import find_bjtree
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.finder import find_jtrees
from eddyline.planner.graph import Input
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.plan import Plan, planned
from eddyline.planner.shapes import CLIQUE, made

#: about what inserting, purging and joining take in compiled code, in seconds; only their ratios matter here
COSTS = Costs(insert=1e-6, purge=5e-7, join=1e-6)

#: the paper's four settings (its section 4.1): which of the two ends is qualified
BOTH, CPU_TIGHT, MEMORY_TIGHT, BOTH_TIGHT = "both qualify", "cpu tight", "memory tight", "only a jtree"


def random_model(rng: Random, number: int, shape: str) -> Model:
    """Rates from 1 to 100 tuples/s, windows from 1 to 100 s, and 0.3 to 4 partners with each neighbour."""
    inputs = [Input.windowed(f"S{at}", _between(rng, 1, 100), _between(rng, 1, 100)) for at in range(number)]

    def selectivity(one: int, other: int) -> float:
        found = _between(rng, 0.3, 4.0) / math.sqrt(inputs[one].size * inputs[other].size)
        if shape == CLIQUE:  # all pairs together are to be as selective as those of a line
            found **= 2 / number
        return min(found, 1.0)

    return Model(made(shape, inputs, selectivity), COSTS)


def _between(rng: Random, least: float, most: float) -> float:
    return least * math.exp(rng.random() * math.log(most / least))


def exact_limits(rng: Random, model: Model) -> tuple[Limits, list[Plan]]:
    """Limits that some plan keeps, with little or no room beside it, and the plans that no other beats."""
    best = list(find_jtrees(model, Limits()))
    return _with_room(rng, rng.choice(best)), best


def witnessed_limits(rng: Random, model: Model) -> Limits:
    """For more inputs than can be searched: those of the bjtree without some of its states, so one plan is known."""
    tree = find_bjtree(model).tree
    states = tree.states()
    for state in rng.sample(states, rng.randrange(len(states))):
        tree = tree.without(state)
    return _with_room(rng, planned(model, tree))


def _with_room(rng: Random, plan: Plan) -> Limits:
    return Limits(plan.cpu * rng.choice((1.0, 1.05, 1.2)), plan.memory * rng.choice((1.0, 1.05, 1.2)))


def setting_of(model: Model, limits: Limits) -> str:
    """Which of the paper's settings these limits are."""
    mjoin, bjtree = (limits.allow(find(model).used) for find in (find_mjoin, find_bjtree))
    if mjoin and bjtree:
        return BOTH
    if mjoin:
        return MEMORY_TIGHT
    return CPU_TIGHT if bjtree else BOTH_TIGHT
