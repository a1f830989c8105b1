"""Why a value does not fit its column, in words that its owner understands."""

from __future__ import annotations

import json
from typing import Any

from eddyline.algebra.types import DataType

#: how much of a wrong value a reason shows
SHOWN_CHARACTERS = 60


class BadValue(ValueError):
    """A value that is not of its column's type; the message is the reason, without the column's name."""


def shown(value: Any) -> str:
    """A value as a reason shows it: text in quotes, everything in a limited length."""
    return f"'{_shortened(value)}'" if isinstance(value, str) else _shortened(_written(value))


def _written(value: Any) -> str:
    if isinstance(value, str | bool | int | float | list | dict | None):
        return written(value)
    return str(value)


def written(value: Any, only_ascii: bool = False) -> str:
    """A value as JSON, or which kind of value it is if it cannot be written: too deep, a number too long, or a dict
    with keys that are no texts."""
    try:
        return json.dumps(value, ensure_ascii=only_ascii, default=str)
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__} that cannot be written"


def _shortened(text: str) -> str:
    text = text.encode(errors="backslashreplace").decode()  # half of a surrogate pair can be shown in no other way
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


def why_not_json(problem: Exception) -> str:
    """What `json` complains of, without its character offsets, which count from the start of the row."""
    if isinstance(problem, json.JSONDecodeError):
        return f"not JSON: {problem.msg[0].lower()}{problem.msg[1:]}, at character {problem.pos + 1}"
    return "not JSON: nested too deeply" if isinstance(problem, RecursionError) else f"not JSON: {problem}"


def is_not(text: str, type_: DataType) -> BadValue:
    return BadValue(f"{shown(text)} is not {article(type_)} {type_}")


def is_not_native(value: Any, type_: DataType) -> BadValue:
    # JSON's "5" is not the number 5: its own quotes must be seen, or the reason would contradict itself.
    return BadValue(f"{_shortened(_written(value))} is not {article(type_)} {type_}")


def article(type_: DataType) -> str:
    return "an" if type_.name[0] in "AEIOU" else "a"


def does_not_fit(value: Any, type_: DataType) -> BadValue:
    return BadValue(f"{_shortened(value if isinstance(value, str) else _written(value))} does not fit {type_}")
