"""Functions that make, move and read points in time, as Spark SQL."""

from __future__ import annotations

from eddyline.algebra.expression import Call, Literal
from eddyline.algebra.types import BIGINT, DATE, DOUBLE, FLOAT, INTEGER, STRING, TIMESTAMP, DataType
from eddyline.spark.calendar import amount, cast_sql, in_calendar
from eddyline.spark.call import Texts, Writer, given
from eddyline.spark.literal import quoted

#: how text is written without a pattern
_DEFAULT_PATTERN = quoted("yyyy-MM-dd HH:mm:ss")


def _made(name: str, type_: DataType) -> Writer:
    """A function that may lead out of the calendar."""
    return lambda call, texts: in_calendar(f"{name}({', '.join(texts)})", type_)


def _moved(name: str, unit: str) -> Writer:
    """A DATE moved by a number of days or months."""

    def write(call: Call, texts: Texts) -> str:
        return in_calendar(f"{name}({texts[0]}, {amount(call.arguments[1], texts[1], INTEGER, unit)})", DATE)

    return write


def _unit(call: Call) -> str:
    unit = call.arguments[0]
    assert isinstance(unit, Literal)
    return str(unit.value).upper()


def _timestampadd(call: Call, texts: Texts) -> str:
    unit = _unit(call)
    number = amount(call.arguments[1], texts[1], BIGINT, unit)
    return in_calendar(f"timestampadd({unit}, {number}, {texts[2]})", TIMESTAMP)


def _to_date(call: Call, texts: Texts) -> str:
    if given(call, 0) != STRING or len(texts) == 1:
        return cast_sql(call.arguments[0], texts[0], given(call, 0), DATE)
    return in_calendar(f"to_date({texts[0]}, {texts[1]})", DATE)


def _to_timestamp(call: Call, texts: Texts) -> str:
    if given(call, 0) != STRING or len(texts) == 1:
        return cast_sql(call.arguments[0], texts[0], given(call, 0), TIMESTAMP)
    return in_calendar(f"to_timestamp({texts[0]}, {texts[1]})", TIMESTAMP)


def _unix_timestamp(call: Call, texts: Texts) -> str:
    if given(call, 0) != STRING:
        return f"unix_timestamp({texts[0]})"
    pattern = texts[1] if len(texts) > 1 else _DEFAULT_PATTERN
    return f"unix_timestamp({in_calendar(f'to_timestamp({texts[0]}, {pattern})', TIMESTAMP)})"


def _from_unixtime(call: Call, texts: Texts) -> str:
    pattern = texts[1] if len(texts) > 1 else _DEFAULT_PATTERN
    return f"date_format({in_calendar(f'timestamp_micros({texts[0]} * 1000000L)', TIMESTAMP)}, {pattern})"


def _ticks(micros: int) -> Writer:
    """A number of so many microseconds each."""
    return lambda call, texts: in_calendar(f"timestamp_micros(try_multiply({texts[0]}, {micros}L))", TIMESTAMP)


def _timestamp_seconds(call: Call, texts: Texts) -> str:
    """For a DECIMAL it is a cast, because Spark's function stops the job at the seventh digit of a fraction."""
    number = given(call, 0)
    if number in (FLOAT, DOUBLE):
        return in_calendar(f"timestamp_seconds({texts[0]})", TIMESTAMP)
    return cast_sql(call.arguments[0], texts[0], number, TIMESTAMP)


def _tick_to_timestamp(call: Call, texts: Texts) -> str:
    return in_calendar(f"timestamp_micros(try_multiply({texts[0]}, {texts[1]}))", TIMESTAMP)


WRITERS: dict[str, Writer] = {
    "extract": lambda call, texts: f"extract({_unit(call)} FROM {texts[1]})",
    "date_add": _moved("date_add", "DAY"),
    "date_sub": _moved("date_sub", "DAY"),
    "add_months": _moved("add_months", "MONTH"),
    "next_day": _made("next_day", DATE),
    "date_from_unix_date": _made("date_from_unix_date", DATE),
    "make_date": _made("make_date", DATE),
    "make_timestamp": _made("make_timestamp", TIMESTAMP),
    "timestampadd": _timestampadd,
    "timestampdiff": lambda call, texts: f"timestampdiff({_unit(call)}, {texts[1]}, {texts[2]})",
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "unix_timestamp": _unix_timestamp,
    "from_unixtime": _from_unixtime,
    "timestamp_seconds": _timestamp_seconds,
    "timestamp_millis": _ticks(1_000),
    "timestamp_micros": _made("timestamp_micros", TIMESTAMP),
    "tick_to_timestamp": _tick_to_timestamp,
}
