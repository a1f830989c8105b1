"""Cutting a long script into pieces, so that of statements that are alike only the first is read word by word.

A plain piece is one `CREATE QUERY name AS SELECT …` without comments, loops and quotes other than ' … '. Its outline is
its text without the name and the constants: two texts with one outline have the same tree but for these constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from eddyline.errors import Position
from eddyline.language.tokens import Tokenizer

_STRING = r"'(?:[^'\\]|'')*+'"
#: a name as everybody writes it, and a text in which a semicolon can only be the end
_PLAIN = re.compile(
    rf"(?>\s|--[^\n]*+|/\*.*?\*/)*+(?P<whole>CREATE\s++QUERY\s++(?P<name>[A-Za-z_]\w*+)\s++AS\s++"
    rf"(?P<body>SELECT\b(?>[^;{{}}\"`\\'/\-]++|{_STRING}|-(?!-)|/(?!\*))*+))(?:;|\Z)",
    re.IGNORECASE | re.DOTALL,
)
#: words with which semicolons, or what is behind a backslash, may mean something else, and what is in no statement
_SPECIAL = re.compile(r"\b(?:FOR|ESCAPE|HISTORY)\b|[\ud800-\udfff]", re.IGNORECASE)
_WITH_MARKS = re.compile(rf"{_STRING}|\"[^\"\\]*+\"|`[^`]*+`|--[^\n]*+|/\*.*?\*/|['\"`\\;(){{}}\[\]]", re.DOTALL)
_CONSTANT = re.compile(rf"({_STRING}|(?<![\w.])\d++(?:\.\d++)?+(?![\w.]))")
#: the text between the constants, the kinds of these, and which of them are the same
Key = tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...] | None]
_OPENING, _CLOSING = "({[", ")}]"


@dataclass(frozen=True)
class Outline:
    """What is left of a statement without its constants, and the constants as they are written."""

    key: Key
    constants: tuple[str, ...]


@dataclass(frozen=True)
class Piece:
    """A stretch of a script with one or more whole statements; with a name if it is a plain CREATE QUERY."""

    start: int
    text: str
    name: str | None = None
    name_at: int = 0
    body_at: int = 0  # where the query begins, in the piece

    @property
    def body(self) -> str:
        return self.text[self.body_at :]

    @property
    def position(self) -> Position:
        return Position(self.start, self.start + len(self.text))


def pieces(script: str) -> Iterator[Piece]:
    """The pieces of a script in their order; what lies between them is white space."""
    at = 0
    while at < len(script):
        plain = _plain(script, at)
        if plain is not None:
            piece, at = plain
            yield piece
            continue
        end = _before_plain(script, at)
        if script[at:end].strip():
            yield Piece(at, script[at:end])
        at = end


def _plain(script: str, at: int) -> tuple[Piece, int] | None:
    found = _PLAIN.match(script, at)
    if found is None or found["name"].upper() in Tokenizer.KEYWORDS or _SPECIAL.search(found["body"]):
        return None
    start = found.start("whole")
    places = found.start("name") - start, found.start("body") - start
    return Piece(start, found["whole"].rstrip(), found["name"], *places), found.end()


def _before_plain(script: str, at: int) -> int:
    """Where the next plain piece may begin: behind a semicolon outside of all quotes, comments and brackets."""
    depth = 0
    for found in _WITH_MARKS.finditer(script, at):
        mark = found[0]
        if mark in _OPENING:
            depth += 1
        elif mark in _CLOSING:
            depth -= 1
        elif mark == ";" and depth <= 0:
            if _plain(script, found.end()) is not None:
                return found.end()
        elif len(mark) == 1:
            break  # a quote that is never closed, or an escape: let the tokenizer find its way
    return len(script)


def outline(body: str) -> Outline:
    """The outline of a query.

    >>> outline("SELECT a FROM s WHERE a > 15 AND b = 'x'") == outline("SELECT a FROM s WHERE a > 1 AND b = 'yz'")
    False
    >>> one, other = (outline(f"SELECT a FROM s WHERE a > {n} AND b = '{t}'") for n, t in [(15, "x"), (1, "yz")])
    >>> one.key == other.key, one.constants
    (True, ('15', "'x'"))
    """
    parts = _CONSTANT.split(body)
    constants = tuple(parts[1::2])
    kinds, values = zip(*map(_kind_and_value, constants), strict=True) if constants else ((), ())
    # whether two of them are the same may make a difference (GROUP BY a + 1 … HAVING a + 1 > 5)
    same = None if len(set(values)) == len(values) else tuple(map(values.index, values))
    return Outline((tuple(parts[::2]), kinds, same), constants)


@lru_cache(maxsize=100_000)
def _kind_and_value(written: str) -> tuple[str, str | Decimal]:
    """What a constant has in common with others that could stand in its place, and what it is worth.

    >>> [_kind_and_value(written)[0] for written in ["7", "2147483649", "012.50", "'x'", "0", "'it''s'"]]
    ['integer', 'bigint', '4.2', 'string', '0', "'it''s'"]
    """
    if written.startswith("'"):
        return (written if "'" in written[1:-1] else "string"), written
    value = Decimal(written)
    if "." in written and value:
        _, digits, exponent = value.as_tuple()
        return f"{max(len(digits), -int(exponent))}.{-int(exponent)}", value
    # one that is 0 would not show a minus before it; the first beyond a type's range is inside with a minus
    kinds = (("integer", 1 << 31), ("bigint", 1 << 63)) if value and value not in (1 << 31, 1 << 63) else ()
    return next((kind for kind, end in kinds if value < end), written), value


__all__ = ["Key", "Outline", "Piece", "outline", "pieces"]
