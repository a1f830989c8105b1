"""The cost model against a join that really runs: tuples arrive, are inserted, purged and joined, and are counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

import pytest

from eddyline.planner.cost import Costs, Model
from eddyline.planner.graph import Input, JoinGraph, Key, Predicate
from eddyline.planner.shapes import CLIQUE, LINEAR, STAR, made
from eddyline.planner.tree import JTree, tree_of

WINDOW = 4.0
SECONDS = 150.0


@dataclass(frozen=True)
class Part:
    """A tuple of an input: until when it is in the window, and its value for each predicate."""

    at: int
    until: float
    values: tuple[float, ...]


Joined = tuple[Part, ...]


@dataclass
class Simulation:
    """Every state of a tree as a list, probed in the model's orders; `done` counts what the model has costs for."""

    model: Model
    tree: JTree
    states: dict[int, list[Joined]] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    held: float = 0.0

    def run(self, rng: Random) -> None:
        graph = self.model.graph
        nexts = {at: rng.expovariate(one.rate) for at, one in enumerate(graph.inputs) if one.rate}
        looked = 0
        while (now := min(nexts.values())) < SECONDS:
            at = min(nexts, key=lambda one: nexts[one])
            nexts[at] = now + rng.expovariate(graph.inputs[at].rate)
            values = tuple(rng.random() for _ in (*graph.predicates, *graph.keys))
            self._purge(now)
            self._arrive(1 << at, [(Part(at, now + WINDOW, values),)])
            if now > 2 * WINDOW:
                looked += 1
                self.held += sum(len(state) * graph.width(mask) for mask, state in self.states.items())
        self.held /= looked

    def _purge(self, now: float) -> None:
        for mask, state in self.states.items():
            left = [joined for joined in state if min(part.until for part in joined) > now]
            self.done["purged"] += len(state) - len(left)
            self.states[mask] = left

    def _arrive(self, mask: int, fresh: list[Joined]) -> None:
        """Tuples come into a state, probe its neighbours, and what comes of it goes one node up."""
        if mask == self.tree.mask:
            return
        self.states.setdefault(mask, []).extend(fresh)
        self.done["inserted"] += len(fresh)
        above = next(node for node in self.tree.nodes() if mask in node.parts)
        order = self.model.node(above.parts).orders[above.parts.index(mask)]
        for probe in order.probes:
            state = self.states.get(above.parts[probe], [])
            fresh = [(*one, *other) for one in fresh for other in state if self._match(one, other)]
            self.done["joined"] += len(fresh)
        self._arrive(above.mask, fresh)

    def _match(self, one: Joined, other: Joined) -> bool:
        """Two values fit if they are in the same of 1/σ parts of the range; a key's parts all are."""
        graph = self.model.graph
        by_input = {part.at: part for part in (*one, *other)}
        for number, predicate in enumerate(graph.predicates):
            if predicate.inputs <= by_input.keys():
                slots = {int(by_input[at].values[number] / predicate.selectivity) for at in predicate.inputs}
                if len(slots) > 1:
                    return False
        for number, key in enumerate(graph.keys, len(graph.predicates)):
            if (
                len({int(part.values[number] / key.selectivity) for at, part in by_input.items() if at in key.inputs})
                > 1
            ):
                return False
        return True


def streams(number: int) -> list[Input]:
    return [Input.windowed("ABCD"[at], 3.0 + 2 * at, WINDOW) for at in range(number)]


GRAPHS = {
    "line": made(LINEAR, streams(4), lambda one, other: 0.05),
    "star": made(STAR, streams(4), lambda one, other: 0.05),
    "clique": made(CLIQUE, streams(3), lambda one, other: 0.2),
    "key": JoinGraph(tuple(streams(4)), (Predicate(frozenset({0, 3}), 0.5),), (Key(frozenset({0, 1, 2, 3}), 0.0625),)),
}


@pytest.mark.parametrize(
    ("graph", "shape"),
    [
        ("line", (0, 1, 2, 3)),
        ("line", ((0, 1), (2, 3))),
        ("line", (((0, 1), 2), 3)),
        ("line", (0, (1, 2), 3)),
        ("star", (0, 1, 2, 3)),
        ("star", ((0, 1), 2, 3)),
        ("clique", (0, 1, 2)),
        ("clique", ((0, 2), 1)),
        ("key", (0, 1, 2, 3)),
        ("key", ((0, 3), (1, 2))),
    ],
)
def test_what_the_model_says_is_what_happens(graph: str, shape: object) -> None:
    tree = tree_of(shape)
    ran = Simulation(Model(GRAPHS[graph], Costs(1, 1, 1)), tree)
    ran.run(Random(f"{graph} {shape}"))
    for what, costs in (("inserted", Costs(1, 0, 0)), ("purged", Costs(0, 1, 0)), ("joined", Costs(0, 0, 1))):
        said = Model(GRAPHS[graph], costs).of(tree).cpu
        if what == "joined":  # the orders that were run are those for all costs together, which are the same
            assert Model(GRAPHS[graph], costs).node(tree.parts).orders[0].probes == (
                ran.model.node(tree.parts).orders[0].probes
            )
        assert ran.done[what] / SECONDS == pytest.approx(said, rel=0.15)
    assert ran.held == pytest.approx(ran.model.of(tree).memory, rel=0.15)
