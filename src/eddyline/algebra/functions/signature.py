"""How a function says what it takes and what it gives.

A `Function` is data: the binder asks it to `resolve` a call and gets the types to which the arguments are to be cast
and the type of the result. Most functions are a list of `Parameter`s; those whose types depend on each other
(arithmetic, COALESCE, …) bring a rule of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eddyline.algebra.coercion import accepts, is_array
from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    array,
    is_integer,
    is_numeric,
)

Arguments = tuple[TypedExpr, ...]
Types = tuple[DataType, ...]


@dataclass(frozen=True)
class Resolution:
    """What a call is once its arguments are known: the types they are cast to, and the result's type."""

    arguments: Types
    result: DataType


#: gives None if the function does not take such arguments
Rule = Callable[[Arguments], Resolution | None]
#: the type of the result, from the types of the arguments after the casts
Result = DataType | Callable[[Types], DataType]


@dataclass(frozen=True)
class Function:
    """A function of the language. `takes` is for people: it is what error messages show."""

    name: str
    takes: str
    resolve: Rule
    aliases: tuple[str, ...] = ()
    aggregate: bool = False
    #: whether the result depends on nothing but the arguments
    deterministic: bool = True


@dataclass(frozen=True)
class Parameter:
    """One place in an argument list: how it is called in messages, and what a given type is cast to (None: refused)."""

    label: str
    accept: Callable[[DataType], DataType | None]


def of_type(type_: DataType) -> Parameter:
    """Exactly this type, after an implicit cast."""
    return Parameter(str(type_), lambda given: type_ if accepts(type_, given) else None)


def _numeric(given: DataType) -> DataType | None:
    if is_numeric(given):
        return given
    # text is read as a DOUBLE wherever any number will do
    return DOUBLE if given in (STRING, NULL) else None


def _integral(given: DataType) -> DataType | None:
    if is_integer(given):
        return given
    return INTEGER if given == NULL else None


def _array(given: DataType) -> DataType | None:
    if given == NULL:
        return array(NULL)
    return given if is_array(given) else None


ANY = Parameter("any type", lambda given: given)
NUMBER = Parameter("a number", _numeric)
WHOLE = Parameter("a whole number", _integral)
AN_ARRAY = Parameter("ARRAY", _array)
A_STRING = of_type(STRING)
AN_INTEGER = of_type(INTEGER)
A_BIGINT = of_type(BIGINT)
A_DOUBLE = of_type(DOUBLE)
A_BOOLEAN = of_type(BOOLEAN)
A_DATE = of_type(DATE)
A_TIMESTAMP = of_type(TIMESTAMP)


def describe(parameters: tuple[Parameter, ...], optional: int = 0, repeated: bool = False) -> str:
    """A parameter list as messages show it.

    >>> describe((A_STRING, AN_INTEGER, AN_INTEGER), optional=1)
    '(STRING, INTEGER [, INTEGER])'
    """
    required = len(parameters) - optional
    text = ", ".join(parameter.label for parameter in parameters[:required])
    for parameter in parameters[required:]:
        text += f" [, {parameter.label}]" if text else f"[{parameter.label}]"
    return f"({text}{', …' if repeated else ''})"


def parameters_rule(parameters: tuple[Parameter, ...], returns: Result, optional: int, repeated: bool) -> Rule:
    """The rule of a function that is described by its parameters alone."""

    def resolve(arguments: Arguments) -> Resolution | None:
        wanted = parameters
        if repeated:
            wanted += parameters[-1:] * (len(arguments) - len(parameters))
        if not len(parameters) - optional <= len(arguments) <= len(wanted):
            return None
        types: list[DataType] = []
        for parameter, argument in zip(wanted, arguments, strict=False):
            type_ = parameter.accept(argument.type)
            if type_ is None:
                return None
            types.append(type_)
        result = returns if isinstance(returns, DataType) else returns(tuple(types))
        return Resolution(tuple(types), result)

    return resolve


def function(
    name: str,
    *parameters: Parameter,
    returns: Result,
    optional: int = 0,
    repeated: bool = False,
    aliases: tuple[str, ...] = (),
    aggregate: bool = False,
    deterministic: bool = True,
) -> Function:
    """A function by its parameters: the last `optional` may be left out, the last one may be `repeated`."""
    return Function(
        name,
        describe(parameters, optional, repeated),
        parameters_rule(parameters, returns, optional, repeated),
        aliases,
        aggregate,
        deterministic,
    )


def same_as(position: int) -> Callable[[Types], DataType]:
    """The result has the type of that argument."""
    return lambda types: types[position]


def element_of(position: int) -> Callable[[Types], DataType]:
    """The result has the element type of that ARRAY argument."""
    return lambda types: types[position].element or NULL
