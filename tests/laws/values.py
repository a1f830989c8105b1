"""Values that can be compared: NaN is not equal to itself, and the last digits of sums are anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

#: where answers hold values
_ROWS = ("row", "old", "rows", "old_rows")


def the_nan(value: Any) -> Any:
    """Python's own NaN in place of any other: tuples that hold the same object are equal."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def one_nan(answers: Iterable[Any]) -> list[Any]:
    return _changed(answers, the_nan)


def rounded(answers: Iterable[Any]) -> list[Any]:
    """Answers without the last digits of DOUBLEs, which depend on the order of sums."""

    def short(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return the_nan(float(f"{value:.9g}")) if not abs(value) <= 1e-9 else 0.0

    return _changed(answers, short)


def _changed(answers: Iterable[Any], change: Callable[[Any], Any]) -> list[Any]:
    def row(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(map(change, values))

    made = []
    for answer in answers:
        changes = {
            field.name: row(value) if field.name in ("row", "old") else tuple(map(row, value))
            for field in (fields(answer) if hasattr(answer, "query") else ())
            if field.name in _ROWS and (value := getattr(answer, field.name)) is not None
        }
        made.append(replace(answer, **changes) if changes else answer)
    return made
