"""What fits into each type, and how it is rounded to fit."""

from __future__ import annotations

import math
import struct
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from eddyline.algebra.types import FLOAT, INTEGER_BITS, DataType
from eddyline.sources.reasons import does_not_fit

#: wide enough for every DECIMAL (38 digits) and for the digits that rounding to its scale takes away
_DECIMAL_CONTEXT = Context(prec=400, rounding=ROUND_HALF_UP)


def bounds(type_: DataType) -> tuple[int, int]:
    half: int = 1 << (INTEGER_BITS[type_] - 1)
    return -half, half - 1


def narrowed(value: float, type_: DataType, original: Any) -> float:
    """The value as the type holds it. A finite number that becomes infinite does not fit."""
    if type_ == FLOAT and math.isfinite(value):
        try:
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        except OverflowError:
            raise does_not_fit(original, type_) from None
    return value


def scaled(number: Decimal, type_: DataType, original: Any) -> Decimal:
    """Rounded half up to the type's scale, as Spark does; too many digits before the point do not fit."""
    precision, scale = type_.parameters or (10, 0)
    # Looking at the exponent first keeps 1e999999999 from being written out.
    if not number.is_finite() or (number and number.adjusted() >= precision):
        raise does_not_fit(original, type_)
    if number.adjusted() < -scale - 1:
        number = Decimal(0)
    try:
        rounded = number.quantize(Decimal(1).scaleb(-scale), context=_DECIMAL_CONTEXT)
    except InvalidOperation:
        raise does_not_fit(original, type_) from None
    if rounded and rounded.adjusted() >= precision - scale:
        raise does_not_fit(original, type_)
    return rounded


def in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
