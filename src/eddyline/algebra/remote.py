"""A table that lies elsewhere and is asked for rows by key: TelegraphCQ's index access method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from eddyline.algebra.expression import Call, Column, TypedExpr, columns_of, conjuncts
from eddyline.algebra.node import Operator, WindowOp
from eddyline.algebra.schema import Schema
from eddyline.algebra.stream import StreamLookup
from eddyline.algebra.types import INTEGER_BITS, DataType, is_integer
from eddyline.errors import InvalidAlgebra


@dataclass(frozen=True)
class Remote(WindowOp):
    """The rows that a table gives for a key. It is no window by itself: only a look-up can stand above it."""

    table: str
    declared: Schema
    key: str

    @property
    def schema(self) -> Schema:
        return self.declared

    @property
    def key_column(self) -> Column:
        (field,) = (field for field in self.declared.fields if field.name == self.key)
        return Column(field.name, field.type, field.relation)

    @property
    def key_position(self) -> int:
        return self.declared.names.index(self.key)

    def check(self) -> None:
        if self.declared.names.count(self.key) != 1:
            raise InvalidAlgebra(f"{self.table} has no column {self.key} by which it could be asked")


def asked_with(remote: Remote, part: TypedExpr) -> TypedExpr | None:
    """What a part of a condition says the key to be, in terms of the other inputs; None if it says no such thing.

    >>> from eddyline.algebra.schema import Field
    >>> from eddyline.algebra.types import BOOLEAN, INTEGER
    >>> people = Remote("people", Schema((Field("person", INTEGER, "people"),)), "person")
    >>> mine = Column("id", INTEGER, "s")
    >>> asked_with(people, Call("=", (people.key_column, mine), BOOLEAN)) == mine
    True
    """
    if not isinstance(part, Call) or part.function != "=":
        return None
    one, other = part.arguments
    for key, asked in ((one, other), (other, one)):
        own = (remote.schema.has(column.name, column.relation) for column in columns_of(asked))
        if key == remote.key_column and not any(own):
            return _as_key(cast(TypedExpr, asked), remote.key_column.type)
    return None


def _as_key(asked: TypedExpr, type_: DataType) -> TypedExpr | None:
    """A value as a key; None if there may be values that are none."""
    if asked.type == type_:
        return asked
    narrower = is_integer(asked.type) and is_integer(type_) and INTEGER_BITS[asked.type] < INTEGER_BITS[type_]
    return Call("cast", (asked,), type_) if narrower else None


def is_remote(plan: Operator) -> bool:
    """Whether it is the look-up of a table that is asked by key."""
    return isinstance(plan, StreamLookup) and isinstance(plan.table, Remote)


def asks(node: StreamLookup) -> TypedExpr:
    """The key with which a tuple asks."""
    assert isinstance(node.table, Remote)
    parts = () if node.predicate is None else conjuncts(node.predicate)
    found = (asked_with(node.table, part) for part in parts)
    key = next((expr for expr in found if expr is not None), None)
    if key is None:
        raise InvalidAlgebra(f"{node.table.table} is looked up without its key {node.table.key}")
    return key
