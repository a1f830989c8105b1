"""The functions of the catalogue as Spark SQL.

Most are Spark's own and are only called. The others need care: Spark stops the whole job for an index of 0 or an
overflow of intervals even with `spark.sql.ansi.enabled = false`, where the answer is NULL; points in time must stay in
the calendar; and `dist` and `tick_to_timestamp` are ours.
"""

from __future__ import annotations

import re
from datetime import timedelta

from eddyline.algebra.expression import Call, Expr, Literal
from eddyline.algebra.types import DATE, DOUBLE, INTERVAL, STRING, TIMESTAMP
from eddyline.spark import datetimes
from eddyline.spark.calendar import DAYS, cast_sql, in_calendar
from eddyline.spark.call import Texts, Writer, given, infix, plain, prefix
from eddyline.spark.literal import quoted, spark_type
from eddyline.spark.pattern import like_sql, regexp_extract_sql

_NUMBER = r"(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?i:inf|infinity)|(?i:nan))"
_POINT = quoted(rf"^\s*\(?\s*({_NUMBER}\s*,\s*{_NUMBER})\s*\)?\s*$")


# -- arithmetic -------------------------------------------------------------------------------------------------------


def _sum(operator: str) -> Writer:
    attempt = "try_add" if operator == "+" else "try_subtract"

    def write(call: Call, texts: Texts) -> str:
        left, right = given(call, 0), given(call, 1)
        if INTERVAL not in (left, right, call.type):
            return f"({texts[0]} {operator} {texts[1]})"
        if left == right == INTERVAL:
            return f"{attempt}({texts[0]}, {texts[1]})"
        if call.type == INTERVAL:  # two points in time; days alone are another type in Spark
            return f"CAST(({texts[0]} - {texts[1]}) AS {spark_type(INTERVAL)})"
        is_short = any(map(_is_short, call.arguments))
        moved = f"({texts[0]} {operator} {texts[1]})" if is_short else f"{attempt}({texts[0]}, {texts[1]})"
        moment = in_calendar(moved, TIMESTAMP)
        return f"CAST({moment} AS STRING)" if call.type == STRING else moment

    return write


def _is_short(expr: Expr) -> bool:
    """Whether it is a constant interval that moves no point in time out of what Spark can hold."""
    return isinstance(expr, Literal) and isinstance(expr.value, timedelta) and abs(expr.value).days <= DAYS


def _scaled(operator: str, attempt: str) -> Writer:
    """`*` and `/`, also of an interval by a number."""

    def write(call: Call, texts: Texts) -> str:
        if call.type != INTERVAL:
            return f"({texts[0]} {operator} {texts[1]})"
        interval, number = texts if given(call, 0) == INTERVAL else reversed(texts)
        return f"{attempt}({interval}, {number})"

    return write


def _signed(operator: str, pattern: str) -> Writer:
    """Minus and abs. Spark rounds a DECIMAL to 34 digits when it changes the sign.

    So the text of a longer one is changed: a minus sign is set before it, and what matches `pattern` is taken away.
    """

    def write(call: Call, texts: Texts) -> str:
        if call.type.name != "DECIMAL" or call.type.parameters[0] <= 34:
            return f"({operator}({texts[0]}))"
        digits = f"concat('-', CAST({texts[0]} AS STRING))"
        return f"CAST(regexp_replace({digits}, {quoted(pattern)}, '') AS {spark_type(call.type)})"

    return write


# -- choices ----------------------------------------------------------------------------------------------------------


def _case(call: Call, texts: Texts) -> str:
    branches = "".join(f" WHEN {texts[i]} THEN {texts[i + 1]}" for i in range(0, len(texts) - 1, 2))
    default = f" ELSE {texts[-1]}" if len(texts) % 2 else ""
    return f"CASE{branches}{default} END"


def _in(call: Call, texts: Texts) -> str:
    return f"({texts[0]} IN ({', '.join(texts[1:])}))"


# -- text and arrays --------------------------------------------------------------------------------------------------


def _typeof(call: Call, texts: Texts) -> str:
    return quoted(spark_type(given(call, 0)).lower())


def _format_string(call: Call, texts: Texts) -> str:
    """Spark would show how it holds points in time: as numbers."""
    values = [
        f"CAST({text} AS STRING)" if given(call, i) in (DATE, TIMESTAMP, INTERVAL) or given(call, i).element else text
        for i, text in enumerate(texts)
    ]
    return f"format_string({', '.join(values)})"


def _not_zero(name: str, position: int) -> Writer:
    """A function that has nothing at place 0, and stops the job if it is asked for."""

    def write(call: Call, texts: Texts) -> str:
        place = texts[position]
        constant = call.arguments[position]
        if not (isinstance(constant, Literal) and constant.value):
            place = f"nullif({place}, 0)"
        return f"{name}({', '.join((*texts[:position], place, *texts[position + 1 :]))})"

    return write


def _slice(call: Call, texts: Texts) -> str:
    array, start, length = texts
    return f"slice({array}, nullif({start}, 0), nullif(greatest({length}, -1), -1))"


def _sort_array(call: Call, texts: Texts) -> str:
    """The direction must be a constant in Spark."""
    if len(texts) == 1 or isinstance(call.arguments[1], Literal):
        return f"sort_array({', '.join(texts)})"
    array, ascending = texts
    both = f"CASE WHEN {ascending} THEN sort_array({array}, true) ELSE sort_array({array}, false) END"
    return f"CASE WHEN {ascending} IS NOT NULL THEN {both} END"


# -- distances --------------------------------------------------------------------------------------------------------


def _dist(call: Call, texts: Texts) -> str:
    """The root of the sum of squares, one coordinate after the other, so that no square overflows.

    Points of different length are filled up with NULL, which makes the distance NULL.
    """
    if len(texts) == 4:
        return f"hypot({texts[0]} - {texts[2]}, {texts[1]} - {texts[3]})"
    if given(call, 0) == DOUBLE:
        return f"abs({texts[0]} - {texts[1]})"
    left, right = map(_point, texts) if given(call, 0) == STRING else texts
    return f"aggregate(zip_with({left}, {right}, (_x, _y) -> _x - _y), 0D, (_d, _x) -> hypot(_d, _x))"


def _point(text: str) -> str:
    """'(1.5, 2)' as an array of two coordinates; what is no point as an array of one NULL."""
    return f"CAST(split(regexp_extract({text}, {_POINT}, 1), ',') AS ARRAY<DOUBLE>)"


#: functions of Spark that do what ours do
_SAME = re.findall(
    r"\w+",
    """
    pmod coalesce nvl nvl2 greatest least nanvl if

    sqrt cbrt exp expm1 ln log2 log10 log1p log rint sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh
    cot sec csc degrees radians signum power hypot pi e round bround ceil floor isnan factorial bin hex bit_count

    upper lower initcap length octet_length bit_length substring substring_index left right ltrim rtrim lpad rpad
    concat_ws replace translate reverse repeat space instr locate find_in_set startswith endswith contains split
    ascii chr overlay levenshtein soundex regexp_replace regexp_substr regexp_count format_number md5 sha1 sha2 crc32

    year quarter month dayofmonth dayofweek weekday dayofyear weekofyear dayname monthname last_day unix_date
    hour minute second datediff months_between trunc date_trunc date_format unix_seconds unix_millis unix_micros
    current_timestamp current_date

    array size array_size array_contains array_position array_join array_distinct array_min array_max
    """,
)

WRITERS: dict[str, Writer] = {
    **datetimes.WRITERS,
    **{name: plain(name) for name in _SAME},
    **{operator: infix(operator) for operator in ("%", "div", "=", "<=>", "!=", "<", "<=", ">", ">=", "&", "|", "^")},
    "+": _sum("+"),
    "-": _sum("-"),
    "*": _scaled("*", "try_multiply"),
    "/": _scaled("/", "try_divide"),
    "neg": _signed("-", "^--"),
    "abs": _signed("abs", "^--?"),
    "positive": prefix("+"),
    "~": prefix("~"),
    "<<": plain("shiftleft"),
    ">>": plain("shiftright"),
    ">>>": plain("shiftrightunsigned"),
    "and": lambda call, texts: f"({' AND '.join(texts)})",
    "or": lambda call, texts: f"({' OR '.join(texts)})",
    "not": prefix("NOT"),
    "is null": lambda call, texts: f"({texts[0]} IS NULL)",
    "in": _in,
    "case": _case,
    "cast": lambda call, texts: cast_sql(call.arguments[0], texts[0], given(call, 0), call.type),
    "||": plain("concat"),
    "like": like_sql,
    "ilike": like_sql,
    "rlike": infix("RLIKE"),
    "regexp_extract": regexp_extract_sql,
    "regexp_extract_all": regexp_extract_sql,
    "trim": lambda call, texts: f"{'trim' if len(texts) == 1 else 'btrim'}({', '.join(texts)})",
    "split_part": _not_zero("split_part", 2),
    "typeof": _typeof,
    "format_string": _format_string,
    "[]": lambda call, texts: f"{texts[0]}[{texts[1]}]",
    "element_at": _not_zero("element_at", 1),
    "sort_array": _sort_array,
    "slice": _slice,
    "dist": _dist,
}
