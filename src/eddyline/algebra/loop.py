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
    "div": lambda a, b: _quotient(a, b),
    "/": lambda a, b: _quotient(a, b),
    "%": lambda a, b: a - b * _quotient(a, b),
}
_COMPARISON: dict[str, Callable[[int, int], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _quotient(a: int, b: int) -> int:
    """Without what is behind the point, as Spark divides whole numbers."""
    if not b:
        raise InvalidLoop("a for-loop divides by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


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
    def step(self) -> int | None:
        """By how much t changes each time, if it is always the same: `t++`, `t -= 5`."""
        change = self.change
        if not isinstance(change, Call) or len(change.arguments) != 2 or change.arguments[0] != T:
            return None
        amount = change.arguments[1]
        if change.function not in ("+", "-") or not isinstance(amount, Literal):
            return None
        return int(amount.value) if change.function == "+" else -int(amount.value)

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
