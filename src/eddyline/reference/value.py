"""How values compare, and what fits into their types.

NaN equals itself and is larger than every other number, and -0.0 equals 0.0, so that groups, DISTINCT, joins and ORDER
BY agree with each other. NULL sorts first.
"""

from __future__ import annotations

import math
import struct
from datetime import timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from eddyline.algebra.types import INTEGER_BITS, DataType

#: enough digits for every exact intermediate result of two DECIMAL(38)
EXACT = Context(prec=120, rounding=ROUND_HALF_UP, Emax=9999, Emin=-9999)

MICROSECOND = timedelta(microseconds=1)


def wrap(value: int, bits: int) -> int:
    """The integer as it is held in `bits` bits: what does not fit wraps around."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def wrapped(value: int, type_: DataType) -> int:
    return wrap(value, INTEGER_BITS[type_])


def float32(value: float) -> float:
    """The nearest value of FLOAT."""
    if math.isnan(value) or math.isinf(value):
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def fitted(value: Decimal, type_: DataType) -> Decimal | None:
    """The number with the scale of a DECIMAL type, rounded half up; NULL if it has too many digits."""
    precision, scale = type_.parameters
    try:
        rounded = value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP, context=EXACT)
    except InvalidOperation:
        return None
    if rounded.is_zero():
        return abs(rounded)  # a DECIMAL has no negative zero
    return rounded if rounded.adjusted() < precision - scale else None


def group_key(value: Any) -> Any:
    """A value that hashes and compares as SQL groups: use it as a dictionary key."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    if isinstance(value, tuple):
        return tuple(map(group_key, value))
    return value


def row_key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """`group_key` of a whole tuple."""
    return tuple(map(group_key, row))


def equal(left: Any, right: Any) -> bool:
    """Equality of two values that are not NULL."""
    return bool(left == right) or group_key(left) == group_key(right)


def order_key(value: Any) -> Any:
    """A value that sorts as ORDER BY does: NULL first, NaN last."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (1, 1, 0.0) if value != value else (1, 0, value)
    if isinstance(value, tuple):
        return (1, tuple(map(order_key, value)))
    return (1, value)


def less(left: Any, right: Any) -> bool:
    """`<` of two values that are not NULL."""
    if isinstance(left, float | tuple):
        return bool(order_key(left) < order_key(right))
    return bool(left < right)
