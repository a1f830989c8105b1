"""Taking the constants out of a condition, so that conditions that differ in nothing else become the same."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

from eddyline.algebra.coercion import EXACT, as_decimal, is_decimal
from eddyline.algebra.expression import Call, Column, Expr, Literal, Parameter, TypedExpr
from eddyline.algebra.sharing import MEMBER
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
    TINYINT,
    DataType,
    is_integer,
    is_numeric,
)
from eddyline.algebra.user_function import is_expensive

#: where a constant is a value like any other; elsewhere (a pattern, a format) it may decide what is computed, or fail
COMPARING = frozenset({"=", "<=>", "!=", "<", "<=", ">", ">=", "in", "like", "and", "or", "not"})
_COMPUTING = frozenset({"+", "-", "*", "/", "%", "div"})
_TAKEN = frozenset({TINYINT, SMALLINT, INTEGER, BIGINT, FLOAT, DOUBLE, STRING, BOOLEAN, DATE, TIMESTAMP})


class Taken:
    """Constants in the order in which they were taken out; each leaves a column of MEMBER in its place."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.types: tuple[DataType, ...] = ()
        self.values: tuple[Any, ...] = ()
        self.places: tuple[int | None, ...] = ()  # where they stood in the text

    def out_of(self, condition: TypedExpr) -> TypedExpr:
        """The condition with columns where it had constants."""
        return cast(TypedExpr, self._without(condition))

    def _without(self, expr: Expr) -> Expr:
        if not isinstance(expr, Call) or expr.function not in COMPARING | _COMPUTING:
            return expr
        if expr.function in _COMPUTING and is_expensive(expr):
            return expr  # with a constant inside it would have to be computed for every member
        return expr.rewrite(lambda part: None if part is expr else self._in_place_of(part, expr.function))

    def _in_place_of(self, part: Expr, function: str) -> Expr:
        constant = folded(part)
        if constant is None:
            return self._without(part)
        kind = constant.type
        if not (kind in _TAKEN or is_decimal(kind)) or (function == "like" and "\\" in str(constant.value)):
            return part  # a pattern with escapes is read in other ways by other engines
        self.types += (constant.type,)
        self.values += (constant.value,)
        self.places += (constant.place,)
        return Column(f"{self._prefix}{len(self.types) - 1}", constant.type, MEMBER)


def folded(expr: Expr) -> Literal | None:
    """The constant that an expression is, also if it is a number that is used as a wider one."""
    if isinstance(expr, Literal):
        return None if expr.value is None else expr
    if not isinstance(expr, Call) or expr.function not in ("cast", "neg"):
        return None
    given = folded(expr.arguments[0])
    if given is None:
        return None
    if expr.function == "neg":
        return None if isinstance(given.value, Parameter) else _negative(given, expr.type)
    if isinstance(given.value, Parameter):
        if given.type == NULL:  # no value is given but NULL, which any type has
            return replace(given, type=expr.type)
        exact = is_integer(given.type) or is_decimal(given.type)
        wider = expr.type == DOUBLE or (expr.type == BIGINT and is_integer(given.type))
        wider = wider or (is_decimal(expr.type) and exact)
        return replace(given, type=expr.type) if wider and is_numeric(given.type) else None
    if expr.type == DOUBLE and (is_integer(given.type) or isinstance(given.value, Decimal)):
        return Literal(float(given.value), DOUBLE, given.place)
    if expr.type == BIGINT and is_integer(given.type):
        return replace(given, type=BIGINT)
    if is_decimal(expr.type) and (is_integer(given.type) or isinstance(given.value, Decimal)):
        value = as_decimal(given.value, expr.type)
        return None if value is None else Literal(value, expr.type, given.place)
    return None


def _negative(given: Literal, type_: DataType) -> Literal | None:
    """The least number of a type has no counterpart in it: what comes of that, whoever computes it says."""
    if not is_numeric(given.type) or given.type != type_ or (is_integer(type_) and given.value < 0):
        return None
    # Decimals have more digits than Python computes with unless it is told otherwise
    value = EXACT.minus(given.value) if isinstance(given.value, Decimal) else -given.value
    return Literal(value, type_)


def has_constants(condition: TypedExpr) -> bool:
    """Whether something can be taken out of it."""
    taken = Taken("")
    taken.out_of(condition)
    return bool(taken.types)
