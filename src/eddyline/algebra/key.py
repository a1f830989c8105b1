"""The key of a stream: what tells one of its tuples from another, so that a source need not know indexes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from eddyline.algebra.retention import beyond

#: how much of a text a reason shows
_SHOWN_CHARACTERS = 60


def shown_key(names: Sequence[str], values: Sequence[Any]) -> str:
    """A key as a reason shows it.

    >>> shown_key(["symbol", "time"], ["IBM", 100])
    "the key (symbol 'IBM', time 100)"
    """
    return f"the key ({', '.join(f'{name} {shown_value(value)}' for name, value in zip(names, values, strict=True))})"


def shown_value(value: Any) -> str:
    """A value as a reason or a report shows it."""
    if isinstance(value, str):
        return f"'{value if len(value) <= _SHOWN_CHARACTERS else value[: _SHOWN_CHARACTERS - 1] + '…'}'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return str(value.replace(tzinfo=None))  # all times are UTC
    return str(value)


def nobody_has(key: str, stream: str, forgets: bool) -> str:
    """Why a revision by key is set aside.

    Whether a tuple with the key never came, was deleted or lies before the horizon is not said: whoever forgets tuples
    does not know.
    """
    return f"no tuple {'within the retention ' if forgets else ''}of {stream} has {key}"


def moved_too_far(key: str, tick: int, horizon: int, stream: str) -> str:
    """Why the new version of a tuple is set aside that is known by its key."""
    return f"{key}: {beyond(f'its new tick {tick}', tick, horizon, stream)}"


def has_it_already(index: int, holder: int, key: str) -> str:
    """Why a replacement by index is set aside."""
    return f"_ref {index}: tuple {holder} has {key}"


def would_both_have(holder: int, index: int, stream: str, key: str) -> str:
    """Why an UPDATE fails."""
    return f"tuples {holder} and {index} of {stream} would both have {key}"


def without_key(stream: str, column: str) -> str:
    """Why a row of an INSERT or an UPDATE makes it fail."""
    return f"{stream}: {column} is NULL, but it is a KEY column"
