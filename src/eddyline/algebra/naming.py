"""The name Spark gives a column that has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from eddyline.algebra.coercion import ImplicitCast
from eddyline.algebra.expression import Aggregate, Call, Column, Expr, Literal, TypedExpr
from eddyline.algebra.printing import sql_text
from eddyline.algebra.spelling import (
    INFIX,
    aggregate_text,
    between_parts,
    case_text,
    moved_text,
    nullif_parts,
    plain_constant,
    spelling_of,
    type_text,
)
from eddyline.algebra.types import INTEGER, STRING, TIMESTAMP

__all__ = ["spark_name", "sql_text"]


def spark_name(expr: TypedExpr) -> str:
    """The name of an unnamed column, as Spark makes it, in lower case; a plain column keeps its own."""
    if isinstance(expr, Column):
        return expr.name
    if isinstance(expr, Call) and expr.function == "cast" and isinstance(expr.arguments[0], Column):
        return expr.arguments[0].name  # Spark names a cast column after the column
    return _name(expr).lower()


def _name(expr: Expr) -> str:
    if isinstance(expr, Column):
        return expr.name
    if isinstance(expr, Literal):
        return plain_constant(expr.value, expr.type)
    if isinstance(expr, Aggregate):
        return _aggregate_name(expr)
    assert isinstance(expr, Call)
    if isinstance(expr, ImplicitCast):
        return _name(expr.arguments[0])
    special = _SPECIAL_NAMES.get(spelling_of(expr))
    if special is not None:
        return special(expr)
    if expr.function == "cast":  # int(x), which Spark names after x
        return _argument(expr, 0)
    arguments = [_name(argument) for argument in expr.arguments]
    if expr.function in INFIX and len(arguments) == 2 and spelling_of(expr) == expr.function:
        if expr.type in (TIMESTAMP, STRING):  # a time and an interval
            return f"{arguments[0]} {expr.function} {arguments[1]}"
        operator = expr.function.upper() if expr.function in ("and", "or") else expr.function
        return f"({arguments[0]} {operator} {arguments[1]})"
    places, default = _DEFAULTS.get(expr.function, (0, ""))
    if len(arguments) == places - 1:
        arguments.append(default)
    spelling = spelling_of(expr)
    return f"{_FORGOTTEN.get(spelling, spelling)}({', '.join(arguments)})"


#: other names that Spark forgets
_FORGOTTEN = {"array_agg": "collect_list", "position": "locate"}
#: functions of which Spark shows the last argument even if it was left out: how many they have, and its default
_DEFAULTS = {
    "round": (2, "0"),
    "bround": (2, "0"),
    "substring": (3, "2147483647"),
    "locate": (3, "1"),
    "lpad": (3, " "),
    "rpad": (3, " "),
    "replace": (3, ""),
    "split": (3, "-1"),
    "overlay": (4, "-1"),
    "regexp_replace": (4, "1"),
    "regexp_extract": (3, "1"),
    "regexp_extract_all": (3, "1"),
    "months_between": (3, "true"),
    "unix_timestamp": (2, "yyyy-MM-dd HH:mm:ss"),
    "from_unixtime": (2, "yyyy-MM-dd HH:mm:ss"),
    "sort_array": (2, "true"),
}


def _aggregate_name(expr: Aggregate) -> str:
    if expr.function == "percentile" and len(expr.arguments) == 2:
        # Spark shows how often each value counts
        expr = replace(expr, arguments=(*expr.arguments, Literal(1, INTEGER)))
    if expr.function in ("first", "last", "any_value"):
        # but not whether NULLs are ignored
        expr = replace(expr, arguments=expr.arguments[:1])
    spelling = spelling_of(expr)
    text = aggregate_text(expr, _name, count_all="1")
    return _FORGOTTEN.get(spelling, spelling) + text.removeprefix(spelling)


def _argument(call: Call, position: int) -> str:
    return _name(call.arguments[position])


def _not_name(call: Call) -> str:
    inner = call.arguments[0]
    if isinstance(inner, Call) and inner.function == "is null":
        return f"({_argument(inner, 0)} IS NOT NULL)"
    return f"(NOT {_name(inner)})"


def _like_name(call: Call) -> str:
    escape = f" ESCAPE '{_argument(call, 2)}'" if len(call.arguments) == 3 else ""
    return f"{_argument(call, 0)} LIKE {_argument(call, 1)}{escape}"


def _in_name(call: Call) -> str:
    value, *choices = map(_name, call.arguments)
    return f"({value} IN ({', '.join(choices)}))"


def _between_name(call: Call) -> str:
    return f"between({', '.join(map(_name, between_parts(call)))})"


def _moved_name(call: Call) -> str:
    """A time plus months, a DATE plus days: written with INTERVAL."""
    if call.function == "date_add":
        days = call.arguments[1]
        assert isinstance(days, Literal)
        part = f"extractansiintervaldays(INTERVAL '{abs(days.value)}' DAY)"
        return f"date_add({_argument(call, 0)}, {part if days.value >= 0 else f'(- {part})'})"
    return moved_text(call, _name)


def _log_name(call: Call) -> str:
    if len(call.arguments) == 1:
        return f"log(e(), {_argument(call, 0)})"
    return f"log({_argument(call, 0)}, {_argument(call, 1)})"


def _trimmed_name(side: str) -> Callable[[Call], str]:
    def name(call: Call) -> str:
        if len(call.arguments) == 1:
            return f"{call.function}({_argument(call, 0)})"
        return f"TRIM({side} {_argument(call, 0)} FROM {_argument(call, 1)})"

    return name


_SPECIAL_NAMES: dict[str, Callable[[Call], str]] = {
    "cast": lambda call: f"CAST({_argument(call, 0)} AS {type_text(call.type)})",
    "case": lambda call: case_text(call, _name),
    "if": lambda call: f"(IF({', '.join(map(_name, call.arguments))}))",
    "nullif": lambda call: f"nullif({', '.join(map(_name, nullif_parts(call)))})",
    "between": _between_name,
    "!=": lambda call: f"(NOT ({_argument(call, 0)} = {_argument(call, 1)}))",
    "not": _not_name,
    "neg": lambda call: f"(- {_argument(call, 0)})",
    "positive": lambda call: f"(+ {_argument(call, 0)})",
    "~": lambda call: f"~{_argument(call, 0)}",
    "is null": lambda call: f"({_argument(call, 0)} IS NULL)",
    "in": _in_name,
    "like": _like_name,
    "||": lambda call: f"concat({', '.join(map(_name, call.arguments))})",
    "[]": lambda call: f"{_argument(call, 0)}[{_argument(call, 1)}]",
    "extract": lambda call: f"extract({_argument(call, 0)} FROM {_argument(call, 1)})",
    "interval": _moved_name,
    "tick_to_timestamp": lambda call: _argument(call, 0),
    "log": _log_name,
    "ltrim": _trimmed_name("LEADING"),
    "rtrim": _trimmed_name("TRAILING"),
}
