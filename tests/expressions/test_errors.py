"""Mistakes in expressions: the kind of error, what it says, and where it points."""

from __future__ import annotations

import pytest

from eddyline.errors import (
    EddylineError,
    InvalidGrouping,
    NotSupported,
    SyntaxProblem,
    TypeMismatch,
    UnknownColumn,
    UnknownFunction,
)
from expressions.evaluation import Columns, bound, parse

CASES: list[tuple[str, type[EddylineError], str, str]] = [
    # text, error, part of the message, the text it points to
    ("a + uper(t)", UnknownFunction, "no function uper", "uper(t)"),
    ("a + zzz", UnknownColumn, "zzz", "zzz"),
    ("length(t, 1)", TypeMismatch, r"length takes \(STRING\), not \(STRING, INTEGER\)", "length(t, 1)"),
    ("1 + (p * 2)", TypeMismatch, r"\* takes two numbers, not \(BOOLEAN, INTEGER\)", "p * 2"),
    ("a < dt", TypeMismatch, "can be compared", "a < dt"),
    ("t and p", TypeMismatch, r"and takes \(BOOLEAN, BOOLEAN\), not \(STRING, BOOLEAN\)", "t and p"),
    ("cast(p as date)", TypeMismatch, "BOOLEAN cannot be cast to DATE", "p"),
    ("round(d, a)", TypeMismatch, "constant INTEGER", "round(d, a)"),
    ("sum(p)", TypeMismatch, "sum takes", "sum(p)"),
    ("sum(max(a))", InvalidGrouping, "max stands inside sum", "max(a)"),
    ("sum(a) filter (where max(b) > 1)", InvalidGrouping, "the FILTER of sum", "max(b)"),
    ("upper(distinct t)", NotSupported, "DISTINCT belongs to aggregates", "upper(distinct t)"),
    ("upper(t) filter (where p)", NotSupported, "FILTER belongs to aggregates", "upper(t)"),
    ("sum(a) over (partition by b)", NotSupported, "OVER", "sum(a) over (partition by b)"),
    ("a in (select 1)", NotSupported, "not a query", "a in (select 1)"),
    ("a > (select 1)", NotSupported, "cannot stand inside an expression", "select 1"),
    ("t like 'a!b' escape '!'", SyntaxProblem, r"the pattern a!b is invalid: .* ! precedes 'b'", "'a!b'"),
    ("t not like r'a\\b'", SyntaxProblem, r"the pattern a\\b is invalid: .* \\ precedes 'b'", "r'a\\b'"),
    ("t like r'a\\'", SyntaxProblem, r"the pattern a\\ is invalid: .* ends it", "r'a\\'"),
    ("t like 'a' escape 'xy'", TypeMismatch, "one character", "'xy'"),
    ("extract(fortnight from ts)", NotSupported, "no field FORTNIGHT", "ts"),
    ("timestampadd(eon, 1, ts)", NotSupported, "no unit eon", "eon"),
    ("ts + interval '1' parsec", SyntaxProblem, "no unit", "'1'"),
    ("a * interval '1' month", NotSupported, "months have no fixed length", "'1'"),
    ("count()", TypeMismatch, r"count takes \*", "count"),
    ("1e400", SyntaxProblem, "too large", "1e400"),
    ("200Y", SyntaxProblem, "does not fit into TINYINT", "200Y"),
    ("dist(a, b, d)", TypeMismatch, "two points", "dist(a, b, d)"),
]


@pytest.mark.parametrize(("text", "kind", "message", "place"), CASES, ids=[case[0] for case in CASES])
def test_mistake(text: str, kind: type[EddylineError], message: str, place: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        bound(text)
    position = caught.value.position
    assert position is not None
    # whether the last parenthesis counts is the parser's choice
    assert text[position.start : position.end].rstrip("()") == place.rstrip("()")


def test_the_nearest_name_is_suggested() -> None:
    with pytest.raises(UnknownFunction) as caught:
        bound("regexp_replac(t, 'a', 'b')")
    assert caught.value.hint == "did you mean regexp_replace?"


def test_an_aggregate_where_none_may_be() -> None:
    with pytest.raises(InvalidGrouping, match="sum is an aggregate") as caught:
        bound("a > sum(b)", aggregates=False)
    assert caught.value.position is not None
    assert caught.value.position.start == 4


def test_a_condition_must_be_boolean() -> None:
    from eddyline.binder.expression import bind_predicate

    with pytest.raises(TypeMismatch, match="a condition must be BOOLEAN, this is INTEGER"):
        bind_predicate(parse("a + 1"), Columns())
