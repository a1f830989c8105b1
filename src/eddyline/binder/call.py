"""Function calls: the name is looked up, the arguments are checked and cast, and mistakes are explained."""

from __future__ import annotations

from sqlglot import exp

from eddyline.algebra.coercion import can_cast, cast_implicitly
from eddyline.algebra.expression import Aggregate, Call, TypedExpr
from eddyline.algebra.functions import Function, lookup, names
from eddyline.algebra.spelling import SpeltAggregate, SpeltCall
from eddyline.algebra.types import DataType
from eddyline.algebra.user_function import UserCall, UserFunction
from eddyline.binder.position import position_of
from eddyline.errors import NotSupported, Position, TypeMismatch, UnknownFunction, nearest

#: what a call is blamed on: syntax, of which the place is looked up only if there is something to blame
Place = exp.Expr | Position | None


def place(where: Place) -> Position | None:
    return position_of(where) if isinstance(where, exp.Expr) else where


#: functions of Spark that give another answer each time, beside those in the catalogue
_RANDOM = frozenset({"rand", "random", "randn", "uuid", "shuffle", "monotonically_increasing_id", "input_file_name"})


#: in the catalogue, but nobody calls them by name
_NO_FUNCTIONS = frozenset({"case", "and", "or", "not", "in", "neg", "div", "extract", "tick_to_timestamp"})


def find(name: str, where: Place, macros: frozenset[str] = frozenset()) -> Function:
    """The function of that name, which can be used in a standing query."""
    found = lookup(name)
    if name.lower() in _RANDOM or (found is not None and not found.deterministic):
        raise NotSupported(
            f"{name.lower()} gives another answer each time it is asked; a standing query cannot use it",
            place(where),
            "use the stream's own time: its tick or its timestamp column",
        )
    if found is not None and name.lower() not in _NO_FUNCTIONS:
        return found
    close = nearest(name, {*names(), *macros} - _NO_FUNCTIONS)
    raise UnknownFunction(f"there is no function {name}", place(where), f"did you mean {close}?" if close else None)


def apply(name: str, arguments: tuple[TypedExpr, ...], where: Place) -> TypedExpr:
    """A call of an operator or scalar function that certainly exists."""
    found = lookup(name)
    assert found is not None, name
    return scalar(found, name, arguments, where)


def scalar(
    function: Function,
    written: str,
    arguments: tuple[TypedExpr, ...],
    where: Place,
) -> TypedExpr:
    """A scalar call, with the casts its arguments need."""
    cast, result = checked(function, written, arguments, where)
    name = written.lower()
    if name == function.name:
        return Call(function.name, cast, result)
    return SpeltCall(function.name, cast, result, name)


def own(function: UserFunction, arguments: tuple[TypedExpr, ...], where: Place) -> TypedExpr:
    """A call of a user's function."""
    cast, result = checked(function.signature, function.name, arguments, where)
    return UserCall(function.internal_name, cast, result, function.name.lower(), definition=function)


def is_built_in(name: str) -> bool:
    """Whether a function of the language or of Spark answers to this name."""
    return lookup(name) is not None or name.lower() in _RANDOM


def aggregate(
    function: Function,
    written: str,
    arguments: tuple[TypedExpr, ...],
    where: Place,
    distinct: bool,
    condition: TypedExpr | None,
) -> TypedExpr:
    """An aggregate call, with the casts its arguments need."""
    cast, result = checked(function, written, arguments, where)
    name = written.lower()
    if name == function.name:
        return Aggregate(function.name, cast, result, distinct, condition)
    return SpeltAggregate(function.name, cast, result, distinct, condition, name)


def checked(
    function: Function, written: str, arguments: tuple[TypedExpr, ...], where: Place
) -> tuple[tuple[TypedExpr, ...], DataType]:
    resolution = function.resolve(arguments)
    if resolution is None:
        given = ", ".join(str(argument.type) for argument in arguments)
        raise TypeMismatch(f"{written.lower()} takes {function.takes}, not ({given})", place(where))
    cast = tuple(cast_implicitly(a, to) for a, to in zip(arguments, resolution.arguments, strict=True))
    return cast, resolution.result


def check_cast(value: TypedExpr, to: DataType, where: Place) -> None:
    """CAST is not defined between all types."""
    if not can_cast(value.type, to):
        raise TypeMismatch(f"a value of type {value.type} cannot be cast to {to}", place(where))
