"""Expressions made at random from the catalogue of functions, over columns of all types."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from eddyline.algebra.coercion import can_cast, cast_implicitly
from eddyline.algebra.expression import Call, Column, Literal, TypedExpr
from eddyline.algebra.functions import CATALOGUE, lookup
from eddyline.algebra.functions.datetimes import EXTRACT_FIELDS, UNITS
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTERVAL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    array,
    decimal,
)

SCALARS = sorted(f.name for f in CATALOGUE if not f.aggregate and f.deterministic)

_WHOLE = (0, 1, -1, 2, 3, 7, -13, 100)
_TEXTS = (
    "",
    "a",
    "abc",
    "aBc dE",
    "a,b,,c",
    " 12 ",
    "-7.5",
    "1e3",
    "nan",
    "x_y%z",
    r"a\_b",
    "a\\",
    "é",
    "日本語",
    "it's",
)
_MOMENTS = ("2020-02-29", "2021-12-31 23:59:59.9", "1969-07-20T20:17:40Z", "0001-01-01", "12345-01-01", "(1, 2)", "3,4")
_VALUES: dict[DataType, Sequence[Any]] = {
    BOOLEAN: (True, False),
    TINYINT: (*_WHOLE, 127, -128),
    SMALLINT: (*_WHOLE, 32767, -32768),
    INTEGER: (*_WHOLE, 2**31 - 1, -(2**31), 2020, 86399),
    BIGINT: (*_WHOLE, 2**63 - 1, -(2**63), 10**12, -(10**15)),
    FLOAT: (0.0, -0.0, 1.5, -2.25, 0.10000000149011612, math.nan, math.inf, 3.4028234663852886e38),
    DOUBLE: (0.0, -0.0, 1.5, -2.5, 0.1, 1e10, -1e-5, math.nan, math.inf, -math.inf, 1.7e308, 0.5, 123456.789),
    decimal(10, 2): tuple(map(Decimal, ("0.00", "12.34", "-0.05", "99999999.99", "2.50", "-7.00"))),
    decimal(20, 5): tuple(map(Decimal, ("0.00000", "1.23450", "-123456789012345.67891", "3.00000"))),
    decimal(38, 6): tuple(map(Decimal, ("0.000000", "1.000001", "-99999999999999999999999999999999.999999"))),
    STRING: (*_TEXTS, *_MOMENTS),
    DATE: (date(2020, 2, 29), date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), date(1899, 12, 31)),
    TIMESTAMP: (
        datetime(2020, 2, 29, 13, 14, 15, 500000),
        datetime(1970, 1, 1),
        datetime(1969, 12, 31, 23, 59, 59, 1),
        datetime(1, 1, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
        datetime(2021, 1, 31, 0, 0, 1),
    ),
    INTERVAL: tuple(timedelta(**part) for part in ({}, {"days": 1}, {"hours": -5, "microseconds": 7}, {"days": 10**6})),
    array(INTEGER): ((), (1, 2, 3), (None, 5, 5), (-(2**31),)),
    array(STRING): ((), ("a", None, "b", "a"), ("",), ("2020-02-29", "7")),
    array(DOUBLE): ((), (1.0, 2.0), (math.nan, -0.0, 0.0), (None, 1.5)),
}
TYPES = tuple(_VALUES)
#: two columns of every type
SCHEMA = Schema(tuple(Field(f"c{i}_{j}", type_, "r") for i, type_ in enumerate(TYPES) for j in range(2)))

_REGEXES = ("a", "[a-c]+", r"(\d+)-(\d+)", "b*", r"\s", ".", "^a|c$", r"(a)(b)?", ",", r"[^\w]", "")
_PATTERNS = ("yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss", "dd/MM/yy", "HH:mm", "D 'of' y", "d MMM yyyy hh:mm a", "SSS")
_FORMATS = {
    "%s|%s": (None, None),
    "%5d|%-4s|": (INTEGER, None),
    "%.2f": (DOUBLE,),
    "%+d %08d": (BIGINT, INTEGER),
    "%2$s%%%1$s": (DATE, array(STRING)),
}


def random_rows(rng: random.Random, count: int) -> list[tuple[Any, ...]]:
    def value(type_: DataType) -> Any:
        return None if rng.random() < 0.15 else rng.choice(_VALUES[type_])

    return [tuple(value(field.type) for field in SCHEMA.fields) for _ in range(count)]


class Maker:
    """Makes expressions that the binder could have made."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def call(self, function: str, depth: int) -> TypedExpr:
        """A call of the function, with arguments that it takes."""
        found = lookup(function)
        assert found is not None
        special = _SPECIAL.get(function)
        for _ in range(2000):
            arguments = special(self, depth) if special else self.arguments(depth)
            resolution = found.resolve(arguments)
            if resolution is not None:
                cast = (cast_implicitly(a, to) for a, to in zip(arguments, resolution.arguments, strict=True))
                return Call(function, tuple(cast), resolution.result)
        raise AssertionError(f"no arguments found for {function}")

    def arguments(self, depth: int) -> tuple[TypedExpr, ...]:
        leaves = tuple(self.leaf(self.rng.choice(TYPES)) for _ in range(self.rng.choice((0, 1, 1, 2, 2, 2, 3, 4))))
        return (
            tuple(self.of(leaf.type, depth) if self.rng.random() < 0.5 else leaf for leaf in leaves)
            if depth
            else leaves
        )

    def any(self, depth: int) -> TypedExpr:
        """An expression of any type, of at most this depth."""
        if depth > 0 and self.rng.random() < 0.5:
            if self.rng.random() < 0.2:
                return self.cast(depth)
            return self.call(self.rng.choice(SCALARS), depth - 1)
        return self.leaf(self.rng.choice(TYPES))

    def leaf(self, type_: DataType) -> TypedExpr:
        if self.rng.random() < 0.7:
            return self.column(type_)
        return Literal(None if self.rng.random() < 0.1 else self.rng.choice(_VALUES[type_]), type_)

    def column(self, type_: DataType) -> TypedExpr:
        field = self.rng.choice([field for field in SCHEMA.fields if field.type == type_])
        return Column(field.name, field.type, field.relation)

    def cast(self, depth: int) -> TypedExpr:
        while True:
            value, to = self.any(depth - 1), self.rng.choice(TYPES)
            if self.may_cast(value.type, to):
                return Call("cast", (value,), to)

    def may_cast(self, given: DataType, to: DataType) -> bool:
        """How a FLOAT of many digits is written depends on the version of Java, so only our own few are made."""
        return can_cast(given, to) and (to != FLOAT or given == FLOAT)

    def of(self, type_: DataType, depth: int) -> TypedExpr:
        """An expression of this type: a leaf, or another one cast to it."""
        value = self.any(depth) if depth > 0 else self.leaf(type_)
        if value.type == type_:
            return value
        return Call("cast", (value,), type_) if self.may_cast(value.type, type_) else self.leaf(type_)

    def small(self, low: int = -2, high: int = 12) -> TypedExpr:
        return Literal(self.rng.randint(low, high), INTEGER)

    def text(self, *choices: str) -> TypedExpr:
        return Literal(self.rng.choice(choices), STRING)


Special = Callable[[Maker, int], tuple[TypedExpr, ...]]


def _rounded(make: Maker, depth: int) -> tuple[TypedExpr, ...]:
    return (make.any(depth), make.small(-3, 6))[: make.rng.randint(1, 2)]


def _with_pattern(*more: Callable[[Maker], TypedExpr], optional: int = 0) -> Special:
    def arguments(make: Maker, depth: int) -> tuple[TypedExpr, ...]:
        found = (make.of(STRING, depth), make.text(*_REGEXES), *(one(make) for one in more))
        return found[: len(found) - make.rng.randint(0, optional)]

    return arguments


def _like(make: Maker, depth: int) -> tuple[TypedExpr, ...]:
    """A constant pattern was checked by the binder; one from data may have escape characters anywhere."""
    pattern = make.text("a%", "%b_", "", "x\\_y%") if make.rng.random() < 0.5 else make.column(STRING)
    escape = () if isinstance(pattern, Literal) else (make.text("!", "_", "a"),)[: make.rng.randint(0, 1)]
    return (make.of(STRING, depth), pattern, *escape)


def _with_format(first: DataType | None, *, required: bool = False) -> Special:
    def arguments(make: Maker, depth: int) -> tuple[TypedExpr, ...]:
        value = make.any(depth) if first is None else make.of(first, depth)
        return (value, make.text(*_PATTERNS))[: 2 if required else make.rng.randint(1, 2)]

    return arguments


def _formatted(make: Maker, depth: int) -> tuple[TypedExpr, ...]:
    pattern = make.rng.choice(tuple(_FORMATS))
    values = (make.any(depth) if type_ is None else make.of(type_, depth) for type_ in _FORMATS[pattern])
    return (Literal(pattern, STRING), *values)


def _case(make: Maker, depth: int) -> tuple[TypedExpr, ...]:
    type_ = make.rng.choice(TYPES)
    count = make.rng.randint(1, 2)
    branches = (part for _ in range(count) for part in (make.of(BOOLEAN, depth), make.of(type_, depth)))
    return (*branches, make.of(type_, depth))[: 2 * count + make.rng.randint(0, 1)]


def _typed(*types: DataType | Callable[[Maker], TypedExpr]) -> Special:
    return lambda make, depth: tuple(make.of(t, depth) if isinstance(t, DataType) else t(make) for t in types)


def _units(make: Maker) -> TypedExpr:
    return make.text(*UNITS)


def _padded(make: Maker, depth: int) -> tuple[TypedExpr, ...]:
    return (make.of(STRING, depth), make.small(), make.of(STRING, 0))[: make.rng.randint(2, 3)]


def _compared(make: Maker, depth: int) -> tuple[TypedExpr, ...]:
    """Usually of one type, because most others do not meet."""
    type_ = make.rng.choice(TYPES)
    return make.of(type_, depth), make.of(type_, depth)


def _searched(make: Maker, depth: int) -> tuple[TypedExpr, ...]:
    type_ = make.rng.choice((INTEGER, STRING, DOUBLE))
    return make.of(array(type_), depth), make.leaf(type_)


def _small(make: Maker) -> TypedExpr:
    return make.small()


_SPECIAL: dict[str, Special] = {
    **dict.fromkeys(("round", "bround", "ceil", "floor"), _rounded),
    **dict.fromkeys(("=", "!=", "<=>", "<", "<=", ">", ">=", "in"), _compared),
    **dict.fromkeys(("rlike", "regexp_substr", "regexp_count"), _with_pattern()),
    **dict.fromkeys(
        ("regexp_extract", "regexp_extract_all", "split"), _with_pattern(lambda make: make.small(-1, 3), optional=1)
    ),
    **dict.fromkeys(("like", "ilike"), _like),
    "regexp_replace": _with_pattern(lambda make: make.text("", "x", "<$0>", r"\$")),
    **dict.fromkeys(("lpad", "rpad"), _padded),
    "repeat": _typed(STRING, _small),
    "space": _typed(_small),
    "format_number": _typed(DOUBLE, _small),
    "sha2": _typed(STRING, lambda make: Literal(make.rng.choice((0, 1, 224, 256, 384, 512)), INTEGER)),
    "format_string": _formatted,
    **dict.fromkeys(("and", "or"), _typed(BOOLEAN, BOOLEAN)),
    "if": lambda make, depth: (make.of(BOOLEAN, depth), *_compared(make, depth)),
    "nvl2": lambda make, depth: (make.any(depth), *_compared(make, depth)),
    **dict.fromkeys(("nvl", "coalesce", "greatest", "least"), _compared),
    "nanvl": _typed(DOUBLE, DOUBLE),
    "case": _case,
    "extract": lambda make, depth: (make.text(*EXTRACT_FIELDS), make.any(depth)),
    "timestampadd": _typed(_units, BIGINT, TIMESTAMP),
    "timestampdiff": _typed(_units, TIMESTAMP, TIMESTAMP),
    "trunc": _typed(DATE, lambda make: make.text("year", "Q", "quarter", "mon", "week", "day")),
    "date_trunc": _typed(lambda make: make.text("year", "week", "DD", "hour", "millisecond", "x"), TIMESTAMP),
    "next_day": _typed(DATE, lambda make: make.text("mon", "Friday", "TU", "x")),
    "date_format": _with_format(TIMESTAMP, required=True),
    **dict.fromkeys(("to_date", "to_timestamp", "unix_timestamp"), _with_format(None)),
    "from_unixtime": _with_format(BIGINT),
    "make_date": _typed(*(lambda make: make.small(1, 40),) * 3),
    "make_timestamp": _typed(*(lambda make: make.small(0, 32),) * 5, decimal(10, 2)),
    "tick_to_timestamp": _typed(BIGINT, lambda make: Literal(make.rng.choice((1, 1000, 60_000_000)), BIGINT)),
    "array": lambda make, depth: _compared(make, depth)[: make.rng.randint(1, 2)],
    **dict.fromkeys(("array_contains", "array_position"), _searched),
    "slice": _typed(array(INTEGER), _small, _small),
    "sort_array": _typed(array(DOUBLE), BOOLEAN),
}
