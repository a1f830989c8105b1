"""Operators that give streams of tuples (SNEEql section 6.1 and 6.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eddyline.algebra.expression import Named, TypedExpr
from eddyline.algebra.node import ASIDE, StreamOp, WindowOp, require_columns, require_predicate
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT
from eddyline.errors import InvalidAlgebra

if TYPE_CHECKING:
    from eddyline.algebra.tag import TagPredicate

#: the attributes that every tagged tuple has without declaring them (SNEEql section 3)
TICK, INDEX = "tick", "index"


def with_implicit(schema: Schema) -> Schema:
    """The fields, and behind them tick and index."""
    relation = schema.fields[0].relation
    return schema + Schema((Field(TICK, BIGINT, relation), Field(INDEX, BIGINT, relation)))


@dataclass(frozen=True)
class StreamAcquire(StreamOp):
    """The readings of a sensed extent: every `interval` ticks one tuple of each site (None: nobody said how often).

    `declared` holds the extent's fields under the alias of the FROM clause. With `implicit` each tuple also shows
    its tick and index as attributes; with `tick_tags` it carries the tags that apply to it, those of the continuous
    taggers on the stream among them (`algebra.tagging`): of all, or of those up to the one that is named; and only of
    those whose tags may be the ones that are wanted, if that is known. With `whole_tags` their texts tell all that
    these tags apply to.
    """

    name: str
    declared: Schema
    interval: int | None
    sites: tuple[int, ...]
    implicit: bool = False
    tick_tags: bool = False
    taggers_upto: str | None = None
    tags_wanted: TagPredicate | None = field(default=None, metadata={ASIDE: True})
    whole_tags: bool = False

    @property
    def schema(self) -> Schema:
        return with_implicit(self.declared) if self.implicit else self.declared

    @property
    def tagged(self) -> bool:
        return self.tick_tags

    def check(self) -> None:
        if self.interval is not None and self.interval <= 0:
            raise InvalidAlgebra(f"{self.name} is acquired every {self.interval} ticks")


@dataclass(frozen=True)
class StreamReceive(StreamOp):
    """The tuples of a pushed extent, as they arrive. Fields as in `StreamAcquire`."""

    name: str
    declared: Schema
    implicit: bool = False
    tick_tags: bool = False
    taggers_upto: str | None = None
    tags_wanted: TagPredicate | None = field(default=None, metadata={ASIDE: True})
    whole_tags: bool = False

    @property
    def schema(self) -> Schema:
        return with_implicit(self.declared) if self.implicit else self.declared

    @property
    def tagged(self) -> bool:
        return self.tick_tags


@dataclass(frozen=True)
class StreamSelect(StreamOp):
    """The tuples that satisfy the predicate, with their ticks and indexes."""

    predicate: TypedExpr
    input: StreamOp

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def check(self) -> None:
        require_predicate(self.predicate, self.input.schema, "StreamSelect")


@dataclass(frozen=True)
class StreamProject(StreamOp):
    """Each tuple with the columns computed from it, with its tick and index."""

    columns: tuple[Named, ...]
    input: StreamOp

    @property
    def schema(self) -> Schema:
        return Schema(tuple(Field(column.name, column.expr.type) for column in self.columns))

    def check(self) -> None:
        for column in self.columns:
            require_columns(column.expr, self.input.schema, "StreamProject")


@dataclass(frozen=True)
class StreamAlias(StreamOp):
    """The same stream, its fields known under another relation name (a sub-query's alias)."""

    relation: str
    input: StreamOp

    @property
    def schema(self) -> Schema:
        return self.input.schema.renamed(self.relation)


@dataclass(frozen=True)
class StreamLookup(StreamOp):
    """Each tuple beside the matching tuples of a table as the table stands when the tuple arrives.

    One tuple may give none, one or many; the output has a running index of its own.
    """

    input: StreamOp
    table: WindowOp
    predicate: TypedExpr | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema + self.table.schema

    def check(self) -> None:
        if self.predicate is not None:
            require_predicate(self.predicate, self.schema, "StreamLookup")


@dataclass(frozen=True)
class _WindowToStream(StreamOp):
    input: WindowOp

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class RStream(_WindowToStream):
    """All tuples of every window, with the window's tick and a running index (Figure 8)."""


@dataclass(frozen=True)
class IStream(_WindowToStream):
    """The tuples of a window that were not in the window before it, as a bag difference (Figure 8)."""


@dataclass(frozen=True)
class DStream(_WindowToStream):
    """The tuples of the window before that are not in this one."""
