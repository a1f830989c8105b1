"""CAST, between every two types: what cannot be cast is NULL."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from eddyline.algebra.constant_text import date_text, double_text, float_text, interval_text, timestamp_text
from eddyline.algebra.expression import Call
from eddyline.algebra.moments import BLANK, text_to_date, text_to_timestamp
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_integer,
    is_numeric,
)
from eddyline.reference.functions.implementation import Evaluator, Implementation, given_types, typed
from eddyline.reference.value import EXACT, MICROSECOND, fitted, float32, wrapped

EPOCH = datetime(1970, 1, 1)
EPOCH_DAY = EPOCH.date()
Cast = Callable[[Any], Any]

# -- to text ----------------------------------------------------------------------------------------------------------


def to_text(given: DataType) -> Cast:
    """How values of a type are written."""
    if given.element is not None:
        element = to_text(given.element)
        return lambda values: f"[{', '.join('null' if value is None else element(value) for value in values)}]"
    return _TEXTS.get(given, str)


_TEXTS: dict[DataType, Cast] = {
    BOOLEAN: lambda value: "true" if value else "false",
    DOUBLE: double_text,
    FLOAT: float_text,
    DATE: date_text,
    TIMESTAMP: timestamp_text,
    INTERVAL: interval_text,
}

# -- from text --------------------------------------------------------------------------------------------------------

_WHOLE = re.compile(r"([+-]?)(\d*)(?:\.\d*)?", re.ASCII)
_FLOATING = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?", re.ASCII)
_HEXADECIMAL = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+[dDfF]?", re.ASCII)
_SPECIAL = {"inf": math.inf, "infinity": math.inf, "nan": math.nan}
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})


def text_to_whole(text: str, type_: DataType) -> int | None:
    """Digits, with a fraction that is cut off; no exponent."""
    found = _WHOLE.fullmatch(text.strip(BLANK))
    if found is None or found[0] in ("", "+", "-"):
        return None
    value = int(found[1] + (found[2] or "0"))
    return value if value == wrapped(value, type_) else None


def text_to_double(text: str) -> float | None:
    stripped = text.strip(BLANK)
    unsigned = stripped[1:] if stripped[:1] in ("+", "-") else stripped
    special = _SPECIAL.get(unsigned.lower())
    if special is not None:
        if math.isnan(special) and unsigned != stripped:
            return None
        return -special if stripped.startswith("-") else special
    if _HEXADECIMAL.fullmatch(stripped):
        return float.fromhex(stripped.rstrip("dDfF"))
    return float(stripped.rstrip("dDfF")) if _FLOATING.fullmatch(stripped) else None


def text_to_decimal(text: str, type_: DataType) -> Decimal | None:
    stripped = text.strip(BLANK)
    if not _DECIMAL.fullmatch(stripped):
        return None
    try:
        return fitted(Decimal(stripped), type_)
    except InvalidOperation:
        return None


def text_to_boolean(text: str) -> bool | None:
    word = text.strip(BLANK).lower()
    if word in _TRUE:
        return True
    return False if word in _FALSE else None


def _from_text(to: DataType) -> Cast:
    if is_integer(to):
        return lambda text: text_to_whole(text, to)
    if to.name == "DECIMAL":
        return lambda text: text_to_decimal(text, to)
    if to == FLOAT:
        return lambda text: None if (value := text_to_double(text)) is None else float32(value)
    return {DOUBLE: text_to_double, BOOLEAN: text_to_boolean, DATE: text_to_date, TIMESTAMP: text_to_timestamp}[to]


# -- numbers ----------------------------------------------------------------------------------------------------------


def _clamped(value: float, bits: int) -> int:
    """A floating-point number as an integer: NaN is 0, what is too large is the largest."""
    if math.isnan(value):
        return 0
    half = 1 << (bits - 1)
    return int(max(-half, min(half - 1, value))) if math.isinf(value) or abs(value) >= half else int(value)


def floating_to_whole(value: float, type_: DataType) -> int:
    """TINYINT and SMALLINT are cut out of the INTEGER, as Java does."""
    return wrapped(_clamped(value, max(32, INTEGER_BITS[type_])), type_)


def _to_whole(given: DataType, to: DataType) -> Cast:
    if given in (FLOAT, DOUBLE):
        return lambda value: floating_to_whole(value, to)
    if given == TIMESTAMP:

        def seconds(value: datetime) -> int | None:
            whole = micros_of(value) // 1_000_000
            return whole if whole == wrapped(whole, to) else None

        return seconds
    if given.name == "DECIMAL":
        return lambda value: wrapped(wrapped(int(value), BIGINT), to)
    return lambda value: wrapped(int(value), to)


def _to_floating(given: DataType, to: DataType) -> Cast:
    fit: Cast = float32 if to == FLOAT else float
    if given == TIMESTAMP:
        return lambda value: fit(micros_of(value) / 1_000_000)
    return lambda value: fit(float(value))


def _to_decimal(given: DataType, to: DataType) -> Cast:
    if given in (FLOAT, DOUBLE):
        return lambda value: fitted(Decimal(repr(value)), to) if math.isfinite(value) else None
    if given == TIMESTAMP:
        return lambda value: fitted(Decimal(micros_of(value)).scaleb(-6, EXACT), to)
    return lambda value: fitted(Decimal(value), to)


def _to_boolean(given: DataType) -> Cast:
    if given == TIMESTAMP:
        return lambda value: micros_of(value) != 0
    return lambda value: bool(value != 0)


# -- times ------------------------------------------------------------------------------------------------------------


def micros_of(value: datetime) -> int:
    """Microseconds since 1970."""
    return (value - EPOCH) // MICROSECOND


def timestamp_of(micros: int) -> datetime | None:
    """The point in time; NULL outside the years 1 to 9999."""
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None


def _to_timestamp(given: DataType) -> Cast:
    if given == DATE:
        return lambda value: datetime(value.year, value.month, value.day)
    if given == BOOLEAN:
        return lambda value: timestamp_of(int(value))
    if given in (FLOAT, DOUBLE):
        return lambda value: timestamp_of(_clamped(value * 1_000_000, 64)) if math.isfinite(value) else None
    if given.name == "DECIMAL":
        return lambda value: timestamp_of(int(EXACT.multiply(value, Decimal(1_000_000))))
    return lambda value: timestamp_of(value * 1_000_000)


def caster(given: DataType, to: DataType) -> Cast:
    """The function that casts values of one type, not NULL, to the other."""
    if given in (to, NULL):
        return lambda value: value
    if to == STRING:
        return to_text(given)
    if given == STRING:
        return _from_text(to)
    if given.element is not None and to.element is not None:
        element = caster(given.element, to.element)
        return lambda values: tuple(None if value is None else element(value) for value in values)
    if given == DATE and to != TIMESTAMP:
        return lambda value: None
    if is_integer(to):
        return _to_whole(given, to)
    if is_numeric(to):
        return _to_decimal(given, to) if to.name == "DECIMAL" else _to_floating(given, to)
    if to == BOOLEAN:
        return _to_boolean(given)
    if to == DATE:
        return lambda value: value.date()
    return _to_timestamp(given)


def _cast(call: Call) -> Evaluator:
    return caster(given_types(call)[0], call.type)


IMPLEMENTATIONS: dict[str, Implementation] = {"cast": typed(_cast)}
