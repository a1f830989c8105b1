"""A member of a query class with streams inside: its own rows of the logs that the class has for these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.sharing import NUMBER, QUERY
from eddyline.catalog.catalog import BoundQuery
from eddyline.log.answers import Seat
from eddyline.spark.stages import SLICES, STATE, Stage, cut
from eddyline.spark.tags.sharing import shape_in_class


@dataclass(frozen=True)
class Inner:
    """A stream inside of a class: which of its columns tells the member, and which are those of the member's plan.

    Without such a column it is the same for all members.
    """

    member: str | None
    columns: Mapping[str, str]  # by their names in the member's own plan

    def rows_of(self, seat: Seat) -> pc.Expression | None:
        return None if self.member is None else pc.field(self.member) == seat.number

    def own(self, table: pa.Table) -> pa.Table:
        """The rows as the member's own plan would have written them."""
        system = [name for name in table.column_names if name.startswith("_")]
        columns = [table.column(name) for name in (*system, *self.columns.values())]
        return pa.table(columns, [*system, *self.columns])


def inner_logs(stages: Sequence[Stage], query: BoundQuery, log: str) -> Mapping[str, Inner] | None:
    """The streams inside of a member's plan in the logs of its class; None if they cannot be told.

    Whatever a rule did to the member's plan, it is cut at the same streams as that of the class, which has none.
    """
    shape = shape_in_class(query)
    if shape is None:
        return None
    own = [stage for stage in stages if stage.kind not in (SLICES, STATE)]
    shared = cut(log, shape.marked or shape.plan, (*query.columns, QUERY))
    if [(stage.name, stage.kind) for stage in own] != [(stage.name, stage.kind) for stage in shared]:
        return None
    found = {}
    for mine, theirs in zip(own[:-1], shared[:-1], strict=True):
        names = theirs.schema.names
        if any(names.count(name) != 1 for name in mine.schema.names):
            return None
        column = dict(zip(names, theirs.columns, strict=True))
        own_columns = zip(mine.columns, mine.schema.names, strict=True)
        found[mine.name] = Inner(column.get(NUMBER), {mine: column[name] for mine, name in own_columns})
    return found
