"""How the reference engine describes what a function does.

An implementation is made for one call, so that it can look at the types; most do not care.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from eddyline.algebra.expression import Call, TypedExpr
from eddyline.algebra.types import DataType

Evaluator = Callable[..., Any]


@dataclass(frozen=True)
class Implementation:
    """`make` gives the Python function for a call. A strict one is never asked about NULL: its answer is NULL then."""

    make: Callable[[Call], Evaluator]
    strict: bool = True


def plain(evaluator: Evaluator) -> Implementation:
    """The same for all types."""
    return Implementation(lambda _: evaluator)


def typed(make: Callable[[Call], Evaluator]) -> Implementation:
    """Depends on the types of the call."""
    return Implementation(make)


def null_aware(evaluator: Evaluator) -> Implementation:
    """Wants to see NULLs (as None)."""
    return Implementation(lambda _: evaluator, strict=False)


def given_types(call: Call) -> tuple[DataType, ...]:
    """The types of the arguments."""
    return tuple(cast(TypedExpr, argument).type for argument in call.arguments)
