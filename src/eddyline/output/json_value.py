"""Values as JSON text. Python's own `json` knows no exact decimals and writes NaN, which is not JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from json.encoder import encode_basestring as _quoted  # type: ignore[attr-defined,unused-ignore]
from typing import Any

#: characters that JSON allows in a string, but at which some programs end a line
_OTHER_LINE_ENDS = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"})


def json_text(value: Any) -> str:
    """One value, in one line.

    >>> json_text((1, None, "é", Decimal("1.50"), float("nan")))
    '[1, null, "é", 1.50, "NaN"]'
    """
    write = _WRITERS.get(type(value))
    return write(value) if write is not None else json_string(str(value))


def json_object(members: Iterable[tuple[str, str]]) -> str:
    """An object whose members are JSON text already, in their order."""
    return "{" + ", ".join([f"{json_string(key)}: {text}" for key, text in members]) + "}"


def json_array(elements: Iterable[str]) -> str:
    return "[" + ", ".join(elements) + "]"


def json_string(text: str) -> str:
    quoted: str = _quoted(text)
    if quoted.isascii():
        return quoted
    try:
        quoted.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 cannot write
        quoted = quoted.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return quoted.translate(_OTHER_LINE_ENDS)


def timestamp_text(moment: datetime) -> str:
    return moment.isoformat(" ")


def interval_text(length: timedelta) -> str:
    """As Spark prints a DAY TO SECOND interval.

    >>> interval_text(timedelta(days=1, seconds=-1))
    "INTERVAL '0 23:59:59' DAY TO SECOND"
    """
    sign = "-" if length < timedelta(0) else ""
    length = abs(length)
    hours, seconds = divmod(length.seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    fraction = f".{length.microseconds:06d}".rstrip("0") if length.microseconds else ""
    return f"INTERVAL '{sign}{length.days} {hours:02d}:{minutes:02d}:{seconds:02d}{fraction}' DAY TO SECOND"


def float_text(number: float) -> str | None:
    """The name of a number that is not finite."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return None


def _float(number: float) -> str:
    name = float_text(number)
    return repr(number) if name is None else f'"{name}"'


def _decimal(number: Decimal) -> str:
    if number.is_nan():
        return '"NaN"'
    return format(number, "f") if number.is_finite() else _float(float(number))


def _array(values: Iterable[Any]) -> str:
    return json_array([json_text(value) for value in values])


def _map(values: Mapping[Any, Any]) -> str:
    return json_object((str(key), json_text(value)) for key, value in values.items())


_WRITERS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    int: repr,
    float: _float,
    Decimal: _decimal,
    str: json_string,
    datetime: lambda value: json_string(timestamp_text(value)),
    date: lambda value: f'"{value.isoformat()}"',
    timedelta: lambda value: json_string(interval_text(value)),
    tuple: _array,
    list: _array,
    dict: _map,
}
