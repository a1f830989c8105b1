"""The expressions of a for-loop over many values of t at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eddyline.algebra.expression import Call, Expr, Literal
from eddyline.algebra.loop import ST, T
from eddyline.errors import InvalidAlgebra, InvalidLoop

Array = Any


def _quotient(a: Array, b: Array) -> Array:
    if not np.all(b):
        raise InvalidLoop("a for-loop divides by zero")
    return np.abs(a) // np.abs(b) * np.where((a < 0) == (b < 0), 1, -1)


_COMPUTING: dict[str, Callable[..., Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "div": _quotient,
    "/": _quotient,
    "%": lambda a, b: a - b * _quotient(a, b),
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "neg": np.negative,
    "and": lambda *parts: np.logical_and.reduce(parts),
    "or": lambda *parts: np.logical_or.reduce(parts),
    "not": np.logical_not,
}


def computed(expr: Expr, t: Array, start: int) -> Array:
    """The value of a loop expression for every t; 1 or 0 for a condition.

    >>> from eddyline.algebra.types import BIGINT
    >>> computed(Call("-", (T, Literal(4, BIGINT)), BIGINT), np.array([10, 11]), 0).tolist()
    [6, 7]
    """
    if expr == T:
        return t
    if expr == ST:
        return np.full_like(t, start)
    if isinstance(expr, Literal):
        return np.full_like(t, int(expr.value))
    if isinstance(expr, Call) and expr.function in _COMPUTING:
        arguments = [computed(argument, t, start) for argument in expr.arguments]
        return _COMPUTING[expr.function](*arguments).astype(np.int64)
    raise InvalidAlgebra(f"a for-loop cannot compute {expr}")
