"""Scalar and aggregate expressions, resolved and typed.

The binder makes them from syntax; the engines compile them. They say *what* is computed, with Spark's meaning
(`spark.sql.ansi.enabled = false`: a division by zero or a failed cast is NULL, integers wrap around).

`Call.function` is a lower-case name: Spark's function names, and for the operators
`+ - * / % div = <=> != < <= > >= and or not || like rlike ilike in "is null" case cast neg & | ^ ~`.
`case` has arguments (when, then, when, then, …[, else]); `in` has (value, choice, choice, …);
`cast` casts its one argument to `Call.type`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import copysign
from typing import Any, cast

from eddyline.algebra.types import BOOLEAN, DataType
from eddyline.errors import Position


@dataclass(frozen=True)
class Expr:
    """The base of all expressions."""

    @property
    def children(self) -> tuple[Expr, ...]:
        return ()

    def walk(self) -> Iterator[Expr]:
        """This expression and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def rewrite(self, change: Callable[[Expr], Expr | None]) -> Expr:
        """A copy in which every sub-expression for which `change` gives an answer is replaced by it."""
        replaced = change(self)
        return self if replaced is None else replaced


@dataclass(frozen=True)
class Column(Expr):
    """An attribute of the input, by name and by the relation that has it."""

    name: str
    type: DataType
    relation: str | None = None

    @property
    def label(self) -> str:
        return f"{self.relation}.{self.name}" if self.relation else self.name


@dataclass(frozen=True)
class Parameter:
    """The value of a constant that is given later, by name: `:low` in the template of many queries."""

    name: str
    position: Position | None = field(default=None, repr=False, compare=False)  # where it stands in the template


@dataclass(frozen=True)
class Literal(Expr):
    """A constant. `place` is where it stands in the text, if it stands there as it is; it makes no difference."""

    value: Any
    type: DataType
    place: int | None = field(default=None, repr=False, compare=False)

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and True are equal in Python but not the same constant, nor are 0.0 and -0.0
        return (
            isinstance(other, Literal)
            and self.type == other.type
            and type(self.value) is type(other.value)
            and self.value == other.value
            and (not isinstance(self.value, float) or copysign(1, self.value) == copysign(1, other.value))
        )

    def __hash__(self) -> int:
        return hash((self.type, self.value))


@dataclass(frozen=True)
class Call(Expr):
    """An operator or scalar function applied to arguments."""

    function: str
    arguments: tuple[Expr, ...]
    type: DataType

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.arguments

    def rewrite(self, change: Callable[[Expr], Expr | None]) -> Expr:
        replaced = change(self)
        if replaced is not None:
            return replaced
        return replace(self, arguments=tuple(a.rewrite(change) for a in self.arguments))


@dataclass(frozen=True)
class Aggregate(Expr):
    """An aggregate function over the tuples of a group. `count` without arguments is COUNT(*)."""

    function: str
    arguments: tuple[Expr, ...]
    type: DataType
    distinct: bool = False
    condition: Expr | None = None  # FILTER (WHERE …)

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.arguments if self.condition is None else (*self.arguments, self.condition)

    def rewrite(self, change: Callable[[Expr], Expr | None]) -> Expr:
        replaced = change(self)
        if replaced is not None:
            return replaced
        return replace(
            self,
            arguments=tuple(a.rewrite(change) for a in self.arguments),
            condition=None if self.condition is None else self.condition.rewrite(change),
        )


TypedExpr = Column | Literal | Call | Aggregate


def rewritten(expr: TypedExpr, change: Callable[[Expr], TypedExpr | None]) -> TypedExpr:
    """As `rewrite`: where what is put in has a type, so has what comes out."""
    return cast(TypedExpr, expr.rewrite(change))


@dataclass(frozen=True)
class Named:
    """An expression of a select list and the name of the column it makes."""

    expr: TypedExpr
    name: str


def columns_of(expr: Expr) -> frozenset[Column]:
    """All attributes an expression reads."""
    return frozenset(e for e in expr.walk() if isinstance(e, Column))


def conjuncts(predicate: TypedExpr) -> tuple[TypedExpr, ...]:
    """The parts of a predicate that are joined by AND.

    >>> from eddyline.algebra.types import BOOLEAN
    >>> a, b = Column("a", BOOLEAN), Column("b", BOOLEAN)
    >>> conjuncts(Call("and", (a, b), BOOLEAN)) == (a, b)
    True
    """
    if isinstance(predicate, Call) and predicate.function == "and":
        return tuple(part for argument in predicate.arguments for part in conjuncts(argument))  # type: ignore[arg-type]
    return (predicate,)


def conjunction(parts: tuple[TypedExpr, ...]) -> TypedExpr | None:
    """The predicates joined by AND again, None if there are none."""
    result: TypedExpr | None = None
    for part in parts:
        result = part if result is None else Call("and", (result, part), BOOLEAN)
    return result
