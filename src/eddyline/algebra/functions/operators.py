"""Arithmetic, comparison, logic and pattern matching: the operators of the language.

Integers of different width are not cast: every engine widens them alike, and a cast would hide the column of
`temp < 50` from the indexes of the grouped filters.
"""

from __future__ import annotations

from collections.abc import Callable

from eddyline.algebra.coercion import (
    adjusted,
    both_integers,
    common_type_of,
    comparison_type,
    decimal_of,
    is_decimal,
    is_orderable,
    tightest_common_type,
    wider_integer,
)
from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.functions.signature import (
    A_BOOLEAN,
    A_STRING,
    ANY,
    NUMBER,
    WHOLE,
    Arguments,
    Function,
    Parameter,
    Resolution,
    Rule,
    function,
    parameters_rule,
    same_as,
)
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_integer,
    is_numeric,
)

#: type of a DECIMAL result, from the precision and scale of both sides
DecimalResult = Callable[[int, int, int, int], DataType]


def _decimal_sum(p1: int, s1: int, p2: int, s2: int) -> DataType:
    scale = max(s1, s2)
    return adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)


def _decimal_product(p1: int, s1: int, p2: int, s2: int) -> DataType:
    return adjusted(p1 + p2 + 1, s1 + s2)


def _decimal_quotient(p1: int, s1: int, p2: int, s2: int) -> DataType:
    scale = max(6, s1 + p2 + 1)
    return adjusted(p1 - s1 + s2 + scale, scale)


def _decimal_remainder(p1: int, s1: int, p2: int, s2: int) -> DataType:
    scale = max(s1, s2)
    return adjusted(min(p1 - s1, p2 - s2) + scale, scale)


def _decimals(left: TypedExpr, right: TypedExpr) -> tuple[DataType, DataType] | None:
    """The types of both sides if this is exact DECIMAL arithmetic."""
    types = (left.type, right.type)
    if not any(map(is_decimal, types)) or not all(is_decimal(t) or is_integer(t) for t in types):
        return None
    return decimal_of(left), decimal_of(right)


def _numbers(left: TypedExpr, right: TypedExpr, of_decimals: DecimalResult) -> Resolution | None:
    """Two numbers: exact for DECIMAL and integers, otherwise FLOAT or DOUBLE; text counts as DOUBLE."""
    if decimals := _decimals(left, right):
        return Resolution(decimals, of_decimals(*decimals[0].parameters, *decimals[1].parameters))
    # a NULL takes the type of the other side
    first = NUMBER.accept(right.type if left.type == NULL else left.type)
    second = NUMBER.accept(left.type if right.type == NULL else right.type)
    if first is None or second is None:
        return None
    if is_decimal(first) and is_decimal(second):
        return Resolution((first, second), of_decimals(*first.parameters, *second.parameters))
    if both_integers(first, second):
        return Resolution((first, second), wider_integer(first, second))
    wide = DOUBLE if is_decimal(first) or is_decimal(second) else tightest_common_type(first, second)
    return None if wide is None else Resolution((wide, wide), wide)


def _sum(sign: str) -> Rule:
    def resolve(arguments: Arguments) -> Resolution | None:
        if len(arguments) != 2:
            return None
        left, right = arguments
        return _times(sign, left.type, right.type) or _numbers(left, right, _decimal_sum)

    return resolve


def _times(sign: str, left: DataType, right: DataType) -> Resolution | None:
    """Sums with points in time and intervals. DATE + whole days is made a DATE by the binder (`date_add`)."""
    moments = (DATE, TIMESTAMP, STRING)
    if left == INTERVAL and right in (INTERVAL, NULL):
        return Resolution((INTERVAL, INTERVAL), INTERVAL)
    if right == INTERVAL and left in moments:
        return Resolution((TIMESTAMP, INTERVAL), STRING if left == STRING else TIMESTAMP)
    if sign == "+" and left == INTERVAL and right in moments:
        return Resolution((INTERVAL, TIMESTAMP), STRING if right == STRING else TIMESTAMP)
    if sign == "-" and (DATE in (left, right) or TIMESTAMP in (left, right)):
        if left == right == DATE or (left in (STRING, NULL) and right == DATE):
            return Resolution((DATE, DATE), INTERVAL)
        if left in (DATE, TIMESTAMP, NULL) and right in (DATE, TIMESTAMP, NULL):
            return Resolution((TIMESTAMP, TIMESTAMP), INTERVAL)
    return None


def _product(arguments: Arguments) -> Resolution | None:
    if len(arguments) != 2:
        return None
    left, right = arguments
    if left.type == INTERVAL and is_numeric(right.type):
        return Resolution((INTERVAL, right.type), INTERVAL)
    if right.type == INTERVAL and is_numeric(left.type):
        return Resolution((left.type, INTERVAL), INTERVAL)
    return _numbers(left, right, _decimal_product)


def _quotient(arguments: Arguments) -> Resolution | None:
    """`/` is never an integer division: whole numbers are divided as DOUBLE."""
    if len(arguments) != 2:
        return None
    left, right = arguments
    if left.type == INTERVAL and is_numeric(right.type):
        return Resolution((INTERVAL, right.type), INTERVAL)
    resolved = _numbers(left, right, _decimal_quotient)
    if resolved is None or is_decimal(resolved.result):
        return resolved
    return Resolution((DOUBLE, DOUBLE), DOUBLE)


def _remainder(arguments: Arguments) -> Resolution | None:
    return _numbers(*arguments, _decimal_remainder) if len(arguments) == 2 else None


def _whole_quotient(arguments: Arguments) -> Resolution | None:
    """`div` of whole numbers or DECIMALs gives BIGINT; text and floating point have no `div`."""
    if len(arguments) != 2:
        return None
    left, right = arguments
    if left.type == right.type == INTERVAL:
        return Resolution((INTERVAL, INTERVAL), BIGINT)
    if decimals := _decimals(left, right):
        return Resolution(decimals, BIGINT)
    types = [BIGINT if argument.type == NULL else argument.type for argument in arguments]
    if not all(is_integer(type_) for type_ in types):
        return None
    return Resolution((types[0], types[1]), BIGINT)


def _comparison(arguments: Arguments) -> Resolution | None:
    if len(arguments) != 2:
        return None
    left, right = (argument.type for argument in arguments)
    if both_integers(left, right):
        return Resolution((left, right), BOOLEAN)
    common = comparison_type(left, right)
    if common is None or not is_orderable(common):
        return None
    return Resolution((common, common), BOOLEAN)


def _equality(arguments: Arguments) -> Resolution | None:
    """As other comparisons; a BOOLEAN may also equal the numbers 1 and 0."""
    if len(arguments) == 2:
        left, right = (argument.type for argument in arguments)
        if left == BOOLEAN and is_numeric(right):
            return Resolution((right, right), BOOLEAN)
        if right == BOOLEAN and is_numeric(left):
            return Resolution((left, left), BOOLEAN)
    return _comparison(arguments)


def _in(arguments: Arguments) -> Resolution | None:
    types = tuple(argument.type for argument in arguments)
    if len(types) < 2:
        return None
    if all(map(is_integer, types)):
        return Resolution(types, BOOLEAN)
    common = common_type_of(types)
    return None if common is None else Resolution((common,) * len(types), BOOLEAN)


def _bitwise(arguments: Arguments) -> Resolution | None:
    if len(arguments) != 2:
        return None
    types = [WHOLE.accept(argument.type) for argument in arguments]
    if types[0] is None or types[1] is None:
        return None
    return Resolution((types[0], types[1]), wider_integer(types[0], types[1]))


def _negation(given: DataType) -> DataType | None:
    return INTERVAL if given == INTERVAL else NUMBER.accept(given)


def _int_or_long(given: DataType) -> DataType | None:
    """Shifts know INTEGER and BIGINT only."""
    accepted = WHOLE.accept(given)
    return accepted if accepted in (None, BIGINT) else INTEGER


NUMBER_OR_INTERVAL = Parameter("a number or INTERVAL", _negation)
_SHIFTED = Parameter("INTEGER or BIGINT", _int_or_long)
_SHIFT = parameters_rule((_SHIFTED, Parameter("INTEGER", _int_or_long)), same_as(0), 0, False)
_TWO_NUMBERS = "two numbers"
_TWO_COMPARABLE = "two values that can be compared"


def _concatenation(arguments: Arguments) -> Resolution | None:
    """Text, or arrays."""
    types = tuple(argument.type for argument in arguments)
    if not types:
        return Resolution((), STRING)
    if all(type_.element or type_ == NULL for type_ in types) and any(type_.element for type_ in types):
        common = common_type_of(types)
        return None if common is None else Resolution((common,) * len(types), common)
    if any(type_.element for type_ in types):
        return None
    return Resolution((STRING,) * len(types), STRING)


FUNCTIONS: tuple[Function, ...] = (
    Function("+", _TWO_NUMBERS, _sum("+")),
    Function("-", _TWO_NUMBERS, _sum("-")),
    Function("*", _TWO_NUMBERS, _product),
    Function("/", _TWO_NUMBERS, _quotient),
    Function("%", _TWO_NUMBERS, _remainder, aliases=("mod",)),
    Function("div", "two whole numbers or two DECIMALs", _whole_quotient),
    Function("pmod", _TWO_NUMBERS, _remainder),
    function("neg", NUMBER_OR_INTERVAL, returns=same_as(0), aliases=("negative",)),
    function("positive", NUMBER_OR_INTERVAL, returns=same_as(0)),
    Function("=", _TWO_COMPARABLE, _equality),
    Function("<=>", _TWO_COMPARABLE, _equality, aliases=("equal_null",)),
    Function("!=", _TWO_COMPARABLE, _equality),
    Function("<", _TWO_COMPARABLE, _comparison),
    Function("<=", _TWO_COMPARABLE, _comparison),
    Function(">", _TWO_COMPARABLE, _comparison),
    Function(">=", _TWO_COMPARABLE, _comparison),
    Function("in", "a value and choices of one common type", _in),
    function("and", A_BOOLEAN, A_BOOLEAN, returns=BOOLEAN),
    function("or", A_BOOLEAN, A_BOOLEAN, returns=BOOLEAN),
    function("not", A_BOOLEAN, returns=BOOLEAN),
    function("is null", ANY, returns=BOOLEAN),
    Function("||", "(STRING, STRING, …) or arrays of one type", _concatenation, aliases=("concat",)),
    function("like", A_STRING, A_STRING, A_STRING, optional=1, returns=BOOLEAN),
    function("ilike", A_STRING, A_STRING, A_STRING, optional=1, returns=BOOLEAN),
    function("rlike", A_STRING, A_STRING, returns=BOOLEAN, aliases=("regexp_like", "regexp")),
    Function("&", "two whole numbers", _bitwise),
    Function("|", "two whole numbers", _bitwise),
    Function("^", "two whole numbers", _bitwise),
    function("~", WHOLE, returns=same_as(0)),
    Function("<<", "INTEGER or BIGINT, and INTEGER", _SHIFT, aliases=("shiftleft",)),
    Function(">>", "INTEGER or BIGINT, and INTEGER", _SHIFT, aliases=("shiftright",)),
    Function(">>>", "INTEGER or BIGINT, and INTEGER", _SHIFT, aliases=("shiftrightunsigned",)),
)
