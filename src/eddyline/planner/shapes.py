"""The shapes of join graphs: how the inputs hang together, and graphs that are made in a shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from eddyline.planner.graph import EQUI, Input, JoinGraph, Predicate

LINEAR, STAR, TREE, CYCLE, CYCLIC, CLIQUE, APART = (
    "linear",
    "star",
    "tree",
    "cycle",
    "cyclic",
    "clique",
    "not connected",
)

Pairs = Callable[[int], Iterable[tuple[int, int]]]


def linear_pairs(inputs: int) -> Iterator[tuple[int, int]]:
    """Each input with the next."""
    return ((at, at + 1) for at in range(inputs - 1))


def star_pairs(inputs: int) -> Iterator[tuple[int, int]]:
    """The first input with every other."""
    return ((0, at) for at in range(1, inputs))


def cycle_pairs(inputs: int) -> Iterator[tuple[int, int]]:
    """Each input with the next, and the last with the first."""
    yield from linear_pairs(inputs)
    if inputs > 2:
        yield 0, inputs - 1


def clique_pairs(inputs: int) -> Iterator[tuple[int, int]]:
    """Every input with every other."""
    return combinations(range(inputs), 2)


PAIRS: dict[str, Pairs] = {LINEAR: linear_pairs, STAR: star_pairs, CYCLE: cycle_pairs, CLIQUE: clique_pairs}


def made(shape: str, inputs: Sequence[Input], selectivity: Callable[[int, int], float], kind: str = EQUI) -> JoinGraph:
    """A graph in a shape of `PAIRS`, with the selectivity that a function gives for each pair."""
    predicates = (
        Predicate(frozenset({one, other}), selectivity(one, other), kind) for one, other in PAIRS[shape](len(inputs))
    )
    return JoinGraph(tuple(inputs), tuple(predicates))


def shape_of(graph: JoinGraph) -> str:
    """The name of a graph's shape.

    >>> streams = [Input(name, 1, 10) for name in "ABCD"]
    >>> [shape_of(made(shape, streams, lambda a, b: 0.1)) for shape in PAIRS]
    ['linear', 'star', 'cycle', 'clique']
    >>> shape_of(JoinGraph(tuple(streams)))
    'not connected'
    """
    number = len(graph.inputs)
    if len(graph.components()) > 1:
        return APART
    pairs = {frozenset(pair) for edge in graph.edges for pair in combinations(edge.inputs, 2)}
    degrees = [sum(at in pair for pair in pairs) for at in range(number)]
    if len(pairs) == number - 1:
        if max(degrees) <= 2:
            return LINEAR
        return STAR if max(degrees) == number - 1 else TREE
    if len(pairs) == number * (number - 1) // 2:
        return CLIQUE
    return CYCLE if len(pairs) == number and max(degrees) == 2 else CYCLIC
