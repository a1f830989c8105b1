"""The functions of the language, as data.

To add one, put it into the module of its subject (or add a module with a `FUNCTIONS` tuple and list it in `CATALOGUE`)
and implement it in `reference/functions` or `reference/aggregate`; a test holds both sides together.
"""

from __future__ import annotations

from eddyline.algebra.functions import (
    aggregates,
    arrays,
    conditionals,
    datetimes,
    mathematics,
    operators,
    strings,
)
from eddyline.algebra.functions.signature import Function, Resolution

CATALOGUE: tuple[Function, ...] = (
    *operators.FUNCTIONS,
    *conditionals.FUNCTIONS,
    *mathematics.FUNCTIONS,
    *strings.FUNCTIONS,
    *datetimes.FUNCTIONS,
    *arrays.FUNCTIONS,
    *aggregates.FUNCTIONS,
)

_BY_NAME: dict[str, Function] = {name: f for f in CATALOGUE for name in (f.name, *f.aliases)}


def lookup(name: str) -> Function | None:
    """The function with this name or alias, in any case of letters."""
    return _BY_NAME.get(name.lower())


def names() -> tuple[str, ...]:
    """All names under which functions can be called, operators left out."""
    return tuple(sorted(name for name in _BY_NAME if name[0].isalpha() and " " not in name))


def is_aggregate(name: str) -> bool:
    found = lookup(name)
    return found is not None and found.aggregate


__all__ = ["CATALOGUE", "Function", "Resolution", "is_aggregate", "lookup", "names"]
