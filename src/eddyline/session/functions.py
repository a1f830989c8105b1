"""Where the code of a user's function comes from: a file beside the script, or a module that is installed."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from eddyline.algebra.user_function import UserFunction
from eddyline.binder.function import Declaration, declared
from eddyline.columnar.looked_up import FOUND, answers
from eddyline.columnar.types import arrow_schema, arrow_type
from eddyline.columnar.vectorised import Vectorised, said, vectorised
from eddyline.errors import InvalidDefinition, SourceMissing, SourceUnusable, UnknownName, nearest
from eddyline.log.answers import python_rows

Code = Callable[..., Any]


def code_of(declaration: Declaration, base: Path) -> Code:
    """The function that the options of a declaration name; a relative path starts from `base`."""
    options, places = declaration.options, declaration.places
    name = options.get("name", declaration.name)
    if ("path" in options) == ("module" in options):
        raise InvalidDefinition(
            f"it is not said where the function {declaration.name} is",
            hint=f"write OPTIONS (path 'functions.py', name '{name}') or OPTIONS (module 'package.module')",
        )
    key = "path" if "path" in options else "module"
    try:
        module = _of_file(base / options["path"]) if key == "path" else pkgutil.resolve_name(options["module"])
    except (FileNotFoundError, IsADirectoryError) as problem:
        raise SourceMissing(f"there is no file {base / options[key]}", places[key]) from problem
    except OSError as problem:
        reason = problem.strerror or problem
        raise SourceMissing(f"cannot read {base / options[key]}: {reason}", places[key]) from problem
    except (Exception, SystemExit) as problem:  # whatever the code of a user does when it is loaded
        raise SourceUnusable(f"{options[key]} cannot be loaded: {said(problem)}", places[key]) from problem
    return _in_module(module, name, options[key], declaration)


def _of_file(path: Path) -> ModuleType:
    """A file as a module that nobody can import, so that its functions are pickled with all they need."""
    source = path.read_bytes()
    module = ModuleType(f"eddyline_functions_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # while it is loaded: dataclasses look there
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    return module


def _in_module(module: Any, name: str, where: str, declaration: Declaration) -> Code:
    place = declaration.places.get("name") or next(iter(declaration.places.values()))
    found: Code | None = getattr(module, name, None)
    if found is None:
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        guess = nearest(name, known)
        raise UnknownName(f"{where} has no function {name}", place, f"did you mean {guess}?" if guess else None)
    if not callable(found):
        raise InvalidDefinition(f"{name} in {where} cannot be called: it is of type {type(found).__name__}", place)
    return found


def in_this_process(declaration: Declaration, base: Path) -> UserFunction:
    """The function for an engine that needs no other process."""
    function = declared(declaration)
    return replace(function, compute=_computed(declaration, function, code_of(declaration, base)))


def _computed(declaration: Declaration, function: UserFunction, code: Code) -> Callable[..., Any]:
    """The function as the reference engine calls it."""
    if declaration.gives is not None:
        return by_key(declaration, lambda: code)
    return by_row(function, vectorised(function, code))


def for_workers(declaration: Declaration, code: Code) -> tuple[UserFunction, bytes]:
    """The function for Spark, and its code as it is kept and sent."""
    from eddyline.spark.user_functions import hash_of, pickled  # takes a moment to load

    content, identity = pickled(declaration.name, code)
    function = replace(declared(declaration), hash=hash_of(declaration.signature, identity))
    return replace(function, compute=_computed(declaration, function, code)), content


def by_row(function: UserFunction, call: Vectorised) -> Callable[..., Any]:
    """The function as the reference engine calls it: with values of one row, held as it holds them."""
    takes = [arrow_type(type_) for type_ in function.arguments]

    def compute(*values: Any) -> Any:
        given = [pa.array([value], type_) for value, type_ in zip(values, takes, strict=True)]
        ((result,),) = python_rows(["result"], pa.table({"result": call(*given)}))
        return result

    return compute


def by_key(declaration: Declaration, code: Callable[[], Code]) -> Callable[[Any], list[tuple[Any, ...]]]:
    """The rows that a look-up gives for one key, as the reference engine holds them."""
    assert declaration.gives is not None
    columns, (type_,) = arrow_schema(declaration.gives), declaration.arguments

    def found(key: Any) -> list[tuple[Any, ...]]:
        rows = answers(declaration.name, code(), pa.array([key], arrow_type(type_)), columns, declaration.key)
        rows = rows.filter(rows.column(FOUND)).drop_columns([FOUND]).rename_columns(columns.names)
        return list(python_rows(columns.names, rows))

    return found
