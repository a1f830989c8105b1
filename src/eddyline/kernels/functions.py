"""Users' functions inside of a task: loaded from the storage once for each process, and known to the kernel by name."""

from __future__ import annotations

import atexit
import pickle
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from threading import Lock
from typing import Any, cast
from weakref import WeakKeyDictionary

import duckdb
import pyarrow as pa
from duckdb.func import ARROW, SPECIAL

from eddyline.algebra.user_function import UserFunction
from eddyline.columnar.vectorised import Vectorised, said, vectorised
from eddyline.errors import FunctionFailed, StorageUnreadable
from eddyline.log.storage import Storage

FOLDER = "functions"
_TYPES = {"STRING": "VARCHAR", "TIMESTAMP": "TIMESTAMPTZ"}
#: so many functions are kept by a process: others come and go for as long as a worker lives
_MOST = 64
_loaded: dict[UserFunction, Vectorised] = {}  # the one that was used last is the last
_loading = Lock()
_known: WeakKeyDictionary[duckdb.DuckDBPyConnection, dict[str, None]] = WeakKeyDictionary()  # in the same order
_failure: FunctionFailed | None = None


def path_of(function: UserFunction) -> str:
    """Where in the storage its code is: all functions with the same code and types are one file."""
    return f"{FOLDER}/{function.hash}.pickle"


def load(storage: Storage, function: UserFunction) -> Vectorised:
    return loaded(function, lambda: content_of(storage, function))


def loaded(function: UserFunction, content: Callable[[], bytes]) -> Vectorised:
    """The function, whose code is asked for if it is not known here."""
    with _loading:
        found = _loaded.pop(function, None)
    if found is None:
        found = _unpickled(function, content())
    with _loading:
        _loaded[function] = found
        if len(_loaded) > _MOST:
            del _loaded[next(iter(_loaded))]
    return found


def content_of(storage: Storage, function: UserFunction) -> bytes:
    """Its code, as it is kept."""
    found = storage.read(path_of(function))
    if found is None:
        raise StorageUnreadable(f"{storage.path(path_of(function))} is gone: the code of {function.name}")
    return found


def code_of(storage: Storage, function: UserFunction) -> Callable[..., Any]:
    """The code itself, for who calls it in other ways."""
    return _code(function, content_of(storage, function))


def _unpickled(function: UserFunction, content: bytes) -> Vectorised:
    return vectorised(function, _code(function, content))


def _code(function: UserFunction, content: bytes) -> Callable[..., Any]:
    try:
        return cast("Callable[..., Any]", pickle.loads(content))
    except (Exception, SystemExit) as problem:  # a module that it needs and that is not on this machine, for one
        raise FunctionFailed(f"the function {function.name} cannot be loaded: {said(problem)}") from problem


def register(connection: duckdb.DuckDBPyConnection, functions: Iterable[UserFunction], storage: Storage) -> None:
    """Let the kernel know functions by their internal names, which mean the same code for ever."""
    known = _known.setdefault(connection, {})
    needed = set()
    for function in functions:
        needed.add(function.internal_name)
        if function.internal_name not in known:
            if not known:
                atexit.register(connection.close)  # or it complains that the functions are still there
            connection.create_function(
                function.internal_name,
                _told(function, load(storage, function)),
                [_type_name(type_.name) for type_ in function.arguments],
                _type_name(function.returns.name),
                type=ARROW,
                null_handling=SPECIAL,
                side_effects=False,
            )
        known.pop(function.internal_name, None)
        known[function.internal_name] = None
    for name in list(known)[: max(0, len(known) - max(_MOST, len(needed)))]:  # those that are needed are the last
        connection.remove_function(name)
        del known[name]


def _told(function: UserFunction, call: Vectorised) -> Vectorised:
    """The kernel tells of an exception in words of its own, and sometimes as if a file could not be read."""

    def told(*arrays: Any) -> pa.Array:
        global _failure
        try:
            return call(*arrays)
        except FunctionFailed as problem:
            _failure = problem
            raise

    # it looks how many there are, and takes *arrays for one
    parameters = [Parameter(f"a{place}", Parameter.POSITIONAL_ONLY) for place in range(len(function.arguments))]
    told.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return told


def last_failure() -> FunctionFailed | None:
    """Why a function has failed since this was asked last."""
    global _failure
    found, _failure = _failure, None
    return found


def _type_name(name: str) -> str:
    return _TYPES.get(name, name)
