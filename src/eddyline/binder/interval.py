"""INTERVAL constants: a number of months, and a length of time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from sqlglot import exp

from eddyline.binder.literal import text_of
from eddyline.binder.position import position_of
from eddyline.errors import NotSupported, SyntaxProblem

_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_LENGTHS = {
    "WEEK": timedelta(weeks=1),
    "DAY": timedelta(days=1),
    "HOUR": timedelta(hours=1),
    "MINUTE": timedelta(minutes=1),
    "SECOND": timedelta(seconds=1),
    "MILLISECOND": timedelta(milliseconds=1),
    "MICROSECOND": timedelta(microseconds=1),
}
_PARTS = ("DAY", "HOUR", "MINUTE", "SECOND")
_PIECE = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-zA-Z]+)")


@dataclass(frozen=True)
class Span:
    """An INTERVAL constant. Months have no fixed length, so they are kept apart."""

    months: int = 0
    length: timedelta = timedelta()
    #: no unit below a day was written, so that a DATE plus this is a DATE
    days_only: bool = True

    def __add__(self, other: Span) -> Span:
        return Span(self.months + other.months, self.length + other.length, self.days_only and other.days_only)

    def __neg__(self) -> Span:
        return Span(-self.months, -self.length, self.days_only)


def span_of(node: exp.Expr) -> Span | None:
    """The constant that an expression made of INTERVALs is; None if it is anything else."""
    if isinstance(node, exp.Interval):
        return _parse(node)
    if isinstance(node, exp.Paren):
        return span_of(node.this)
    if isinstance(node, exp.Neg):
        inner = span_of(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Add | exp.Sub):
        left = span_of(node.this)
        right = None if left is None else span_of(node.expression)
        if left is None or right is None:
            return None
        return left + right if isinstance(node, exp.Add) else left + -right
    return None


def _parse(node: exp.Interval) -> Span:
    unit = node.args.get("unit")
    written = text_of(node.this) if node.this is not None else None
    if written is None and isinstance(node.this, exp.Literal):
        written = node.this.name
    if written is None:
        hint = "multiply instead: x * INTERVAL '1' DAY"
        raise NotSupported("an INTERVAL needs a constant number", position_of(node), hint)
    if isinstance(unit, exp.IntervalSpan):
        return _from_clock(node, written, unit.this.name.upper(), unit.expression.name.upper())
    if unit is not None:
        return _times(node, written, unit.name)
    return _from_words(node, written)


def _times(node: exp.Expr, amount: str, unit: str) -> Span:
    """`INTERVAL '3' HOUR`."""
    name = unit.upper()
    name = name if name in _MONTHS or name in _LENGTHS else name.removesuffix("S")
    try:
        if name in _MONTHS:
            return Span(months=int(amount) * _MONTHS[name])
        if name in _LENGTHS:
            whole = name in ("WEEK", "DAY")
            factor = int(amount) if whole else float(amount)
            return Span(length=_LENGTHS[name] * factor, days_only=whole)
    except (ValueError, OverflowError):
        raise SyntaxProblem(f"{amount!r} is no number of {unit.lower()}s", position_of(node)) from None
    raise SyntaxProblem(f"an INTERVAL has no unit {unit}", position_of(node), f"units are {_units()}")


def _units() -> str:
    return ", ".join([*_MONTHS, *_LENGTHS])


def _from_words(node: exp.Expr, written: str) -> Span:
    """`INTERVAL '1 day 2 hours'`."""
    result, end = Span(), 0
    for piece in _PIECE.finditer(written):
        if piece.start() != end:
            break
        result, end = result + _times(node, piece[1], piece[2]), piece.end()
    if end == 0 or written[end:].strip():
        hint = "write INTERVAL '5' MINUTE or INTERVAL '1 day 2 hours'"
        raise SyntaxProblem(f"{written!r} is no interval", position_of(node), hint)
    return result


def _from_clock(node: exp.Expr, written: str, first: str, last: str) -> Span:
    """`INTERVAL '1 02:03:04' DAY TO SECOND`, `INTERVAL '1-2' YEAR TO MONTH`."""
    numbers = re.findall(r"\d+(?:\.\d+)?", written)
    sign = -1 if written.strip().startswith("-") else 1
    if (first, last) == ("YEAR", "MONTH") and len(numbers) == 2:
        return Span(months=sign * (12 * int(numbers[0]) + int(numbers[1])))
    if first in _PARTS and last in _PARTS:
        units = _PARTS[_PARTS.index(first) : _PARTS.index(last) + 1]
        if len(units) == len(numbers):
            pairs = zip(units, numbers, strict=True)
            length = sum((_LENGTHS[unit] * float(amount) for unit, amount in pairs), timedelta())
            return Span(length=sign * length, days_only=last == "DAY")
    raise SyntaxProblem(f"{written!r} is no interval {first} TO {last}", position_of(node))
