"""From a value that already has a type of its own, as JSON and Arrow values do, to one of its column's type."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from eddyline.algebra.types import BOOLEAN, DATE, DOUBLE, FLOAT, INTEGER_BITS, INTERVAL, STRING, TIMESTAMP, DataType
from eddyline.errors import NotSupported
from eddyline.sources.limits import bounds, in_utc, narrowed, scaled
from eddyline.sources.reasons import SHOWN_CHARACTERS, BadValue, does_not_fit, is_not_native
from eddyline.sources.text_value import Converter, date_from_text, float_from_text, timestamp_from_text


def native_converter(type_: DataType) -> Converter:
    """The converter from a value that already has a type of its own, as JSON and Arrow values do."""
    if type_ in INTEGER_BITS:
        return _integer_from_native(type_)
    if type_ in (FLOAT, DOUBLE):
        return _float_from_native(type_)
    if type_.name == "DECIMAL":
        return _decimal_from_native(type_)
    if type_.element is not None:
        return _array_from_native(type_, native_converter(type_.element))
    simple: dict[DataType, Converter] = {
        STRING: _string_from_native,
        BOOLEAN: _exactly(bool, BOOLEAN),
        DATE: _date_from_native,
        TIMESTAMP: _timestamp_from_native,
        INTERVAL: _exactly(timedelta, INTERVAL),
    }
    if type_ not in simple:
        raise NotSupported(f"a column of type {type_} cannot be read from a file")
    return simple[type_]


def _integer_from_native(type_: DataType) -> Converter:
    lowest, highest = bounds(type_)

    def convert(value: Any) -> int:
        if type(value) is not int:  # True is an int to Python, but not to JSON
            raise is_not_native(value, type_)
        if not lowest <= value <= highest:
            raise does_not_fit(value, type_)
        return value

    return convert


def _float_from_native(type_: DataType) -> Converter:
    from_text = float_from_text(type_)

    def convert(value: Any) -> float:
        if isinstance(value, float):
            return narrowed(value, type_, value)
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                raise does_not_fit(value, type_) from None
            if math.isinf(number):
                raise does_not_fit(value, type_)
            return narrowed(number, type_, value)
        if isinstance(value, str) and value.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            return float(from_text(value))  # JSON has no number for these three
        raise is_not_native(value, type_)

    return convert


def _decimal_from_native(type_: DataType) -> Converter:
    def convert(value: Any) -> Decimal:
        if isinstance(value, Decimal):
            return scaled(value, type_, value)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return scaled(Decimal(repr(value)), type_, value)
        raise is_not_native(value, type_)

    return convert


def _date_from_native(value: Any) -> date:
    if isinstance(value, str):
        return date_from_text(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise is_not_native(value, DATE)


def _timestamp_from_native(value: Any) -> datetime:
    if isinstance(value, str):
        return timestamp_from_text(value)
    if isinstance(value, datetime):
        try:
            return in_utc(value)
        except OverflowError:
            raise does_not_fit(value, TIMESTAMP) from None
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise is_not_native(value, TIMESTAMP)


def _string_from_native(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise BadValue(f"{value[:SHOWN_CHARACTERS]!r} is not UTF-8 text") from None
    if not isinstance(value, bool | int | float | list | dict):
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)  # as Spark reads a JSON number into a STRING
    except (TypeError, ValueError, RecursionError):  # keys that are no texts, thousands of digits, what contains itself
        raise is_not_native(value, STRING) from None


def _exactly(class_: type, type_: DataType) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, class_):
            raise is_not_native(value, type_)
        return value

    return convert


def _array_from_native(type_: DataType, convert_element: Converter) -> Converter:
    def convert(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise is_not_native(value, type_)
        return tuple([None if element is None else convert_element(element) for element in value])

    return convert


def plain_value(value: Any) -> Any:
    """The Python value for one of numpy's, and None for what pandas takes for missing."""
    if isinstance(value, np.generic):
        # Finer than microseconds, numpy gives its moments and durations as integers.
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]")
        elif isinstance(value, np.timedelta64):
            value = value.astype("timedelta64[us]")
        return value.item()
    if isinstance(value, np.ndarray | tuple):
        return [plain_value(element) for element in value]
    return None if type(value).__name__ in ("NaTType", "NAType") else value
