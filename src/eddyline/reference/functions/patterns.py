"""LIKE and regular expressions.

Regular expressions are Java's; the few differences in notation are translated. One that cannot be read gives NULL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from eddyline.reference.functions.implementation import Implementation, plain

_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z])")
#: Java's classes of characters that Python does not know by these names (all ASCII, as in Java)
_CLASSES = {
    r"\p{Alpha}": "a-zA-Z",
    r"\p{Digit}": "0-9",
    r"\p{Alnum}": "a-zA-Z0-9",
    r"\p{Upper}": "A-Z",
    r"\p{Lower}": "a-z",
    r"\p{Space}": r"\s",
    r"\p{Punct}": r"!-/:-@\[-`{-~",
    r"\p{XDigit}": "0-9a-fA-F",
    r"\h": r" \t\xa0",
}


def _to_python(pattern: str) -> str:
    translated = _NAMED_GROUP.sub("(?P<", pattern).replace(r"\z", r"\Z")
    for java, characters in _CLASSES.items():
        translated = _inside_brackets(translated, java, characters)
    return translated


def _inside_brackets(pattern: str, java: str, characters: str) -> str:
    """Inside [...] the bare characters, elsewhere a class of their own."""
    parts = pattern.split(java)
    result = parts[0]
    for part in parts[1:]:
        is_open = result.count("[") - result.count("\\[") > result.count("]") - result.count("\\]")
        result += (characters if is_open else f"[{characters}]") + part
    return result


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(_to_python(pattern), re.ASCII)
    except re.error:
        return None


@lru_cache(maxsize=1024)
def like_pattern(pattern: str, escape: str, ignore_case: bool) -> re.Pattern[str] | None:
    """A LIKE pattern as a regular expression; None if the escape character stands before an ordinary one."""
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following not in ("_", "%", escape):
                return None
            parts.append(re.escape(following))
        else:
            parts.append({"_": ".", "%": ".*"}.get(character) or re.escape(character))
    return re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if ignore_case else 0))


def _like(ignore_case: bool) -> Callable[..., bool | None]:
    def evaluate(text: str, pattern: str, escape: str = "\\") -> bool | None:
        expression = like_pattern(pattern, escape, ignore_case)
        return None if expression is None else expression.fullmatch(text) is not None

    return evaluate


def _with_pattern(compute: Callable[..., Any]) -> Implementation:
    """(text, pattern, more): the pattern is compiled first."""

    def evaluate(text: str, pattern: str, *more: Any) -> Any:
        expression = compiled(pattern)
        return None if expression is None else compute(text, expression, *more)

    return plain(evaluate)


def _replace(text: str, expression: re.Pattern[str], replacement: str) -> str | None:
    """$1 stands for the first group, a backslash takes away the meaning of the next character."""
    try:
        return expression.sub(lambda match: _filled(replacement, match), text)
    except IndexError:
        return None


def _filled(replacement: str, match: re.Match[str]) -> str:
    def fill(found: re.Match[str]) -> str:
        if found["escaped"] is not None:
            return found["escaped"]
        group = found["name"] or int(found["number"])
        return match[group] or ""

    return re.sub(r"\\(?P<escaped>.)|\$(?:(?P<number>\d)|\{(?P<name>\w+)\})", fill, replacement, flags=re.DOTALL)


def _extract(text: str, expression: re.Pattern[str], group: int = 1) -> str | None:
    """The first match's group; empty text if there is no match."""
    if not 0 <= group <= expression.groups:
        return None
    found = expression.search(text)
    return "" if found is None else found[group] or ""


def _extract_all(text: str, expression: re.Pattern[str], group: int = 1) -> tuple[str, ...] | None:
    if not 0 <= group <= expression.groups:
        return None
    return tuple(found[group] or "" for found in expression.finditer(text))


def _substring(text: str, expression: re.Pattern[str]) -> str | None:
    """The first match; NULL also for an empty one."""
    found = expression.search(text)
    return None if found is None else found[0] or None


def _split(text: str, expression: re.Pattern[str], limit: int = -1) -> tuple[str, ...]:
    """Split at every match, into at most `limit` pieces if it is positive.

    An empty match before the text splits nothing off, nor does an empty expression behind it.
    """
    pieces: list[str] = []
    start = 0
    for found in expression.finditer(text):
        if 0 < limit <= len(pieces) + 1:
            break
        if found.end() == 0 or (not expression.pattern and found.start() == len(text)):
            continue
        pieces.append(text[start : found.start()])
        start = found.end()
    pieces.append(text[start:])
    return tuple(pieces)


IMPLEMENTATIONS: dict[str, Implementation] = {
    "like": plain(_like(ignore_case=False)),
    "ilike": plain(_like(ignore_case=True)),
    "rlike": _with_pattern(lambda text, expression: expression.search(text) is not None),
    "regexp_replace": _with_pattern(_replace),
    "regexp_extract": _with_pattern(_extract),
    "regexp_extract_all": _with_pattern(_extract_all),
    "regexp_substr": _with_pattern(_substring),
    "regexp_count": _with_pattern(lambda text, expression: sum(1 for _ in expression.finditer(text))),
    "split": _with_pattern(_split),
}
