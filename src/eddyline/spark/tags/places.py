"""Plans whose tuples also show where they stand: their ticks and indexes, which windows do not have otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from eddyline.algebra.expression import Column, Expr, Named, TypedExpr
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import WindowAlias, WindowProject, WindowSelect
from eddyline.algebra.stream import INDEX, TICK, StreamAcquire, StreamAlias, StreamProject, StreamReceive, StreamSelect
from eddyline.algebra.types import BIGINT
from eddyline.algebra.window import HopWindow, LatestRowsWindow, LoopWindow, RangeWindow, RowWindow, TimeWindow
from eddyline.errors import InvalidAlgebra, NotSupported

_LEAVES = (StreamReceive, StreamAcquire)
#: what leaves the columns of its input as they are
_PASSING = (StreamSelect, WindowSelect, TimeWindow, HopWindow, RowWindow, LoopWindow, RangeWindow, LatestRowsWindow)


def with_order(plan: Operator) -> tuple[Operator, tuple[TypedExpr, ...]]:
    """Windows over one log with columns that put their tuples in order: by tick and index, windows of rows by index."""
    made, tick, index = with_ticks(plan)
    by_rows = any(isinstance(operator, RowWindow) for operator in plan.walk())
    return made, (index,) if by_rows else (tick, index)


def with_ticks(plan: Operator) -> tuple[Operator, Column, Column]:
    """A chain over one log with the ticks and indexes of its tuples, wherever they are among its columns."""
    if isinstance(plan, _LEAVES):
        relation = plan.declared.fields[0].relation
        return with_places(plan), Column(TICK, BIGINT, relation), Column(INDEX, BIGINT, relation)
    if isinstance(plan, _PASSING):
        below, tick, index = with_ticks(plan.input)
        return plan.with_inputs(below), tick, index
    if isinstance(plan, StreamAlias | WindowAlias):
        below, tick, index = with_ticks(plan.input)
        relation = plan.relation
        return plan.with_inputs(below), replace(tick, relation=relation), replace(index, relation=relation)
    if isinstance(plan, StreamProject | WindowProject):
        below, tick, index = with_ticks(plan.input)
        columns = (*plan.columns, Named(tick, f"${TICK}"), Named(index, f"${INDEX}"))
        made = replace(plan, columns=columns, input=cast(Any, below))
        return made, Column(f"${TICK}", BIGINT), Column(f"${INDEX}", BIGINT)
    raise InvalidAlgebra(f"the tuples of {type(plan).__name__} are not those of one log")


def with_places(plan: Operator) -> Operator:
    """A chain over a log whose tuples also show their ticks and indexes."""
    if isinstance(plan, _LEAVES):
        names = {name.lower() for name in plan.declared.names}
        if names & {TICK, INDEX}:
            raise NotSupported(
                f"{plan.name} has a column called {TICK} or {INDEX}, and a query tags it",
                hint="use --engine reference",
            )
        return plan if plan.implicit else replace(plan, implicit=True)
    return plan.with_inputs(*map(with_places, plan.inputs))


def renamed(expr: TypedExpr, relation: str) -> TypedExpr:
    """An expression over fields that are known under another name of their relation."""

    def moved(part: Expr) -> Expr | None:
        return replace(part, relation=relation) if isinstance(part, Column) else None

    return cast(TypedExpr, expr.rewrite(moved))
