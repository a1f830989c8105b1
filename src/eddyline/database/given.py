"""What a program gives is what it should be, or one error says that it is not, before anything has changed."""

from __future__ import annotations

from typing import Any

from eddyline.errors import InvalidDefinition
from eddyline.language.parsing.base import LARGEST


def checked_text(value: Any, what: str, hint: str | None = None) -> str:
    """
    >>> checked_text(5, "a statement")
    Traceback (most recent call last):
    eddyline.errors.InvalidDefinition: a statement is a text, not 5
    """
    if not isinstance(value, str):
        raise InvalidDefinition(f"{what} is a text, not {value!r:.60}", hint=hint)
    return value


def checked_tick(value: Any, what: str) -> int:
    """
    >>> checked_tick(1.5, "since")
    Traceback (most recent call last):
    eddyline.errors.InvalidDefinition: since is a tick, a whole number, not 1.5
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidDefinition(f"{what} is a tick, a whole number, not {value!r:.60}")
    if abs(value) > LARGEST:
        raise InvalidDefinition(f"{what} is too large: no clock goes beyond {LARGEST}")
    return value


def checked_number(value: Any, what: str, least: int) -> int:
    """
    >>> checked_number("3", "limit", least=0)
    Traceback (most recent call last):
    eddyline.errors.InvalidDefinition: limit is a whole number from 0 on, not '3'
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidDefinition(f"{what} is a whole number from {least} on, not {value!r:.60}")
    return value
