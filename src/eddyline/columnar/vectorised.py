"""A user's function on Arrow arrays, held to what it was declared as."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from eddyline.algebra.user_function import UserFunction
from eddyline.columnar.types import arrow_type
from eddyline.errors import FunctionFailed

#: Takes one array for each argument and gives one, all of equal length and of the types that were declared. With
#: `numbered=True` what it takes and gives may be numbers of a dictionary.
Vectorised = Callable[..., pa.Array]


def vectorised(function: UserFunction, code: Callable[..., Any]) -> Vectorised:
    """The code as all engines call it; what goes wrong inside is a FunctionFailed that names the function."""
    takes, gives = [arrow_type(type_) for type_ in function.arguments], arrow_type(function.returns)

    def call(*given: pa.Array | pa.ChunkedArray, numbered: bool = False) -> pa.Array:
        arguments = [
            array if numbered and _is_numbered(array, type_) else _whole(array, type_)
            for array, type_ in zip(given, takes, strict=True)
        ]
        rows = len(arguments[0])
        if not rows:
            return pa.array([], gives)
        try:
            result = code(*arguments)
        except (Exception, SystemExit) as problem:  # one that exits would end the worker, and nobody would know why
            raise FunctionFailed(f"the function {function.name} failed: {said(problem)}") from problem
        stays = numbered and _is_numbered(result, gives)
        return _fitting(function, result, result.type if stays else gives, rows)

    return call


def _is_numbered(array: Any, type_: pa.DataType) -> bool:
    """Whether values of a type are numbers of a dictionary."""
    return isinstance(array, pa.DictionaryArray) and bool(array.type.value_type == type_)


def _whole(array: pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.Array:
    """One array of exactly the declared type: engines hold text and times in several ways."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array if array.type == type_ else array.cast(type_)


def _fitting(function: UserFunction, result: Any, type_: pa.DataType, rows: int) -> pa.Array:
    if isinstance(result, str | bytes | Mapping | pa.Scalar) or not hasattr(result, "__len__"):
        raise FunctionFailed(
            f"the function {function.name} gave something of type {type(result).__name__}, not an array"
        )
    if len(result) != rows:
        raise FunctionFailed(f"the function {function.name} gave {len(result)} values for {rows} rows")
    try:
        if not isinstance(result, pa.Array | pa.ChunkedArray):
            return pa.array(result, type_)
        if not alike(result.type, type_):
            raise pa.ArrowTypeError(f"it gave an array of {result.type}")
        return _whole(result, type_)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
        raise FunctionFailed(
            f"the function {function.name} gave what is no {function.returns}: {_first_line(problem)}"
        ) from problem


def alike(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values may be cast if nothing is lost: Arrow would also read numbers from text."""
    return given == wanted or pa.types.is_null(given) or (_kind(given) is not None and _kind(given) == _kind(wanted))


def _kind(type_: pa.DataType) -> str | None:
    types = pa.types
    if types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_):
        return "number"
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    if types.is_dictionary(type_):
        return _kind(type_.value_type)
    if types.is_date(type_) or types.is_timestamp(type_):
        return "time"
    if types.is_duration(type_):
        return "duration"
    return "list" if types.is_list(type_) or types.is_large_list(type_) else None


def said(problem: BaseException) -> str:
    """What is wrong in one line; an exception that says nothing has its type at least."""
    return f"{type(problem).__name__}: {_first_line(problem)}".rstrip(": ")


def _first_line(problem: BaseException) -> str:
    return next(iter(str(problem).strip().splitlines()), "")
