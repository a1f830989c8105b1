"""Calls that remember how the user wrote them, and what their written form is made of.

`mean(x)` is `avg(x)` to every engine, and `a BETWEEN 1 AND 2` is a conjunction; but the column is named as it was
written. The spelling does not count in comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from eddyline.algebra.coercion import ImplicitCast
from eddyline.algebra.constant_text import date_text, double_text, float_text, short_interval_text, timestamp_text
from eddyline.algebra.expression import Aggregate, Call, Expr, Literal
from eddyline.algebra.types import FLOAT, DataType


@dataclass(frozen=True)
class SpeltCall(Call):
    """A call written with another name than that of the function it is."""

    spelling: str = field(default="", compare=False)


@dataclass(frozen=True)
class SpeltAggregate(Aggregate):
    """An aggregate written with another name."""

    spelling: str = field(default="", compare=False)


Write = Callable[[Expr], str]

#: operators that stand between their two operands
INFIX = frozenset(
    {"+", "-", "*", "/", "%", "div", "=", "<=>", "<", "<=", ">", ">=", "and", "or", "&", "|", "^", "<<", ">>"}
)


def spelling_of(expr: Expr) -> str:
    """The name the user called the function by, as long as the call still has the form that the name stands for.

    Rewriting may have changed a part of it: what is left of a BETWEEN is then shown as the conjunction it is.
    """
    assert isinstance(expr, Call | Aggregate)
    if isinstance(expr, SpeltAggregate):
        return expr.spelling
    if isinstance(expr, SpeltCall) and _FORMS.get(expr.spelling, _any_form)(expr):
        return expr.spelling
    return expr.function


def _any_form(call: Call) -> bool:
    return True


def _same(left: Expr, right: Expr) -> bool:
    """Whether both were written alike, whatever type they were cast to; a NULL takes every type."""
    left, right = written(left), written(right)
    if isinstance(left, Literal) and isinstance(right, Literal) and left.value is None:
        return right.value is None
    return left == right


def _is_between(call: Call) -> bool:
    low, high = call.arguments
    return (
        (isinstance(low, Call) and low.function == ">=")
        and (isinstance(high, Call) and high.function == "<=")
        and _same(low.arguments[0], high.arguments[0])
    )


def _is_nullif(call: Call) -> bool:
    comparison, _, value = call.arguments
    return isinstance(comparison, Call) and comparison.function == "=" and _same(comparison.arguments[0], value)


def _is_moved(call: Call) -> bool:
    return isinstance(written(call.arguments[1]), Literal)


_FORMS: dict[str, Callable[[Call], bool]] = {"between": _is_between, "nullif": _is_nullif, "interval": _is_moved}


def written(expr: Expr) -> Expr:
    """The expression without the cast around it that nobody wrote."""
    return expr.arguments[0] if isinstance(expr, ImplicitCast) else expr


def between_parts(call: Call) -> tuple[Expr, Expr, Expr]:
    """Value, low and high of a BETWEEN, which is a conjunction of two comparisons.

    Both comparisons may have cast the value to a type of their own; the user wrote it once.
    """
    low, high = call.arguments
    assert isinstance(low, Call) and isinstance(high, Call)
    return written(low.arguments[0]), low.arguments[1], high.arguments[1]


def nullif_parts(call: Call) -> tuple[Expr, Expr]:
    """The arguments of a NULLIF, which is an IF."""
    comparison = call.arguments[0]
    assert isinstance(comparison, Call)
    return call.arguments[2], comparison.arguments[1]


def moved_text(call: Call, write: Write) -> str:
    """A time plus months, a DATE plus days, as it was written: with an INTERVAL."""
    moment, amount = call.arguments[-1 if call.function == "timestampadd" else 0], call.arguments[1]
    amount = written(amount)
    assert isinstance(amount, Literal)
    unit = "DAY" if call.function == "date_add" else "MONTH"
    sign = "-" if amount.value < 0 else "+"
    return f"{write(moment)} {sign} INTERVAL '{abs(amount.value)}' {unit}"


def case_text(call: Call, write: Write) -> str:
    """A CASE, its parts written by `write`."""
    parts = [write(argument) for argument in call.arguments]
    branches = "".join(f" WHEN {parts[i]} THEN {parts[i + 1]}" for i in range(0, len(parts) - 1, 2))
    default = f" ELSE {parts[-1]}" if len(parts) % 2 else ""
    return f"CASE{branches}{default} END"


def aggregate_text(expr: Aggregate, write: Write, count_all: str) -> str:
    """An aggregate with DISTINCT and FILTER; `count_all` stands in COUNT(*)."""
    arguments = ", ".join(map(write, expr.arguments)) if expr.arguments else count_all
    distinct = "DISTINCT " if expr.distinct else ""
    condition = "" if expr.condition is None else f" FILTER (WHERE {write(expr.condition)})"
    return f"{spelling_of(expr)}({distinct}{arguments}){condition}"


def type_text(type_: DataType) -> str:
    """A type as CAST names it in Spark."""
    if type_.element is not None:
        return f"ARRAY<{type_text(type_.element)}>"
    if type_.parameters:
        return f"DECIMAL({','.join(map(str, type_.parameters))})"
    return {"INTEGER": "INT"}.get(type_.name, type_.name)


def plain_constant(value: Any, type_: DataType) -> str:
    """A constant as it stands in a name: text without quotes."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value) if type_ == FLOAT else double_text(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{timestamp_text(value)}'"
    if isinstance(value, date):
        return f"DATE '{date_text(value)}'"
    if isinstance(value, timedelta):
        return short_interval_text(value)
    return str(value)
