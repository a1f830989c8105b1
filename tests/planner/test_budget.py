"""Searches that may not take as long as they would: they end, with a plan that is no worse than what there is."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.planner.bjtree import EXACT_INPUTS, find_bjtree
from eddyline.planner.budget import Budget
from eddyline.planner.choice import choose
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.division import divide
from eddyline.planner.drawing import CUT_SHORT, told
from eddyline.planner.front import front_of
from eddyline.planner.graph import Input
from eddyline.planner.member import Member, used_by, worth
from eddyline.planner.mjoin import find_mjoin
from eddyline.planner.shapes import CLIQUE, LINEAR, made
from eddyline.planner.tree import mjoin_of

_COSTS = Costs(1e-4, 1e-4, 1e-3)


def _model(inputs: int, shape: str = LINEAR, seed: int = 1) -> Model:
    draw = Random(seed)
    parts = (0.001, 0.003, 0.01, 0.03) if shape == LINEAR else (0.2, 0.5, 0.7)
    sizes = [draw.choice((20.0, 100.0, 300.0)) for _ in range(inputs)]
    streams = [Input(f"i{at}", size / 10, size) for at, size in enumerate(sizes)]
    return Model(made(shape, streams, lambda one, other: draw.choice(parts)), _COSTS)


def _joins(count: int, inputs: int, common: bool = True) -> list[Member]:
    """Every third one is the same join again, if they are to have something in common."""
    which = [at % 3 if common else at for at in range(count)]
    return [Member(f"q{at}", _model(inputs, seed=seed), key=_keys(seed)) for at, seed in enumerate(which)]


def _keys(seed: int) -> Callable[[int], Hashable]:
    return lambda mask: (seed, mask)


def _spent(inputs: int, shape: str, search: Callable[[Model], object], steps: float = 1e12) -> float:
    """The steps that a search takes of so many."""
    budget = Budget(steps)
    search(_model(inputs, shape).within(budget))
    return steps - budget.left


@pytest.mark.parametrize("shape", [LINEAR, CLIQUE])
@pytest.mark.parametrize("inputs", [6, 7, 24])
def test_one_join_has_a_plan_however_little_may_be_looked_at(inputs: int, shape: str) -> None:
    whole = _model(inputs, shape)
    mjoin, bjtree = find_mjoin(whole), find_bjtree(whole)
    tight = Limits(bjtree.cpu * 0.9, (mjoin.memory + bjtree.memory) / 2)
    # all binary trees of few inputs are one search, which ends when it has begun
    begun = _spent(inputs, shape, find_bjtree) if inputs <= EXACT_INPUTS else 0.0
    for limits in (Limits(), tight):
        always = _spent(inputs, shape, lambda model, limits=limits: choose(model, limits), 0.0)  # type: ignore[misc]
        assert always <= 2 * _spent(inputs, shape, find_mjoin), "little more than the mjoin"
        for steps in (0, 10, 1_000):
            budget = Budget(steps)
            choice = choose(_model(inputs, shape).within(budget), limits)
            assert steps - budget.left <= max(steps, always) + begun
            assert choice.is_cut == (CUT_SHORT in told(whole, choice, limits))
            if limits is tight and steps < 1_000:
                assert choice.is_cut
            plan = choice.plan
            if plan is None:
                assert choice.missing is not None
                assert limits.strain(choice.missing.nearest.used) <= limits.strain(mjoin.used) * (1 + 1e-9)
            else:
                assert limits.allow(plan.used) and plan.used == whole.of(plan.tree)


def test_what_is_enough_changes_nothing() -> None:
    for limits in (Limits(), Limits(0.5, 2_000.0), Limits(1e-6, 1e-6)):
        one, budget = _model(6), Budget(1e9)
        assert choose(one.within(budget), limits) == choose(_model(6), limits) and not budget.is_cut
        joins = _joins(4, 4)
        found = divide(joins, limits, budget=Budget(1e9))
        assert found == divide(joins, limits) and not found.is_cut


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 6), st.integers(3, 8), st.integers(0, 5_000), st.booleans(), st.sampled_from([0.0, 0.3, 1.0, 9.0])
)
def test_what_is_found_within_a_budget_is_no_worse_than_what_is_at_work(
    count: int, inputs: int, steps: int, common: bool, memory: float
) -> None:
    joins = _joins(count, inputs, common)
    start = [mjoin_of(join.model.graph.all) for join in joins]
    before = used_by(joins, start)
    limits = Limits(before.used.cpu, before.used.memory * (0.9 + memory))
    found, again = (divide(_joins(count, inputs, common), limits, start, Budget(steps)) for _ in range(2))
    assert worth(joins, found.division, limits) <= worth(joins, before, limits)
    assert found.division == used_by(joins, found.division.trees)
    assert again == found, "steps are counted, not seconds"


@pytest.mark.parametrize("memory", [1e9, 1.0])
def test_many_joins_do_not_stop_everybody(memory: float) -> None:
    """Far from all can be looked at; within a budget there are better trees, or a word of what is missing."""
    joins, budget = _joins(60, 6), Budget(30_000)
    start = [mjoin_of(join.model.graph.all) for join in joins]
    before = used_by(joins, start)
    found = divide(joins, Limits(memory=memory), start, budget)
    assert found.is_cut and budget.left > -3_000, "what is begun when it is spent is ended, and no more"
    assert (found.missing is None) == (memory == 1e9)
    assert found.division.used.cpu < before.used.cpu * (0.9 if memory == 1e9 else 1.01)


def test_the_clock_ends_it_at_last() -> None:
    budget = Budget(until=0.0)
    assert front_of(_model(6).within(budget), Limits()) and budget.is_cut
    assert choose(_model(12).within(Budget(until=0.0)), Limits(1e-6, 1e6)).is_cut


def test_all_joins_get_the_same_part_of_the_budget() -> None:
    """Half of it, however many they are: none gets less for being behind others that spend all of theirs."""
    parts: list[float] = []

    def part(budget: Budget, steps: float) -> Budget:
        parts.append(steps)
        made = Budget(min(steps, budget.left), of=budget)
        made.spend(steps)
        return made

    with patch.object(Budget, "part", part):
        divide(_joins(8, 4), Limits(), budget=Budget(80_000))
    assert len(parts) == 8 and all(4_000 < one <= 5_000 for one in parts), parts
