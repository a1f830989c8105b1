"""From what a file holds (text, JSON, Arrow) to the Python values of a declared type (`algebra.types` says which).

A converter takes one value that is not NULL and gives the converted one, or raises `BadValue` with a reason that a
person understands. Converters are made once for each column, so that a row costs no look-ups.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

from eddyline.algebra.schema import Schema
from eddyline.algebra.types import BOOLEAN, DATE, DOUBLE, FLOAT, INTEGER_BITS, INTERVAL, STRING, TIMESTAMP, DataType
from eddyline.errors import NotSupported

Converter = Callable[[Any], Any]

#: how much of a wrong value a reason shows
SHOWN_CHARACTERS = 60

#: wide enough for every DECIMAL (38 digits) and for the digits that rounding to its scale takes away
_DECIMAL_CONTEXT = Context(prec=400, rounding=ROUND_HALF_UP)


class BadValue(ValueError):
    """A value that is not of its column's type; the message is the reason, without the column's name."""


def text_converter(type_: DataType) -> Converter:
    """The converter from the text of a field.

    >>> text_converter(DataType("INTEGER"))("-7")
    -7
    """
    if type_ in INTEGER_BITS:
        return _integer_from_text(type_)
    if type_ in (FLOAT, DOUBLE):
        return _float_from_text(type_)
    if type_.name == "DECIMAL":
        return _decimal_from_text(type_)
    simple: dict[DataType, Converter] = {
        STRING: str,
        BOOLEAN: _boolean_from_text,
        DATE: _date_from_text,
        TIMESTAMP: _timestamp_from_text,
    }
    if type_ not in simple:
        raise NotSupported(f"a column of type {type_} cannot be read from text", hint="use json or parquet")
    return simple[type_]


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


class RowConversion:
    """Converts the raw fields of a row, given in the order of the schema."""

    def __init__(self, schema: Schema, converter: Callable[[DataType], Converter]) -> None:
        self._names = schema.names
        self._converters = tuple(converter(field.type) for field in schema.fields)

    def is_null(self, raw: Any) -> bool:
        return raw is None

    def values(self, raw: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return self._convert(raw)
        except BadValue:
            # Looking for the culprit only now keeps the names out of the loop that every good row goes through.
            for position, value in enumerate(raw):
                self.value(position, value)
            raise

    def value(self, position: int, raw: Any) -> Any:
        """One field alone, its name in front of the reason if it is bad."""
        if self.is_null(raw):
            return None
        try:
            return self._converters[position](raw)
        except BadValue as problem:
            raise BadValue(f"{self._names[position]}: {problem}") from None

    def _convert(self, raw: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(
            [None if value is None else convert(value) for convert, value in zip(self._converters, raw, strict=True)]
        )


class TextRowConversion(RowConversion):
    """The same for fields that are text, some of which mean NULL."""

    def __init__(self, schema: Schema, nulls: frozenset[str]) -> None:
        super().__init__(schema, text_converter)
        self._nulls = nulls

    def is_null(self, raw: Any) -> bool:
        return raw in self._nulls

    def _convert(self, raw: Sequence[Any]) -> tuple[Any, ...]:
        nulls = self._nulls
        return tuple(
            [None if text in nulls else convert(text) for convert, text in zip(self._converters, raw, strict=True)]
        )


def shown(value: Any) -> str:
    """A value as a reason shows it: text in quotes, everything in a limited length."""
    return f"'{_shortened(value)}'" if isinstance(value, str) else _shortened(_written(value))


def _written(value: Any) -> str:
    if isinstance(value, str | bool | int | float | list | dict | None):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def why_not_json(problem: Exception) -> str:
    """What `json` complains of, without its character offsets, which count from the start of the row."""
    if isinstance(problem, json.JSONDecodeError):
        return f"not JSON: {problem.msg[0].lower()}{problem.msg[1:]}, at character {problem.pos + 1}"
    return "not JSON: nested too deeply" if isinstance(problem, RecursionError) else f"not JSON: {problem}"


def _is_not(text: str, type_: DataType) -> BadValue:
    return BadValue(f"{shown(text)} is not {_article(type_)} {type_}")


def _is_not_native(value: Any, type_: DataType) -> BadValue:
    # JSON's "5" is not the number 5: its own quotes must be seen, or the reason would contradict itself.
    return BadValue(f"{_shortened(_written(value))} is not {_article(type_)} {type_}")


def _article(type_: DataType) -> str:
    return "an" if type_.name[0] in "AEIOU" else "a"


def _does_not_fit(value: Any, type_: DataType) -> BadValue:
    return BadValue(f"{_shortened(value if isinstance(value, str) else _written(value))} does not fit {type_}")


def _plain_number(text: str) -> bool:
    """Python also takes 1_000 and the digits of other scripts for numbers; data files mean neither."""
    return text.isascii() and "_" not in text


def _bounds(type_: DataType) -> tuple[int, int]:
    half: int = 1 << (INTEGER_BITS[type_] - 1)
    return -half, half - 1


def _integer_from_text(type_: DataType) -> Converter:
    lowest, highest = _bounds(type_)

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise _is_not(text, type_) from None
        if "_" in text or not text.isascii():  # `_plain_number`, without the call
            raise _is_not(text, type_)
        if not lowest <= value <= highest:
            raise _does_not_fit(text, type_)
        return value

    return convert


def _integer_from_native(type_: DataType) -> Converter:
    lowest, highest = _bounds(type_)

    def convert(value: Any) -> int:
        if type(value) is not int:  # True is an int to Python, but not to JSON
            raise _is_not_native(value, type_)
        if not lowest <= value <= highest:
            raise _does_not_fit(value, type_)
        return value

    return convert


def _narrowed(value: float, type_: DataType, original: Any) -> float:
    """The value as the type holds it. A finite number that becomes infinite does not fit."""
    if type_ == FLOAT and math.isfinite(value):
        try:
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        except OverflowError:
            raise _does_not_fit(original, type_) from None
    return value


def _float_from_text(type_: DataType) -> Converter:
    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise _is_not(text, type_) from None
        if not _plain_number(text):
            raise _is_not(text, type_)
        if math.isinf(value) and "inf" not in text.lower():
            raise _does_not_fit(text, type_)
        return _narrowed(value, type_, text)

    return convert


def _float_from_native(type_: DataType) -> Converter:
    from_text = _float_from_text(type_)

    def convert(value: Any) -> float:
        if isinstance(value, float):
            return _narrowed(value, type_, value)
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                raise _does_not_fit(value, type_) from None
            if math.isinf(number):
                raise _does_not_fit(value, type_)
            return _narrowed(number, type_, value)
        if isinstance(value, str) and value.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            return float(from_text(value))  # JSON has no number for these three
        raise _is_not_native(value, type_)

    return convert


def _scaled(number: Decimal, type_: DataType, original: Any) -> Decimal:
    """Rounded half up to the type's scale, as Spark does; too many digits before the point do not fit."""
    precision, scale = type_.parameters or (10, 0)
    # Looking at the exponent first keeps 1e999999999 from being written out.
    if not number.is_finite() or number.adjusted() >= precision:
        raise _does_not_fit(original, type_)
    if number.adjusted() < -scale - 1:
        number = Decimal(0)
    try:
        rounded = number.quantize(Decimal(1).scaleb(-scale), context=_DECIMAL_CONTEXT)
    except InvalidOperation:
        raise _does_not_fit(original, type_) from None
    if rounded and rounded.adjusted() >= precision - scale:
        raise _does_not_fit(original, type_)
    return rounded


def _decimal_from_text(type_: DataType) -> Converter:
    def convert(text: str) -> Decimal:
        try:
            number = Decimal(text)
        except InvalidOperation:
            raise _is_not(text, type_) from None
        if not _plain_number(text) or not number.is_finite():
            raise _is_not(text, type_)
        return _scaled(number, type_, text)

    return convert


def _decimal_from_native(type_: DataType) -> Converter:
    def convert(value: Any) -> Decimal:
        if isinstance(value, Decimal):
            return _scaled(value, type_, value)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return _scaled(Decimal(repr(value)), type_, value)
        raise _is_not_native(value, type_)

    return convert


def _boolean_from_text(text: str) -> bool:
    lower = text.strip().lower()
    if lower in ("true", "false"):
        return lower == "true"
    raise _is_not(text, BOOLEAN)


def _date_from_text(text: str) -> date:
    trimmed = text.strip()
    # Python also reads 20030606 and 2003-W23-5.
    if len(trimmed) == 10 and trimmed[4] == trimmed[7] == "-":
        try:
            return date.fromisoformat(trimmed)
        except ValueError:
            pass
    raise _is_not(text, DATE)


def _timestamp_from_text(text: str) -> datetime:
    trimmed = text.strip()
    if trimmed[4:5] == trimmed[7:8] == "-" and trimmed[10:11] in ("", " ", "T", "t"):
        try:
            return _in_utc(_moment(trimmed))
        except (ValueError, OverflowError):
            pass
    raise _is_not(text, TIMESTAMP)


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


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _date_from_native(value: Any) -> date:
    if isinstance(value, str):
        return _date_from_text(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise _is_not_native(value, DATE)


def _timestamp_from_native(value: Any) -> datetime:
    if isinstance(value, str):
        return _timestamp_from_text(value)
    if isinstance(value, datetime):
        try:
            return _in_utc(value)
        except OverflowError:
            raise _does_not_fit(value, TIMESTAMP) from None
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise _is_not_native(value, TIMESTAMP)


def _string_from_native(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise BadValue(f"{value[:SHOWN_CHARACTERS]!r} is not UTF-8 text") from None
    if isinstance(value, bool | int | float | list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)  # as Spark reads a JSON number into a STRING
    return str(value)


def _exactly(class_: type, type_: DataType) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, class_):
            raise _is_not_native(value, type_)
        return value

    return convert


def _array_from_native(type_: DataType, convert_element: Converter) -> Converter:
    def convert(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _is_not_native(value, type_)
        return tuple([None if element is None else convert_element(element) for element in value])

    return convert
