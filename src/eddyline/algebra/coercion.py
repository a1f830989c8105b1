"""Which type values of different types meet in, and which casts are made without being written.

These are the rules of Spark with `spark.sql.ansi.enabled = false`. The binder applies them; what it inserts is an
`ImplicitCast`, so that engines never have to know them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal

from eddyline.algebra.expression import Call, Literal, TypedExpr
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGER_BITS,
    INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    array,
    decimal,
    is_integer,
    is_numeric,
)

MAX_PRECISION = 38
EXACT = Context(prec=2 * MAX_PRECISION)
#: digits that survive after the point when a DECIMAL result would need more than 38
MINIMUM_ADJUSTED_SCALE = 6

#: numeric types without DECIMAL, from narrow to wide
_WIDENING: tuple[DataType, ...] = (TINYINT, SMALLINT, INTEGER, BIGINT, FLOAT, DOUBLE)
#: the DECIMAL that holds every value of an integer type
_DECIMAL_OF = {TINYINT: decimal(3), SMALLINT: decimal(5), INTEGER: decimal(10), BIGINT: decimal(20)}


@dataclass(frozen=True)
class ImplicitCast(Call):
    """A cast that the user did not write: engines treat it as any `cast`, names and EXPLAIN leave it out."""


def cast_implicitly(expr: TypedExpr, to: DataType) -> TypedExpr:
    """The expression as a value of type `to`; nothing is added if it is one already."""
    if expr.type == to:
        return expr
    if isinstance(expr, Literal) and expr.value is None:
        return Literal(None, to)
    return ImplicitCast("cast", (expr,), to)


def is_decimal(type_: DataType) -> bool:
    return type_.name == "DECIMAL"


def as_decimal(value: int | Decimal, type_: DataType) -> Decimal | None:
    """A number as a DECIMAL with as many digits as the type has; None if it has others, which a cast would lose.

    >>> as_decimal(Decimal("-1.5"), decimal(4, 2)), as_decimal(100, decimal(4, 2))
    (Decimal('-1.50'), None)
    """
    precision, scale = type_.parameters
    whole = Decimal(value).scaleb(scale, EXACT)
    if whole != whole.to_integral_value() or abs(whole) >= 10**precision:
        return None
    return Decimal(value).quantize(Decimal(1).scaleb(-scale), context=EXACT)


def is_array(type_: DataType) -> bool:
    return type_.name == "ARRAY"


def decimal_of(expr: TypedExpr) -> DataType:
    """The DECIMAL type as which a DECIMAL or integer expression enters DECIMAL arithmetic.

    A constant counts with its own digits, because `price + 1` should not become ten digits wider; Spark forgot
    TINYINT there.
    """
    if is_decimal(expr.type):
        return expr.type
    if isinstance(expr, Literal) and isinstance(expr.value, int) and expr.type != TINYINT:
        return decimal(len(str(abs(expr.value))))
    return _DECIMAL_OF[expr.type]


def bounded(precision: int, scale: int) -> DataType:
    """The DECIMAL of that size, cut to what fits."""
    return decimal(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def adjusted(precision: int, scale: int) -> DataType:
    """The DECIMAL of an arithmetic result: if it needs too many digits, the fraction gives way, down to six digits."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    least = min(scale, MINIMUM_ADJUSTED_SCALE)
    return decimal(MAX_PRECISION, max(MAX_PRECISION - (precision - scale), least))


def wider_decimal(left: DataType, right: DataType) -> DataType:
    """The DECIMAL that holds both; beyond 38 digits the whole part has preference."""
    (p1, s1), (p2, s2) = left.parameters, right.parameters
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    excess = max(0, precision - MAX_PRECISION)
    return decimal(precision - excess, max(0, scale - excess))


def tightest_common_type(left: DataType, right: DataType) -> DataType | None:
    """The type of both without losing anything; None if there is none."""
    if left == right or right == NULL:
        return left
    if left == NULL:
        return right
    if left in _WIDENING and right in _WIDENING:
        return _WIDENING[max(_WIDENING.index(left), _WIDENING.index(right))]
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if is_array(left) and is_array(right) and left.element and right.element:
        element = common_type(left.element, right.element)
        return None if element is None else array(element)
    return None


def _wider_numeric(left: DataType, right: DataType) -> DataType | None:
    """DECIMAL with another number."""
    if not (is_numeric(left) and is_numeric(right)):
        return None
    if left in (FLOAT, DOUBLE) or right in (FLOAT, DOUBLE):
        return DOUBLE
    return wider_decimal(_DECIMAL_OF.get(left, left), _DECIMAL_OF.get(right, right))


def _with_string(left: DataType, right: DataType) -> DataType | None:
    """A STRING with anything that has one obvious text."""
    other = right if left == STRING else left
    if STRING not in (left, right) or other == BOOLEAN or is_array(other):
        return None
    return STRING


def common_type(left: DataType, right: DataType, *, strings: bool = True) -> DataType | None:
    """The type in which COALESCE, CASE, IN and the like see both; `strings` says if text absorbs other types."""
    found = tightest_common_type(left, right) or _wider_numeric(left, right)
    if found is None and strings:
        found = _with_string(left, right)
    return found


def common_type_of(types: Iterable[DataType], *, strings: bool = True) -> DataType | None:
    """`common_type` of many. Strings come first, because text absorbs what would not meet otherwise."""
    common: DataType | None = NULL
    for type_ in sorted(types, key=lambda type_: type_ != STRING):
        common = None if common is None else common_type(common, type_, strings=strings)
    return common


def comparison_type(left: DataType, right: DataType) -> DataType | None:
    """The type in which two values are compared: a string becomes what it is compared with."""
    if STRING in (left, right) and left != right:
        other = right if left == STRING else left
        if is_decimal(other):
            return DOUBLE
        if other == NULL:
            return STRING
        return None if is_array(other) or other == INTERVAL else other
    return common_type(left, right, strings=False)


def is_orderable(type_: DataType) -> bool:
    return type_.element is None or is_orderable(type_.element)


def accepts(wanted: DataType, given: DataType) -> bool:
    """Whether a function that wants one type takes a value of the other, by an implicit cast."""
    if wanted == given or given == NULL:
        return True
    if wanted == STRING:
        return given.element is None
    if is_numeric(wanted):
        return is_numeric(given) or given == STRING
    if wanted in (DATE, TIMESTAMP):
        return given in (DATE, TIMESTAMP, STRING)
    if wanted == BOOLEAN:
        # Spark casts no text to BOOLEAN on its own
        return False
    if wanted.element and given.element:
        return accepts(wanted.element, given.element)
    return False


def can_cast(given: DataType, to: DataType) -> bool:
    """Whether CAST is defined between two types (its result may still be NULL)."""
    if given in (to, NULL) or to == STRING:
        return True
    if given == STRING:
        return to.element is None and to != INTERVAL
    if given.element and to.element:
        return can_cast(given.element, to.element)
    if is_numeric(given):
        return is_numeric(to) or to in (BOOLEAN, TIMESTAMP)
    if given == BOOLEAN:
        return is_numeric(to) or to == TIMESTAMP
    if given == TIMESTAMP:
        return is_numeric(to) or to in (DATE, BOOLEAN)
    if given == DATE:
        # a DATE as a number is always NULL in Spark; it is allowed all the same
        return is_numeric(to) or to in (TIMESTAMP, BOOLEAN)
    return False


def wider_integer(left: DataType, right: DataType) -> DataType:
    return left if INTEGER_BITS[left] >= INTEGER_BITS[right] else right


def both_integers(left: DataType, right: DataType) -> bool:
    return is_integer(left) and is_integer(right)
