"""Columns that nobody reads are dropped at the streams, before windows keep them."""

from __future__ import annotations

from collections.abc import Iterable

from eddyline.algebra.expression import Column, Expr, Named, columns_of
from eddyline.algebra.node import Operator, StreamOp
from eddyline.algebra.relational import (
    WindowAggregation,
    WindowCrossProduct,
    WindowJoin,
    WindowProject,
    WindowSelect,
    WindowSort,
)
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamLookup, StreamProject, StreamReceive, StreamSelect
from eddyline.algebra.window import HopWindow, LatestRowsWindow, LoopWindow, RangeWindow, RowWindow, TimeWindow

_WINDOWS = (TimeWindow, RowWindow, RangeWindow, LatestRowsWindow, LoopWindow, HopWindow)


def push_projections(plan: Operator) -> Operator:
    """Below each projection or aggregation, narrow the streams under windows to the columns still needed.

    Bags keep their size, and a projection keeps ticks and indexes, so no window changes but for its width. A tag-aware
    plan is left as it is: an aggregate shows also the tags of attributes that it does not read.
    """
    if plan.tagged:
        return plan
    if isinstance(plan, WindowProject | WindowAggregation):
        needed = _needed_by(plan)
        return plan.with_inputs(*(_narrowed(operator, needed) for operator in plan.inputs))
    return plan.with_inputs(*(push_projections(operator) for operator in plan.inputs))


def _needed_by(plan: WindowProject | WindowAggregation) -> frozenset[Column]:
    columns = plan.columns if isinstance(plan, WindowProject) else (*plan.keys, *plan.aggregates)
    return _columns(column.expr for column in columns)


def _columns(expressions: Iterable[Expr]) -> frozenset[Column]:
    return frozenset(column for expr in expressions for column in columns_of(expr))


def _narrowed(node: Operator, needed: frozenset[Column]) -> Operator:
    if isinstance(node, WindowSelect | WindowJoin | StreamSelect):
        needed |= columns_of(node.predicate)
    elif isinstance(node, WindowSort):
        # ties are decided by the whole tuple, so all of it is needed here
        return node.with_inputs(*(push_projections(operator) for operator in node.inputs))
    elif isinstance(node, LatestRowsWindow):
        needed |= frozenset(node.partition)
    elif not isinstance(node, (WindowCrossProduct, *_WINDOWS)):
        return push_projections(node)
    if isinstance(node, _WINDOWS):
        source = node.input
        assert isinstance(source, StreamOp)
        return node.with_inputs(_narrow_stream(source, needed))
    return node.with_inputs(*(_narrowed(operator, needed) for operator in node.inputs))


def _narrow_stream(node: StreamOp, needed: frozenset[Column]) -> StreamOp:
    """The stream with the needed columns only, under the same relation name."""
    if not isinstance(node, StreamReceive | StreamAcquire | StreamSelect | StreamAlias | StreamLookup):
        return push_projections(node)  # type: ignore[return-value]
    fields = node.schema.fields
    relation = fields[0].relation
    kept = [f for f in fields if Column(f.name, f.type, f.relation) in needed]
    if len(kept) == len(fields) or relation is None or any(f.relation != relation for f in fields):
        return push_projections(node)  # type: ignore[return-value]
    kept = kept or [fields[0]]  # a tuple has at least one column, even if only its existence counts
    columns = tuple(Named(Column(f.name, f.type, f.relation), f.name) for f in kept)
    inner = push_projections(node)
    assert isinstance(inner, StreamOp)
    return StreamAlias(relation, StreamProject(columns, inner))
