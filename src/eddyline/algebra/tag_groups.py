"""Tag groups as columns: what GROUP BY TAG becomes where rows carry their marks as text."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.node import StreamOp, WindowOp, require_columns
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT, STRING
from eddyline.algebra.user_function import UserCall

#: what the calls of `WindowTagGroups` are made over: the runs of a window, and the label of one of its parts
RUNS, LABEL = "_runs", "_label"
#: where the tuples of `Everything` stand in their stream
OWN_TICK, OWN_INDEX = "$tick", "$index"


@dataclass(frozen=True)
class WindowTagGroups(WindowOp):
    """Each tuple of each window that belongs to a tag group, with the group's number and label, and those of its marks
    by which it belongs there. Which group that is depends on the tuples before it: `order` puts them in order.

    `divided` gives the parts of a window from its runs of tuples with the same marks, `labelled` the label of a part.
    """

    marks: TypedExpr
    order: tuple[TypedExpr, ...]
    divided: UserCall
    labelled: UserCall
    names: tuple[str, str, str]  # of the number, the label and the marks
    input: WindowOp

    @property
    def schema(self) -> Schema:
        number, label, marks = self.names
        return self.input.schema + Schema((Field(number, BIGINT), Field(label, STRING), Field(marks, STRING)))

    def check(self) -> None:
        for expr in (self.marks, *self.order):
            require_columns(expr, self.input.schema, "WindowTagGroups")


@dataclass(frozen=True)
class Everything(WindowOp):
    """One window with all tuples that have come by now, whatever their ticks. They show their ticks and indexes."""

    input: StreamOp

    @property
    def schema(self) -> Schema:
        return self.input.schema + Schema((Field(OWN_TICK, BIGINT), Field(OWN_INDEX, BIGINT)))


@dataclass(frozen=True)
class RunningGroups(StreamOp):
    """The groups of everything as tuples that are replaced when their groups change.

    The first column of the input is a number that tells groups apart, the second one their tick, the third one counts
    them as they were founded.
    """

    input: WindowOp

    @property
    def schema(self) -> Schema:
        return Schema(self.input.schema.fields[3:])
