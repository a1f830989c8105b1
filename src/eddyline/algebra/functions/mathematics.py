"""Functions on numbers."""

from __future__ import annotations

from eddyline.algebra.coercion import MAX_PRECISION, is_decimal
from eddyline.algebra.expression import Literal, TypedExpr
from eddyline.algebra.functions.operators import NUMBER_OR_INTERVAL
from eddyline.algebra.functions.signature import (
    A_BIGINT,
    A_DOUBLE,
    AN_INTEGER,
    NUMBER,
    Arguments,
    Function,
    Parameter,
    Resolution,
    function,
    same_as,
)
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGERS,
    NULL,
    SMALLINT,
    STRING,
    TINYINT,
    DataType,
    array,
    decimal,
    is_integer,
    is_numeric,
)


def _constant_scale(arguments: Arguments) -> int | None:
    """The number of digits to round to. It must be a constant, because the type of the result depends on it."""
    if len(arguments) == 1:
        return 0
    scale: TypedExpr = arguments[1]
    if isinstance(scale, Literal) and is_integer(scale.type) and scale.value is not None:
        return int(scale.value)
    return None


def _rounded_decimal(type_: DataType, scale: int) -> DataType:
    """One digit more before the point, because 9.9 rounds to 10."""
    precision, old_scale = type_.parameters
    whole = precision - old_scale + 1
    if scale < 0:
        return decimal(min(max(whole, 1 - scale), MAX_PRECISION), 0)
    new_scale = min(old_scale, scale)
    return decimal(min(whole + new_scale, MAX_PRECISION), new_scale)


def _round(arguments: Arguments) -> Resolution | None:
    if not 1 <= len(arguments) <= 2:
        return None
    scale, number = _constant_scale(arguments), NUMBER.accept(arguments[0].type)
    if scale is None or number is None:
        return None
    result = _rounded_decimal(number, scale) if is_decimal(number) else number
    return Resolution((number, INTEGER)[: len(arguments)], result)


#: what CEIL and FLOOR with a scale make of a number: they always answer with a DECIMAL
_EXACT: dict[DataType, DataType] = {
    TINYINT: decimal(3),
    SMALLINT: decimal(5),
    INTEGER: decimal(10),
    BIGINT: decimal(20),
    FLOAT: decimal(14, 7),
    DOUBLE: decimal(30, 15),
}


def _whole(arguments: Arguments) -> Resolution | None:
    """CEIL and FLOOR: BIGINT, but DECIMAL for a DECIMAL or with a scale."""
    if not 1 <= len(arguments) <= 2:
        return None
    scale, number = _constant_scale(arguments), NUMBER.accept(arguments[0].type)
    if scale is None or number is None:
        return None
    if len(arguments) == 2:
        exact = _EXACT.get(number, number)
        return Resolution((exact, INTEGER), _rounded_decimal(exact, scale))
    if is_decimal(number):
        return Resolution((number,), _rounded_decimal(number, 0))
    return Resolution((number,), BIGINT)


def _log(arguments: Arguments) -> Resolution | None:
    if not 1 <= len(arguments) <= 2 or any(A_DOUBLE.accept(argument.type) is None for argument in arguments):
        return None
    return Resolution((DOUBLE,) * len(arguments), DOUBLE)


def _dist(arguments: Arguments) -> Resolution | None:
    """dist(p, q) of points (text, arrays of coordinates, or places on a line), dist(x1, y1, x2, y2) of coordinates."""
    types = [argument.type for argument in arguments]
    if len(types) not in (2, 4):
        return None
    on_a_line = all(is_numeric(given) or given == NULL for given in types)
    if len(types) == 4 or on_a_line:
        return Resolution((DOUBLE,) * len(types), DOUBLE) if on_a_line else None
    if all(given.element is not None and is_numeric(given.element) for given in types):
        return Resolution((array(DOUBLE),) * 2, DOUBLE)
    return Resolution((STRING, STRING), DOUBLE) if all(given in (STRING, NULL) for given in types) else None


def _floating(given: DataType) -> DataType | None:
    return given if given == FLOAT else A_DOUBLE.accept(given)


def _hex_input(given: DataType) -> DataType | None:
    if given in (STRING, NULL):
        return STRING
    return A_BIGINT.accept(given)


def _doubles(*names: str) -> tuple[Function, ...]:
    """Functions from DOUBLE to DOUBLE."""
    return tuple(function(name, A_DOUBLE, returns=DOUBLE) for name in names)


_BITS = Parameter("a whole number or BOOLEAN", lambda type_: type_ if type_ in (BOOLEAN, *INTEGERS) else None)
_ROUNDS = "(a number [, a constant INTEGER])"

FUNCTIONS: tuple[Function, ...] = (
    *_doubles("sqrt", "cbrt", "exp", "expm1", "ln", "log2", "log10", "log1p", "rint"),
    *_doubles("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *_doubles("cot", "sec", "csc", "degrees", "radians"),
    function("signum", A_DOUBLE, returns=DOUBLE, aliases=("sign",)),
    function("power", A_DOUBLE, A_DOUBLE, returns=DOUBLE, aliases=("pow",)),
    function("atan2", A_DOUBLE, A_DOUBLE, returns=DOUBLE),
    function("hypot", A_DOUBLE, A_DOUBLE, returns=DOUBLE),
    Function("log", "(DOUBLE) or (base DOUBLE, DOUBLE)", _log),
    function("pi", returns=DOUBLE),
    function("e", returns=DOUBLE),
    function("abs", NUMBER_OR_INTERVAL, returns=same_as(0)),
    Function("round", _ROUNDS, _round),
    Function("bround", _ROUNDS, _round),
    Function("ceil", _ROUNDS, _whole, aliases=("ceiling",)),
    Function("floor", _ROUNDS, _whole),
    function("isnan", Parameter("FLOAT or DOUBLE", _floating), returns=BOOLEAN),
    function("factorial", AN_INTEGER, returns=BIGINT),
    function("bin", A_BIGINT, returns=STRING),
    function("hex", Parameter("BIGINT or STRING", _hex_input), returns=STRING),
    function("bit_count", _BITS, returns=INTEGER),
    Function("dist", "two points ('x,y', array(x, y) or x) or four coordinates (x1, y1, x2, y2)", _dist),
)
