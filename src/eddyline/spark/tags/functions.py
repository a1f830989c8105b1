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
from eddyline.kernels.functions import content_of, path_of
from eddyline.kernels.searched import SEARCHED
from eddyline.log.storage import Storage
from eddyline.log.told_apart import told_apart as told_apart_by_places

#: what the names of these functions begin with; a user's function can have no such name
PREFIX = "tags_"


def code_for(storage: Storage, functions: Iterable[UserFunction]) -> list[UserFunction]:
    """Put the code of those that are ours where workers find it; gives them."""
    found = []
    for function in functions:
        if function.code is not None:
            if not storage.exists(path_of(function)):
                storage.write(path_of(function), function.code(storage))
            found.append(function)
    return found


def projected(marks: TypedExpr, reads: Iterable[Iterable[int]]) -> TypedExpr:
    sources = [sorted(each) for each in reads]
    if isinstance(marks, UserCall) and marks.definition in (_function(*_JOINED), _function(*_BESIDE)):
        left, right, widths = cast(tuple[TypedExpr, ...], marks.arguments)
        if isinstance(widths, Literal) and len(both := json.loads(str(widths.value))) == 2:
            # in one: marks of one side each are quickly dealt with, those of both are not
            return call(marks.definition, left, right, _constant([*both, sources]))
    return call(_function("projected", (STRING, STRING), STRING), marks, _constant(sources))


_JOINED = "joined", (STRING, STRING, STRING), STRING
_BESIDE = "side_by_side", (STRING, STRING, STRING), STRING


def joined(left: TypedExpr | None, left_width: int, right: TypedExpr | None, right_width: int) -> TypedExpr:
    nothing = Literal(None, STRING)
    function = _function(*_JOINED)
    return call(function, left or nothing, right or nothing, _constant([left_width, right_width]))


def side_by_side(left: TypedExpr | None, left_width: int, right: TypedExpr | None, right_width: int) -> TypedExpr:
    """Marks of tuples of different streams, where nobody asks which tags they are of."""
    nothing = Literal(None, STRING)
    return call(_function(*_BESIDE), left or nothing, right or nothing, _constant([left_width, right_width]))


def told_apart(marks: TypedExpr, places: TypedExpr, tick: TypedExpr, index: TypedExpr) -> TypedExpr:
    """Marks with what tells their tags from others."""
    return call(_told_apart(), marks, places, tick, index)


@cache
def _told_apart() -> UserFunction:
    return made("told_apart", (STRING, STRING, BIGINT, BIGINT), STRING, told_apart_by_places)


def grouped(marks: TypedExpr, reads: Iterable[Iterable[int]]) -> TypedExpr:
    sources = _constant([sorted(each) for each in reads])
    return call(_function("grouped", (STRING, STRING), STRING), marks, sources)


def of_tag_group(marks: TypedExpr, reads: Iterable[Iterable[int]]) -> TypedExpr:
    sources = _constant([sorted(each) for each in reads])
    return call(_function("of_tag_group", (STRING, STRING), STRING), marks, sources)


def in_order(marks: TypedExpr) -> TypedExpr:
    return call(_function("in_order", (STRING,), STRING), marks)


def sayings(marks: TypedExpr) -> TypedExpr:
    return call(_function("sayings", (STRING,), STRING), marks)


def of_copies(marks: TypedExpr) -> TypedExpr:
    return call(_function("of_copies", (STRING,), STRING), marks)


def counted(marks: TypedExpr, sign: str | None, field: int | None) -> TypedExpr:
    return call(_function("counted", (STRING, STRING), BIGINT), marks, _constant([sign, field]))


def scored(marks: TypedExpr, field: int | None) -> TypedExpr:
    return call(_function("scored", (STRING, STRING), DOUBLE), marks, _constant(field))


def added(marks: TypedExpr, tick: TypedExpr, index: TypedExpr, rest: str) -> TypedExpr:
    function = _function("added", (STRING, BIGINT, BIGINT, STRING), STRING)
    return call(function, marks, tick, index, Literal(rest, STRING))


def found(marks: TypedExpr, search: Callable[[Any], bool]) -> TypedExpr:
    """Whether marks satisfy a search, which can be pickled."""
    return call(made("found", (STRING,), BOOLEAN, tags.with_search(tags.found, search)), marks)


def searched(marks: TypedExpr, search: Callable[[Any], bool]) -> TypedExpr:
    """The same of marks as a log has them, of which kernels can look at all different ones before."""
    return call(made(SEARCHED.removeprefix(PREFIX), (STRING,), BOOLEAN, tags.with_search(tags.found, search)), marks)


def selected(marks: TypedExpr, search: Callable[[Any], bool]) -> TypedExpr:
    """Those of the marks that satisfy a search."""
    return call(made("selected", (STRING,), STRING, tags.with_search(tags.selected, search)), marks)


def made_over(
    name: str,
    takes: tuple[DataType, ...],
    gives: DataType,
    said: Any,
    with_code: Callable[[bytes], Callable[..., Any]],
    users: UserFunction,
) -> UserFunction:
    """A function whose code is made of that of a user's function; `said` is all else that it goes by."""
    content = pickle.dumps((name, said, users.hash))

    def code(storage: Storage) -> bytes:
        return pickle.dumps(with_code(content_of(storage, users)))

    return UserFunction(f"{PREFIX}{name}", sha256(content).hexdigest(), takes, gives, code=code)


@cache
def _function(name: str, takes: tuple[DataType, ...], gives: DataType) -> UserFunction:
    return made(name, takes, gives, getattr(tags, name))


def made(name: str, takes: tuple[DataType, ...], gives: DataType, code: Callable[..., Any]) -> UserFunction:
    content = pickle.dumps(code)
    return UserFunction(f"{PREFIX}{name}", sha256(content).hexdigest(), takes, gives, code=lambda storage: content)


def call(function: UserFunction, *arguments: TypedExpr) -> UserCall:
    name = function.internal_name
    return UserCall(name, arguments, function.returns, function.name, definition=function)


def _constant(value: Any) -> Literal:
    return Literal(json.dumps(value, separators=(",", ":")), STRING)
