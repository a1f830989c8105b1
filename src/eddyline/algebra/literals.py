"""The constants of a whole plan, wherever among the fields of its operators they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from eddyline.algebra.expression import Literal


def literals_of(part: Any) -> Iterator[Literal]:
    """All constants of an operator, an expression, or a tuple of such."""
    if isinstance(part, Literal):
        yield part
    elif isinstance(part, tuple):
        for inner in part:
            yield from literals_of(inner)
    elif is_dataclass(part):
        for field in fields(part):
            yield from literals_of(getattr(part, field.name))


def with_literals(part: Any, change: Callable[[Literal], Literal]) -> Any:
    """The same with others in their places; what has no constants stays the same object."""
    if isinstance(part, Literal):
        return change(part)
    if isinstance(part, tuple):
        made = tuple(with_literals(inner, change) for inner in part)
        return part if all(new is old for new, old in zip(made, part, strict=True)) else made
    if not is_dataclass(part) or isinstance(part, type):
        return part
    pairs = [(field.name, getattr(part, field.name)) for field in fields(part)]
    changed = {name: new for name, old in pairs if (new := with_literals(old, change)) is not old}
    return replace(part, **changed) if changed else part
