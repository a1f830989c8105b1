"""Type names, stored values and casts that nobody writes."""

from __future__ import annotations

import pytest
from sqlglot import exp

from eddyline.algebra.coercion import ImplicitCast, wider_decimal
from eddyline.algebra.expression import Call, Column, Literal
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    DataType,
    array,
    decimal,
)
from eddyline.binder.expression import coerce, data_type
from eddyline.errors import NotSupported, TypeMismatch
from expressions.evaluation import bound


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("INT", INTEGER),
        ("INTEGER", INTEGER),
        ("LONG", BIGINT),
        ("SHORT", SMALLINT),
        ("CHAR(10)", STRING),
        ("VARCHAR(255)", STRING),
        ("TEXT", STRING),
        ("STRING", STRING),
        ("FLOAT", FLOAT),
        ("REAL", FLOAT),
        ("DOUBLE", DOUBLE),
        ("DECIMAL", decimal(10, 0)),
        ("DECIMAL(5)", decimal(5, 0)),
        ("NUMERIC(12, 3)", decimal(12, 3)),
        ("BOOL", BOOLEAN),
        ("TIMESTAMP", TIMESTAMP),
        ("TIME", BIGINT),
        ("ARRAY<INT>", array(INTEGER)),
    ],
)
def test_type_names(written: str, expected: DataType) -> None:
    assert data_type(exp.DataType.build(written, dialect="spark")) == expected


def test_types_that_cannot_be() -> None:
    with pytest.raises(TypeMismatch, match="1 to 38 digits"):
        data_type(exp.DataType.build("DECIMAL(40, 2)", dialect="spark"))
    with pytest.raises(NotSupported, match="MAP"):
        data_type(exp.DataType.build("MAP<STRING, INT>", dialect="spark"))


@pytest.mark.parametrize(
    ("given", "to"), [(INTEGER, BIGINT), (DOUBLE, INTEGER), (STRING, TIMESTAMP), (INTEGER, STRING), (NULL, DATE)]
)
def test_values_that_can_be_stored(given: DataType, to: DataType) -> None:
    assert coerce(Column("x", given), to).type == to


@pytest.mark.parametrize(
    ("given", "to"), [(STRING, INTEGER), (BOOLEAN, INTEGER), (INTEGER, TIMESTAMP), (DATE, BOOLEAN)]
)
def test_values_that_cannot_be_stored(given: DataType, to: DataType) -> None:
    with pytest.raises(TypeMismatch, match="cannot be stored"):
        coerce(Column("x", given), to)


def test_a_stored_null_has_the_type_of_its_column() -> None:
    assert coerce(Literal(None, NULL), INTEGER) == Literal(None, INTEGER)


def test_casts_are_explicit_in_the_algebra() -> None:
    a, d = bound("a"), bound("d")
    assert bound("a < d") == Call("<", (ImplicitCast("cast", (a,), DOUBLE), d), BOOLEAN)


def test_integers_of_different_width_are_compared_as_they_are() -> None:
    assert bound("l < 50") == Call("<", (bound("l"), Literal(50, INTEGER)), BOOLEAN)


def test_beyond_38_digits_the_whole_part_has_preference() -> None:
    assert wider_decimal(decimal(38, 2), decimal(38, 20)) == decimal(38, 2)
