"""Names of unnamed columns, and expressions as SQL."""

from __future__ import annotations

import pytest

from eddyline.algebra.coercion import ImplicitCast
from eddyline.algebra.naming import spark_name, sql_text
from eddyline.algebra.types import DOUBLE
from expressions.evaluation import bound


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("min(v.a)", "min(a)"),
        ("COUNT(*)", "count(1)"),
        ("a + 1", "(a + 1)"),
        ("count(DISTINCT a)", "count(distinct a)"),
        ("CASE WHEN a > 1 THEN b END", "case when (a > 1) then b end"),
        ("a < d", "(a < d)"),
        ("mean(a)", "mean(a)"),
        ("sum(CAST(a AS DOUBLE))", "sum(cast(a as double))"),
        ("CAST(a AS DOUBLE)", "a"),
        ("a BETWEEN 1 AND 2", "between(a, 1, 2)"),
        ("sum(a) FILTER (WHERE p)", "sum(a) filter (where p)"),
        ("'Abc'", "abc"),
        ("dt + INTERVAL 1 MONTH", "dt + interval '1' month"),
    ],
)
def test_name(text: str, name: str) -> None:
    assert spark_name(bound(text)) == name


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("(a < 50) and (b > 20)", "v.a < 50 AND v.b > 20"),
        ("(a = 1 or b = 2) and p", "(v.a = 1 OR v.b = 2) AND v.p"),
        ("a - (b - 1)", "v.a - (v.b - 1)"),
        ("(a - b) - 1", "v.a - v.b - 1"),
        ("(a + b) * 2", "(v.a + v.b) * 2"),
        ("not (a = 1)", "NOT v.a = 1"),
        ("not (p and q)", "NOT (v.p AND v.q)"),
        ("not (a in (1, 2))", "v.a NOT IN (1, 2)"),
        ("not (t is null)", "v.t IS NOT NULL"),
        ("a is distinct from b", "v.a IS DISTINCT FROM v.b"),
        ("t not like 'x!%' escape '!'", "v.t NOT LIKE 'x!%' ESCAPE '!'"),
        ("(a between 1 and 2) = p", "(v.a BETWEEN 1 AND 2) = v.p"),
        ("-(5)", "-(5)"),
        ("-5", "-5"),
        ("a - -5", "v.a - -5"),
        ("d > 50", "v.d > 50"),
        ("n = 1.50", "v.n = 1.50"),
        ("l = 5L", "v.l = 5L"),
        ("d = 1e3", "v.d = 1000.0D"),
        ("t = 'it\\'s'", "v.t = 'it\\'s'"),
        ("count(*)", "count(*)"),
        ("a <> b", "v.a <> v.b"),
        ("ts - interval 90 minutes", "v.ts - INTERVAL '90' MINUTE"),
        ("ts + interval 1 month", "v.ts + INTERVAL '1' MONTH"),
        ("extract(year from ts)", "EXTRACT(YEAR FROM v.ts)"),
        ("nullif(a, d)", "nullif(v.a, v.d)"),
    ],
)
def test_sql(text: str, sql: str) -> None:
    expr = bound(text)
    assert sql_text(expr) == sql
    assert bound(sql) == expr


def test_an_implicit_cast_that_stands_alone_is_shown() -> None:
    assert sql_text(ImplicitCast("cast", (bound("a"),), DOUBLE)) == "CAST(v.a AS DOUBLE)"


def test_what_is_left_of_a_between_is_shown_as_it_is() -> None:
    expr = bound("a between 1 and 2")
    changed = expr.rewrite(lambda part: bound("p") if part == bound("a >= 1") else None)
    assert sql_text(changed) == "v.p AND v.a <= 2"  # type: ignore[arg-type]
    assert spark_name(changed) == "(p and (a <= 2))"  # type: ignore[arg-type]
