"""Expressions as SQL that can be pasted back."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal

from eddyline.algebra.coercion import ImplicitCast
from eddyline.algebra.expression import Aggregate, Call, Column, Expr, Literal, TypedExpr
from eddyline.algebra.node import WINDOW
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
    written,
)
from eddyline.algebra.types import BIGINT, DOUBLE, FLOAT, SMALLINT, TINYINT

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
#: words that are no names unless they are quoted
RESERVED = frozenset(
    [
        "AND",
        "AS",
        "BETWEEN",
        "BY",
        "CASE",
        "CAST",
        "DISTINCT",
        "DIV",
        "ELSE",
        "END",
        "EXISTS",
        "FALSE",
        "FILTER",
        "FOR",
        "FROM",
        "GROUP",
        "HAVING",
        "IN",
        "INTERVAL",
        "IS",
        "JOIN",
        "LIKE",
        "LIMIT",
        "NOT",
        "NULL",
        "ON",
        "OR",
        "ORDER",
        "SELECT",
        "SET",
        "THEN",
        "TRUE",
        "UNION",
        "USING",
        "WHEN",
        "WHERE",
        "WINDOW",
        "WITH",
    ]
)
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"})
_SUFFIXES = {TINYINT: "Y", SMALLINT: "S", FLOAT: "F", DOUBLE: "D"}


def sql_text(expr: TypedExpr) -> str:
    """The expression as SQL, columns with their relation, with no more parentheses than needed."""
    if isinstance(expr, ImplicitCast):  # nothing around it would bring it back
        return f"CAST({_sql(expr.arguments[0])} AS {type_text(expr.type)})"
    return _sql(expr)


def _sql(expr: Expr) -> str:
    if isinstance(expr, Column):
        return _column_sql(expr)
    if isinstance(expr, Literal):
        return _constant_sql(expr)
    if isinstance(expr, Aggregate):
        return aggregate_text(expr, _sql, count_all="*")
    assert isinstance(expr, Call)
    if isinstance(expr, ImplicitCast):
        return _sql(expr.arguments[0])
    special = _SPECIAL_SQL.get(spelling_of(expr))
    if special is not None:
        return special(expr)
    if spelling_of(expr) == expr.function and expr.function in INFIX and len(expr.arguments) == 2:
        return _infix_sql(expr, expr.function.upper() if expr.function.isalpha() else expr.function)
    return f"{spelling_of(expr)}({', '.join(map(_sql, expr.arguments))})"


def _column_sql(column: Column) -> str:
    if column.relation == WINDOW:
        return f"{column.name}(*)"
    return ".".join(_identifier(part) for part in (*(column.relation or "").split("."), column.name) if part)


def _identifier(name: str) -> str:
    return name if _NAME.fullmatch(name) and name.upper() not in RESERVED else f"`{name.replace('`', '``')}`"


def _quoted(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"


def _constant_sql(literal: Literal) -> str:
    value = literal.value
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool | date | timedelta):
        return plain_constant(value, literal.type).upper()
    if literal.type == BIGINT:
        return f"{value}L" if -(1 << 31) <= value < 1 << 31 else str(value)
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text if "." in text or len(text.lstrip("-")) > 18 else f"{text}BD"
    if literal.type == DOUBLE and "e" in repr(value):
        return repr(value)
    return f"{value!r}{_SUFFIXES.get(literal.type, '')}"


def _precedence(expr: Expr) -> int:
    expr = written(expr)
    if isinstance(expr, Literal) and isinstance(expr.value, int | float | Decimal) and expr.value < 0:
        return _PRECEDENCE["neg"]
    if not isinstance(expr, Call):
        return _PRIMARY
    if spelling_of(expr) == "between":
        return _COMPARISON
    if spelling_of(expr) == "interval":
        return _PRECEDENCE["+"]
    if expr.function == "not" and isinstance(expr.arguments[0], Call):
        inner = expr.arguments[0]
        return _COMPARISON if spelling_of(inner) in _NEGATED or spelling_of(inner) == "between" else _PRECEDENCE["not"]
    if spelling_of(expr) != expr.function or (expr.function == "||" and len(expr.arguments) != 2):
        return _PRIMARY
    return _PRECEDENCE.get(expr.function, _PRIMARY)


def _within(expr: Expr, least: int) -> str:
    """The expression, in parentheses if it binds less than `least`."""
    text = _sql(expr)
    return text if _precedence(expr) >= least else f"({text})"


def _infix_sql(call: Call, operator: str) -> str:
    own = _PRECEDENCE[call.function]
    left, right = call.arguments
    chained = written(left)
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
    value, low, high = (_within(part, _COMPARISON + 1) for part in between_parts(call))
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
    if isinstance(inner, Call) and spelling_of(inner) in _NEGATED:
        return _NEGATED[spelling_of(inner)](inner, negated=True)
    return f"NOT {_within(inner, _PRECEDENCE['not'])}"


def _neg_sql(call: Call) -> str:
    inner = call.arguments[0]
    text = _within(inner, _PRIMARY)
    # -(5) is the negation of 5, -5 is another constant
    return f"-({text})" if isinstance(written(inner), Literal) and not text.startswith("(") else f"-{text}"


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
    "case": lambda call: case_text(call, _sql),
    "nullif": lambda call: f"nullif({', '.join(map(_sql, nullif_parts(call)))})",
    "!=": lambda call: _infix_sql(call, "<>"),
    "||": lambda call: _infix_sql(call, "||") if len(call.arguments) == 2 else _concat_sql(call),
    "[]": lambda call: f"{_within(call.arguments[0], _PRIMARY)}[{_sql(call.arguments[1])}]",
    "extract": _extract_sql,
    # the window's time is a tick for the engines, a TIMESTAMP for those who read it
    "tick_to_timestamp": lambda call: _sql(call.arguments[0]),
    "timestampadd": _unit_sql,
    "timestampdiff": _unit_sql,
    "interval": lambda call: moved_text(call, lambda moment: _within(moment, _PRECEDENCE["+"])),
    ">>>": lambda call: f"shiftrightunsigned({', '.join(map(_sql, call.arguments))})",
}


def _concat_sql(call: Call) -> str:
    return f"concat({', '.join(map(_sql, call.arguments))})"
