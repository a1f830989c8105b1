"""What becomes of marks as functions that the engines can call, by the way that users' functions go."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from typing import Any, cast

from eddyline.algebra.expression import Literal, TypedExpr
from eddyline.algebra.types import BIGINT, BOOLEAN, DOUBLE, STRING, DataType
from eddyline.algebra.user_function import UserCall, UserFunction
from eddyline.columnar import tags
from eddyline.kernels.functions import path_of
from eddyline.log.storage import Storage

#: what the names of these functions begin with; a user's function can have no such name
PREFIX = "tags_"
#: by function, its code as workers get it
_CODE: dict[UserFunction, bytes] = {}


def code_for(storage: Storage, functions: Iterable[UserFunction]) -> list[UserFunction]:
    """Put the code of those that are ours where workers find it; gives them."""
    found = [function for function in functions if function in _CODE]
    for function in found:
        if not storage.exists(path_of(function)):
            storage.write(path_of(function), _CODE[function])
    return found


def projected(marks: TypedExpr, reads: Iterable[Iterable[int]]) -> TypedExpr:
    sources = [sorted(each) for each in reads]
    if isinstance(marks, UserCall) and marks.definition == _function(*_JOINED):
        left, right, widths = cast(tuple[TypedExpr, ...], marks.arguments)
        if isinstance(widths, Literal) and len(both := json.loads(str(widths.value))) == 2:
            # in one: marks of one side each are quickly dealt with, those of both are not
            return _call(marks.definition, left, right, _constant([*both, sources]))
    return _call(_function("projected", (STRING, STRING), STRING), marks, _constant(sources))


_JOINED = "joined", (STRING, STRING, STRING), STRING


def joined(left: TypedExpr | None, left_width: int, right: TypedExpr | None, right_width: int) -> TypedExpr:
    nothing = Literal(None, STRING)
    function = _function(*_JOINED)
    return _call(function, left or nothing, right or nothing, _constant([left_width, right_width]))


def grouped(marks: TypedExpr, reads: Iterable[Iterable[int]]) -> TypedExpr:
    sources = _constant([sorted(each) for each in reads])
    return _call(_function("grouped", (STRING, STRING), STRING), marks, sources)


def of_copies(marks: TypedExpr) -> TypedExpr:
    return _call(_function("of_copies", (STRING,), STRING), marks)


def counted(marks: TypedExpr, sign: str | None, field: int | None) -> TypedExpr:
    return _call(_function("counted", (STRING, STRING), BIGINT), marks, _constant([sign, field]))


def scored(marks: TypedExpr, field: int | None) -> TypedExpr:
    return _call(_function("scored", (STRING, STRING), DOUBLE), marks, _constant(field))


def added(marks: TypedExpr, tick: TypedExpr, index: TypedExpr, rest: str) -> TypedExpr:
    function = _function("added", (STRING, BIGINT, BIGINT, STRING), STRING)
    return _call(function, marks, tick, index, Literal(rest, STRING))


def found(marks: TypedExpr, search: Callable[[Any], bool]) -> TypedExpr:
    """Whether marks satisfy a search, which can be pickled."""
    return _call(_made("found", (STRING,), BOOLEAN, tags.with_search(tags.found, search)), marks)


def selected(marks: TypedExpr, search: Callable[[Any], bool]) -> TypedExpr:
    """Those of the marks that satisfy a search."""
    return _call(_made("selected", (STRING,), STRING, tags.with_search(tags.selected, search)), marks)


@cache
def _function(name: str, takes: tuple[DataType, ...], gives: DataType) -> UserFunction:
    return _made(name, takes, gives, getattr(tags, name))


def _made(name: str, takes: tuple[DataType, ...], gives: DataType, code: Callable[..., Any]) -> UserFunction:
    content = pickle.dumps(code)
    function = UserFunction(f"{PREFIX}{name}", sha256(content).hexdigest(), takes, gives)
    _CODE[function] = content
    return function


def _call(function: UserFunction, *arguments: TypedExpr) -> TypedExpr:
    name = function.internal_name
    return UserCall(name, arguments, function.returns, function.name, definition=function)


def _constant(value: Any) -> Literal:
    return Literal(json.dumps(value, separators=(",", ":")), STRING)
