"""Streams as they are behind the continuous taggers on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from eddyline.algebra.expression import Column, Expr
from eddyline.algebra.node import Operator, StreamOp
from eddyline.algebra.stream import StreamAcquire, StreamReceive
from eddyline.algebra.tag import Tagger


def behind_taggers(plan: Operator, taggers_of: Callable[[str], Sequence[Tagger]]) -> Operator:
    """The plan with every stream that carries tags put behind its taggers, in the order of their creation.

    Which taggers there are is known only when a query begins, not when it is written: those that were created after
    it, but before any data has come, tag its data too.
    """
    if isinstance(plan, StreamReceive | StreamAcquire):
        stream: StreamOp = plan
        for tagger in taggers_of(plan.name) if plan.tick_tags else ():
            stream = _over(tagger, stream)
        return stream
    return plan.with_inputs(*(behind_taggers(operator, taggers_of) for operator in plan.inputs))


def _over(tagger: Tagger, stream: StreamOp) -> Tagger:
    """The same tagger over another form of its stream, whose fields have another relation name."""
    alias = stream.schema.fields[0].relation

    def renamed(expr: Expr) -> Expr | None:
        return replace(expr, relation=alias) if isinstance(expr, Column) else None

    condition = None if tagger.condition is None else tagger.condition.rewrite(renamed)
    return replace(tagger, condition=condition, input=stream)  # type: ignore[arg-type]
