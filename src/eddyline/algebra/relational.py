"""Operators on streams of windows, each window treated as a relation (SNEEql section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.expression import Aggregate, Column, Named, TypedExpr
from eddyline.algebra.node import StreamOp, WindowOp, require_columns, require_predicate
from eddyline.algebra.schema import Field, Schema
from eddyline.errors import InvalidAlgebra


@dataclass(frozen=True)
class WindowSelect(WindowOp):
    """The tuples of each window that satisfy the predicate."""

    predicate: TypedExpr
    input: WindowOp

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def check(self) -> None:
        require_predicate(self.predicate, self.input.schema, "WindowSelect")


@dataclass(frozen=True)
class WindowProject(WindowOp):
    """Each tuple of each window with the columns computed from it."""

    columns: tuple[Named, ...]
    input: WindowOp

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(column.name, column.expr.type) for column in self.columns))

    def check(self) -> None:
        for column in self.columns:
            require_columns(column.expr, self.input.schema, "WindowProject")


@dataclass(frozen=True)
class WindowAlias(WindowOp):
    """The same windows, their fields known under another relation name (a sub-query's alias)."""

    relation: str
    input: WindowOp

    @property
    def schema(self) -> Schema:
        return self.input.schema.renamed(self.relation)


@dataclass(frozen=True)
class WindowAggregation(WindowOp):
    """For each window one tuple per group: the keys, then the aggregates.

    Without keys there is exactly one group, also in an empty window. With `members` the keys are those that a match
    has added, and there is exactly one group for every member of the query class.
    """

    keys: tuple[Named, ...]
    aggregates: tuple[Named, ...]
    input: WindowOp
    members: bool = False

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(c.name, c.expr.type) for c in (*self.keys, *self.aggregates)))

    def check(self) -> None:
        for column in (*self.keys, *self.aggregates):
            require_columns(column.expr, self.input.schema, "WindowAggregation")
        for column in self.aggregates:
            if not isinstance(column.expr, Aggregate):
                raise InvalidAlgebra(f"{column.name} is not an aggregate")


@dataclass(frozen=True)
class WindowCrossProduct(WindowOp):
    """At each tick at which either side has a window: the latest windows of both, every tuple with every tuple."""

    left: WindowOp
    right: WindowOp

    @property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema


@dataclass(frozen=True)
class WindowJoin(WindowOp):
    """A cross product and the selection over it in one. `kind` INNER, or LEFT, RIGHT, FULL as in SQL."""

    predicate: TypedExpr
    left: WindowOp
    right: WindowOp
    kind: str = "INNER"

    @property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema

    def check(self) -> None:
        require_predicate(self.predicate, self.schema, "WindowJoin")
        if self.kind not in ("INNER", "LEFT", "RIGHT", "FULL"):
            raise InvalidAlgebra(f"{self.kind} is not a kind of join")


@dataclass(frozen=True)
class WindowDistinct(WindowOp):
    """Each window without repeated tuples."""

    input: WindowOp

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class SortKey:
    expr: TypedExpr
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class WindowSort(WindowOp):
    """Each window in order, and of it at most `limit` tuples after the first `offset`.

    In the plan of a query class they are counted for each member, whose number is `member`.
    """

    keys: tuple[SortKey, ...]
    limit: int | None
    offset: int
    input: WindowOp
    member: Column | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def check(self) -> None:
        for key in self.keys:
            require_columns(key.expr, self.input.schema, "WindowSort")


@dataclass(frozen=True)
class Instants(WindowOp):
    """A CQL relation at every single tick, as RSTREAM needs it; without it windows stand only where it changes."""

    input: WindowOp

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class RelationChanges(StreamOp):
    """What is inserted into and deleted from a CQL relation, tick by tick. The root of a relation query only."""

    input: WindowOp

    @property
    def schema(self) -> Schema:
        return self.input.schema
