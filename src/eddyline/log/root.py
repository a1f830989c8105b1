"""The folder of a database, on any file system that pyarrow reaches by URL, and the small files in it.

Processes that follow the journal beside the driver need no more than this, and wait for each module that they load.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from eddyline.errors import StorageUnusable


class Root:
    """Names below are relative to the root, with `/` between folders."""

    def __init__(self, root: str) -> None:
        self.root = root
        if "://" not in root:
            root = str(Path(root).absolute())
        try:
            found = pafs.FileSystem.from_uri(root) if "://" in root else (pafs.LocalFileSystem(), root)
        except (pa.ArrowException, OSError, ValueError) as problem:
            raise StorageUnusable(f"{root} cannot be reached: {problem}") from problem
        self._fs, self._base = found[0], str(found[1])
        self.local = isinstance(self._fs, pafs.LocalFileSystem)

    def path(self, name: str) -> str:
        """The path as this file system spells it."""
        return f"{self._base}/{name}"

    def read(self, name: str) -> bytes | None:
        """The contents of a file, None if there is none."""
        try:
            if self.local:
                return Path(self.path(name)).read_bytes()
            with self._fs.open_input_stream(self.path(name)) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise StorageUnusable(f"{self.path(name)} cannot be read: {problem}") from problem

    def read_json(self, name: str) -> Any:
        content = self.read(name)
        try:
            return None if content is None else json.loads(content)
        except ValueError as problem:  # it was complete when it got its name: a crash of ours does not do that
            raise StorageUnusable(
                f"{self.path(name)} is damaged: {problem}", hint="put it back from a copy; nothing else was touched"
            ) from None
