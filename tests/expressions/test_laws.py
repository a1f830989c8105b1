"""Laws that hold for all values, and for all expressions that can be written."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.algebra.constant_text import double_text, float_text
from eddyline.algebra.expression import Call, Column, Literal
from eddyline.algebra.naming import spark_name, sql_text
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, STRING, TIMESTAMP, DataType, decimal
from eddyline.errors import EddylineError
from eddyline.reference.expression import compile_expression, compile_predicate
from eddyline.reference.functions.casting import caster
from eddyline.reference.functions.conditionals import case
from eddyline.reference.value import equal, float32, less, order_key
from expressions.evaluation import ROW, SCHEMA, bound

TRUTH = (True, False, None)
INTEGERS = st.integers(-(2**31), 2**31 - 1)
DOUBLES = st.floats(allow_nan=True, allow_infinity=True)


def apply(function: str, *arguments: tuple[Any, DataType], result: DataType) -> Any:
    literals = tuple(Literal(value, type_) for value, type_ in arguments)
    return compile_expression(Call(function, literals, result), Schema(()))(())


# -- logic ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), list(product(TRUTH, TRUTH)))
def test_de_morgan_holds_with_null(a: bool | None, b: bool | None) -> None:
    def logic(text: str) -> Any:
        schema = Schema((Field("p", BOOLEAN, "v"), Field("q", BOOLEAN, "v")))
        return compile_expression(bound(text), schema)((a, b))

    assert logic("not (p and q)") is logic("(not p) or (not q)")
    assert logic("p and q") is logic("q and p")
    assert logic("p or q") is logic("q or p")


def test_a_predicate_that_is_null_does_not_hold() -> None:
    schema = Schema((Field("p", BOOLEAN),))
    assert compile_predicate(Column("p", BOOLEAN), schema)((None,)) is False


@given(st.lists(st.sampled_from(TRUTH), min_size=1, max_size=4), st.booleans())
def test_the_lazy_case_answers_as_the_plain_one(conditions: list[bool | None], has_default: bool) -> None:
    arguments = [x for i, c in enumerate(conditions) for x in ((c, BOOLEAN), (i, INTEGER))]
    if has_default:
        arguments.append((99, INTEGER))
    assert apply("case", *arguments, result=INTEGER) == case(*(value for value, _ in arguments))


# -- numbers ----------------------------------------------------------------------------------------------------------


@given(INTEGERS, INTEGERS.filter(bool))
def test_quotient_and_remainder_make_the_dividend(a: int, b: int) -> None:
    quotient = apply("div", (a, BIGINT), (b, BIGINT), result=BIGINT)
    remainder = apply("%", (a, BIGINT), (b, BIGINT), result=BIGINT)
    assert quotient * b + remainder == a
    assert abs(remainder) < abs(b)
    assert remainder == 0 or (remainder < 0) == (a < 0)


@given(INTEGERS, INTEGERS)
def test_integers_stay_in_their_range(a: int, b: int) -> None:
    for operator in "+-*":
        result = apply(operator, (a, INTEGER), (b, INTEGER), result=INTEGER)
        assert -(2**31) <= result < 2**31
        assert (result - eval(f"{a}{operator}({b})")) % 2**32 == 0


@given(DOUBLES, DOUBLES)
def test_doubles_are_totally_ordered(a: float, b: float) -> None:
    assert [less(a, b), equal(a, b), less(b, a)].count(True) == 1
    assert less(a, b) == (order_key(a) < order_key(b))


@given(DOUBLES)
def test_a_double_written_as_text_reads_back(value: float) -> None:
    assert equal(caster(STRING, DOUBLE)(double_text(value)), value)


@given(st.floats(width=32))
def test_a_float_written_as_text_reads_back(value: float) -> None:
    assert equal(float32(caster(STRING, DOUBLE)(float_text(value))), value)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**7), max_value=10**7, places=2))
def test_a_decimal_keeps_its_value_in_a_wider_type(value: Decimal) -> None:
    assert caster(decimal(10, 2), decimal(20, 5))(value) == value
    assert caster(STRING, decimal(10, 2))(str(value)) == value


@given(st.dates(), st.datetimes())
def test_times_written_as_text_read_back(day: date, moment: datetime) -> None:
    assert caster(STRING, DATE)(caster(DATE, STRING)(day)) == day
    assert caster(STRING, TIMESTAMP)(caster(TIMESTAMP, STRING)(moment)) == moment


# -- text of expressions ----------------------------------------------------------------------------------------------

_numbers = st.sampled_from(
    ["a", "l", "s", "y", "d", "f", "n", "m", "1", "-3", "2.50", "1e2", "5L", "null", "1.5D", "3Y"]
)
_texts = st.sampled_from(["t", "'x'", "'it\\'s'", "''", "null"])
_tests = st.sampled_from(["p", "q", "true", "null"])
_times = st.sampled_from(["dt", "ts", "date '2020-01-31'", "timestamp '2020-01-31 01:02:03.4'"])


def _grown(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def form(pattern: str, count: int) -> st.SearchStrategy[str]:
        return st.tuples(*[children] * count).map(lambda parts: pattern.format(*parts))

    infix = ["+", "-", "*", "/", "%", "=", "<", ">=", "<>", "<=>", "and", "or", "||", "&", "|"]
    patterns = [
        *((f"({{}}) {operator} ({{}})", 2) for operator in infix),
        ("not ({})", 1),
        ("- ({})", 1),
        ("({}) is null", 1),
        ("({}) is not null", 1),
        ("({}) in ({}, {})", 3),
        ("({}) not in ({}, {})", 3),
        ("({}) between ({}) and ({})", 3),
        ("({}) like 'a%'", 1),
        ("({}) is distinct from ({})", 2),
        ("case when {} then {} else {} end", 3),
        ("if({}, {}, {})", 3),
        ("coalesce({}, {})", 2),
        ("nullif({}, {})", 2),
        ("cast({} as double)", 1),
        ("cast({} as string)", 1),
        ("({}) + interval 1 month", 1),
        ("({}) - interval 90 minutes", 1),
        ("upper({})", 1),
        ("round({}, 1)", 1),
        ("year({})", 1),
        ("pow({}, {})", 2),
    ]
    return st.one_of([form(pattern, count) for pattern, count in patterns])


EXPRESSIONS = st.recursive(st.one_of(_numbers, _texts, _tests, _times), _grown, max_leaves=12)


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS)
def test_what_is_printed_means_the_same(text: str) -> None:
    try:
        expr = bound(text)
    except EddylineError:
        return  # not every combination of types has a meaning
    assert bound(sql_text(expr)) == expr
    assert spark_name(expr)
    compile_expression(expr, SCHEMA)(ROW)
    compile_expression(expr, SCHEMA)((None,) * len(ROW))
