"""Which revisions of a query's answer are shown: `WITH (revise_if = 'abs(new - old) > 0.5')`.

What is shown is always compared with what is true now, not with what was true before. So corrections that are withheld
add up by themselves, and of everything that is shown the condition is false at all times.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.node import StreamOp, WindowOp, require_predicate
from eddyline.algebra.schema import Schema

#: the relations under which a condition knows a result as it is shown, and as it should be
OLD, NEW = "old", "new"


@dataclass(frozen=True)
class ReviseIf:
    """When a result that has changed is shown anew.

    Columns are told by their positions in the output. `keys` are those by which the rows of one window are paired with
    what is shown of it (none: there is at most one row); tuples of a stream are paired by their index (`keys` is None).

    A column that is not `compared` has no bound, so whatever changes in it is shown. With `each`, there is a condition
    for every compared column, which is asked if that column has changed; without, there is one for the row. One that is
    NULL holds, as does any if a compared column is NULL on one side only.
    """

    text: str
    keys: tuple[int, ...] | None
    compared: tuple[int, ...]
    conditions: tuple[TypedExpr, ...]  # over `schema`
    schema: Schema  # the columns of the output as `old`, then the same as `new`
    each: bool = True

    @property
    def width(self) -> int:
        """How many columns the output has; in the plan of a query class there are more behind them."""
        return len(self.schema) // 2


def pair_schema(output: Schema) -> Schema:
    """What a condition can read: a result as it is shown, and as it should be."""
    return output.renamed(OLD) + output.renamed(NEW)


def _check(revise: ReviseIf) -> None:
    for condition in revise.conditions:
        require_predicate(condition, revise.schema, "revise_if")


@dataclass(frozen=True)
class StreamRevise(StreamOp):
    """A stream as it is shown: the same tuples, without corrections that do not matter.

    `of` is the query whose setting it is, if it has become a part of another one.
    """

    revise: ReviseIf
    input: StreamOp
    of: str | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def check(self) -> None:
        _check(self.revise)


@dataclass(frozen=True)
class WindowRevise(WindowOp):
    """Windows as they are shown. Nobody but the reader of the query sees them."""

    revise: ReviseIf
    input: WindowOp

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def check(self) -> None:
        _check(self.revise)
