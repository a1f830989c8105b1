"""Typed expressions as Python functions of a tuple."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from eddyline.algebra.expression import Aggregate, Call, Column, Expr, Literal, TypedExpr
from eddyline.algebra.schema import Schema
from eddyline.algebra.user_function import UserCall
from eddyline.errors import InvalidAlgebra
from eddyline.reference.functions import IMPLEMENTATIONS

Row = tuple[Any, ...]
Compiled = Callable[[Row], Any]


def compile_expression(expr: TypedExpr, schema: Schema) -> Compiled:
    """The function that computes the expression for a tuple of this schema."""
    return _compile(expr, schema)


def compile_predicate(expr: TypedExpr, schema: Schema) -> Callable[[Row], bool]:
    """As `compile_expression`; what is NULL does not hold."""
    evaluate = _compile(expr, schema)
    return lambda row: evaluate(row) is True


def _compile(expr: Expr, schema: Schema) -> Compiled:
    if isinstance(expr, Column):
        return itemgetter(schema.position(expr.name, expr.relation))
    if isinstance(expr, Literal):
        value = expr.value
        return lambda row: value
    if isinstance(expr, Call):
        return _compile_call(expr, schema)
    if isinstance(expr, Aggregate):
        raise InvalidAlgebra(f"{expr.function} is an aggregate and cannot be computed for one tuple")
    raise InvalidAlgebra(f"cannot compute {expr!r}")


def _compile_call(call: Call, schema: Schema) -> Compiled:
    arguments = [_compile(argument, schema) for argument in call.arguments]
    if isinstance(call, UserCall):
        return _user_call(call, arguments)
    lazy = _LAZY.get(call.function)
    if lazy is not None:
        return lazy(arguments)
    implementation = IMPLEMENTATIONS.get(call.function)
    if implementation is None:
        raise InvalidAlgebra(f"the reference engine has no function {call.function}")
    evaluate = implementation.make(call)
    if not implementation.strict:
        return lambda row: evaluate(*[argument(row) for argument in arguments])
    if len(arguments) == 1:
        return _strict_unary(evaluate, arguments[0])
    if len(arguments) == 2:
        return _strict_binary(evaluate, arguments[0], arguments[1])
    return _strict(evaluate, arguments)


def _user_call(call: UserCall, arguments: list[Compiled]) -> Compiled:
    compute = call.definition.compute
    if compute is None:
        raise InvalidAlgebra(f"the function {call.definition.name} has no code here")
    return lambda row: compute(*[argument(row) for argument in arguments])


def _strict_unary(evaluate: Callable[..., Any], argument: Compiled) -> Compiled:
    def compute(row: Row) -> Any:
        value = argument(row)
        return None if value is None else evaluate(value)

    return compute


def _strict_binary(evaluate: Callable[..., Any], left: Compiled, right: Compiled) -> Compiled:
    def compute(row: Row) -> Any:
        a = left(row)
        if a is None:
            return None
        b = right(row)
        return None if b is None else evaluate(a, b)

    return compute


def _strict(evaluate: Callable[..., Any], arguments: list[Compiled]) -> Compiled:
    def compute(row: Row) -> Any:
        values = [argument(row) for argument in arguments]
        return None if None in values else evaluate(*values)

    return compute


# AND, OR and CASE leave out what cannot matter; the answer is that of their implementation in `functions`.


def _lazy_and(arguments: list[Compiled]) -> Compiled:
    left, right = arguments

    def compute(row: Row) -> bool | None:
        a = left(row)
        if a is False:
            return False
        b = right(row)
        return b if a or b is False else None

    return compute


def _lazy_or(arguments: list[Compiled]) -> Compiled:
    left, right = arguments

    def compute(row: Row) -> bool | None:
        a = left(row)
        if a:
            return True
        b = right(row)
        return b if a is False or b else None

    return compute


def _lazy_case(arguments: list[Compiled]) -> Compiled:
    pairs = [(arguments[i], arguments[i + 1]) for i in range(0, len(arguments) - 1, 2)]
    default = arguments[-1] if len(arguments) % 2 else lambda row: None

    def compute(row: Row) -> Any:
        for when, then in pairs:
            if when(row):
                return then(row)
        return default(row)

    return compute


_LAZY: dict[str, Callable[[list[Compiled]], Compiled]] = {"and": _lazy_and, "or": _lazy_or, "case": _lazy_case}
