"""State removal: from the bjtree on, do without the states that save least for their size (algorithm 4 of the paper).

As long as the plan is not qualified: the state whose removal costs least processor time for the memory that it gives
back is not stored any more, its node becomes part of the one above. A state that costs more than it saves goes first.
At the end of the way stands the mjoin.
"""

from __future__ import annotations

from eddyline.planner.bjtree import find_bjtree
from eddyline.planner.cost import Limits, Model
from eddyline.planner.plan import Plan, planned


def remove_states(model: Model, limits: Limits, bjtree: Plan | None = None) -> list[Plan]:
    """The plans on the way, from the bjtree on; the last one is the result, which may not be qualified."""
    way = [find_bjtree(model) if bjtree is None else bjtree]
    while not limits.allow(way[-1].used) and (states := way[-1].tree.states()):
        plan = way[-1]
        without = {}
        for state in states:
            if model.budget.is_spent:
                return way
            without[state] = planned(model, plan.tree.without(state))
        ratios = {state: (other.cpu - plan.cpu) / model.graph.state(state) for state, other in without.items()}
        way.append(without[min(ratios, key=lambda state: ratios[state])])
    return way
