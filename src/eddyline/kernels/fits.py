"""Which plans mean exactly the same in the kernel as in Spark, NULLs, NaN and overflows included.

What is not known to be the same runs on Spark. Overflows need not be known: the kernel stops at them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import cast

from eddyline.algebra.expression import Aggregate, Call, Column, Expr, Literal, TypedExpr
from eddyline.algebra.marks import is_marks
from eddyline.algebra.node import Operator, expressions_of
from eddyline.algebra.sharing import MEMBER, StreamMatch
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamReceive, StreamSelect
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    DataType,
    is_integer,
)
from eddyline.algebra.user_function import UserCall
from eddyline.algebra.window import OneRow

_NUMBERS = frozenset({*INTEGER_BITS, FLOAT, DOUBLE})
_HELD = _NUMBERS | {BOOLEAN, STRING, DATE, TIMESTAMP}
#: the kernel computes with narrower integers in wider ones, where they do not overflow
_COMPUTED = frozenset({INTEGER, BIGINT, FLOAT, DOUBLE})
#: their columns are read only if somebody above asks for them
_PASSING = (StreamReceive, StreamAcquire, StreamAlias, StreamSelect, StreamMatch)
_COMPARING = frozenset({"=", "<=>", "!=", "<", "<=", ">", ">=", "in"})
_LOGICAL = frozenset({"and", "or", "not", "is null", "case", "coalesce", "if", "nvl"})
_ARITHMETIC = frozenset({"+", "-", "*", "neg", "abs", "positive"})
_MOVED = frozenset({"+", "-", "*"})
_DIVIDING = frozenset({"/", "%", "div"})
_STATISTICS = frozenset({"var_pop", "var_samp", "stddev_pop", "stddev_samp", "covar_pop", "covar_samp", "corr"})
_AGGREGATES = frozenset({"count", "count_if", "sum", "avg", "min", "max", "bool_and", "bool_or"}) | _STATISTICS


def why_not(plan: Operator) -> str | None:
    """What keeps the plan from running in the kernel; None if nothing does."""
    for operator in plan.walk():
        if isinstance(operator, OneRow):
            return "it has no input"
        for field in () if isinstance(operator, _PASSING) else operator.schema.fields:
            if not _is_held(field.type):
                return f"{field.name} is a {field.type}"
        for expr in expressions_of(operator):
            reason = why_not_expression(expr)
            if reason is not None:
                return reason
    return None


def _is_held(type_: DataType) -> bool:
    """A DECIMAL can be kept, compared with its like and grouped by; only computing with it is Spark's."""
    return type_ in _HELD or type_.name == "DECIMAL"


def why_not_expression(expr: Expr) -> str | None:
    """The same for an expression."""
    if _is_point(expr):
        return None
    reasons = (_why_not(cast(TypedExpr, expr)), *map(why_not_expression, expr.children))
    return next((reason for reason in reasons if reason is not None), None)


def _is_point(expr: Expr) -> bool:
    """A constant like 1.8: a DECIMAL that is used as a DOUBLE, and written as one."""
    if not isinstance(expr, Call) or expr.function != "cast" or expr.type != DOUBLE:
        return False
    (constant,) = expr.arguments
    return isinstance(constant, Literal) and isinstance(constant.value, Decimal)


def _why_not(expr: TypedExpr) -> str | None:
    if not _is_held(expr.type):
        return f"there is a {expr.type}"
    if isinstance(expr, Column):
        return None
    if isinstance(expr, Literal):
        if expr.type not in _HELD:
            return f"there is a {expr.type}"
        # a NULL is typed by what it stands beside, and years outside of four digits are written in other ways
        strange = expr.type in (DATE, TIMESTAMP) and expr.value is not None and not 1000 <= expr.value.year <= 9999
        return "there is a constant far from now" if strange else None
    given = [cast(TypedExpr, argument).type for argument in expr.arguments]
    if isinstance(expr, Aggregate):
        return _why_not_aggregate(expr, given)
    return None if _is_same(expr, given) else f"{_called(expr)} is Spark's"


def _called(call: Call) -> str:
    return call.definition.name if isinstance(call, UserCall) else call.function


def _is_same(call: Call, given: list[DataType]) -> bool:
    function = call.function
    if isinstance(call, UserCall):
        return {*given, call.type} <= _HELD
    if function in _COMPARING:
        return _meet(given) and not _would_be_moved(call)
    if function in _LOGICAL:
        return True
    if function == "neg" and isinstance(call.arguments[0], Literal) and (call.arguments[0].value or 0) < 0:
        return False  # the kernel widens the least number of a type when it changes its sign
    if function in _ARITHMETIC:
        return call.type in _COMPUTED and _meet(given)
    if function in _DIVIDING:
        return call.type in _COMPUTED and _meet(given) and (function != "div" or all(map(is_integer, given)))
    if function == "cast":
        return _widens(given[0], call.type)
    if function == "||":
        return set(given) == {STRING}
    if function == "like":
        pattern = call.arguments[1]
        if isinstance(pattern, Column) and pattern.relation == MEMBER:
            return True  # no pattern with an escape becomes a column of members
        return len(given) == 2 and isinstance(pattern, Literal) and "\\" not in (pattern.value or "\\")
    return False


def _would_be_moved(call: Call) -> bool:
    """The kernel reads x + 1 > 2 as x > 1, which does not overflow where x + 1 wraps around."""
    constants = [isinstance(argument, Literal) for argument in call.arguments]
    sums = [a for a in call.arguments if isinstance(a, Call) and a.function in _MOVED and is_integer(a.type)]
    return any(constants) and any(isinstance(part, Literal) for a in sums for part in a.arguments)


def _meet(given: list[DataType]) -> bool:
    """Whether values of these types become values of one type in the same way."""
    types = set(given)
    return len(types) == 1 or all(is_integer(type_) or type_ == DOUBLE for type_ in types) or types == {FLOAT, DOUBLE}


def _widens(given: DataType, to: DataType) -> bool:
    if given == to or (given == FLOAT and to == DOUBLE):
        return True
    if not is_integer(given):
        return False
    return to == DOUBLE or (is_integer(to) and INTEGER_BITS[given] <= INTEGER_BITS[to])


def _why_not_aggregate(aggregate: Aggregate, given: list[DataType]) -> str | None:
    function = aggregate.function
    if _collects_marks(aggregate):
        return None
    if function not in _AGGREGATES or (aggregate.distinct and function not in ("count", "min", "max")):
        return f"{function} is Spark's"
    if function == "count" and len(given) > 1:
        return "it counts several values at once"
    if function in ("sum", "avg") and given[0] not in _NUMBERS:
        return f"there is a {function} of {given[0]}"
    return None


def _collects_marks(aggregate: Aggregate) -> bool:
    """Texts in any order: whoever reads marks puts them in order."""
    columns = [part.name for part in aggregate.walk() if isinstance(part, Column)]
    return aggregate.function == "listagg" and aggregate.distinct and any(map(is_marks, columns))
