"""The functions of a database: their code is kept in its folder, where workers and later processes find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from eddyline.algebra.user_function import UserFunction
from eddyline.binder.function import Declaration, declared
from eddyline.log.storage import Storage
from eddyline.session.functions import by_key, by_row, code_of, for_workers
from eddyline.spark.user_functions import asked_here, code_kept, keep


class Functions:
    """Finds the code of what CREATE FUNCTION declares: in a file, in what a program gives, or in the storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._given: Callable[..., Any] | None = None
        self._hash: str | None = None

    @contextmanager
    def given(self, code: Callable[..., Any]) -> Iterator[None]:
        """The function that is declared inside is this one."""
        self._given = code
        try:
            yield
        finally:
            self._given = None

    @contextmanager
    def known(self, hash_: str | None) -> Iterator[None]:
        """The function that is declared inside, if one is, is in the storage already."""
        self._hash = hash_
        try:
            yield
        finally:
            self._hash = None

    def load(self, declaration: Declaration) -> UserFunction:
        """What the binder asks for. The code is in the storage when this returns."""
        if self._hash is not None:
            function = replace(declared(declaration), hash=self._hash)
            if declaration.gives is not None:
                return replace(function, compute=by_key(declaration, lambda: code_kept(self._storage, function)))
            return self._again(function)
        code = code_of(declaration, Path.cwd()) if self._given is None else self._given
        function, content = for_workers(declaration, code)
        keep(self._storage, function, content)
        return function

    def _again(self, function: UserFunction) -> UserFunction:
        """Its code is loaded when a value is asked of it here, which is seldom: workers load it by themselves."""

        def call(*arrays: pa.Array) -> pa.Array:
            return asked_here(self._storage, function, *arrays)

        return replace(function, compute=by_row(function, call))
