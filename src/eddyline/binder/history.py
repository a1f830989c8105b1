"""Queries that look back: CREATE QUERY … FROM HISTORY [SINCE …]."""

from __future__ import annotations

from dataclasses import replace

from eddyline.algebra.expression import Call, Column, Literal
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.stream import TICK, StreamAcquire, StreamReceive, StreamSelect
from eddyline.algebra.types import BIGINT, BOOLEAN
from eddyline.algebra.window import RowWindow
from eddyline.catalog.catalog import BoundQuery
from eddyline.errors import NotSupported


def from_history(query: BoundQuery, since: int | None) -> BoundQuery:
    """The query as one that first answers over the past, or over what of it is not before a tick.

    Windows stand from that tick on, and may reach back beyond it, as those of any query reach back beyond its start. A
    query that has no windows leaves out the tuples that are older.
    """
    plan = query.plan
    if since is not None:
        windows = [o for o in plan.walk() if isinstance(o, WindowOp) and any(isinstance(i, StreamOp) for i in o.inputs)]
        if any(isinstance(window, RowWindow) for window in windows):
            raise NotSupported("SINCE does not go with row windows, which count from the first row")
        if not windows:
            plan = _not_before(plan, since)
    return replace(query, plan=plan, history=True, since=since)


def _not_before(plan: Operator, since: int) -> Operator:
    if not isinstance(plan, StreamReceive | StreamAcquire):
        return plan.with_inputs(*(_not_before(operator, since) for operator in plan.inputs))
    stream: StreamOp = replace(plan, implicit=True)
    tick = Column(TICK, BIGINT, stream.schema.fields[0].relation)
    return StreamSelect(Call(">=", (tick, Literal(since, BIGINT)), BOOLEAN), stream)
