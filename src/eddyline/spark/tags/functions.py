"""What becomes of marks as functions that the engines can call, by the way that users' functions go."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable
from functools import cache, partial
from hashlib import sha256
from typing import Any

from eddyline.algebra.expression import Column, Literal, TypedExpr
from eddyline.algebra.tag import TagFunction
from eddyline.algebra.tag_groups import LABEL, RUNS
from eddyline.algebra.types import BIGINT, BOOLEAN, STRING, DataType
from eddyline.algebra.user_function import UserCall, UserFunction
from eddyline.columnar import tags
from eddyline.columnar.closeness import Comparison
from eddyline.columnar.tag_groups import divided as divided_into_groups
from eddyline.columnar.tag_groups import labelled, places
from eddyline.kernels.functions import content_of, path_of
from eddyline.log.storage import Storage

#: what the names of these functions begin with; a user's function can have no such name
PREFIX = "tags_"
#: by function, its code as workers get it
_CODE: dict[UserFunction, bytes] = {}
#: by function that compares tags as a user's function says, how its code is made of the user's, and which that is
_OVER: dict[UserFunction, tuple[Callable[[bytes], Callable[..., Any]], UserFunction]] = {}


def code_for(storage: Storage, functions: Iterable[UserFunction]) -> list[UserFunction]:
    """Put the code of those that are ours where workers find it; gives them."""
    found = [function for function in functions if function in _CODE or function in _OVER]
    for function in found:
        if not storage.exists(path_of(function)):
            storage.write(path_of(function), _code(storage, function))
    return found


def _code(storage: Storage, function: UserFunction) -> bytes:
    if function in _CODE:
        return _CODE[function]
    with_code, users = _OVER[function]
    return pickle.dumps(with_code(content_of(storage, users)))


def projected(marks: TypedExpr, reads: Iterable[Iterable[int]]) -> TypedExpr:
    sources = _constant([sorted(each) for each in reads])
    return _call(_function("projected", (STRING, STRING), STRING), marks, sources)


def joined(left: TypedExpr | None, left_width: int, right: TypedExpr | None, right_width: int) -> TypedExpr:
    nothing = Literal(None, STRING)
    function = _function("joined", (STRING, STRING, STRING), STRING)
    return _call(function, left or nothing, right or nothing, _constant([left_width, right_width]))


def grouped(marks: TypedExpr, reads: Iterable[Iterable[int]]) -> TypedExpr:
    sources = _constant([sorted(each) for each in reads])
    return _call(_function("grouped", (STRING, STRING), STRING), marks, sources)


def of_tag_group(marks: TypedExpr, reads: Iterable[Iterable[int]]) -> TypedExpr:
    sources = _constant([sorted(each) for each in reads])
    return _call(_function("of_tag_group", (STRING, STRING), STRING), marks, sources)


def tag_groups(function: TagFunction, untagged: bool) -> tuple[UserCall, UserCall]:
    """What finds the tag groups of a window, and what reads a label, as `WindowTagGroups` calls them."""
    comparison = Comparison(function)
    if function.definition is None:
        divided = _made("groups", (STRING,), STRING, partial(divided_into_groups, comparison, untagged))
    else:
        divided = _compared_by_the_user("groups", comparison, untagged, function.definition)
    label = _made("labelled", (STRING,), STRING, labelled)
    return _call(divided, Column(RUNS, STRING)), _call(label, Column(LABEL, STRING))


def place_of_group(label: TypedExpr) -> TypedExpr:
    """A number that stands for the group with a label."""
    return _call(_made("places", (STRING,), BIGINT, places), label)


def _compared_by_the_user(name: str, comparison: Comparison, untagged: bool, users: UserFunction) -> UserFunction:
    said = pickle.dumps((comparison, untagged, users.hash))
    function = UserFunction(f"{PREFIX}{name}", sha256(said).hexdigest(), (STRING,), STRING)
    _OVER[function] = (lambda code: partial(divided_into_groups, comparison.with_code(code), untagged)), users
    return function


def of_copies(marks: TypedExpr) -> TypedExpr:
    return _call(_function("of_copies", (STRING,), STRING), marks)


def counted(marks: TypedExpr, sign: str | None, field: int | None) -> TypedExpr:
    return _call(_function("counted", (STRING, STRING), BIGINT), marks, _constant([sign, field]))


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


def _call(function: UserFunction, *arguments: TypedExpr) -> UserCall:
    name = function.internal_name
    return UserCall(name, arguments, function.returns, function.name, definition=function)


def _constant(value: Any) -> Literal:
    return Literal(json.dumps(value, separators=(",", ":")), STRING)
