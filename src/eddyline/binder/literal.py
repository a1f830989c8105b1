"""Constants: numbers with Spark's types, text, points in time."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from eddyline.algebra.coercion import MAX_PRECISION, as_decimal, is_decimal
from eddyline.algebra.expression import Literal
from eddyline.algebra.moments import text_to_date, text_to_timestamp
from eddyline.algebra.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    DataType,
    decimal,
    is_integer,
)
from eddyline.binder.position import position_of
from eddyline.errors import Position, SyntaxProblem
from eddyline.language.suffix import has_suffix, is_exact

_DATE = re.compile(r"\d{4}-\d\d?-\d\d?")
_TIMESTAMP = re.compile(r"(\d{4}-\d\d?-\d\d?)(?:[ T](\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d{1,6}))?)?)?")


def number(node: exp.Literal, negative: bool = False) -> Literal:
    """A number as written: INTEGER, else BIGINT, else DECIMAL; with an exponent DOUBLE."""
    text = f"-{node.name}" if negative else node.name
    if "e" in text.lower():
        if math.isinf(float(text)):
            raise SyntaxProblem(f"{text} is too large for a DOUBLE", position_of(node))
        return Literal(float(text), DOUBLE, _place(node))
    if "." in text:
        return exact(text, node)
    value = int(text)
    for type_ in (INTEGER, BIGINT):
        if fits(value, type_):
            return Literal(value, type_, _place(node))
    return exact(text, node)


def exact(text: str, node: exp.Expr) -> Literal:
    """A DECIMAL with as many digits as are written; zeros in front do not count."""
    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale)
    if precision > MAX_PRECISION:
        raise SyntaxProblem(f"{text} has {precision} digits, a DECIMAL at most 38", position_of(node))
    return Literal(value, decimal(precision, scale), _place(node))


def fits(value: int, type_: DataType) -> bool:
    bits = INTEGER_BITS[type_]
    return -(1 << bits - 1) <= value < 1 << bits - 1


def with_suffix(node: exp.Literal, type_: DataType, negative: bool = False) -> Literal:
    """A number with a suffix for its type: 5L, 1.5D."""
    text = f"-{node.name}" if negative else node.name
    if is_integer(type_):
        value: Any = int(text)
        if not fits(value, type_):
            raise SyntaxProblem(f"{text} does not fit into {type_}", position_of(node))
        return Literal(value, type_)
    if type_ == FLOAT:
        return Literal(struct.unpack("f", struct.pack("f", float(text)))[0], FLOAT)
    return Literal(float(text), DOUBLE)


def text_of(node: exp.Expr) -> str | None:
    """The value of a string constant, also of one that is written in several pieces."""
    if (isinstance(node, exp.Literal) and node.is_string) or isinstance(node, exp.RawString):
        return str(node.this)
    if isinstance(node, exp.Concat):
        pieces = [text_of(piece) for piece in node.expressions]
        return None if None in pieces else "".join(piece or "" for piece in pieces)
    return None


def text(node: exp.Expr) -> Literal:
    return Literal(text_of(node) or "", STRING, _place(node))


def _place(node: exp.Expr) -> int | None:
    return node.meta.get("start") if isinstance(node, exp.Literal) else None


def _date(written: str) -> date | None:
    if not _DATE.fullmatch(written):
        return None
    year, month, day = map(int, written.split("-"))
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _timestamp(written: str) -> datetime | None:
    found = _TIMESTAMP.fullmatch(written)
    day = _date(found[1]) if found else None
    if found is None or day is None:
        return None
    micros = int((found[5] or "0").ljust(6, "0"))
    try:
        return datetime(
            day.year, day.month, day.day, int(found[2] or 0), int(found[3] or 0), int(found[4] or 0), micros
        )
    except ValueError:
        return None


_MOMENTS: dict[DataType, Callable[[str], date | None]] = {DATE: _date, TIMESTAMP: _timestamp}
_READERS: dict[DataType, Callable[[str], date | None]] = {DATE: text_to_date, TIMESTAMP: text_to_timestamp}


def constant_cast(node: exp.Expr, to: DataType) -> Literal | None:
    """`DATE '2020-01-31'` and numbers with a suffix reach us as casts of constants; they are constants themselves.

    None if it is a cast to be made when the query runs, which may give NULL.
    """
    written = text_of(node)
    if written is None:
        return with_suffix(node, to) if has_suffix(node) else None  # type: ignore[arg-type]
    if is_decimal(to) and is_exact(node):
        return exact(written, node)
    parse = _MOMENTS.get(to)
    value = parse(written.strip()) if parse else None
    return None if value is None else Literal(value, to, _place(node))


def check_moment(node: exp.Expr, type_: DataType) -> None:
    """That `DATE '…'` or `TIMESTAMP '…'` is one: as a cast it would be NULL without a word."""
    written = text_of(node)
    read = _READERS.get(type_)
    if written is not None and read is not None and read(written) is None:
        kind, example = ("date", "2020-01-31") if type_ == DATE else ("time", "2020-01-31 12:30:00")
        raise SyntaxProblem(f"'{written}' is no {kind}", position_of(node), f"write {type_} '{example}'")


def check_like(pattern: str, escape: str, position: Position | None) -> None:
    """The escape character of a LIKE pattern may only stand before %, _ and itself."""
    characters = iter(pattern)
    for character in characters:
        if character == escape and (escaped := next(characters, "")) not in ("%", "_", escape):
            where = f"precedes '{escaped}'" if escaped else "ends it"
            message = f"the pattern {pattern} is invalid: the escape character {escape} {where}"
            hint = f"it may precede %, _ and itself: {escape * 2} stands for one {escape}, also in r'…'"
            raise SyntaxProblem(message, position, hint)


def written_again(written: str, other: Literal) -> Literal | None:
    """What a text means where another one has meant `other`; None if it is no such constant.

    Of numbers it is given that they have as many digits as counts for their type.
    """
    value: Any
    if written.startswith("'"):
        value = written[1:-1] if other.type == STRING else _MOMENTS[other.type](written[1:-1].strip())
    else:
        signed = f"-{written}" if other.value < 0 else written
        value = Decimal(signed) if "." in written or isinstance(other.value, Decimal) else int(signed)
        if other.type == DOUBLE:
            value = float(value)
        elif is_decimal(other.type):
            value = as_decimal(value, other.type)
    return None if value is None else Literal(value, other.type, other.place)
