"""Bind and evaluate expressions over one row whose columns have all types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import sqlglot

from eddyline.algebra.expression import Aggregate, Column, Expr, Literal, TypedExpr
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    array,
    decimal,
)
from eddyline.binder.expression import bind
from eddyline.errors import Position, UnknownColumn
from eddyline.language.dialect import Eddyline
from eddyline.reference.aggregate import compile_aggregate
from eddyline.reference.expression import compile_expression

#: the columns that the recorded answers of Spark were computed over, with their one row
COLUMNS: dict[str, tuple[DataType, Any]] = {
    "a": (INTEGER, 1),
    "b": (INTEGER, 2),
    "l": (BIGINT, 3),
    "s": (SMALLINT, 4),
    "y": (TINYINT, 1),
    "d": (DOUBLE, 1.5),
    "f": (FLOAT, 2.5),
    "n": (decimal(10, 2), Decimal("12.34")),
    "m": (decimal(20, 5), Decimal("1.23450")),
    "t": (STRING, "abc"),
    "p": (BOOLEAN, True),
    "q": (BOOLEAN, False),
    "dt": (DATE, date(2020, 2, 29)),
    "ts": (TIMESTAMP, datetime(2020, 2, 29, 13, 14, 15, 500000)),
    "arr": (array(INTEGER), (1, 2)),
}
SCHEMA = Schema(tuple(Field(name, type_, "v") for name, (type_, _) in COLUMNS.items()))
ROW = tuple(value for _, value in COLUMNS.values())


class Columns:
    """A scope of one relation, `v`."""

    def resolve(self, parts: tuple[str, ...], position: Position | None) -> TypedExpr:
        name = parts[-1].lower()
        if name not in COLUMNS:
            raise UnknownColumn(f"there is no column {name}", position)
        return Column(name, COLUMNS[name][0], "v")


def parse(text: str) -> sqlglot.exp.Expr:
    return sqlglot.parse_one(text, dialect=Eddyline)


def bound(text: str, aggregates: bool = True) -> TypedExpr:
    return bind(parse(text), Columns(), aggregates=aggregates)


def evaluated(expr: TypedExpr, rows: Sequence[tuple[Any, ...]] = (ROW,)) -> Any:
    """The value for the first row; aggregates see all of them."""

    def aggregated(part: Expr) -> Expr | None:
        if isinstance(part, Aggregate):
            return Literal(compile_aggregate(part, SCHEMA)(rows), part.type)
        return None

    return compile_expression(expr.rewrite(aggregated), SCHEMA)(rows[0] if rows else ())  # type: ignore[arg-type]


def value(text: str) -> Any:
    return evaluated(bound(text))


def same(left: Any, right: Any) -> bool:
    """Equal and of one type; DOUBLEs to the last few bits, DECIMALs with their scale."""
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=1e-14) and math.copysign(1, left) == math.copysign(1, right)
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return str(left) == str(right)
    return type(left) is type(right) and bool(left == right)
