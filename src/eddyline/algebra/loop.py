"""TelegraphCQ's for-loops: the sequence of values that `t` takes, and windows whose ends follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eddyline.algebra.expression import Call, Column, Expr, Literal
from eddyline.algebra.types import BIGINT
from eddyline.errors import InvalidAlgebra, InvalidLoop

#: the loop's variable and the start of the query, as they stand in the loop's expressions
T = Column("t", BIGINT)
ST = Column("ST", BIGINT)

_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "div": lambda a, b: int(a / b) if b else _division_by_zero(),
    "/": lambda a, b: int(a / b) if b else _division_by_zero(),
    "%": lambda a, b: a - b * int(a / b) if b else _division_by_zero(),
}
_COMPARISON: dict[str, Callable[[int, int], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _division_by_zero() -> int:
    raise InvalidLoop("a for-loop divides by zero")


def evaluate(expr: Expr, t: int, start: int) -> int:
    """The value of a loop expression: whole numbers, `t`, `ST` and arithmetic on them; 1 or 0 for a condition.

    >>> evaluate(Call("-", (T, Literal(4, BIGINT)), BIGINT), 10, 0)
    6
    """
    if expr == T:
        return t
    if expr == ST:
        return start
    if isinstance(expr, Literal):
        return int(expr.value)
    if isinstance(expr, Call):
        values = [evaluate(argument, t, start) for argument in expr.arguments]
        if expr.function in _ARITHMETIC:
            return _ARITHMETIC[expr.function](*values)
        if expr.function in _COMPARISON:
            return int(_COMPARISON[expr.function](*values))
        if expr.function == "neg":
            return -values[0]
        if expr.function == "and":
            return int(all(values))
        if expr.function == "or":
            return int(any(values))
        if expr.function == "not":
            return int(not values[0])
    raise InvalidAlgebra(f"a for-loop cannot compute {expr}")


@dataclass(frozen=True)
class Loop:
    """`for (t = initial; condition; t = change) { … }`. Without a condition it goes on for ever."""

    initial: Expr
    condition: Expr | None
    change: Expr

    @property
    def backward(self) -> bool:
        """Whether t goes down with every step (tried on a sample, which is enough for `t--` and `t -= k`)."""
        return evaluate(self.change, 1000, 1000) < 1000

    def values(self, start: int) -> Iterator[int]:
        """The values of `t`, for a query that starts at tick `start`. Endless if the loop is."""
        t = evaluate(self.initial, 0, start)
        while self.condition is None or evaluate(self.condition, t, start):
            yield t
            following = evaluate(self.change, t, start)
            if following == t:
                raise InvalidLoop(f"the for-loop never ends: t stays at {t}")
            t = following
