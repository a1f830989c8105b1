"""What all functions are written with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from eddyline.algebra.expression import Call, TypedExpr
from eddyline.algebra.types import DataType

Texts = Sequence[str]
#: writes a call whose arguments are written already
Writer = Callable[[Call, Texts], str]


def given(call: Call, position: int) -> DataType:
    """The type of an argument."""
    return cast(TypedExpr, call.arguments[position]).type


def plain(name: str) -> Writer:
    """A function that Spark has under this name, with this meaning."""
    return lambda call, texts: f"{name}({', '.join(texts)})"


def infix(operator: str) -> Writer:
    return lambda call, texts: f"({texts[0]} {operator} {texts[1]})"


def prefix(operator: str) -> Writer:
    return lambda call, texts: f"({operator} {texts[0]})"
