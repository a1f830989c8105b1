"""Arithmetic, comparison and logic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from datetime import timedelta
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from typing import Any

from eddyline.algebra.constant_text import timestamp_text
from eddyline.algebra.expression import Call
from eddyline.algebra.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    INTERVAL,
    STRING,
    DataType,
    is_integer,
)
from eddyline.reference.functions.implementation import Evaluator, Implementation, null_aware, plain, typed
from eddyline.reference.value import EXACT, MICROSECOND, equal, fitted, float32, less, wrap, wrapped

#: an INTERVAL is held in a BIGINT of microseconds; what is longer is NULL
_LONGEST = ((1 << 63) - 1) * MICROSECOND


def _arithmetic(exact: Callable[[Any, Any], Any], decimals: Callable[[Decimal, Decimal], Decimal]) -> Implementation:
    """+ - and *: integers wrap around, DECIMAL is exact and then fitted, times move by intervals."""

    def make(call: Call) -> Evaluator:
        result = call.type
        if is_integer(result):
            bits = INTEGER_BITS[result]
            return lambda a, b: wrap(exact(a, b), bits)
        if result == FLOAT:
            return lambda a, b: float32(_floating(exact, a, b))
        if result == DOUBLE:
            return lambda a, b: _floating(exact, a, b)
        if result.name == "DECIMAL":
            return lambda a, b: fitted(decimals(a, b), result)
        return _with_times(exact, call)

    return typed(make)


def _floating(exact: Callable[[Any, Any], Any], a: float, b: float) -> float:
    try:
        return float(exact(a, b))
    except OverflowError:  # pragma: no cover - Python raises it for no float operation but **
        return math.inf


def _with_times(exact: Callable[[Any, Any], Any], call: Call) -> Evaluator:
    """Sums of times and intervals; what leaves the calendar is NULL."""

    def evaluate(a: Any, b: Any) -> Any:
        try:
            if call.type == INTERVAL and isinstance(a, int | float | Decimal) != isinstance(b, int | float | Decimal):
                return _scaled(a, b)
            moved = exact(a, b)
            return moved if call.type != INTERVAL or abs(moved) <= _LONGEST else None
        except (ArithmeticError, ValueError):
            return None

    if call.type == STRING:
        return lambda a, b: None if (moved := evaluate(a, b)) is None else timestamp_text(moved)
    return evaluate


def _scaled(a: Any, b: Any) -> timedelta | None:
    """An interval times a number, rounded half up to the microsecond."""
    interval, factor = (a, b) if isinstance(a, timedelta) else (b, a)
    return _whole_micros(EXACT.multiply(Decimal(interval // MICROSECOND), Decimal(factor)))


def _whole_micros(micros: Decimal) -> timedelta | None:
    length = int(micros.to_integral_value(rounding=ROUND_HALF_UP)) * MICROSECOND
    return length if abs(length) <= _LONGEST else None


def _division(call: Call) -> Evaluator:
    """`/`: by zero it is NULL."""
    result = call.type
    if result == INTERVAL:

        def interval(a: timedelta, b: Any) -> timedelta | None:
            if not b:
                return None
            try:
                return _whole_micros(EXACT.divide(Decimal(a // MICROSECOND), Decimal(b)))
            except (ArithmeticError, ValueError):
                return None

        return interval
    if result == DOUBLE:
        return lambda a, b: _double_quotient(a, b)
    return lambda a, b: fitted(EXACT.divide(a, b), result) if b else None


def _double_quotient(a: float, b: float) -> float | None:
    if b == 0:
        return None
    return a / b


def _truncated_remainder(a: Any, b: Any) -> Any:
    """The remainder has the sign of the dividend, as in Java."""
    if isinstance(a, float):
        if math.isinf(a) or math.isnan(a) or math.isnan(b):
            return math.nan
        return math.fmod(a, b)
    if isinstance(a, Decimal):
        return EXACT.remainder(a, b)
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


def _cast_back(result: DataType) -> Callable[[Any], Any]:
    """What brings an exact intermediate result into the result's type."""
    if is_integer(result):
        return lambda value: wrapped(value, result)
    if result == FLOAT:
        return float32
    if result.name == "DECIMAL":
        return lambda value: fitted(value, result)
    return lambda value: value


def _remainder(call: Call) -> Evaluator:
    fit = _cast_back(call.type)
    return lambda a, b: fit(_truncated_remainder(a, b)) if b != 0 else None


def _positive_remainder(call: Call) -> Evaluator:
    """pmod: never negative for a positive divisor."""
    fit = _cast_back(call.type)

    def evaluate(a: Any, b: Any) -> Any:
        if b == 0:
            return None
        remainder = _truncated_remainder(a, b)
        if remainder < 0:
            shifted = EXACT.add(remainder, b) if isinstance(b, Decimal) else fit(remainder + b)
            remainder = _truncated_remainder(shifted, b)
        return fit(remainder)

    return evaluate


def _whole_quotient(a: Any, b: Any) -> int | None:
    """`div` cuts off the fraction."""
    if isinstance(a, timedelta):
        a, b = a // MICROSECOND, b // MICROSECOND
    if b == 0:
        return None
    if isinstance(a, Decimal):
        return wrapped(int(EXACT.divide(a, b).to_integral_value(rounding=ROUND_DOWN)), BIGINT)
    quotient = abs(a) // abs(b)
    return wrapped(-quotient if (a < 0) != (b < 0) else quotient, BIGINT)


def _negative(call: Call) -> Evaluator:
    if call.type.name == "DECIMAL":
        return EXACT.minus
    fit = _cast_back(call.type)
    return lambda a: fit(-a)


def _subtract(a: Any, b: Any) -> Any:
    return a - b


def _and(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _or(a: bool | None, b: bool | None) -> bool | None:
    if a or b:
        return True
    return None if a is None or b is None else False


def _same(a: Any, b: Any) -> bool:
    """`<=>`: NULL equals NULL."""
    if a is None or b is None:
        return a is b
    return equal(a, b)


def _in(value: Any, *choices: Any) -> bool | None:
    """NULL among the choices may be anything, so a value that is not found is unknown then."""
    if value is None:
        return None
    if any(choice is not None and equal(value, choice) for choice in choices):
        return True
    return None if None in choices else False


def _shift(move: Callable[[int, int, int], int]) -> Implementation:
    def make(call: Call) -> Evaluator:
        bits = INTEGER_BITS[call.type]
        return lambda a, b: wrap(move(a, b % bits, bits), bits)

    return typed(make)


def _concatenation(call: Call) -> Evaluator:
    if call.type.element:
        return lambda *arrays: tuple(element for array in arrays for element in array)
    return lambda *texts: "".join(texts)


IMPLEMENTATIONS: dict[str, Implementation] = {
    "+": _arithmetic(operator.add, EXACT.add),
    "-": _arithmetic(_subtract, EXACT.subtract),
    "*": _arithmetic(operator.mul, EXACT.multiply),
    "/": typed(_division),
    "%": typed(_remainder),
    "pmod": typed(_positive_remainder),
    "div": plain(_whole_quotient),
    "neg": typed(_negative),
    "positive": plain(lambda a: a),
    "=": plain(equal),
    "!=": plain(lambda a, b: not equal(a, b)),
    "<=>": null_aware(_same),
    "<": plain(less),
    "<=": plain(lambda a, b: not less(b, a)),
    ">": plain(lambda a, b: less(b, a)),
    ">=": plain(lambda a, b: not less(a, b)),
    "in": null_aware(_in),
    "and": null_aware(_and),
    "or": null_aware(_or),
    "not": plain(operator.not_),
    "is null": null_aware(lambda a: a is None),
    "||": typed(_concatenation),
    "&": plain(operator.and_),
    "|": plain(operator.or_),
    "^": plain(operator.xor),
    "~": plain(operator.invert),
    "<<": _shift(lambda a, b, _: a << b),
    ">>": _shift(lambda a, b, _: a >> b),
    ">>>": _shift(lambda a, b, bits: (a % (1 << bits)) >> b),
}
