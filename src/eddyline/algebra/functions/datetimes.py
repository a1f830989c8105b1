"""Functions on points in time. The time zone is UTC."""

from __future__ import annotations

from eddyline.algebra.expression import Literal
from eddyline.algebra.functions.signature import (
    A_BIGINT,
    A_BOOLEAN,
    A_DATE,
    A_STRING,
    A_TIMESTAMP,
    AN_INTEGER,
    NUMBER,
    Arguments,
    Function,
    Parameter,
    Resolution,
    function,
    of_type,
)
from eddyline.algebra.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    decimal,
    is_numeric,
)

#: seconds with their fraction, 00.000000 to 59.999999
SECONDS = decimal(8, 6)

#: the fields that EXTRACT knows, by their usual names, with the type of the value it reads and of its answer
EXTRACT_FIELDS: dict[str, tuple[DataType, DataType]] = {
    "YEAR": (DATE, INTEGER),
    "YEAROFWEEK": (DATE, INTEGER),
    "QUARTER": (DATE, INTEGER),
    "MONTH": (DATE, INTEGER),
    "WEEK": (DATE, INTEGER),
    "DAY": (DATE, INTEGER),
    "DAYOFWEEK": (DATE, INTEGER),
    "DAYOFWEEK_ISO": (DATE, INTEGER),
    "DOY": (DATE, INTEGER),
    "HOUR": (TIMESTAMP, INTEGER),
    "MINUTE": (TIMESTAMP, INTEGER),
    "SECOND": (TIMESTAMP, SECONDS),
}
EXTRACT_SYNONYMS = {
    **dict.fromkeys(("Y", "YEARS", "YR", "YRS"), "YEAR"),
    "QTR": "QUARTER",
    **dict.fromkeys(("MON", "MONS", "MONTHS"), "MONTH"),
    **dict.fromkeys(("W", "WEEKS"), "WEEK"),
    **dict.fromkeys(("D", "DAYS"), "DAY"),
    "DOW": "DAYOFWEEK",
    "DOW_ISO": "DAYOFWEEK_ISO",
    **dict.fromkeys(("H", "HOURS", "HR", "HRS"), "HOUR"),
    **dict.fromkeys(("M", "MIN", "MINS", "MINUTES"), "MINUTE"),
    **dict.fromkeys(("S", "SEC", "SECONDS", "SECS"), "SECOND"),
}
#: units of TIMESTAMPADD and TIMESTAMPDIFF
UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_INTERVAL_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")


def constant_text(argument: object) -> str:
    """The value of a constant string, in capitals; empty for anything else."""
    if isinstance(argument, Literal) and isinstance(argument.value, str):
        return argument.value.upper()
    return ""


def _extract(arguments: Arguments) -> Resolution | None:
    if len(arguments) != 2:
        return None
    field = constant_text(arguments[0])
    if field not in EXTRACT_FIELDS:
        return None
    given = arguments[1].type
    if given == INTERVAL and field in _INTERVAL_FIELDS:
        return Resolution((STRING, INTERVAL), {"SECOND": SECONDS, "DAY": INTEGER}.get(field, TINYINT))
    wanted, result = EXTRACT_FIELDS[field]
    if of_type(wanted).accept(given) is None:
        return None
    return Resolution((STRING, wanted), result)


def _timestampadd(arguments: Arguments) -> Resolution | None:
    if len(arguments) != 3 or constant_text(arguments[0]) not in UNITS:
        return None
    if A_BIGINT.accept(arguments[1].type) is None or A_TIMESTAMP.accept(arguments[2].type) is None:
        return None
    return Resolution((STRING, BIGINT, TIMESTAMP), TIMESTAMP)


def _timestampdiff(arguments: Arguments) -> Resolution | None:
    if len(arguments) != 3 or constant_text(arguments[0]) not in UNITS:
        return None
    if any(A_TIMESTAMP.accept(argument.type) is None for argument in arguments[1:]):
        return None
    return Resolution((STRING, TIMESTAMP, TIMESTAMP), BIGINT)


def _moment(given: DataType) -> DataType | None:
    """A DATE, a TIMESTAMP, or text that is read as one."""
    return given if given in (DATE, STRING) else A_TIMESTAMP.accept(given)


def _of_date(*names: str, returns: DataType = INTEGER, aliases: tuple[str, ...] = ()) -> tuple[Function, ...]:
    return tuple(function(name, A_DATE, returns=returns, aliases=aliases) for name in names)


def _moment_or_seconds(given: DataType) -> DataType | None:
    return TIMESTAMP if is_numeric(given) else _moment(given)


_MOMENT_OR_SECONDS = Parameter("STRING, DATE, TIMESTAMP or a number of seconds", _moment_or_seconds)
_MOMENT = Parameter("STRING, DATE or TIMESTAMP", _moment)
_SECOND_PART = of_type(decimal(16, 6))

FUNCTIONS: tuple[Function, ...] = (
    *_of_date("year", "quarter", "month", "dayofweek", "weekday", "dayofyear", "weekofyear"),
    *_of_date("dayofmonth", aliases=("day",)),
    *_of_date("dayname", "monthname", returns=STRING),
    *_of_date("last_day", returns=DATE),
    function("unix_date", A_DATE, returns=INTEGER),
    function("date_from_unix_date", AN_INTEGER, returns=DATE),
    function("hour", A_TIMESTAMP, returns=INTEGER),
    function("minute", A_TIMESTAMP, returns=INTEGER),
    function("second", A_TIMESTAMP, returns=INTEGER),
    Function("extract", "a field (YEAR, MONTH, DAY, HOUR, …) and a DATE, TIMESTAMP or INTERVAL", _extract),
    function("date_add", A_DATE, AN_INTEGER, returns=DATE),
    function("date_sub", A_DATE, AN_INTEGER, returns=DATE),
    function("datediff", A_DATE, A_DATE, returns=INTEGER, aliases=("date_diff",)),
    function("add_months", A_DATE, AN_INTEGER, returns=DATE),
    function("months_between", A_TIMESTAMP, A_TIMESTAMP, A_BOOLEAN, optional=1, returns=DOUBLE),
    function("next_day", A_DATE, A_STRING, returns=DATE),
    function("trunc", A_DATE, A_STRING, returns=DATE),
    function("date_trunc", A_STRING, A_TIMESTAMP, returns=TIMESTAMP),
    Function("timestampadd", "a unit (DAY, HOUR, MONTH, …), a BIGINT and a TIMESTAMP", _timestampadd),
    Function("timestampdiff", "a unit (DAY, HOUR, MONTH, …) and two TIMESTAMPs", _timestampdiff),
    function("to_date", _MOMENT, A_STRING, optional=1, returns=DATE),
    function("to_timestamp", _MOMENT_OR_SECONDS, A_STRING, optional=1, returns=TIMESTAMP),
    function("date_format", A_TIMESTAMP, A_STRING, returns=STRING),
    function("unix_timestamp", _MOMENT, A_STRING, optional=1, returns=BIGINT, aliases=("to_unix_timestamp",)),
    function("from_unixtime", A_BIGINT, A_STRING, optional=1, returns=STRING),
    function("timestamp_seconds", NUMBER, returns=TIMESTAMP),
    function("timestamp_millis", A_BIGINT, returns=TIMESTAMP),
    function("timestamp_micros", A_BIGINT, returns=TIMESTAMP),
    function("unix_seconds", A_TIMESTAMP, returns=BIGINT),
    function("unix_millis", A_TIMESTAMP, returns=BIGINT),
    function("unix_micros", A_TIMESTAMP, returns=BIGINT),
    function("make_date", AN_INTEGER, AN_INTEGER, AN_INTEGER, returns=DATE),
    function("make_timestamp", *(AN_INTEGER,) * 5, _SECOND_PART, returns=TIMESTAMP),
    # reserved for the binder: a tick of the system clock as a point in time
    function("tick_to_timestamp", A_BIGINT, A_BIGINT, returns=TIMESTAMP),
    function("current_timestamp", returns=TIMESTAMP, aliases=("now", "localtimestamp"), deterministic=False),
    function("current_date", returns=DATE, aliases=("curdate",), deterministic=False),
)
