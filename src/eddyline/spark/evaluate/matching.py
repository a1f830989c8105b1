"""Which members of a query class want which rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from eddyline.algebra.expression import Column, TypedExpr
from eddyline.algebra.sharing import MEMBER, QUERY, Form, Match
from eddyline.algebra.types import BIGINT
from eddyline.columnar.types import arrow_type
from eddyline.kernels import sheet
from eddyline.kernels.matching import Filter
from eddyline.kernels.ranges import Ranges, ranges_of
from eddyline.log.segment import INDEX
from eddyline.spark.evaluate.frames import Frame, Frames, as_frame, joined
from eddyline.spark.evaluate.members import SINCE, Members
from eddyline.spark.expression import Names, spark_sql

#: the pseudo-relation of what a row of a log has beside its values
_LOG = "$log"
_LATER = (Column(INDEX, BIGINT, _LOG), Column(SINCE.removeprefix("_"), BIGINT, MEMBER))


@dataclass(frozen=True)
class _Asked:
    """The rows that are matched and what stays of them."""

    frame: Frame
    columns: list[str]  # that stay
    extra: list[str]  # what is added of the member, with the names it gets
    constants: bool  # whether that is more than its number
    names: Names
    members: Members
    frames: Frames
    later: bool  # whether rows that came before a member was created are none of its business


def matched(node: Match, frame: Frame, kept: Sequence[str], names: Names, members: Members, frames: Frames) -> Frame:
    """Each row once for every member that wants it: `kept`, c0, …, then the number and the constants of HAVING.

    If `_index` is among `kept`, a member gets no rows that came before it was created.
    """
    width = len(node.input.schema)
    columns = [*kept, *(f"c{i}" for i in range(width))]
    extra = [f"{name} AS c{i}" for i, name in enumerate([QUERY, *(f"_a{i}" for i in range(members.above))], width)]

    def name(column: Column) -> str:
        if column.relation == MEMBER:
            return f"_{column.name}"
        return column.name if column.relation == _LOG else names(column)

    later = INDEX in kept and members.since > 0
    asked = _Asked(frame, columns, extra, members.above > 0, name, members, frames, later)
    made: Frame | None = None
    for form in node.forms:
        part = _by_filter(form, asked)
        part = _by_join(form, asked) if part is None else part
        made = part if made is None else made.unionAll(part)
    assert made is not None
    return made


def _condition(form: Form, asked: _Asked) -> str:
    condition = "true" if form.predicate is None else spark_sql(form.predicate, asked.names)
    return f"({condition}) AND {INDEX} > {SINCE}" if asked.later else condition


def _by_join(form: Form, asked: _Asked) -> Frame:
    """Every row beside every member: for few members, or for predicates that no index serves."""
    members = asked.members.frame(form.name, asked.frames)
    return joined(asked.frame, members, _condition(form, asked)).selectExpr(*asked.columns, *asked.extra)


def _by_filter(form: Form, asked: _Asked) -> Frame | None:
    """Through the index of a grouped filter, in the kernel; None if that cannot be or would not help."""
    table = asked.members.tables[form.name]
    path = table.path
    if path is None or form.predicate is None or not isinstance(asked.frame, sheet.Frame):
        return None
    ranges = _ranges(form.predicate, asked.later)
    if ranges is None:
        return None
    attributes = [f"{spark_sql(expr, asked.names)} AS {name}" for name, expr in ranges.attributes.items()]
    types = {name: arrow_type(expr.type) for name, expr in ranges.attributes.items()}
    casts = {name: arrow_type(type_) for name, type_ in ranges.casts.items()}
    given = asked.frame.selectExpr(*asked.columns, *attributes)
    found = as_frame(given.matched(Filter(path, ranges.form, types, casts), QUERY))
    if asked.constants or not ranges.exact:
        found = found.join(asked.members.frame(form.name, asked.frames), QUERY)
    else:
        found = table.standing(found, asked.frames)
    if not ranges.exact:
        found = found.where(_condition(form, asked))
    return found.selectExpr(*asked.columns, *asked.extra)


@lru_cache(maxsize=10_000)
def _ranges(predicate: TypedExpr, later: bool) -> Ranges | None:
    return ranges_of(predicate, _LATER if later else None)
