"""How the tuples of a stream come into the rows of a plan: what it takes to tell which of them a row is made of.

A tuple is a cause of a row if it is in the row's window, passes the conditions and belongs to the row's group. So the
plan is cut where it groups: what is below is evaluated for the tuple alone, and gives the group that it belongs to (or,
where nothing is grouped, the row that it becomes); what is above only says which columns of an answer show the group.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from eddyline.algebra.expression import Column, Named
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.relational import (
    Instants,
    WindowAggregation,
    WindowAlias,
    WindowCrossProduct,
    WindowDistinct,
    WindowJoin,
    WindowProject,
    WindowSelect,
    WindowSort,
)

#: how sure a cause is. ROW: the tuple is in the window, passes the conditions and belongs to the changed row's group;
#: WINDOW: it may have come into the window; BATCH: it came in the batch that changed the answer, no more is known
ROW, WINDOW, BATCH = "row", "window", "batch"
PRECISIONS = (ROW, WINDOW, BATCH)


@dataclass(frozen=True)
class Cause:
    """What a batch has done to a tuple of a stream: `op` is - (deleted), = (replaced) or + (came late)."""

    stream: str
    index: int
    op: str
    precision: str = ROW


def worse(one: str, other: str) -> str:
    """The less sure of two precisions."""
    return max(one, other, key=PRECISIONS.index)


@dataclass(frozen=True)
class Trace:
    """The way of the tuples of one window. `plan` is evaluated for a tuple alone.

    `columns`: for each column of the answer's rows, the column of the plan that it shows; None: something else.
    """

    leaf: WindowOp  # the window, over tuples of a log
    plan: WindowOp
    columns: tuple[int | None, ...]
    keys: int | None = None  # how many columns tell a group; None: the plan gives the row itself
    exact: bool = True  # whether nothing beyond the columns decides if a tuple is in a row
    alone: bool = True  # whether the windows of the answer are those of the leaf
    #: whether all of a relation decides about each row, which may then change at any tick at which the tuple is there
    whole: bool = False
    _open: bool = field(default=True, repr=False)  # whether operators can still be put on the plan

    @property
    def is_exact(self) -> bool:
        """Whether a tuple is in exactly the rows that agree with it in the columns that show its group."""
        return self.exact and (self.keys is None or set(range(self.keys)) <= set(self.columns))

    @property
    def shown(self) -> list[tuple[int, int]]:
        """Columns of the answer, with those of the plan that they show."""
        return [(place, column) for place, column in enumerate(self.columns) if column is not None]


def traces(node: Operator) -> list[Trace]:
    """The ways of the tuples of all windows of streams below an operator."""
    below = node.inputs
    if len(below) == 1 and isinstance(below[0], StreamOp):
        assert isinstance(node, WindowOp)
        return [Trace(node, node, _all(node))]
    if isinstance(node, WindowCrossProduct | WindowJoin):
        left, right = traces(node.left), traces(node.right)
        before, behind = (None,) * len(node.left.schema), (None,) * len(node.right.schema)
        paired = [(one, (*one.columns, *behind)) for one in left] + [(one, (*before, *one.columns)) for one in right]
        return [replace(one, columns=columns, exact=False, alone=False, _open=False) for one, columns in paired]
    return [_through(node, one) for operator in below for one in traces(operator)]


def _through(node: Operator, one: Trace) -> Trace:
    """The way of the same tuples through one operator more."""
    if isinstance(node, WindowAggregation):
        return _grouped(node, one)
    if isinstance(node, WindowDistinct | Instants):
        return replace(one, whole=one.whole or isinstance(node, WindowDistinct))
    if isinstance(node, WindowSort):
        limited = node.limit is not None or bool(node.offset)
        return replace(one, whole=one.whole or limited)
    if isinstance(node, WindowProject) and not one._open:
        shown = tuple(_shown(column, node.input, one) for column in node.columns)
        return replace(one, columns=shown)
    if isinstance(node, WindowSelect | WindowProject | WindowAlias) and one._open:
        plan = node.with_inputs(one.plan)
        return replace(one, plan=plan, columns=_all(plan))
    return one


def _grouped(node: WindowAggregation, one: Trace) -> Trace:
    aggregates = (None,) * len(node.aggregates)
    if one._open and not (one.whole and _is_limited(node.input)):
        columns = (*range(len(node.keys)), *aggregates)
        plan = WindowProject(node.keys, one.plan)
        return replace(one, plan=plan, columns=columns, keys=len(node.keys), whole=True, _open=False)
    shown = tuple(_shown(key, node.input, one) for key in node.keys)
    return replace(one, columns=(*shown, *aggregates), exact=False, whole=True, _open=False)


def _is_limited(plan: Operator) -> bool:
    return any(isinstance(op, WindowSort) and (op.limit is not None or op.offset) for op in plan.walk())


def _shown(column: Named, below: Operator, one: Trace) -> int | None:
    if not isinstance(column.expr, Column) or not below.schema.has(column.expr.name, column.expr.relation):
        return None
    return one.columns[below.schema.position(column.expr.name, column.expr.relation)]


def _all(node: Operator) -> tuple[int, ...]:
    return tuple(range(len(node.schema)))


__all__ = ["BATCH", "ROW", "WINDOW", "Cause", "Trace", "traces", "worse"]
