"""The base of all logical operators: frozen, compared by structure, with a derived schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Self

from eddyline.algebra.expression import Expr, columns_of
from eddyline.algebra.schema import Schema
from eddyline.algebra.types import BOOLEAN, NULL
from eddyline.errors import InvalidAlgebra


@dataclass(frozen=True)
class Operator:
    """A node of the algebra. Its inputs are those of its fields that are operators, in order."""

    @property
    def schema(self) -> Schema:
        """What the tuples of the output look like."""
        raise InvalidAlgebra(f"{type(self).__name__} has no schema")

    @property
    def inputs(self) -> tuple[Operator, ...]:
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(value for value in values if isinstance(value, Operator))

    def with_inputs(self, *inputs: Operator) -> Self:
        """The same operator over other inputs; the checks of construction run again."""
        names = [f.name for f in fields(self) if isinstance(getattr(self, f.name), Operator)]
        changes: dict[str, Any] = dict(zip(names, inputs, strict=True))
        return replace(self, **changes) if changes else self

    @property
    def tagged(self) -> bool:
        """Whether tuples carry their tick-tags: the tag-aware form of the operator."""
        return any(operator.tagged for operator in self.inputs)

    def walk(self) -> Iterator[Operator]:
        """This operator and all below it, parents first."""
        yield self
        for operator in self.inputs:
            yield from operator.walk()

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise `InvalidAlgebra` if the parts do not fit together."""


@dataclass(frozen=True)
class StreamOp(Operator):
    """An operator whose output is a stream of tagged tuples (tick, index, tuple)."""


@dataclass(frozen=True)
class WindowOp(Operator):
    """An operator whose output is a stream of windows (tick, bag of tuples)."""


#: what a field of an operator is marked with whose expressions the operator does not compute itself
ASIDE = "aside"
#: the pseudo-relation under which expressions over a window see that window itself
WINDOW = "$window"
WTIME = "wtime"


def require_columns(expr: Expr, schema: Schema, where: str) -> None:
    """Every attribute that `expr` reads must be one of `schema` (or the window's own time)."""
    for column in columns_of(expr):
        if column.relation != WINDOW and not schema.has(column.name, column.relation):
            have = ", ".join(field.label for field in schema.fields)
            raise InvalidAlgebra(f"{where} reads {column.label}, but its input has ({have})")


def require_predicate(expr: Any, schema: Schema, where: str) -> None:
    if expr.type not in (BOOLEAN, NULL):
        raise InvalidAlgebra(f"{where} needs a BOOLEAN predicate, not {expr.type}")
    require_columns(expr, schema, where)


def expressions_of(operator: Operator) -> Iterator[Expr]:
    """Those of the operator itself, wherever among its fields they are."""
    for field in fields(operator):
        if not field.metadata.get(ASIDE):
            yield from _expressions_in(getattr(operator, field.name))


def _expressions_in(value: Any) -> Iterator[Expr]:
    if isinstance(value, Operator | str):
        return
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, Iterable):
        for part in value:
            yield from _expressions_in(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _expressions_in(getattr(value, field.name))
