"""Where memory can be traded for processor time (the multi-join paper, section 2.4).

Storing an intermediate result always takes memory. It saves processor time only if to compute it again for every tuple
that needs it costs more than to keep it up to date: only then do the two resources pull in opposite directions. Of (A ⋈
B) ⋈ C beside the mjoin over the line A - B - C, it is so if λ_C·|S_B|·σ_BC·C_j > λ_AB·(C_i + C_d), as long as tuples of
B probe A first (|S_A|·σ_AB ≤ |S_C|·σ_BC), no cross product is cheaper than a join, all pairs are found by keys, and
batches have no prices of their own. If tuples of B had better begin with C, the mjoin costs less than that says;
`trade_of`, which computes both trees, is what tells.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.errors import InvalidDefinition
from eddyline.planner.cost import Model
from eddyline.planner.tree import JTree


@dataclass(frozen=True)
class Trade:
    """What a stored state does to the resources of a tree, beside the tree that does not store it."""

    state: int
    memory: float  # that it takes
    upkeep: float  # of the processor, to insert and purge
    recomputing: float  # of the processor, that it saves elsewhere; below 0 if it is even in the way

    @property
    def saved(self) -> float:
        """Of the processor, all in all."""
        return self.recomputing - self.upkeep

    @property
    def is_negative_correlation(self) -> bool:
        """Whether more memory means less processor time."""
        return self.saved > 0


def trade_of(model: Model, tree: JTree, state: int) -> Trade:
    """What a tree gains and pays by storing a state."""
    if state not in tree.states():
        raise InvalidDefinition(f"the tree does not store {model.graph.names(state)}")
    saved = model.of(tree.without(state)).cpu - model.of(tree).cpu
    upkeep = model.upkeep(state)
    return Trade(state, model.graph.state(state), upkeep, saved + upkeep)


def is_negatively_correlated(model: Model, tree: JTree) -> bool:
    """Whether a tree has a state that pays: only then is it worth to look beyond the mjoin."""
    return any(trade_of(model, tree, state).is_negative_correlation for state in tree.states())
