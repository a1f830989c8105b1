"""The functions of a database: their code is kept in its folder, where workers and later processes find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from eddyline.algebra.user_function import UserFunction
from eddyline.binder.function import Declaration, declared
from eddyline.errors import StorageUnreadable
from eddyline.kernels.functions import FOLDER, load, path_of
from eddyline.log.storage import Storage
from eddyline.session.functions import by_row, code_of, for_workers


class Functions:
    """Finds the code of what CREATE FUNCTION declares: in a file, in what a program gives, or in the storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._given: Callable[..., Any] | None = None
        self._kept: str | None = None

    @contextmanager
    def given(self, code: Callable[..., Any]) -> Iterator[None]:
        """The function that is declared inside is this one."""
        self._given = code
        try:
            yield
        finally:
            self._given = None

    @contextmanager
    def kept(self, hash_: str | None) -> Iterator[None]:
        """The function that is declared inside is in the storage already."""
        self._kept = hash_
        try:
            yield
        finally:
            self._kept = None

    def load(self, declaration: Declaration) -> UserFunction:
        """What the binder asks for. The code is in the storage when this returns."""
        if self._kept is not None:
            return self._again(replace(declared(declaration), hash=self._kept))
        code = code_of(declaration, Path.cwd()) if self._given is None else self._given
        function, content = for_workers(declaration, code)
        if not self._storage.exists(path_of(function)):
            self._storage.write(path_of(function), content)
        return function

    def _again(self, function: UserFunction) -> UserFunction:
        """Its code is loaded when a value is asked of it here, which is seldom: workers load it by themselves."""

        def compute(*values: Any) -> Any:
            return by_row(function, load(self._storage, function))(*values)

        return replace(function, compute=compute)

    def content(self, function: UserFunction) -> bytes:
        found = self._storage.read(path_of(function))
        if found is None:
            raise StorageUnreadable(f"{self._storage.path(path_of(function))} is gone: the code of {function.name}")
        return found

    def keep_only(self, functions: Iterator[UserFunction]) -> None:
        """Delete the code of functions that were dropped; nothing may run that uses them."""
        used = {path_of(function) for function in functions}
        for name in self._storage.names(FOLDER):
            if f"{FOLDER}/{name}" not in used:
                self._storage.delete(f"{FOLDER}/{name}")
