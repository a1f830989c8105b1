"""Function calls: the name is looked up, the arguments are checked and cast, and mistakes are explained."""

from __future__ import annotations

from eddyline.algebra.coercion import cast_implicitly
from eddyline.algebra.expression import Aggregate, Call, TypedExpr
from eddyline.algebra.functions import Function, lookup, names
from eddyline.algebra.spelling import SpeltAggregate, SpeltCall
from eddyline.algebra.types import DataType
from eddyline.errors import NotSupported, Position, TypeMismatch, UnknownFunction, nearest

#: functions of Spark that give another answer each time, beside those in the catalogue
_RANDOM = frozenset({"rand", "random", "randn", "uuid", "shuffle", "monotonically_increasing_id", "input_file_name"})


def find(name: str, position: Position | None, macros: frozenset[str] = frozenset()) -> Function:
    """The function of that name, which can be used in a standing query."""
    found = lookup(name)
    if name.lower() in _RANDOM or (found is not None and not found.deterministic):
        raise NotSupported(
            f"{name.lower()} gives another answer each time it is asked; a standing query cannot use it",
            position,
            "use the stream's own time: its tick or its timestamp column",
        )
    if found is not None and _is_word(found, name):
        return found
    close = nearest(name, {*names(), *macros})
    raise UnknownFunction(f"there is no function {name}", position, f"did you mean {close}?" if close else None)


def _is_word(found: Function, name: str) -> bool:
    """`case` and `and` are in the catalogue, but nobody calls them as functions."""
    return name.lower() not in ("case", "and", "or", "not", "in", "neg", "div", "extract")


def apply(name: str, arguments: tuple[TypedExpr, ...], position: Position | None) -> TypedExpr:
    """A call of an operator or scalar function that certainly exists."""
    found = lookup(name)
    assert found is not None, name
    return scalar(found, name, arguments, position)


def scalar(
    function: Function,
    written: str,
    arguments: tuple[TypedExpr, ...],
    position: Position | None,
) -> TypedExpr:
    """A scalar call, with the casts its arguments need."""
    cast, result = checked(function, written, arguments, position)
    name = written.lower()
    if name == function.name:
        return Call(function.name, cast, result)
    return SpeltCall(function.name, cast, result, name)


def aggregate(
    function: Function,
    written: str,
    arguments: tuple[TypedExpr, ...],
    position: Position | None,
    distinct: bool,
    condition: TypedExpr | None,
) -> TypedExpr:
    """An aggregate call, with the casts its arguments need."""
    cast, result = checked(function, written, arguments, position)
    name = written.lower()
    if name == function.name:
        return Aggregate(function.name, cast, result, distinct, condition)
    return SpeltAggregate(function.name, cast, result, distinct, condition, name)


def checked(
    function: Function, written: str, arguments: tuple[TypedExpr, ...], position: Position | None
) -> tuple[tuple[TypedExpr, ...], DataType]:
    resolution = function.resolve(arguments)
    if resolution is None:
        given = ", ".join(str(argument.type) for argument in arguments)
        raise TypeMismatch(f"{written.lower()} takes {function.takes}, not ({given})", position)
    cast = tuple(cast_implicitly(a, to) for a, to in zip(arguments, resolution.arguments, strict=True))
    return cast, resolution.result
