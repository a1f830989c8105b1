"""A script as a file: what a command works on, or a database is given."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from eddyline.errors import SourceMissing, SourceUnusable

STDIN = "-"


@dataclass(frozen=True)
class Script:
    """Its text, the name it has in messages, and the folder that its relative paths start from."""

    text: str
    name: str
    base: Path


def read_script(file: str) -> Script:
    """Reads a file, or stdin if the file is `-`."""
    if file == STDIN:
        return Script(_decoded(sys.stdin.buffer.read(), "<stdin>"), "<stdin>", Path())
    return script_at(file)


def script_at(file: str) -> Script:
    """Reads a file, whatever it is called."""
    path = Path(file)
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise SourceMissing(f"cannot read {file}: {problem.strerror or problem}") from problem
    return Script(_decoded(data, file), file, path.parent)


def _decoded(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise SourceUnusable(
            f"{name} is not UTF-8 text: line {line} holds the byte 0x{data[problem.start]:02x}"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
