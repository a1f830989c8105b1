"""What JSON can say and no tag: it is found before anything is made of it, so that any tag can be shown and kept."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

#: tags need less; where Python gives up depends on who has called whom
DEEPEST = 8
#: a DOUBLE has no more; Python does not write numbers of some thousands of digits
_MOST_BITS = 1_024


def is_writable(text: str) -> bool:
    """Whether a text can be kept: half of a surrogate pair is no character, and UTF-8 cannot write it.

    >>> is_writable("ä"), is_writable("\\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def why_not_taken(value: Any, deeper: int = DEEPEST) -> str | None:
    """Why some JSON is in no tag, wherever it stands there; None if that depends on where it stands.

    >>> why_not_taken({"content": "sad", "applies_to": {"tuples": [10**400]}})
    'a number in a tag has too many digits'
    """
    if isinstance(value, str):
        return None if is_writable(value) else "a tag has half of a surrogate pair in a text, which is no character"
    if isinstance(value, int):
        return None if value.bit_length() <= _MOST_BITS else "a number in a tag has too many digits"
    if not isinstance(value, Mapping | list):
        return None
    if not deeper:
        return "a tag is nested too deeply"
    inside = chain(value, value.values()) if isinstance(value, Mapping) else value
    return next((problem for each in inside if (problem := why_not_taken(each, deeper - 1)) is not None), None)
