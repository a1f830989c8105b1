"""When a state pays: what documents say of it is so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddyline.planner.correlation import is_negatively_correlated, trade_of
from eddyline.planner.cost import Costs, Model
from eddyline.planner.graph import Input, JoinGraph, Predicate
from eddyline.planner.tree import tree_of

from .brute import laws

_RATES, _PARTS = st.floats(0.1, 1000), st.floats(0.0001, 1)


@laws()
@given(st.tuples(_RATES, _RATES, _RATES), st.tuples(_RATES, _RATES, _RATES), st.tuples(_PARTS, _PARTS))
def test_the_short_formula_holds_under_its_condition(
    rates: tuple[float, ...], windows: tuple[float, ...], parts: tuple[float, float]
) -> None:
    inputs = [Input.windowed(name, rate, window) for name, rate, window in zip("abc", rates, windows, strict=True)]
    conditions = [Predicate(frozenset(pair), part) for pair, part in zip(((0, 1), (1, 2)), parts, strict=True)]
    costs = Costs(insert=2e-7, purge=5e-8, join=4e-8)
    model, tree = Model(JoinGraph(tuple(inputs), tuple(conditions)), costs), tree_of(((0, 1), 2))
    trade = trade_of(model, tree, 0b011)
    saved = inputs[2].rate * inputs[1].size * parts[1] * costs.join - model.graph.rate(0b011) * costs.upkeep
    a, b, c = (one.size for one in inputs)
    if a * parts[0] <= c * parts[1] and b * parts[1] <= a and b * parts[0] <= c:
        assert trade.saved == pytest.approx(saved, rel=1e-3, abs=model.of(tree).cpu * 1e-9)
        assert is_negatively_correlated(model, tree) == (trade.saved > 0)
    else:
        assert trade.saved <= saved + model.of(tree).cpu * 1e-9, "the mjoin has a better order"
