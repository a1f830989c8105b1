"""Functions on points in time, in UTC. What leaves the calendar (years 1 to 9999) is NULL."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Any

from eddyline.algebra.expression import Call, Literal
from eddyline.algebra.moments import text_to_date, text_to_timestamp
from eddyline.algebra.types import DATE, STRING, TIMESTAMP
from eddyline.reference.functions.casting import (
    EPOCH_DAY,
    caster,
    micros_of,
    timestamp_of,
)
from eddyline.reference.functions.datetime_pattern import DAYS, MONTHS, formatted, parsed
from eddyline.reference.functions.implementation import Evaluator, Implementation, given_types, plain, typed
from eddyline.reference.value import MICROSECOND, wrap

_DEFAULT_PATTERN = "yyyy-MM-dd HH:mm:ss"
_DAY = timedelta(days=1)
#: the units of a fixed length, in microseconds
_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 7 * 86_400_000_000,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _or_null(compute: Callable[..., Any]) -> Implementation:
    """NULL for what is no date."""

    def evaluate(*values: Any) -> Any:
        try:
            return compute(*values)
        except (ValueError, OverflowError):
            return None

    return plain(evaluate)


# -- parts ------------------------------------------------------------------------------------------------------------


def _quarter(day: date) -> int:
    return (day.month + 2) // 3


def _day_of_week(day: date) -> int:
    """Sunday is 1."""
    return day.isoweekday() % 7 + 1


def _day_of_year(day: date) -> int:
    return day.timetuple().tm_yday


def _seconds(moment: datetime) -> Decimal:
    """Seconds with their fraction."""
    return Decimal(moment.second * 1_000_000 + moment.microsecond).scaleb(-6)


_FIELDS: dict[str, Callable[[Any], Any]] = {
    "YEAR": lambda day: day.year,
    "YEAROFWEEK": lambda day: day.isocalendar().year,
    "QUARTER": _quarter,
    "MONTH": lambda day: day.month,
    "WEEK": lambda day: day.isocalendar().week,
    "DAY": lambda day: day.day,
    "DAYOFWEEK": _day_of_week,
    "DAYOFWEEK_ISO": lambda day: day.isoweekday(),
    "DOY": _day_of_year,
    "HOUR": lambda moment: moment.hour,
    "MINUTE": lambda moment: moment.minute,
    "SECOND": _seconds,
}


def _interval_part(field: str, interval: timedelta) -> Any:
    micros = abs(interval) // MICROSECOND
    sign = -1 if interval < timedelta() else 1
    if field == "SECOND":
        return sign * Decimal(micros % 60_000_000).scaleb(-6)
    whole = {"DAY": micros // 86_400_000_000, "HOUR": micros // 3_600_000_000 % 24, "MINUTE": micros // 60_000_000 % 60}
    return sign * whole[field]


def _extract(call: Call) -> Evaluator:
    field = call.arguments[0]
    assert isinstance(field, Literal)
    name: str = field.value
    part = _FIELDS[name]
    return lambda _, source: _interval_part(name, source) if isinstance(source, timedelta) else part(source)


# -- moving -----------------------------------------------------------------------------------------------------------


def _add_months(day: date, months: int) -> date:
    """The same day so many months later, or the last day of a month that is too short."""
    total = day.year * 12 + day.month - 1 + months
    year, month = divmod(total, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last))


def _last_day(day: date) -> date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _timestampadd(unit: str, amount: int, moment: datetime) -> date:
    if unit in _MONTHS:
        return _add_months(moment, amount * _MONTHS[unit])
    return moment + timedelta(microseconds=amount * _MICROS[unit])


def _timestampdiff(unit: str, start: datetime, end: datetime) -> int:
    """Whole units from start to end, rounded towards zero."""
    if unit in _MONTHS:
        return _towards_zero(_whole_months(start, end), _MONTHS[unit])
    return _towards_zero((end - start) // MICROSECOND, _MICROS[unit])


def _towards_zero(amount: int, divisor: int) -> int:
    return amount // divisor if amount >= 0 else -(-amount // divisor)


def _whole_months(start: datetime, end: datetime) -> int:
    """Months that have passed completely, towards zero: a day that is not over does not count."""
    first, last = start.date(), end.date()
    if last > first and end.time() < start.time():
        last -= _DAY
    elif last < first and end.time() > start.time():
        last += _DAY
    # a month has 32 places, so that days of different months never carry over
    return _towards_zero(_packed(last) - _packed(first), 32)


def _packed(day: date) -> int:
    return (day.year * 12 + day.month) * 32 + day.day


def _months_between(left: datetime, right: datetime, rounded: bool = True) -> float:
    """Whole months if the days are equal or both the last; otherwise the rest counts in 31sts of a month."""
    months = (left.year - right.year) * 12 + left.month - right.month
    if left.day == right.day or (_is_last_day(left) and _is_last_day(right)):
        return float(months)
    seconds = (left.day - right.day) * 86400 + _second_of_day(left) - _second_of_day(right)
    exact = months + seconds / (31 * 86400)
    return round(exact, 8) if rounded else exact


def _is_last_day(day: date) -> bool:
    return day.day == calendar.monthrange(day.year, day.month)[1]


def _second_of_day(moment: datetime) -> int:
    return moment.hour * 3600 + moment.minute * 60 + moment.second


def _next_day(day: date, name: str) -> date | None:
    """The first such weekday after the day."""
    wanted = name.strip().upper()
    for number, full in enumerate(DAYS):
        if wanted in (full[:2].upper(), full[:3].upper(), full.upper()):
            return day + _DAY * ((number - day.weekday() - 1) % 7 + 1)
    return None


# -- truncating -------------------------------------------------------------------------------------------------------

_DATE_UNITS: dict[str, Callable[[date], date]] = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), lambda day: day.replace(month=1, day=1)),
    "QUARTER": lambda day: day.replace(month=3 * _quarter(day) - 2, day=1),
    **dict.fromkeys(("MONTH", "MON", "MM"), lambda day: day.replace(day=1)),
    "WEEK": lambda day: day - _DAY * day.weekday(),
}
_TIME_UNITS = {
    **dict.fromkeys(("DAY", "DD"), "DAY"),
    **{unit: unit for unit in ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")},
}


def _trunc(day: date, unit: str) -> date | None:
    truncate = _DATE_UNITS.get(unit.upper())
    return None if truncate is None else truncate(day)


def _date_trunc(unit: str, moment: datetime) -> datetime | None:
    name = unit.upper()
    if name in _DATE_UNITS:
        day = _DATE_UNITS[name](moment.date())
        return datetime(day.year, day.month, day.day)
    if name not in _TIME_UNITS:
        return None
    micros = micros_of(moment)
    return timestamp_of(micros - micros % _MICROS[_TIME_UNITS[name]])


# -- text and numbers -------------------------------------------------------------------------------------------------


def _to_date(call: Call) -> Evaluator:
    given = given_types(call)[0]
    if given != STRING:
        plain_cast = caster(given, DATE)
        return lambda value, *_: plain_cast(value)

    def evaluate(text: str, *pattern: str) -> date | None:
        if not pattern:
            return text_to_date(text)
        found = parsed(text, pattern[0])
        return None if found is None else found.date()

    return evaluate


def _moment(call: Call) -> Callable[..., datetime | None]:
    """A TIMESTAMP from a DATE, a TIMESTAMP, or text with a pattern."""
    given = given_types(call)[0]
    if given == DATE:
        return lambda day, *_: datetime(day.year, day.month, day.day)
    if given != STRING:
        return lambda moment, *_: moment
    return lambda text, *pattern: parsed(text, pattern[0]) if pattern else text_to_timestamp(text)


def _unix_timestamp(call: Call) -> Evaluator:
    moment = _moment(call)
    is_text = given_types(call)[0] == STRING

    def evaluate(value: Any, *pattern: str) -> int | None:
        found = moment(value, *(pattern or ((_DEFAULT_PATTERN,) if is_text else ())))
        # towards zero, unlike unix_seconds
        return None if found is None else _towards_zero(micros_of(found), 1_000_000)

    return evaluate


def _from_unixtime(seconds: int, pattern: str = _DEFAULT_PATTERN) -> str | None:
    moment = timestamp_of(wrap(seconds * 1_000_000, 64))
    return None if moment is None else formatted(moment, pattern)


def _timestamp_seconds(call: Call) -> Evaluator:
    return caster(given_types(call)[0], TIMESTAMP)


def _make_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: Decimal) -> datetime | None:
    """Second 60 is the next minute, but it has no fraction."""
    whole = int(second.to_integral_value(rounding=ROUND_DOWN))
    micros = int((second - whole).scaleb(6))
    if whole == 60 and micros == 0:
        return datetime(year, month, day, hour, minute) + timedelta(minutes=1)
    return datetime(year, month, day, hour, minute, whole, micros)


IMPLEMENTATIONS: dict[str, Implementation] = {
    "year": plain(lambda day: day.year),
    "quarter": plain(_quarter),
    "month": plain(lambda day: day.month),
    "dayofmonth": plain(lambda day: day.day),
    "dayofweek": plain(_day_of_week),
    "weekday": plain(lambda day: day.weekday()),
    "dayofyear": plain(_day_of_year),
    "weekofyear": plain(lambda day: day.isocalendar().week),
    "dayname": plain(lambda day: DAYS[day.weekday()][:3]),
    "monthname": plain(lambda day: MONTHS[day.month - 1][:3]),
    "last_day": plain(_last_day),
    "unix_date": plain(lambda day: (day - EPOCH_DAY).days),
    "date_from_unix_date": _or_null(lambda days: EPOCH_DAY + _DAY * days),
    "hour": plain(lambda moment: moment.hour),
    "minute": plain(lambda moment: moment.minute),
    "second": plain(lambda moment: moment.second),
    "extract": typed(_extract),
    "date_add": _or_null(lambda day, days: day + _DAY * days),
    "date_sub": _or_null(lambda day, days: day - _DAY * days),
    "datediff": plain(lambda end, start: (end - start).days),
    "add_months": _or_null(_add_months),
    "months_between": plain(_months_between),
    "next_day": _or_null(_next_day),
    "trunc": plain(_trunc),
    "date_trunc": plain(_date_trunc),
    "timestampadd": _or_null(_timestampadd),
    "timestampdiff": plain(_timestampdiff),
    "to_date": typed(_to_date),
    "to_timestamp": typed(_moment),
    "date_format": plain(formatted),
    "unix_timestamp": typed(_unix_timestamp),
    "from_unixtime": plain(_from_unixtime),
    "timestamp_seconds": typed(_timestamp_seconds),
    "timestamp_millis": plain(lambda millis: timestamp_of(millis * 1_000)),
    "timestamp_micros": plain(timestamp_of),
    "unix_seconds": plain(lambda moment: micros_of(moment) // 1_000_000),
    "unix_millis": plain(lambda moment: micros_of(moment) // 1_000),
    "unix_micros": plain(micros_of),
    "make_date": _or_null(date),
    "make_timestamp": _or_null(_make_timestamp),
    "tick_to_timestamp": plain(lambda tick, micros: timestamp_of(tick * micros)),
}
