"""For-loops over arrays are the loops that the algebra runs step by step."""

from __future__ import annotations

from itertools import islice

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eddyline.algebra.expression import Call, Expr, Literal
from eddyline.algebra.loop import ST, Loop, T, evaluate
from eddyline.algebra.types import BIGINT, BOOLEAN
from eddyline.errors import InvalidLoop
from eddyline.spark.evaluate.loop_arrays import computed
from eddyline.spark.evaluate.looped import _stretches

leaves = st.one_of(st.sampled_from([T, ST]), st.integers(-40, 40).map(lambda n: Literal(n, BIGINT)))


def _call(functions: list[str], kind: object) -> object:
    return lambda parts: st.tuples(st.sampled_from(functions), parts, parts).map(
        lambda made: Call(made[0], (made[1], made[2]), kind)  # type: ignore[arg-type]
    )


numbers = st.recursive(leaves, _call(["+", "-", "*", "div", "/", "%"], BIGINT), max_leaves=5)  # type: ignore[arg-type]
comparisons = _call(["=", "!=", "<", "<=", ">", ">="], BOOLEAN)(numbers)  # type: ignore[operator]
conditions = st.recursive(comparisons, _call(["and", "or"], BOOLEAN), max_leaves=3)  # type: ignore[arg-type]
steps = st.integers(-7, 7).filter(bool).map(lambda n: Call("+", (T, Literal(n, BIGINT)), BIGINT))


@given(st.one_of(numbers, conditions), st.lists(st.integers(-1000, 1000), min_size=1), st.integers(-50, 50))
def test_an_expression_over_many_values(expr: Expr, values: list[int], start: int) -> None:
    try:
        expected = [evaluate(expr, t, start) for t in values]
    except InvalidLoop:
        assume(False)
    assert computed(expr, np.array(values, dtype=np.int64), start).tolist() == expected


@settings(deadline=None)
@given(numbers, st.one_of(st.none(), conditions), steps, st.integers(-50, 50))
def test_the_values_of_t(initial: Expr, condition: Expr | None, change: Expr, start: int) -> None:
    loop = Loop(initial, condition, change)
    assert loop.step is not None
    try:
        expected = list(islice(loop.values(start), 3000))
    except InvalidLoop:
        assume(False)
    found = [t for some in islice(_stretches(loop, start), 4) for t in some.tolist()]
    assert found[:3000] == expected[: len(found[:3000])]
    assert len(found) >= min(len(expected), 3000)


def test_a_loop_without_a_steady_step_is_run() -> None:
    doubling = Loop(
        Literal(1, BIGINT), Call("<", (T, Literal(100, BIGINT)), BOOLEAN), Call("*", (T, Literal(2, BIGINT)), BIGINT)
    )
    assert doubling.step is None
    assert np.concatenate(list(_stretches(doubling, 0))).tolist() == [1, 2, 4, 8, 16, 32, 64]
