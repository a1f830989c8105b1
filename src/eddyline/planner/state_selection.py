"""State selection: from the mjoin on, store what is computed again most often for its size (algorithm 3 of the paper).

While there is too little processor time and memory is left: of the pairs of children that the root joins next to each
other in most of its orders, for the memory that their result takes, the first becomes a node of its own that makes the
plan cheaper and fits into memory. What is inside of the pair may stay stored or not, whichever is better. If the pair
would not do, it is tried with one or two more children, as far as these make its result smaller; that is not in the
paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from eddyline.planner.cost import Limits, Model
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.plan import Plan, planned
from eddyline.planner.tree import JTree, node

#: of a dense graph only so many pairs for each child are tried, the most promising ones: others bring little and cost
#: much
PAIRS_FOR_EACH = 2
#: as many children become one node where no pair of them would do
_MOST_TOGETHER = 4


def select_states(model: Model, limits: Limits, mjoin: Plan | None = None) -> list[Plan]:
    """The plans on the way, from the mjoin on; the last one is the result, which may not be qualified."""
    way = [find_mjoin(model) if mjoin is None else mjoin]
    while not limits.allow(way[-1].used) and limits.holds(way[-1].memory) and not model.budget.is_spent:
        better = next(_cheaper(model, limits, way[-1]), None)
        if better is None:
            break
        way.append(better)
    return way


def _cheaper(model: Model, limits: Limits, plan: Plan) -> Iterator[Plan]:
    children = plan.tree.children
    if len(children) < 3:
        return
    for one, other in candidates(model, plan.tree):
        if model.budget.is_spent:
            return
        left, right = children[one], children[other]
        rest = [child for child in children if child not in (left, right)]
        forms = [planned(model, node((*rest, form))) for form in _forms(left, right)]
        fitting = [form for form in forms if form.cpu < plan.cpu and limits.holds(form.memory)]
        if not fitting:
            forms = [planned(model, tree) for tree in _with_more(model, plan.tree, one, other)]
            fitting = [form for form in forms if form.cpu < plan.cpu and limits.holds(form.memory)]
        if fitting:
            yield min(fitting, key=lambda form: form.cpu)


def candidates(model: Model, tree: JTree) -> list[tuple[int, int]]:
    """Pairs of children that share a predicate, those first that are joined anew most often for their size."""
    graph = model.graph
    often: dict[tuple[int, int], int] = {}
    for start, order in enumerate(model.node(tree.parts).orders):
        for pair in zip((start, *order.probes), order.probes, strict=False):
            often[min(pair), max(pair)] = often.get((min(pair), max(pair)), 0) + 1
    pairs = [
        pair
        for pair in combinations(range(len(tree.children)), 2)
        if graph.neighbours(tree.parts[pair[0]]) & tree.parts[pair[1]]
    ]
    by_ratio = sorted(
        pairs, key=lambda pair: -often.get(pair, 0) / graph.state(tree.parts[pair[0]] | tree.parts[pair[1]])
    )
    return by_ratio[: PAIRS_FOR_EACH * len(tree.children)]


def _with_more(model: Model, tree: JTree, one: int, other: int) -> Iterator[JTree]:
    """With a node over a pair and further children, as long as each makes what is stored smaller.

    Of a cycle every pair may be too large to be stored, and all together small.
    """
    graph, some = model.graph, [one, other]
    mask = tree.parts[one] | tree.parts[other]
    while len(some) < min(_MOST_TOGETHER, len(tree.children) - 1) and not model.budget.is_spent:
        near = [at for at, part in enumerate(tree.parts) if at not in some and graph.neighbours(mask) & part]
        more = min(near, key=lambda at: graph.state(mask | tree.parts[at]), default=None)
        if more is None or graph.state(mask | tree.parts[more]) >= graph.state(mask):
            return
        some.append(more)
        mask |= tree.parts[more]
        rest = (child for at, child in enumerate(tree.children) if at not in some)
        yield node((*rest, node([tree.children[at] for at in some])))


def _forms(left: JTree, right: JTree) -> Iterator[JTree]:
    """The ways to join two trees: as they are, or without the states of either."""
    for first in (left,), left.children:
        for second in (right,), right.children:
            if first and second:
                yield node((*first, *second))
