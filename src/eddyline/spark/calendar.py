"""Points in time that stay in the calendar.

A DATE or TIMESTAMP lies in the years 1 to 9999, and what leaves them is NULL. Spark goes on to the year 294247 and then
stops the job with an overflow. So whatever moves or makes a point in time is bounded here: amounts are cut to what
leads out of the calendar from everywhere in it, and results outside of it are made NULL.
"""

from __future__ import annotations

import re
from decimal import Decimal

from eddyline.algebra.expression import Expr, Literal
from eddyline.algebra.spelling import written
from eddyline.algebra.types import DATE, DOUBLE, STRING, TIMESTAMP, DataType
from eddyline.spark.literal import literal_sql, spark_type

_BEYOND = {
    DATE: ("DATE '0000-12-31'", "DATE '10000-01-01'"),
    TIMESTAMP: ("TIMESTAMP '0000-12-31 23:59:59.999999'", "TIMESTAMP '10000-01-01 00:00:00'"),
}
#: text that is read as a point in time well inside the calendar, if it is read at all
_ORDINARY = re.compile(r"\s*(?!0000|0001|9999)\d{4}(?!\d)")
#: longer than the calendar
DAYS = 4_000_000
#: in each unit, more than the calendar has
_AMOUNTS = {
    "MICROSECOND": DAYS * 86_400_000_000,
    "MILLISECOND": DAYS * 86_400_000,
    "SECOND": DAYS * 86_400,
    "MINUTE": DAYS * 1_440,
    "HOUR": DAYS * 24,
    "DAY": DAYS,
    "WEEK": DAYS // 7,
    "MONTH": 120_000,
    "QUARTER": 40_000,
    "YEAR": 10_000,
}


def in_calendar(text: str, type_: DataType) -> str:
    """The point in time, or NULL outside of the calendar.

    The text stands there once, because it may be long: it is cut to the days just beyond the calendar, and these are
    NULL. A NULL goes that way too, since LEAST passes over it.
    """
    before, after = _BEYOND[type_]
    return f"nullif(nullif(greatest(least({text}, {after}), {before}), {after}), {before})"


def amount(expr: Expr, text: str, type_: DataType, unit: str) -> str:
    """A number of units, cut to one that leads out of the calendar; so does a NULL, and both give NULL in the end."""
    most = _AMOUNTS[unit]
    constant = written(expr)
    if isinstance(constant, Literal) and isinstance(constant.value, int) and abs(constant.value) <= most:
        return text
    return f"greatest(least({text}, {literal_sql(most, type_)}), {literal_sql(-most, type_)})"


def cast_sql(expr: Expr, text: str, given: DataType, to: DataType) -> str:
    """CAST, with Spark's meaning but for points in time outside of the calendar."""
    if given == to:
        return text
    if to == DOUBLE and isinstance(expr, Literal) and isinstance(expr.value, Decimal):
        return literal_sql(float(expr.value), DOUBLE)  # a constant with a point is a DECIMAL; hardly anybody wants one
    plain = f"CAST({text} AS {spark_type(to)})"
    if not _leaves_calendar(given, to) or _is_ordinary(expr):
        return plain
    if to.element is not None:
        return _cast_elements(text, given, to)
    if _is_wide(given):
        plain = f"CAST({_cut_seconds(text, given)} AS {spark_type(to)})"
    return in_calendar(plain, to)


def _leaves_calendar(given: DataType, to: DataType) -> bool:
    if given.element is not None and to.element is not None:
        return _leaves_calendar(given.element, to.element)
    return (to == DATE and given == STRING) or (to == TIMESTAMP and given not in (DATE, TIMESTAMP))


def _is_ordinary(expr: Expr) -> bool:
    return isinstance(expr, Literal) and isinstance(expr.value, str) and _ORDINARY.match(expr.value) is not None


def _is_wide(given: DataType) -> bool:
    """Whether a DECIMAL has more digits before the point than seconds fit into a BIGINT of microseconds."""
    return given.name == "DECIMAL" and given.parameters[0] - given.parameters[1] > 12


def _cut_seconds(text: str, given: DataType) -> str:
    most = f"CAST('1000000000000' AS {spark_type(given)})"
    return f"greatest(least({text}, {most}), -{most})"


def _cast_elements(text: str, given: DataType, to: DataType, depth: int = 1) -> str:
    """Every element of an array cast on its own."""
    assert given.element is not None and to.element is not None
    name = f"_e{depth}"
    if to.element.element is not None:
        return f"transform({text}, {name} -> {_cast_elements(name, given.element, to.element, depth + 1)})"
    seconds = _cut_seconds(name, given.element) if _is_wide(given.element) else name
    moment = f"CAST({seconds} AS {spark_type(to.element)})"
    before, after = _BEYOND[to.element]
    return f"transform({text}, {name} -> CASE WHEN {moment} > {before} AND {moment} < {after} THEN {moment} END)"
