"""Users' functions on Spark: pickled with all they need, and registered for Spark's own plans."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddyline.algebra.user_function import UserFunction
from eddyline.columnar.vectorised import said
from eddyline.errors import InvalidDefinition
from eddyline.kernels.functions import FOLDER, code_of, content_of, load, loaded, path_of
from eddyline.log.storage import Storage
from eddyline.spark.code_identity import identity_of
from eddyline.spark.literal import spark_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pickled(name: str, code: Callable[..., Any]) -> tuple[bytes, str]:
    """The code by value, and its identity: the same code is not always the same bytes.

    It is by value so that neither workers nor a later process need the file that it is written in.

    What it imports is not packed up: that must be installed wherever Spark's workers run.
    """
    from pyspark import cloudpickle

    try:
        with _by_value(code):
            return bytes(cloudpickle.dumps(code)), identity_of(code)  # type: ignore[no-untyped-call]
    except Exception as problem:
        hint = "it may use nothing that cannot be sent, such as an open file or a connection"
        raise InvalidDefinition(
            f"the function {name} cannot be sent to workers: {said(problem)}", hint=hint
        ) from problem


@contextmanager
def _by_value(code: Callable[..., Any]) -> Iterator[None]:
    """A module of the user's own would be pickled by its name alone."""
    from pyspark import cloudpickle

    while isinstance(code, partial):
        code = code.func
    module = sys.modules.get(getattr(code, "__module__", None) or type(code).__module__)
    if module is None or module.__name__ == "__main__" or _is_installed(getattr(module, "__file__", None)):
        yield
        return
    if module.__name__ in cloudpickle.list_registry_pickle_by_value():  # type: ignore[no-untyped-call]
        yield  # the user's own wish, which outlasts this
        return
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _is_installed(file: str | None) -> bool:
    """Whether a module is Python's own or that of a package, which workers have too."""
    if file is None:
        return True
    places = {Path(place).resolve() for key, place in sysconfig.get_paths().items() if key.endswith("lib")}
    return any(Path(file).resolve().is_relative_to(place) for place in places)


def hash_of(signature: str, identity: str) -> str:
    """Of the code and the types with which it is called."""
    return sha256(f"{signature}\n{identity}".encode()).hexdigest()


def keep(storage: Storage, function: UserFunction, content: bytes) -> None:
    """Put the code where workers find it. The same code is the same file."""
    if not storage.exists(path_of(function)):
        storage.write(path_of(function), content)


def asked_here(storage: Storage, function: UserFunction, *arrays: pa.Array) -> pa.Array:
    """Values of a function in this process, by the code that is kept."""
    return load(storage, function)(*arrays)


def code_kept(storage: Storage, function: UserFunction) -> Callable[..., Any]:
    """The code of a function that tables are asked with, in this process."""
    return code_of(storage, function)


def keep_only(storage: Storage, functions: Iterable[UserFunction]) -> None:
    """Delete the code of functions that were dropped; nothing may run that calls them."""
    used = {path_of(function) for function in functions}
    for name in storage.names(FOLDER):
        if f"{FOLDER}/{name}" not in used:
            storage.delete(f"{FOLDER}/{name}")


def register(spark: SparkSession, function: UserFunction, storage: Storage) -> None:
    """Let Spark's own plans know a function by its internal name.

    Its code goes with the plan: the folder of this database may be gone when another one uses the same function.
    """
    from pyspark.sql.pandas.functions import arrow_udf

    content = content_of(storage, function)

    def call(*arrays: pa.Array) -> pa.Array:
        return loaded(function, lambda: content)(*arrays)

    made = arrow_udf(call, spark_type(function.returns))  # type: ignore[call-overload]
    spark.udf.register(function.internal_name, made)
