"""Expressions as text: the name Spark gives a column that has none, and SQL that can be pasted back."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from eddyline.algebra.coercion import ImplicitCast
from eddyline.algebra.expression import Aggregate, Call, Column, Expr, Literal, TypedExpr
from eddyline.algebra.spelling import SpeltAggregate, SpeltCall
from eddyline.algebra.types import BIGINT, DOUBLE, FLOAT, INTEGER, SMALLINT, TINYINT, DataType

Write = Callable[[Expr], str]

_INFIX = frozenset(
    ["+", "-", "*", "/", "%", "div", "=", "<=>", "<", "<=", ">", ">=", "and", "or", "&", "|", "^", "<<", ">>", ">>>"]
)

# -- constants --------------------------------------------------------------------------------------------------------


def type_text(type_: DataType) -> str:
    """A type as CAST names it in Spark."""
    if type_.element is not None:
        return f"ARRAY<{type_text(type_.element)}>"
    if type_.parameters:
        return f"DECIMAL({','.join(map(str, type_.parameters))})"
    return {"INTEGER": "INT"}.get(type_.name, type_.name)


def double_text(value: float) -> str:
    """A DOUBLE as Spark shows it: 1.5, 1.0E10."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + int(exponent)
    minus = "-" if sign else ""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        shown = f"{Decimal(repr(abs(value))):f}"
        return minus + (shown if "." in shown else f"{shown}.0")
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def _clock(value: timedelta) -> tuple[str, int, int, int, int, str]:
    micros = abs(value) // timedelta(microseconds=1)
    seconds, fraction = divmod(micros, 1_000_000)
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    return (
        "-" if value < timedelta() else "",
        days,
        hours,
        rest // 60,
        rest % 60,
        f".{fraction:06d}".rstrip("0") if fraction else "",
    )


def interval_text(value: timedelta) -> str:
    """An INTERVAL in the largest unit that says it exactly."""
    sign, days, hours, minutes, seconds, fraction = _clock(value)
    if not (hours or minutes or seconds or fraction):
        return f"INTERVAL '{sign}{days}' DAY"
    if not days:
        if hours and not (minutes or seconds or fraction):
            return f"INTERVAL '{sign}{hours:02d}' HOUR"
        if minutes and not (hours or seconds or fraction):
            return f"INTERVAL '{sign}{minutes:02d}' MINUTE"
        if not (hours or minutes):
            return f"INTERVAL '{sign}{seconds:02d}{fraction}' SECOND"
    return f"INTERVAL '{sign}{days} {hours:02d}:{minutes:02d}:{seconds:02d}{fraction}' DAY TO SECOND"


def _timestamp_text(value: datetime) -> str:
    text = f"{value.year:04d}-{value.month:02d}-{value.day:02d} {value:%H:%M:%S}"
    return f"{text}.{value.microsecond:06d}".rstrip("0") if value.microsecond else text


def _plain_constant(value: Any) -> str:
    """A constant as it stands in a name: text without quotes."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{_timestamp_text(value)}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, timedelta):
        return interval_text(value)
    return str(value)


# -- names ------------------------------------------------------------------------------------------------------------


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
        return _plain_constant(expr.value)
    if isinstance(expr, Aggregate):
        return _aggregate_text(expr, _name, count_all="1")
    assert isinstance(expr, Call)
    if isinstance(expr, ImplicitCast):
        return _name(expr.arguments[0])
    special = _SPECIAL_NAMES.get(_spelling(expr))
    if special is not None:
        return special(expr)
    arguments = [_name(argument) for argument in expr.arguments]
    if expr.function in _INFIX and len(arguments) == 2 and _spelling(expr) == expr.function:
        operator = expr.function.upper() if expr.function in ("and", "or") else expr.function
        return f"({arguments[0]} {operator} {arguments[1]})"
    return f"{_spelling(expr)}({', '.join(arguments)})"


def _spelling(expr: Expr) -> str:
    if isinstance(expr, SpeltCall | SpeltAggregate):
        return expr.spelling
    assert isinstance(expr, Call | Aggregate)
    return expr.function


def _aggregate_text(expr: Aggregate, write: Write, count_all: str) -> str:
    arguments = ", ".join(map(write, expr.arguments)) or count_all
    distinct = "DISTINCT " if expr.distinct else ""
    condition = "" if expr.condition is None else f" FILTER (WHERE {write(expr.condition)})"
    return f"{_spelling(expr)}({distinct}{arguments}){condition}"


def _argument(call: Call, position: int) -> str:
    return _name(call.arguments[position])


def _case_text(call: Call, write: Write) -> str:
    parts = [write(argument) for argument in call.arguments]
    branches = "".join(f" WHEN {parts[i]} THEN {parts[i + 1]}" for i in range(0, len(parts) - 1, 2))
    default = f" ELSE {parts[-1]}" if len(parts) % 2 else ""
    return f"CASE{branches}{default} END"


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


def _bounds(call: Call) -> tuple[Expr, Expr, Expr]:
    """Value, low and high of a BETWEEN, which is a conjunction of two comparisons.

    Both comparisons may have cast the value to a type of their own; the user wrote it once.
    """
    low, high = call.arguments
    assert isinstance(low, Call) and isinstance(high, Call)
    return _written(low.arguments[0]), low.arguments[1], high.arguments[1]


def _written(expr: Expr) -> Expr:
    """The expression without the cast around it that nobody wrote."""
    return expr.arguments[0] if isinstance(expr, ImplicitCast) else expr


def _between_name(call: Call) -> str:
    return f"between({', '.join(map(_name, _bounds(call)))})"


def _nullif_parts(call: Call) -> tuple[Expr, Expr]:
    comparison = call.arguments[0]
    assert isinstance(comparison, Call)
    return call.arguments[2], comparison.arguments[1]


def _rounded_name(call: Call) -> str:
    scale = _argument(call, 1) if len(call.arguments) == 2 else "0"
    return f"{call.function}({_argument(call, 0)}, {scale})"


def _locate_name(call: Call) -> str:
    start = _argument(call, 2) if len(call.arguments) == 3 else "1"
    return f"locate({_argument(call, 0)}, {_argument(call, 1)}, {start})"


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


def _tail_name(default: str) -> Callable[[Call], str]:
    """Functions of which Spark shows the default of a third argument."""

    def name(call: Call) -> str:
        arguments = [_name(argument) for argument in call.arguments]
        return f"{_spelling(call)}({', '.join([*arguments, default][:3])})"

    return name


_SPECIAL_NAMES: dict[str, Callable[[Call], str]] = {
    "cast": lambda call: f"CAST({_argument(call, 0)} AS {type_text(call.type)})",
    "case": lambda call: _case_text(call, _name),
    "if": lambda call: f"(IF({', '.join(map(_name, call.arguments))}))",
    "nullif": lambda call: f"nullif({', '.join(map(_name, _nullif_parts(call)))})",
    "between": _between_name,
    "!=": lambda call: f"(NOT ({_argument(call, 0)} = {_argument(call, 1)}))",
    "not": _not_name,
    "neg": lambda call: f"(- {_argument(call, 0)})",
    "positive": lambda call: f"(+ {_argument(call, 0)})",
    "~": lambda call: f"~{_argument(call, 0)}",
    "is null": lambda call: f"({_argument(call, 0)} IS NULL)",
    "isnull": lambda call: f"({_argument(call, 0)} IS NULL)",
    "in": _in_name,
    "like": _like_name,
    "||": lambda call: f"concat({', '.join(map(_name, call.arguments))})",
    "[]": lambda call: f"{_argument(call, 0)}[{_argument(call, 1)}]",
    "extract": lambda call: f"extract({_argument(call, 0)} FROM {_argument(call, 1)})",
    "round": _rounded_name,
    "bround": _rounded_name,
    "locate": _locate_name,
    "position": _locate_name,
    "log": _log_name,
    "ltrim": _trimmed_name("LEADING"),
    "rtrim": _trimmed_name("TRAILING"),
    "substring": _tail_name("2147483647"),
    "substr": _tail_name("2147483647"),
}

# -- SQL --------------------------------------------------------------------------------------------------------------

#: how tightly an operator binds; what binds less stands in parentheses
_PRECEDENCE = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys(("=", "<=>", "!=", "<", "<=", ">", ">=", "is null", "in", "like", "ilike", "rlike"), 4),
    **dict.fromkeys(("|", "^", "&", "<<", ">>", "||"), 5),
    **dict.fromkeys(("+", "-"), 6),
    **dict.fromkeys(("*", "/", "%", "div"), 7),
    **dict.fromkeys(("neg", "~"), 8),
}
_PRIMARY = 9
_COMPARISON = _PRECEDENCE["="]
#: operators of which a chain needs no parentheses on the left
_CHAINS = frozenset({"or", "and", "+", "-", "*", "/", "%", "div", "||"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SUFFIXES = {TINYINT: "Y", SMALLINT: "S", FLOAT: "F", DOUBLE: "D"}


def sql_text(expr: TypedExpr) -> str:
    """The expression as SQL, columns with their relation, with no more parentheses than needed."""
    if isinstance(expr, ImplicitCast):  # nothing around it would bring it back
        return f"CAST({_sql(expr.arguments[0])} AS {type_text(expr.type)})"
    return _sql(expr)


def _sql(expr: Expr) -> str:
    if isinstance(expr, Column):
        return ".".join(_identifier(part) for part in (*(expr.relation or "").split("."), expr.name) if part)
    if isinstance(expr, Literal):
        return _constant_sql(expr)
    if isinstance(expr, Aggregate):
        return _aggregate_text(expr, _sql, count_all="*")
    assert isinstance(expr, Call)
    if isinstance(expr, ImplicitCast):
        return _sql(expr.arguments[0])
    special = _SPECIAL_SQL.get(_spelling(expr))
    if special is not None:
        return special(expr)
    if _spelling(expr) == expr.function and expr.function in _INFIX and len(expr.arguments) == 2:
        return _infix_sql(expr, expr.function.upper() if expr.function.isalpha() else expr.function)
    return f"{_spelling(expr)}({', '.join(map(_sql, expr.arguments))})"


def _identifier(name: str) -> str:
    return name if _NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


def _quoted(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    )
    return f"'{escaped}'"


def _constant_sql(literal: Literal) -> str:
    value = literal.value
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool | date | timedelta):
        return _plain_constant(value).upper() if value is None or isinstance(value, bool) else _plain_constant(value)
    if literal.type == BIGINT:
        return f"{value}L" if -(1 << 31) <= value < 1 << 31 else str(value)
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text if "." in text or len(text.lstrip("-")) > 18 else f"{text}BD"
    if literal.type == DOUBLE and "e" in repr(value):
        return repr(value)
    return f"{value!r}{_SUFFIXES.get(literal.type, '')}" if literal.type != INTEGER else str(value)


def _precedence(expr: Expr) -> int:
    expr = _written(expr)
    if isinstance(expr, Literal) and isinstance(expr.value, int | float | Decimal) and expr.value < 0:
        return _PRECEDENCE["neg"]
    if not isinstance(expr, Call):
        return _PRIMARY
    if _spelling(expr) in ("between", "isnull"):
        return _COMPARISON
    if expr.function == "not" and isinstance(expr.arguments[0], Call):
        inner = expr.arguments[0]
        return _COMPARISON if _spelling(inner) in _NEGATED or _spelling(inner) == "between" else _PRECEDENCE["not"]
    if _spelling(expr) != expr.function or (expr.function == "||" and len(expr.arguments) != 2):
        return _PRIMARY
    return _PRECEDENCE.get(expr.function, _PRIMARY)


def _within(expr: Expr, least: int) -> str:
    """The expression, in parentheses if it binds less than `least`."""
    text = _sql(expr)
    return text if _precedence(expr) >= least else f"({text})"


def _infix_sql(call: Call, operator: str) -> str:
    own = _PRECEDENCE[call.function]
    left, right = call.arguments
    chained = _written(left)
    is_chain = call.function in _CHAINS and isinstance(chained, Call) and _precedence(left) == own and own != 5
    left_text = _sql(left) if is_chain else _within(left, own + 1)
    return f"{left_text} {operator} {_within(right, own + 1)}"


def _operand(call: Call, position: int) -> str:
    return _within(call.arguments[position], _COMPARISON + 1)


def _like_sql(call: Call, negated: bool = False) -> str:
    word = f"{'NOT ' if negated else ''}{call.function.upper()}"
    escape = f" ESCAPE {_operand(call, 2)}" if len(call.arguments) == 3 else ""
    return f"{_operand(call, 0)} {word} {_operand(call, 1)}{escape}"


def _in_sql(call: Call, negated: bool = False) -> str:
    choices = ", ".join(map(_sql, call.arguments[1:]))
    return f"{_operand(call, 0)} {'NOT ' if negated else ''}IN ({choices})"


def _between_sql(call: Call, negated: bool = False) -> str:
    value, low, high = (_within(part, _COMPARISON + 1) for part in _bounds(call))
    return f"{value} {'NOT ' if negated else ''}BETWEEN {low} AND {high}"


def _null_test_sql(call: Call, negated: bool = False) -> str:
    return f"{_operand(call, 0)} IS {'NOT ' if negated else ''}NULL"


def _distinct_sql(call: Call, negated: bool = False) -> str:
    return f"{_operand(call, 0)} {'IS DISTINCT FROM' if negated else '<=>'} {_operand(call, 1)}"


#: tests that have a NOT of their own
_NEGATED: dict[str, Callable[..., str]] = {
    "is null": _null_test_sql,
    "in": _in_sql,
    "like": _like_sql,
    "ilike": _like_sql,
    "rlike": _like_sql,
    "between": _between_sql,
    "<=>": _distinct_sql,
}


def _not_sql(call: Call) -> str:
    inner = call.arguments[0]
    if isinstance(inner, Call) and _spelling(inner) in _NEGATED:
        return _NEGATED[_spelling(inner)](inner, negated=True)
    return f"NOT {_within(inner, _PRECEDENCE['not'])}"


def _neg_sql(call: Call) -> str:
    inner = call.arguments[0]
    text = _within(inner, _PRIMARY)
    # -(5) is the negation of 5, -5 is another constant
    return f"-({text})" if isinstance(_written(inner), Literal) and not text.startswith("(") else f"-{text}"


def _unit_sql(call: Call) -> str:
    unit = call.arguments[0]
    assert isinstance(unit, Literal)
    return f"{call.function}({unit.value}, {', '.join(map(_sql, call.arguments[1:]))})"


def _extract_sql(call: Call) -> str:
    field = call.arguments[0]
    assert isinstance(field, Literal)
    return f"EXTRACT({field.value} FROM {_sql(call.arguments[1])})"


_SPECIAL_SQL: dict[str, Callable[[Call], str]] = {
    **_NEGATED,
    "not": _not_sql,
    "neg": _neg_sql,
    "~": lambda call: f"~{_within(call.arguments[0], _PRECEDENCE['~'])}",
    "cast": lambda call: f"CAST({_sql(call.arguments[0])} AS {type_text(call.type)})",
    "case": lambda call: _case_text(call, _sql),
    "nullif": lambda call: f"nullif({', '.join(map(_sql, _nullif_parts(call)))})",
    "isnull": _null_test_sql,
    "!=": lambda call: _infix_sql(call, "<>"),
    "||": lambda call: _infix_sql(call, "||") if len(call.arguments) == 2 else _concat_sql(call),
    "[]": lambda call: f"{_within(call.arguments[0], _PRIMARY)}[{_sql(call.arguments[1])}]",
    "extract": _extract_sql,
    "timestampadd": _unit_sql,
    "timestampdiff": _unit_sql,
    ">>>": lambda call: f"shiftrightunsigned({', '.join(map(_sql, call.arguments))})",
}


def _concat_sql(call: Call) -> str:
    return f"concat({', '.join(map(_sql, call.arguments))})"
