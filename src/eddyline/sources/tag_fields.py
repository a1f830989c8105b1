"""What a tag says, as JSON has it: whatever Python has made of a file, and whatever a program pushes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from eddyline.algebra.tag_json import DEEPEST
from eddyline.sources.native_value import plain_value
from eddyline.sources.reasons import BadValue


def as_json(value: Any, deeper: int = DEEPEST) -> Any:
    """The same in types that JSON has; raises `BadValue` for what it cannot say.

    A number of a file is a Decimal where a column needs its digits, which a tag does not.

    >>> as_json({"lifespan": Decimal("1.5"), "tuples": (1, 2)})
    {'lifespan': 1.5, 'tuples': [1, 2]}
    """
    value = plain_value(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Decimal) and not value.is_snan():
        return float(value)
    if not isinstance(value, Mapping | list):
        raise BadValue(f"a tag has a {type(value).__name__} in it, which JSON has not")
    if not deeper:
        raise BadValue("a tag is nested too deeply")
    if isinstance(value, list):
        return [as_json(each, deeper - 1) for each in value]
    return {_name(name): as_json(each, deeper - 1) for name, each in value.items()}


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise BadValue(f"a tag has a field whose name is a {type(name).__name__}")
    return name
