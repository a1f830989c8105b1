"""A file in blocks of whole lines, and where its lines begin and end. Lines end as Python's universal newlines do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.sources.converted import Mask

Positions = npt.NDArray[np.int64]

#: how much of a file is looked at at once; larger blocks leave the processor's caches
BLOCK_BYTES = 1 << 21

_NEWLINE, _RETURN = 10, 13
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LATIN = "iso8859-1"
#: the codecs whose lines can be found in the bytes and whose text can be had as UTF-8 without being damaged
CODECS = frozenset({"utf-8-sig", _LATIN})


class BlockTooShort(Exception):
    """A row goes on behind the end of the block."""


class LineBlock:
    """Some lines of a file, as UTF-8."""

    def __init__(self, data: bytes, first: int, ended: bool) -> None:
        self.data = data
        self.first = first  # the number of the first line
        self.ended = ended  # whether the file ends here
        self.bytes = np.frombuffer(data, np.uint8)
        self.ends = _line_ends(data, self.bytes)
        self.starts = np.concatenate([np.zeros(1, np.int64), self.ends[:-1]]) if len(self.ends) else self.ends

    def __len__(self) -> int:
        return len(self.ends)

    def text(self, line: int) -> str:
        """A line with its end, as `open_text` gives it."""
        return self.data[self.starts[line] : self.ends[line]].decode("utf-8", "surrogateescape")

    def texts(self, first: int = 0) -> Iterator[str]:
        return (self.text(line) for line in range(first, len(self)))

    def texts_from(self, first: int) -> Iterator[str]:
        """The same for a reader that must not take the end of the block for the end of the file."""
        yield from self.texts(first)
        if not self.ended:
            raise BlockTooShort

    def content_ends(self) -> Positions:
        """Where the lines end without their line ends."""
        ends = self.ends.copy()
        for character in (_NEWLINE, _RETURN):
            has = (ends > self.starts) & (self.bytes[ends - 1] == character)
            ends[has] -= 1
        return ends

    def contents(self, lines: Positions) -> pa.Array:
        """Lines without their ends, as a column."""
        offsets = np.append(self.starts, len(self.data)).astype(np.int32)
        everything = pa.StringArray.from_buffers(len(self), pa.py_buffer(offsets), pa.py_buffer(self.data))
        return pc.utf8_rtrim(pc.take(everything, pa.array(lines)), "\r\n")

    def only(self, lines: Positions) -> bytes:
        """The bytes of some lines, given in order; runs of them are copied at once."""
        if len(lines) == len(self):
            return self.data
        if not len(lines):
            return b""
        breaks = np.flatnonzero(np.diff(lines) != 1)
        firsts = lines[np.concatenate([[0], breaks + 1])]
        lasts = lines[np.concatenate([breaks, [len(lines) - 1]])]
        pieces = zip(self.starts[firsts].tolist(), self.ends[lasts].tolist(), strict=True)
        return b"".join([self.data[start:end] for start, end in pieces])

    def lines_at(self, positions: Positions) -> Positions:
        """The lines in which these bytes stand."""
        return np.searchsorted(self.ends, positions, side="right")

    def damaged(self) -> Mask | None:
        """Which lines hold bytes that are no text; None if none does."""
        if self.data.isascii() or _is_text(self.data):
            return None
        damaged = np.zeros(len(self), np.bool_)
        for line in np.unique(self.lines_at(np.flatnonzero(self.bytes > 127))).tolist():
            damaged[line] = not _is_text(self.data[self.starts[line] : self.ends[line]])
        return damaged


class LineBlocks:
    """Reads a file block by block. Whoever takes a block says how many of its lines are done with."""

    def __init__(self, file: BinaryIO, codec: str) -> None:
        self._file = file
        self._codec = codec
        self._pending = b""
        self._line = 1
        self._ended = False
        self._begun = False
        self._block: LineBlock | None = None

    def next(self) -> LineBlock | None:
        """The lines after those that are done, and more than last time if none was; None at the end."""
        while not self._ended:
            self._read()
            cut = len(self._pending) if self._ended else _last_line_end(self._pending)
            if cut:
                self._block = LineBlock(self._pending[:cut], self._line, self._ended)
                return self._block
        if self._block is not None and self._pending:
            self._block = LineBlock(self._pending, self._line, ended=True)
            return self._block
        return None

    def done(self, lines: int) -> None:
        assert self._block is not None
        if lines:
            self._pending = self._pending[int(self._block.ends[lines - 1]) :]
            self._line += lines

    def _read(self) -> None:
        # Reading as much again as there is keeps a line of any length from being copied more than a few times.
        data = self._file.read(max(BLOCK_BYTES, len(self._pending), len(_BYTE_ORDER_MARK)))
        self._ended = not data
        if self._codec == _LATIN:
            data = data.decode(_LATIN).encode()
        if not self._begun:
            self._begun = True
            if self._codec != _LATIN and data.startswith(_BYTE_ORDER_MARK):
                data = data[len(_BYTE_ORDER_MARK) :]
        self._pending += data


def _line_ends(data: bytes, characters: npt.NDArray[np.uint8]) -> Positions:
    ends = np.flatnonzero(characters == _NEWLINE) + 1
    if b"\r" in data:
        returns = np.flatnonzero(characters == _RETURN) + 1
        followed = np.append(characters, np.uint8(0))[returns] == _NEWLINE
        if not followed.all():
            ends = np.union1d(ends, returns[~followed])
    if len(data) and (not len(ends) or ends[-1] != len(data)):
        ends = np.append(ends, len(data))
    return ends


def _last_line_end(data: bytes) -> int:
    # A return at the very end may be the first half of a line end.
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, max(0, len(data) - 1))) + 1


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
