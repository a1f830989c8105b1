"""The plan of a class in which members show tags, for tuples that are all new."""

from __future__ import annotations

from dataclasses import replace

from eddyline.algebra.expression import Call, Column, Named
from eddyline.algebra.marks import MARKS, is_marks
from eddyline.algebra.node import Operator, StreamOp
from eddyline.algebra.sharing import ASKS, StreamMatch
from eddyline.algebra.stream import StreamAlias, StreamProject
from eddyline.algebra.types import STRING

#: the column of marks as they are shown, below the match
_SHOWN = f"{MARKS}_shown"


def with_all_marks(plan: Operator) -> Operator:
    """The same plan with the marks of each tuple put together once, before the match, and in the rows of every member.

    Members who show none do not read them. Only corrections must tell members apart: a tuple that has other tags now
    is none to those who show none. So this is for selections of tuples that were not there before; any other plan is
    given back as it is.
    """
    if not isinstance(plan, StreamProject) or not isinstance(plan.input, StreamMatch) or not plan.input.asks:
        return plan
    match = plan.input
    *own, marks, number = plan.columns
    fields = match.input.schema.fields
    relations = {field.relation for field in fields}
    names = {field.name for field in fields}
    if len(relations) > 1 or len(names) < len(fields) or not is_marks(marks.name) or not _is_masked(marks):
        return plan
    (relation,) = relations
    assert isinstance(marks.expr, Call)
    shown = Named(marks.expr.arguments[1], _SHOWN)  # type: ignore[arg-type]
    columns = (*(Named(Column(field.name, field.type, relation), field.name) for field in fields), shown)
    below: StreamOp = StreamProject(columns, match.input)
    if relation is not None:
        below = StreamAlias(relation, below)
    matched = replace(match, asks=False, input=below)
    return StreamProject((*own, Named(Column(_SHOWN, STRING, relation), marks.name), number), matched)


def _is_masked(marks: Named) -> bool:
    """Whether it is what `Carried` makes of marks: those of members who show them."""
    call = marks.expr
    if not isinstance(call, Call) or call.function != "case" or len(call.arguments) != 2:
        return False
    asks = call.arguments[0]
    return isinstance(asks, Column) and asks.name == ASKS
