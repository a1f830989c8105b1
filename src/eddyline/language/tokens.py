"""From text to tokens, and from tokens to one run of tokens for each statement."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from eddyline.errors import Position, SyntaxProblem

#: `t--` at the end of a for-loop's header. SQL reads `--` as a comment, so the tokenizer gets two other characters of
#: the same length, which keeps all positions right.
_DECREMENT = re.compile(r"(\w)(\s*)--(?=\s*\)\s*\{)")
DECREMENT = "\u2212\u2212"

_TYPOGRAPHIC = {"‘": "'", "’": "'", "“": '"', "”": '"', "`": "'"}


class Tokenizer(Spark.Tokenizer):
    """Spark's tokens. Words that are special to us stay ordinary words; the parser knows where they are special."""

    STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']  # 'it''s', as in Spark 4 and every other SQL
    COMMANDS: ClassVar[set[TokenType]] = set()  # sqlglot would swallow the rest of an EXPLAIN as one string


@dataclass(frozen=True)
class Chunk:
    """The tokens of one statement."""

    tokens: list[Token]

    @property
    def position(self) -> Position:
        return Position(self.tokens[0].start, self.tokens[-1].end + 1)


def tokenize(text: str) -> list[Token]:
    """All tokens of a script; raises `SyntaxProblem` for text that cannot even be cut into tokens."""
    try:
        text.encode()
    except UnicodeEncodeError as problem:  # no engine takes such a text, and the log and the catalog cannot keep it
        at = Position(problem.start, problem.start + 1)
        raise SyntaxProblem(f"half of a surrogate pair, U+{ord(text[at.start]):X}, is no character", at) from None
    prepared = _DECREMENT.sub(lambda m: f"{m[1]}{m[2]}{DECREMENT}", text)
    try:
        return list(Tokenizer(dialect=Spark()).tokenize(prepared))
    except TokenError as error:
        raise _token_problem(text, error) from None


def _token_problem(text: str, error: TokenError) -> SyntaxProblem:
    """sqlglot says what is wrong but not always where; an unclosed quote is found by reading the text."""
    opened = _unclosed_quote(text)
    if opened is not None:
        return SyntaxProblem(f"the {text[opened]} opened here is never closed", Position(opened, opened + 1))
    start = error.start if error.start is not None else 0
    return SyntaxProblem("this text cannot be read", Position(start, start + 1))


def _unclosed_quote(text: str) -> int | None:
    position = 0
    while position < len(text):
        char = text[position]
        if text.startswith("--", position):
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif text.startswith("/*", position):
            end = text.find("*/", position + 2)
            if end < 0:
                return position
            position = end + 1
        elif char in "'\"`":
            end = position + 1
            while end < len(text) and text[end] != char:
                end += 2 if text[end] == "\\" and char != "`" else 1
            if end >= len(text):
                return position
            position = end
        position += 1
    return None


def statements(tokens: list[Token]) -> list[Chunk]:
    """The tokens of each statement.

    A semicolon ends a statement, except inside a for-loop's header and body and inside the parentheses of
    TelegraphCQ's schema notation. The papers print no semicolon behind a for-loop: its closing brace ends the
    statement too, unless another loop or a clause follows.
    """
    chunks: list[Chunk] = []
    current: list[Token] = []
    opened: list[bool] = []  # for each open bracket: whether semicolons belong inside it

    def finish() -> None:
        if current:
            chunks.append(Chunk(current.copy()))
        current.clear()
        opened.clear()

    for i, token in enumerate(tokens):
        kind = token.token_type
        if kind == TokenType.SEMICOLON and not (opened and opened[-1]):
            finish()
            continue
        current.append(token)
        if kind == TokenType.L_BRACE:
            opened.append(True)
        elif kind == TokenType.L_PAREN:
            opened.append(_holds_semicolons(current))
        elif kind in (TokenType.R_PAREN, TokenType.R_BRACE) and opened:
            opened.pop()
            if kind == TokenType.R_BRACE and not opened and _loop_ends_statement(current, tokens, i):
                finish()
    finish()
    return chunks


def _holds_semicolons(current: list[Token]) -> bool:
    """Whether the parenthesis just opened is a for-loop's header or a schema in TelegraphCQ's notation."""
    before = current[-2] if len(current) > 1 else None
    if before is None:
        return False
    if before.text.upper() == "FOR":
        return True
    names_only = all(t.token_type in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.DOT) for t in current[:-1])
    return names_only and before.token_type != TokenType.DOT and before.text.upper() not in _STREAMERS


_STREAMERS = ("RSTREAM", "ISTREAM", "DSTREAM")


def _loop_ends_statement(current: list[Token], tokens: list[Token], i: int) -> bool:
    if not any(token.text.upper() == "FOR" for token in current):
        return False
    following = tokens[i + 1] if i + 1 < len(tokens) else None
    return following is None or following.text.upper() not in ("FOR", "WITH", ";", ")")


def typographic_hint(text: str) -> str | None:
    """What to write instead, if a token holds a typographic quote."""
    found = next((char for char in text if char in _TYPOGRAPHIC and char != "`"), None)
    return f"{found} is a typographic quote; write {_TYPOGRAPHIC[found]}" if found else None
