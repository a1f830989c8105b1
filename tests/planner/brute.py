"""Every join tree with every order of probes, and their costs by the paper's formulas; it shares nothing with src.

Trees are nested tuples of the inputs' numbers.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, permutations, product
from typing import Any, ClassVar

from hypothesis import settings
from hypothesis import strategies as st

from eddyline.planner.cost import Costs
from eddyline.planner.graph import BAND, EQUI, THETA, Input, JoinGraph, Key, Predicate

Shape = Any
#: `make test-long` asks for more
EXAMPLES = int(os.environ.get("EDDYLINE_TEST_EXAMPLES", "1"))


def laws(examples: int = 40) -> settings:
    """For what is shown on random joins; all trees over five inputs take a moment, so there is no deadline."""
    return settings(max_examples=examples * EXAMPLES, deadline=None)


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """All ways to cut some things into groups."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for groups in partitions(rest):
        yield [[first], *groups]
        for at, group in enumerate(groups):
            yield [*groups[:at], [first, *group], *groups[at + 1 :]]


def trees(items: Sequence[int]) -> Iterator[Shape]:
    """All join trees; 1, 4, 26, 236 and 2,752 over two to six inputs."""
    if len(items) == 1:
        yield items[0]
        return
    for groups in partitions(items):
        if len(groups) > 1:
            yield from product(*(list(trees(group)) for group in groups))


def binary_trees(items: Sequence[int]) -> Iterator[Shape]:
    return (tree for tree in trees(items) if is_binary(tree))


def is_binary(tree: Shape) -> bool:
    return isinstance(tree, int) or (len(tree) == 2 and all(map(is_binary, tree)))


@cache
def inputs_of(tree: Shape) -> frozenset[int]:
    return frozenset({tree}) if isinstance(tree, int) else frozenset().union(*map(inputs_of, tree))


def stored_in(tree: Shape) -> frozenset[int]:
    """The inputs that are part of a state."""
    below = (child for child in tree if not isinstance(child, int))
    return frozenset().union(*map(inputs_of, below))


def selectivity(graph: JoinGraph, inputs: frozenset[int]) -> float:
    """Of all predicates inside of a set, and of a key once for every input but the first."""
    found = math.prod(p.selectivity for p in graph.predicates if p.inputs <= inputs)
    return found * math.prod(of_key(key, inputs) for key in graph.keys)


def of_key(key: Key, inputs: frozenset[int]) -> float:
    """Where pairs differ: two inputs fit as often as the worst pair of the best way from one to the other; and each
    input after the first is joined with that of those before it which it fits most often."""
    some = sorted(key.inputs & inputs)
    if not key.pairs:
        return key.selectivity ** max(len(some) - 1, 0)
    fits = {(a, b): part for one, other, part in key.pairs for a, b in ((one, other), (other, one))}
    for way in key.inputs:
        for a, b in product(key.inputs, repeat=2):
            around = min(fits.get((a, way), 0.0), fits.get((way, b), 0.0))
            fits[a, b] = max(fits.get((a, b), 0.0), around)
    return math.prod(max(fits[at, other] for other in some[:number]) for number, at in enumerate(some) if number)


def state_and_rate(graph: JoinGraph, tree: Shape) -> tuple[float, float]:
    """|S| and λ: of an input as they are; of a node, Π|S_c|·σ and Σ over c of λ_c·Π(other |S_d|)·σ."""
    if _LAST.graph is not graph:
        _LAST.graph, _LAST.known = graph, {}
    if tree not in _LAST.known:
        _LAST.known[tree] = _state_and_rate(graph, tree)
    return _LAST.known[tree]


class _LAST:
    """What was found out about the last graph: thousands of trees ask for the same."""

    graph: JoinGraph | None = None
    known: ClassVar[dict[Shape, tuple[float, float]]] = {}


def _state_and_rate(graph: JoinGraph, tree: Shape) -> tuple[float, float]:
    if isinstance(tree, int):
        return graph.inputs[tree].size, graph.inputs[tree].rate
    children = [state_and_rate(graph, child) for child in tree]
    inside = math.prod(selectivity(graph, inputs_of(child)) for child in tree)
    between = selectivity(graph, inputs_of(tree)) / inside
    size = math.prod(size for size, _ in children) * between
    rate = sum(
        rate * math.prod(other for at, (other, _) in enumerate(children) if at != own) * between
        for own, (_, rate) in enumerate(children)
    )
    return size, rate


def probing(graph: JoinGraph, costs: Costs, start: Shape, others: Sequence[Shape]) -> float:
    """λ_A|S_B|σ_AB·C_j + λ_A|S_B|σ_AB|S_C|σ_BC·C_j + …, for one order."""
    tuples = state_and_rate(graph, start)[1]
    joined = inputs_of(start)
    total = 0.0
    for other in others:
        more = inputs_of(other)
        new = [
            p for p in graph.predicates if p.inputs <= joined | more and not p.inputs <= joined and not p.inputs <= more
        ]
        size = state_and_rate(graph, other)[0]
        keys = [key for key in graph.keys if key.inputs & joined and key.inputs & more]
        tuples *= size
        if all(p.kind == THETA for p in new) and not keys:
            total += tuples * costs.compare
            tuples *= math.prod(one.selectivity for one in new)
            total += tuples * costs.join
        else:  # what an index finds is joined, and then asked the rest
            tuples *= math.prod(of_key(key, joined | more) / of_key(key, joined) / of_key(key, more) for key in keys)
            tuples *= math.prod(one.selectivity for one in new if one.kind != THETA)
            total += tuples * costs.join
            tuples *= math.prod(one.selectivity for one in new if one.kind == THETA)
        joined |= more
    return total


def cpu(graph: JoinGraph, costs: Costs, tree: Shape) -> float:
    """With the best order of probes for every child of every node."""
    if isinstance(tree, int):
        return 0.0
    total = sum(cpu(graph, costs, child) for child in tree)
    for at, child in enumerate(tree):
        others = [*tree[:at], *tree[at + 1 :]]
        total += state_and_rate(graph, child)[1] * (costs.insert + costs.purge)
        total += min(probing(graph, costs, child, order) for order in permutations(others))
    return total


def memory(graph: JoinGraph, tree: Shape, is_root: bool = True) -> float:
    below = 0.0 if isinstance(tree, int) else sum(memory(graph, child, False) for child in tree)
    width = sum(graph.inputs[at].width for at in inputs_of(tree))
    return below if is_root else below + state_and_rate(graph, tree)[0] * width


def all_costs(graph: JoinGraph, costs: Costs, binary: bool = False) -> dict[Shape, tuple[float, float]]:
    """(cpu, memory) of every tree."""
    shapes = (binary_trees if binary else trees)(range(len(graph.inputs)))
    return {tree: (cpu(graph, costs, tree), memory(graph, tree)) for tree in shapes}


# -- random joins ------------------------------------------------------------------------------------------------------

_AMOUNTS = st.floats(0.05, 200.0)
_SELECTIVITIES = st.floats(0.001, 1.0)


@st.composite
def graphs(draw: st.DrawFn, least: int = 2, most: int = 5) -> JoinGraph:
    """Any predicates between any inputs, some on three; tables and streams; windows of less than a tuple, too."""
    number = draw(st.integers(least, most))
    inputs = []
    for at in range(number):
        rate = draw(st.one_of(st.just(0.0), _AMOUNTS, _AMOUNTS, _AMOUNTS))
        inputs.append(Input("ABCDEFGH"[at], rate, draw(_AMOUNTS), draw(st.sampled_from((1.0, 1.0, 24.0)))))
    if not any(one.rate for one in inputs):
        inputs[0] = Input("A", 1.0, inputs[0].size)
    some = st.sets(st.integers(0, number - 1), min_size=2, max_size=min(number, 3))
    predicates = draw(
        st.lists(
            st.builds(
                lambda one, part, kind: Predicate(frozenset(one), part, kind),
                some,
                _SELECTIVITIES,
                st.sampled_from((EQUI, EQUI, BAND, THETA)),
            ),
            max_size=number * (number - 1) // 2 + 1,
        )
    )
    keys = draw(st.lists(_keys(number), max_size=2)) if number > 2 else []
    return JoinGraph(tuple(inputs), tuple(predicates), tuple(keys))


@st.composite
def _keys(draw: st.DrawFn, number: int) -> Key:
    """Of some inputs; if pairs of it were measured apart, as many as connect them, or more that close circles."""
    some = sorted(draw(st.sets(st.integers(0, number - 1), min_size=3)))
    pairs: dict[tuple[int, int], float] = {}
    if draw(st.booleans()):
        ways = [(draw(st.sampled_from(some[:n])), at) for n, at in enumerate(some) if n]
        more = draw(st.lists(st.sampled_from(list(combinations(some, 2))), max_size=2))
        pairs = {pair: draw(_SELECTIVITIES) for pair in dict.fromkeys((*ways, *more))}
    measured = tuple((one, other, part) for (one, other), part in pairs.items())
    return Key(frozenset(some), draw(_SELECTIVITIES), pairs=measured)


@st.composite
def prices(draw: st.DrawFn) -> Costs:
    amount = st.floats(0.01, 10.0)
    compare = draw(st.one_of(st.just(0.0), st.floats(0.001, 1.0)))
    return Costs(draw(amount), draw(amount), draw(amount), compare)


@st.composite
def batch_prices(draw: st.DrawFn) -> Costs:
    """With what each batch costs whatever comes, and each answer."""
    of_tuples, some = draw(prices()), st.sampled_from((0.0, 0.1, 3.0))
    batch = draw(st.sampled_from((0.0, 1.0, 5.0)))
    return replace(of_tuples, node=draw(some), step=draw(some), scan=draw(some), batch=batch, answer=draw(some))
