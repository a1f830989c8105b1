"""Finding the files of an extent and opening them, with a count of the bytes read so far."""

from __future__ import annotations

import glob
import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO

from eddyline.errors import NotSupported, SourceMissing, SourceUnusable


def find_files(extent: str, location: str, base: Path) -> tuple[Path, ...]:
    """The files that a `path` option means: a file, the files of a folder, or what a pattern matches, sorted.

    Names that start with _ or . are left out, as Spark leaves them out: they are markers, not data.
    """
    path = base / _local(extent, location)
    if path.exists():
        found = _files_at(path)
    elif any(mark in location for mark in "*?["):
        matches = sorted(Path(match) for match in glob.glob(str(path), recursive=True))
        found = tuple(file for match in matches if not _is_marker(match) for file in _files_at(match))
    else:
        raise SourceMissing(f"{extent}: there is no file {path}")
    if not found:
        where = f"the folder {path}" if path.is_dir() else f"the pattern {path}"
        raise SourceMissing(f"{extent}: {where} gives no files")
    for file in found:
        if not file.is_file():
            raise SourceUnusable(f"{extent}: {file} is not a regular file")
        if not os.access(file, os.R_OK):
            raise SourceMissing(f"{extent}: {file} may not be read", hint="check its permissions")
    return found


def _local(extent: str, location: str) -> str:
    """The path without file:, which Spark users write; other places than the local disk need Spark."""
    if local := re.fullmatch(r"file:(?://)?(/.*)", location):
        return local[1]
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", location):
        raise NotSupported(f"{extent}: {location} is not a local path", hint="--engine reference reads local files")
    return location


def _files_at(path: Path) -> tuple[Path, ...]:
    if not path.is_dir():
        return (path,)
    return tuple(sorted(file for file in path.iterdir() if not file.is_dir() and not _is_marker(file)))


def _is_marker(path: Path) -> bool:
    return path.name.startswith(("_", "."))


class ByteMeter:
    """How many bytes of an input have been read, as they lie on the disk (compressed ones count compressed)."""

    def __init__(self) -> None:
        self._finished = 0
        self._position: Callable[[], int] = _nothing

    def restart(self) -> None:
        self._finished = 0
        self._position = _nothing

    @property
    def count(self) -> int:
        return self._finished + self._position()

    @contextmanager
    def reading(self, file: Path, position: Callable[[], int]) -> Iterator[None]:
        """While a file is read, `position` says how far; afterwards it counts in full."""
        size = file.stat().st_size
        self._position = position
        try:
            yield
        finally:
            self._position = _nothing
            self._finished += size


def _nothing() -> int:
    return 0


@contextmanager
def open_text(extent: str, file: Path, encoding: str, meter: ByteMeter) -> Iterator[TextIO]:
    """The file's text, unpacked if need be. Bytes that are no text become lone surrogates, for `is_damaged` to find."""
    try:
        with open(file, "rb") as raw:
            unpacked: IO[bytes] = gzip.GzipFile(fileobj=raw) if file.suffix == ".gz" else raw  # type: ignore[assignment]
            text = io.TextIOWrapper(unpacked, encoding=encoding, errors="surrogateescape", newline="")
            with text, meter.reading(file, raw.tell):
                yield text
    except (EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise SourceUnusable(f"{extent}: {file} is not a whole gzip file: {problem}") from problem
    except UnicodeError as problem:
        raise SourceUnusable(f"{extent}: {file} is not {encoding} text: {problem}") from problem
    except OSError as problem:
        raise SourceMissing(f"{extent}: {file} cannot be read: {problem.strerror or problem}") from problem


#: the reason of a row for which `is_damaged` is true
NOT_TEXT = "holds bytes that are not text in the file's encoding"


def is_damaged(line: str) -> bool:
    """Whether the line holds bytes that are not text in the file's encoding."""
    if line.isascii():
        return False
    try:
        line.encode()
    except UnicodeEncodeError:
        return True
    return False


def legible(text: str) -> str:
    r"""The text with every byte that is no text written as \xNN, so that it can be printed and stored."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
