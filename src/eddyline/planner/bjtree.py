"""The plan with binary nodes only: every intermediate result is stored and nothing is computed twice.

In a binary tree a node costs the processor rate(V)·C_j, whatever is below, and every state rate(V)·(C_i + C_d). For few
inputs dynamic programming over subsets finds the best tree, bushy ones among them, in O(3ⁿ). For many, the pair that
costs least is joined first, and so on (O(n² log n)); or, if one of those is better, the trees that follow one of the
mjoin's orders, and those that begin with a pair and take the input next that costs least (O(n³)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import chain, combinations

from eddyline.planner.cost import Model
from eddyline.planner.graph import members
from eddyline.planner.plan import Plan, planned
from eddyline.planner.tree import JTree, leaf, mjoin_of, node

#: up to so many inputs the best tree is found
EXACT_INPUTS = 7
#: with as many pairs for each input trees are begun
_PAIRS_FOR_EACH = 2


def find_bjtree(model: Model, exact_inputs: int = EXACT_INPUTS) -> Plan:
    """The binary tree with the least processor time, or one that is near it."""
    if len(model.graph.inputs) <= exact_inputs and not model.budget.is_spent:
        return planned(model, _best(model))
    plans = [planned(model, _cheapest_pairs(model))]
    for tree in chain(_along_orders(model), _one_by_one(model)):
        if model.budget.is_spent:
            break
        plans.append(planned(model, tree))
    return min(plans, key=lambda plan: (plan.cpu, plan.memory))


def _pair_cost(model: Model, left: JTree, right: JTree) -> float:
    """Of the processor, for a binary node and the states that it reads."""
    first, second = sorted((left.mask, right.mask), key=lambda mask: mask & -mask)
    return model.node((first, second)).cpu


def _best(model: Model) -> JTree:
    """Of those with the fewest states that cannot be stored, which are taken out, the one that costs least.

    What others keep costs nothing to make.
    """
    best: dict[int, tuple[int, float, JTree]] = {1 << at: (0, 0.0, leaf(at)) for at in range(len(model.graph.inputs))}
    for mask in range(1, model.graph.all + 1):
        if mask & (mask - 1) == 0:
            continue
        found: tuple[int, float, JTree] | None = None
        is_root = mask == model.graph.all  # which is made whoever stores the same
        unstored, kept = not is_root and not model.is_storable(mask), not is_root and mask in model.free
        for part in halves(mask):
            (left_not, left_cost, left), (right_not, right_cost, right) = best[part], best[mask ^ part]
            cost = 0.0 if kept else left_cost + right_cost + _pair_cost(model, left, right)
            lacking = left_not + right_not + unstored
            if found is None or (lacking, cost) < found[:2]:
                found = (lacking, cost, node((left, right)))
        assert found is not None
        best[mask] = found
    return best[model.graph.all][2]


def halves(mask: int) -> Iterator[int]:
    """The parts of a set that hold its first input, but not all of it: each way to cut it in two once.

    >>> [f"{half:b}" for half in halves(0b111)]
    ['101', '11', '1']
    """
    lowest = mask & -mask
    rest = mask ^ lowest
    some = (rest - 1) & rest
    while True:
        yield some | lowest
        if not some:
            return
        some = (some - 1) & rest


def _added(model: Model, left: JTree, right: JTree) -> float:
    """Of the processor, for a binary node and the state that it gives, which somebody above is going to read.

    What others keep is nothing to make; what cannot be stored comes last.
    """
    joined = left.mask | right.mask
    if joined != model.graph.all:
        if joined in model.free:
            return 0.0
        if not model.is_storable(joined):
            return math.inf
    own = _pair_cost(model, left, right) - model.upkeep(left.mask) - model.upkeep(right.mask)
    return own + model.upkeep(joined)


def _cheapest_pairs(model: Model) -> JTree:
    trees = {1 << at: leaf(at) for at in range(len(model.graph.inputs))}

    def weighed(left: JTree, right: JTree) -> tuple[float, int, int]:
        return _added(model, left, right), left.mask, right.mask

    pairs = [weighed(one, other) for one in trees.values() for other in trees.values() if one.mask < other.mask]
    heapify(pairs)
    while len(trees) > 1:
        _, one, other = heappop(pairs)
        if one in trees and other in trees:
            joined = node((trees.pop(one), trees.pop(other)))
            for tree in trees.values():
                heappush(pairs, weighed(tree, joined))
            trees[joined.mask] = joined
    return next(iter(trees.values()))


def _along_orders(model: Model) -> Iterator[JTree]:
    """For each input the tree that joins the others to it in the order in which the mjoin probes them."""
    inputs = mjoin_of(model.graph.all)
    for start, order in zip(members(model.graph.all), model.node(inputs.parts).orders, strict=True):
        tree = leaf(start)
        for at in order.probes:
            tree = node((tree, leaf(at)))
        yield tree


def _one_by_one(model: Model) -> Iterator[JTree]:
    """From each of the pairs that cost least, at most two for each input: the input next that costs least.

    It is of use where pairs are compared: then what is small comes last in an mjoin's order, for it costs much, but
    early in a tree that stores it.
    """
    if not model.costs.compare or all(predicate.looked_up for predicate in model.graph.predicates):
        return
    leaves = [leaf(at) for at in range(len(model.graph.inputs))]
    pairs = [
        (one, other)
        for one, other in combinations(leaves, 2)
        if model.graph.neighbours(one.mask) & other.mask and not model.budget.is_spent
    ]
    for pair in sorted(pairs, key=lambda pair: _added(model, *pair))[: _PAIRS_FOR_EACH * len(leaves)]:
        tree, left = node(pair), {one.mask: one for one in leaves if one not in pair}
        while left and not model.budget.is_spent:
            near = [one for one in left.values() if model.graph.neighbours(tree.mask) & one.mask] or [*left.values()]
            tree = node((tree, left.pop(min(near, key=lambda one: _added(model, tree, one)).mask)))
        if not left:
            yield tree
