"""Aggregates over several tuples. Figures that are not obvious are Spark's own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from expressions.evaluation import COLUMNS, bound, evaluated, same


def rows(**columns: list[Any]) -> list[tuple[Any, ...]]:
    """Tuples with the given values, everything else NULL."""
    count = max(map(len, columns.values()))
    return [tuple(columns[name][i] if name in columns else None for name in COLUMNS) for i in range(count)]


GROUP = rows(
    a=[1, 2, None, 2, 5],
    b=[10, None, 30, 20, 50],
    d=[1.5, float("nan"), None, -0.0, 0.0],
    n=[Decimal("1.10"), Decimal("2.20"), None, Decimal("2.20"), Decimal("0.05")],
    t=["x", None, "y", "x", "z"],
    p=[True, None, True, False, None],
)

CASES: list[tuple[str, Any]] = [
    ("count(*)", 5),
    ("count(a)", 4),
    ("count(a, b)", 3),
    ("count(distinct a)", 3),
    ("count(distinct d)", 3),
    ("count(distinct a, t)", 3),
    ("count(*) filter (where a > 1)", 3),
    ("count_if(p)", 2),
    ("sum(a)", 10),
    ("sum(distinct a)", 8),
    ("sum(n)", Decimal("5.55")),
    ("avg(a)", 2.5),
    ("avg(distinct a)", 8 / 3),
    ("avg(n)", Decimal("1.387500")),
    ("min(a)", 1),
    ("max(d)", float("nan")),
    ("min(t)", "x"),
    ("max(p)", True),
    ("stddev(a)", 1.7320508075688772),
    ("stddev_pop(a)", 1.5),
    ("var_samp(a)", 3.0),
    ("var_pop(a)", 2.25),
    ("skewness(a)", 0.8888888888888888),
    ("kurtosis(a)", -0.8148148148148149),
    ("covar_pop(a, b)", 28.88888888888889),
    ("covar_samp(a, b)", 43.333333333333336),
    ("corr(a, b)", 1.0),
    ("median(a)", 2.0),
    ("percentile(a, 0.75)", 2.75),
    ("percentile(a, array(0.0, 0.5, 1.0))", (1.0, 2.0, 5.0)),
    ("first(a)", 1),
    ("last(t)", "z"),
    ("first(b) filter (where a = 2)", None),
    ("first(b, true) filter (where a = 2)", 20),
    ("first(b ignore nulls) filter (where a = 2)", 20),
    ("collect_list(a)", (1, 2, 2, 5)),
    ("collect_set(t)", ("x", "y", "z")),
    ("listagg(t, '-')", "x-y-x-z"),
    ("bool_and(p)", False),
    ("bool_or(p)", True),
    ("every(p) filter (where b > 5)", False),
    ("max_by(t, b)", "z"),
    ("min_by(t, b)", "x"),
    ("bit_and(a)", 0),
    ("bit_or(a)", 7),
    ("bit_xor(a)", 4),
    ("max(a) - min(a) + 1", 5),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[case[0] for case in CASES])
def test_over_a_group(text: str, expected: Any) -> None:
    assert same(evaluated(bound(text), GROUP), expected)


@pytest.mark.parametrize(
    "text",
    ["sum(a)", "avg(n)", "min(t)", "stddev(d)", "median(a)", "first(a)", "bool_and(p)", "corr(a, b)", "max_by(a, b)"],
)
def test_over_nothing_it_is_null(text: str) -> None:
    assert evaluated(bound(text), []) is None


def test_counts_and_lists_over_nothing_are_empty() -> None:
    assert evaluated(bound("count(*)"), []) == 0
    assert evaluated(bound("collect_list(a)"), []) == ()


def test_a_sum_of_whole_numbers_wraps_around() -> None:
    assert evaluated(bound("sum(l)"), rows(l=[2**63 - 1, 1])) == -(2**63)


def test_a_sum_that_does_not_fit_is_null() -> None:
    huge = Decimal("9" * 38)
    assert evaluated(bound("sum(cast(m as decimal(38, 0)))"), rows(m=[huge, huge])) is None
