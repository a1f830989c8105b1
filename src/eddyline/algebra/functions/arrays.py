"""Functions on arrays, such as COLLECT_LIST and SPLIT make them."""

from __future__ import annotations

from eddyline.algebra.coercion import common_type, common_type_of
from eddyline.algebra.functions.signature import (
    A_BOOLEAN,
    A_STRING,
    AN_ARRAY,
    AN_INTEGER,
    Arguments,
    Function,
    Parameter,
    Resolution,
    element_of,
    function,
    same_as,
)
from eddyline.algebra.types import BIGINT, BOOLEAN, INTEGER, NULL, STRING, DataType, array


def _array(arguments: Arguments) -> Resolution | None:
    common = common_type_of(argument.type for argument in arguments)
    return None if common is None else Resolution((common,) * len(arguments), array(common))


def _searched(arguments: Arguments) -> tuple[DataType, DataType] | None:
    """An array and a value that is looked for in it, in their common type."""
    if len(arguments) != 2 or arguments[0].type.element is None:
        return None
    common = common_type(arguments[0].type.element, arguments[1].type)
    return None if common is None else (array(common), common)


def _contains(arguments: Arguments) -> Resolution | None:
    types = _searched(arguments)
    return None if types is None else Resolution(types, BOOLEAN)


def _position(arguments: Arguments) -> Resolution | None:
    types = _searched(arguments)
    return None if types is None else Resolution(types, BIGINT)


_TEXTS = Parameter("ARRAY<STRING>", lambda given: array(STRING) if given.element or given == NULL else None)

FUNCTIONS: tuple[Function, ...] = (
    Function("array", "values of one common type", _array),
    # value[i], from 0
    function("[]", AN_ARRAY, AN_INTEGER, returns=element_of(0), aliases=("get",)),
    function("element_at", AN_ARRAY, AN_INTEGER, returns=element_of(0)),
    function("size", AN_ARRAY, returns=INTEGER, aliases=("cardinality",)),
    function("array_size", AN_ARRAY, returns=INTEGER),
    Function("array_contains", "an ARRAY and a value of its element type", _contains),
    Function("array_position", "an ARRAY and a value of its element type", _position),
    function("array_join", _TEXTS, A_STRING, A_STRING, optional=1, returns=STRING),
    function("array_distinct", AN_ARRAY, returns=same_as(0)),
    function("array_min", AN_ARRAY, returns=element_of(0)),
    function("array_max", AN_ARRAY, returns=element_of(0)),
    function("sort_array", AN_ARRAY, A_BOOLEAN, optional=1, returns=same_as(0)),
    function("slice", AN_ARRAY, AN_INTEGER, AN_INTEGER, returns=same_as(0)),
)
