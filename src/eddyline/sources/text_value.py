"""From the text of a field to a value of its column's type."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

from eddyline.algebra.types import BOOLEAN, DATE, DOUBLE, FLOAT, INTEGER_BITS, STRING, TIMESTAMP, DataType
from eddyline.errors import NotSupported
from eddyline.sources.limits import bounds, in_utc, narrowed, scaled
from eddyline.sources.reasons import does_not_fit, is_not

Converter = Callable[[Any], Any]


def text_converter(type_: DataType) -> Converter:
    """The converter from the text of a field.

    >>> text_converter(DataType("INTEGER"))("-7")
    -7
    """
    if type_ in INTEGER_BITS:
        return _integer_from_text(type_)
    if type_ in (FLOAT, DOUBLE):
        return float_from_text(type_)
    if type_.name == "DECIMAL":
        return _decimal_from_text(type_)
    simple: dict[DataType, Converter] = {
        STRING: str,
        BOOLEAN: _boolean_from_text,
        DATE: date_from_text,
        TIMESTAMP: timestamp_from_text,
    }
    if type_ not in simple:
        raise NotSupported(f"a column of type {type_} cannot be read from text", hint="use json or parquet")
    return simple[type_]


def _plain_number(text: str) -> bool:
    """Python also takes 1_000 and the digits of other scripts for numbers; data files mean neither."""
    return text.isascii() and "_" not in text


def _integer_from_text(type_: DataType) -> Converter:
    lowest, highest = bounds(type_)

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise is_not(text, type_) from None
        if "_" in text or not text.isascii():  # `_plain_number`, without the call
            raise is_not(text, type_)
        if not lowest <= value <= highest:
            raise does_not_fit(text, type_)
        return value

    return convert


def float_from_text(type_: DataType) -> Converter:
    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise is_not(text, type_) from None
        if not _plain_number(text):
            raise is_not(text, type_)
        if math.isinf(value) and "inf" not in text.lower():
            raise does_not_fit(text, type_)
        return narrowed(value, type_, text)

    return convert


def _decimal_from_text(type_: DataType) -> Converter:
    def convert(text: str) -> Decimal:
        try:
            number = Decimal(text)
        except InvalidOperation:
            raise is_not(text, type_) from None
        if not _plain_number(text) or not number.is_finite():
            raise is_not(text, type_)
        return scaled(number, type_, text)

    return convert


def _boolean_from_text(text: str) -> bool:
    lower = text.strip().lower()
    if lower in ("true", "false"):
        return lower == "true"
    raise is_not(text, BOOLEAN)


def date_from_text(text: str) -> date:
    trimmed = text.strip()
    # Python also reads 20030606 and 2003-W23-5.
    if len(trimmed) == 10 and trimmed[4] == trimmed[7] == "-":
        try:
            return date.fromisoformat(trimmed)
        except ValueError:
            pass
    raise is_not(text, DATE)


def timestamp_from_text(text: str) -> datetime:
    trimmed = text.strip()
    if trimmed[4:5] == trimmed[7:8] == "-" and trimmed[10:11] in ("", " ", "T", "t"):
        try:
            return in_utc(_moment(trimmed))
        except (ValueError, OverflowError):
            pass
    raise is_not(text, TIMESTAMP)


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        # What Python does not read: a space before the offset, and zones by name.
        moment, _, zone = text.rpartition(" ")
        if len(moment) <= 10:
            raise
    if zone[0] in "+-":
        return datetime.fromisoformat(moment + zone)
    try:
        return datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(zone))
    except (KeyError, OSError) as problem:  # no such zone; names that are folders of the zone database
        raise ValueError(zone) from problem
