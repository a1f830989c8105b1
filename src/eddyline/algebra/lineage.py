"""How the tuples of a stream come into the rows of a plan: what it takes to tell which of them a row is made of.

A tuple is a cause of a row if it is in the row's window, passes the conditions and belongs to the row's group. So the
plan is cut where it groups: what is below is evaluated for the tuple alone, and gives the group that it belongs to (or,
where nothing is grouped, the row that it becomes); what is above only says which columns of an answer show the group.

A tuple that is joined needs a partner. Of a row that is there, the partner was there too. So if the row shows all
columns of the tuple that the way through the join asks for, another tuple that agrees in these makes the same row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from eddyline.algebra.expression import Column, Expr, Named, columns_of
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
    """What a batch has done to a tuple of a stream: `op` is - (deleted), = (replaced) or + (came late).

    `batch` tells revisions of one tuple apart, where several of them were withheld before the answer was corrected.
    """

    stream: str
    index: int
    op: str
    precision: str = ROW
    batch: int = field(default=-1, compare=False, repr=False)


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
    #: columns of the plan that are asked for behind a join: they too must be shown
    asked: frozenset[int] = frozenset()
    _open: bool = field(default=True, repr=False)  # whether operators can still be put on the plan

    @property
    def is_exact(self) -> bool:
        """Whether a tuple is in exactly the rows that agree with it in the columns that show its group."""
        shown = set(self.columns)
        return self.exact and self.asked <= shown and (self.keys is None or set(range(self.keys)) <= shown)

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
        return [_joined(node, replace(one, columns=columns, alone=False, _open=False)) for one, columns in paired]
    return [_through(node, one) for operator in below for one in traces(operator)]


def _joined(node: WindowCrossProduct | WindowJoin, one: Trace) -> Trace:
    if isinstance(node, WindowCrossProduct):
        return one
    # a row that is padded has no partner
    return _asking([node.predicate], node, replace(one, exact=one.exact and node.kind == "INNER"))


def _asking(expressions: Iterable[Expr], below: Operator, one: Trace) -> Trace:
    """The same way, behind a join, where expressions are asked of the rows of an operator."""
    if one.alone:
        return one
    schema = below.schema
    read = [c for expr in expressions for c in columns_of(expr) if schema.has(c.name, c.relation)]
    found = (one.columns[schema.position(column.name, column.relation)] for column in read)
    return replace(one, asked=one.asked | {column for column in found if column is not None})


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
        return replace(_asking(_computed(node.columns), node.input, one), columns=shown)
    if isinstance(node, WindowSelect) and not one._open:
        return _asking([node.predicate], node.input, one)
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
    if one.alone or one.keys is not None or _is_limited(node.input):
        return replace(one, columns=(*shown, *aggregates), exact=False, whole=True, _open=False)
    asking = _asking(_computed(node.keys), node.input, one)
    return replace(asking, columns=(*shown, *aggregates), keys=0, whole=True)  # pairs, by what is shown of them


def _computed(columns: Iterable[Named]) -> list[Expr]:
    """What is made of columns, and does not show them."""
    return [column.expr for column in columns if not isinstance(column.expr, Column)]


def _is_limited(plan: Operator) -> bool:
    return any(isinstance(op, WindowSort) and (op.limit is not None or op.offset) for op in plan.walk())


def _shown(column: Named, below: Operator, one: Trace) -> int | None:
    if not isinstance(column.expr, Column) or not below.schema.has(column.expr.name, column.expr.relation):
        return None
    return one.columns[below.schema.position(column.expr.name, column.expr.relation)]


def _all(node: Operator) -> tuple[int, ...]:
    return tuple(range(len(node.schema)))


__all__ = ["BATCH", "ROW", "WINDOW", "Cause", "Trace", "traces", "worse"]
