"""CASE and its relatives: functions that choose among their arguments."""

from __future__ import annotations

from eddyline.algebra.coercion import accepts, common_type_of
from eddyline.algebra.functions.signature import Arguments, Function, Resolution
from eddyline.algebra.types import BOOLEAN, DataType

_ONE_TYPE = "values of one common type"


def _case(arguments: Arguments) -> Resolution | None:
    """(when, then, when, then, … [, else]): the results meet in one type."""
    types = [argument.type for argument in arguments]
    if len(types) < 2:
        return None
    is_condition = [i % 2 == 0 and i + 1 < len(types) for i in range(len(types))]
    results = [type_ for type_, condition in zip(types, is_condition, strict=True) if not condition]
    conditions = [type_ for type_, condition in zip(types, is_condition, strict=True) if condition]
    common = common_type_of(results)
    if common is None or not all(accepts(BOOLEAN, condition) for condition in conditions):
        return None
    return Resolution(tuple(BOOLEAN if condition else common for condition in is_condition), common)


def _if(arguments: Arguments) -> Resolution | None:
    return _case(arguments) if len(arguments) == 3 else None


def _alike(arguments: Arguments, *, strings: bool = True) -> Resolution | None:
    common = common_type_of((argument.type for argument in arguments), strings=strings)
    return None if common is None else Resolution((common,) * len(arguments), common)


def _coalesce(arguments: Arguments) -> Resolution | None:
    return _alike(arguments) if arguments else None


def _nvl(arguments: Arguments) -> Resolution | None:
    return _alike(arguments) if len(arguments) == 2 else None


def _nvl2(arguments: Arguments) -> Resolution | None:
    if len(arguments) != 3:
        return None
    common = common_type_of(argument.type for argument in arguments[1:])
    return None if common is None else Resolution((arguments[0].type, common, common), common)


def _extreme(arguments: Arguments) -> Resolution | None:
    return _alike(arguments, strings=False) if len(arguments) >= 2 else None


def _nan_replacement(arguments: Arguments) -> Resolution | None:
    types: tuple[DataType, ...] = tuple(argument.type for argument in arguments)
    common = common_type_of(types, strings=False)
    if len(types) != 2 or common is None or common.name not in ("FLOAT", "DOUBLE"):
        return None
    return Resolution((common, common), common)


FUNCTIONS: tuple[Function, ...] = (
    Function("case", "BOOLEAN conditions and results of one common type", _case),
    Function("if", "(BOOLEAN, value, value)", _if),
    Function("coalesce", _ONE_TYPE, _coalesce),
    Function("nvl", f"two {_ONE_TYPE}", _nvl, aliases=("ifnull",)),
    Function("nvl2", f"a value, and two {_ONE_TYPE}", _nvl2),
    Function("greatest", f"two or more {_ONE_TYPE}", _extreme),
    Function("least", f"two or more {_ONE_TYPE}", _extreme),
    Function("nanvl", "two FLOAT or DOUBLE values", _nan_replacement),
)
