"""How values are written: as CAST(… AS STRING) and as constants in names."""

from __future__ import annotations

import math
import struct
from datetime import date, datetime, timedelta
from decimal import Decimal


def double_text(value: float) -> str:
    """A DOUBLE as Java writes it: plain from 0.001 to 10 million, otherwise with an exponent.

    >>> double_text(0.5), double_text(1e10)
    ('0.5', '1.0E10')
    """
    return _java_text(value, repr(value))


def float_text(value: float) -> str:
    """A FLOAT: the fewest digits that still mean this value."""
    if not math.isfinite(value):
        return _java_text(value, "0")
    digits = next((text for p in range(1, 10) if _is_float(float(text := f"{value:.{p}g}"), value)), repr(value))
    return _java_text(value, digits)


def _is_float(candidate: float, value: float) -> bool:
    try:
        return bool(struct.unpack("f", struct.pack("f", candidate))[0] == value)
    except OverflowError:
        return False


def _java_text(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, digits, exponent = Decimal(shortest).normalize().as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + int(exponent)  # digits before the point
    minus = "-" if sign else ""
    if 1e-3 <= abs(value) < 1e7:
        whole = text[:point].ljust(point, "0") if point > 0 else "0"
        fraction = text[point:] if point > 0 else "0" * -point + text
        return f"{minus}{whole}.{fraction or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def date_text(value: date) -> str:
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"


def timestamp_text(value: datetime) -> str:
    """To the second, with a fraction if there is one."""
    text = f"{date_text(value)} {value.hour:02d}:{value.minute:02d}:{value.second:02d}"
    return f"{text}.{value.microsecond:06d}".rstrip("0") if value.microsecond else text


def interval_text(value: timedelta) -> str:
    """An INTERVAL with all its parts."""
    sign = "-" if value < timedelta() else ""
    seconds, micros = divmod(abs(value) // timedelta(microseconds=1), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    return f"INTERVAL '{sign}{days} {hour:02d}:{minute:02d}:{second:02d}{fraction}' DAY TO SECOND"


def short_interval_text(value: timedelta) -> str:
    """An INTERVAL as a number of the largest unit that says it exactly.

    >>> short_interval_text(timedelta(minutes=90))
    "INTERVAL '90' MINUTE"
    """
    sign = "-" if value < timedelta() else ""
    days, rest = divmod(abs(value), timedelta(days=1))
    if not rest:
        return f"INTERVAL '{sign}{days}' DAY"
    for unit, length in (("HOUR", timedelta(hours=1)), ("MINUTE", timedelta(minutes=1))):
        amount, rest = divmod(abs(value), length)
        if not rest:
            return f"INTERVAL '{sign}{amount:02d}' {unit}"
    if days:
        return interval_text(value)
    seconds, micros = divmod(abs(value) // timedelta(microseconds=1), 1_000_000)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    return f"INTERVAL '{sign}{seconds:02d}{fraction}' SECOND"
