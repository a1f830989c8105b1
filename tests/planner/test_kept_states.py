"""All choices among the states of a tree, against each of them by itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddyline.planner.budget import Budget
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.front import unbeaten
from eddyline.planner.graph import JoinGraph
from eddyline.planner.kept_states import choose_states
from eddyline.planner.plan import Plan, planned
from eddyline.planner.tree import JTree, tree_of

from . import brute
from .brute import laws


def every_choice(model: Model, tree: JTree) -> list[Plan]:
    states = tree.states()
    found = []
    for number in range(len(states) + 1):
        for left_out in combinations(states, number):
            fewer = tree
            for state in left_out:
                fewer = fewer.without(state)
            found.append(planned(model, fewer))
    return found


@laws()
@given(brute.graphs(least=3, most=6), brute.prices(), st.booleans(), st.data())
def test_none_is_better_than_those_that_are_found(
    graph: JoinGraph, costs: Costs, in_batches: bool, data: st.DataObject
) -> None:
    if in_batches:
        costs = replace(costs, node=0.5, step=0.1, scan=0.01, batch=1.0, answer=0.1)
    shapes = sorted(brute.binary_trees(range(len(graph.inputs))), key=str)
    tree = tree_of(data.draw(st.sampled_from(shapes)))
    free = data.draw(st.sets(st.sampled_from(tree.states()), max_size=2)) if tree.states() else set()
    storable = data.draw(st.sampled_from([-1, -1, graph.all & ~1]))
    model = Model(graph, costs, frozenset(free), storable)
    every = every_choice(model, tree)
    some = data.draw(st.sampled_from(every))
    limits = Limits(some.cpu * data.draw(st.sampled_from([1.0, 1.2])) + 1e-9, some.memory * 1.1 + 1e-9)
    right = unbeaten(plan for plan in every if limits.allow(plan.used))
    found = choose_states(model, limits, tree)
    amounts = [amount for plan in found for amount in (plan.memory, plan.cpu)]
    assert amounts == pytest.approx([amount for plan in right for amount in (plan.memory, plan.cpu)])
    assert all(plan in every for plan in found)


@laws(20)
@given(brute.graphs(least=4, most=6), st.integers(0, 60))
def test_what_is_found_when_the_budget_ends_is_true(graph: JoinGraph, steps: int) -> None:
    tree = tree_of(max(brute.binary_trees(range(len(graph.inputs))), key=str))
    model = Model(graph, Costs(1.0, 0.5, 1.0), budget=Budget(steps))
    whole = Model(graph, Costs(1.0, 0.5, 1.0))
    for plan in choose_states(model, Limits(), tree):
        assert plan == planned(whole, plan.tree)
        assert set(plan.tree.states()) <= set(tree.states())
