"""Aggregate functions: one value from the tuples of a group."""

from __future__ import annotations

from eddyline.algebra.coercion import bounded, is_decimal, is_orderable
from eddyline.algebra.expression import Literal
from eddyline.algebra.functions.operators import NUMBER_OR_INTERVAL
from eddyline.algebra.functions.signature import (
    A_BOOLEAN,
    A_DOUBLE,
    A_STRING,
    ANY,
    NUMBER,
    WHOLE,
    Arguments,
    Function,
    Parameter,
    Resolution,
    Types,
    function,
    same_as,
)
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    STRING,
    DataType,
    array,
    is_integer,
    is_numeric,
)


def _sum_type(types: Types) -> DataType:
    """Ten digits of room for DECIMAL; whole numbers add up as BIGINT, all others as DOUBLE."""
    (given,) = types
    if is_decimal(given):
        precision, scale = given.parameters
        return bounded(precision + 10, scale)
    if given == INTERVAL:
        return INTERVAL
    return BIGINT if is_integer(given) else DOUBLE


def _average_type(types: Types) -> DataType:
    """Four digits more after the point for DECIMAL, DOUBLE for all other numbers."""
    (given,) = types
    if is_decimal(given):
        precision, scale = given.parameters
        return bounded(precision + 4, scale + 4)
    return INTERVAL if given == INTERVAL else DOUBLE


def _percentile(arguments: Arguments) -> Resolution | None:
    """percentile(x, p) or percentile(x, array(p, …)); every p is a constant from 0 to 1."""
    if len(arguments) != 2 or not (is_numeric(arguments[0].type) or NUMBER.accept(arguments[0].type)):
        return None
    share = arguments[1]
    if share.type.element is not None:
        return Resolution((DOUBLE, array(DOUBLE)), array(DOUBLE))
    if isinstance(share, Literal) and is_numeric(share.type) and not 0 <= share.value <= 1:
        return None
    return Resolution((DOUBLE, DOUBLE), DOUBLE) if is_numeric(share.type) else None


def _orderable(given: DataType) -> DataType | None:
    return given if is_orderable(given) else None


_ORDERABLE = Parameter("values that can be ordered", _orderable)
_CHOICE = Parameter("a constant BOOLEAN (whether to ignore NULL)", A_BOOLEAN.accept)


def _statistics(*names: str, aliases: tuple[str, ...] = ()) -> tuple[Function, ...]:
    return tuple(function(name, A_DOUBLE, returns=DOUBLE, aliases=aliases, aggregate=True) for name in names)


def _of_pairs(*names: str) -> tuple[Function, ...]:
    return tuple(function(name, A_DOUBLE, A_DOUBLE, returns=DOUBLE, aggregate=True) for name in names)


def _chosen(name: str, aliases: tuple[str, ...] = ()) -> Function:
    return function(name, ANY, _CHOICE, optional=1, returns=same_as(0), aliases=aliases, aggregate=True)


def _on_bits(name: str) -> Function:
    return function(name, WHOLE, returns=same_as(0), aggregate=True)


FUNCTIONS: tuple[Function, ...] = (
    function("count", ANY, optional=1, repeated=True, returns=BIGINT, aggregate=True),
    function("count_if", A_BOOLEAN, returns=BIGINT, aggregate=True),
    function("sum", NUMBER_OR_INTERVAL, returns=_sum_type, aggregate=True),
    function("avg", NUMBER_OR_INTERVAL, returns=_average_type, aliases=("mean",), aggregate=True),
    function("min", _ORDERABLE, returns=same_as(0), aggregate=True),
    function("max", _ORDERABLE, returns=same_as(0), aggregate=True),
    function("min_by", ANY, _ORDERABLE, returns=same_as(0), aggregate=True),
    function("max_by", ANY, _ORDERABLE, returns=same_as(0), aggregate=True),
    *_statistics("stddev_samp", aliases=("stddev", "std")),
    *_statistics("stddev_pop"),
    *_statistics("var_samp", aliases=("variance",)),
    *_statistics("var_pop", "skewness", "kurtosis"),
    *_of_pairs("corr", "covar_samp", "covar_pop"),
    function("median", NUMBER, returns=DOUBLE, aggregate=True),
    Function(
        "percentile", "a number and a constant share from 0 to 1 (or an array of shares)", _percentile, aggregate=True
    ),
    # the order of these is the order of the tuples in the window
    _chosen("first", ("first_value",)),
    _chosen("last", ("last_value",)),
    _chosen("any_value"),
    function("collect_list", ANY, returns=lambda types: array(types[0]), aliases=("array_agg",), aggregate=True),
    function("collect_set", ANY, returns=lambda types: array(types[0]), aggregate=True),
    function("listagg", A_STRING, A_STRING, optional=1, returns=STRING, aliases=("string_agg",), aggregate=True),
    function("bool_and", A_BOOLEAN, returns=BOOLEAN, aliases=("every",), aggregate=True),
    function("bool_or", A_BOOLEAN, returns=BOOLEAN, aliases=("some", "any"), aggregate=True),
    _on_bits("bit_and"),
    _on_bits("bit_or"),
    _on_bits("bit_xor"),
)
