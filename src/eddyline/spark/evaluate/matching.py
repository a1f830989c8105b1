"""Which members of a query class want which rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from eddyline.algebra.expression import Column, Expr, Literal, TypedExpr, rewritten
from eddyline.algebra.sharing import MEMBER, QUERY, Form, Match
from eddyline.algebra.types import BIGINT, DataType
from eddyline.algebra.user_function import is_expensive
from eddyline.columnar.types import arrow_type
from eddyline.kernels import sheet
from eddyline.kernels.fits import why_not_expression
from eddyline.kernels.matching import Filter
from eddyline.kernels.ranges import Ranges, ranges_of
from eddyline.log.segment import INDEX
from eddyline.spark.evaluate.frames import Frame, Frames, as_frame, joined
from eddyline.spark.evaluate.members import SINCE, Members, sql_of
from eddyline.spark.evaluate.selecting import AskedFor, selected
from eddyline.spark.expression import Names, spark_sql
from eddyline.spark.literal import literal_sql

#: the pseudo-relation of what a row of a log has beside its values
_LOG = "$log"
_LATER = (Column(INDEX, BIGINT, _LOG), Column(SINCE.removeprefix("_"), BIGINT, MEMBER))


@dataclass(frozen=True)
class _Asked:
    """The rows that are matched and what stays of them."""

    frame: Frame
    columns: list[str]  # that stay
    asks: bool  # whether it is told if the member shows tags
    above: tuple[DataType, ...]  # the types of the constants of HAVING, which are told
    names: Names
    members: Members
    frames: Frames
    later: bool  # whether rows that came before a member was created are none of its business
    width: int  # of the rows

    def with_extra(self, rows: Frame, form: Form, written: Callable[[str], str] = str) -> Frame:
        """What stays of the rows and what is added of a member; `written`: how a column of its table is."""
        asks = [sql_of(form.asks)] if self.asks else []
        own = [written(QUERY), *asks, *(written(f"_a{i}") for i in range(len(self.above)))]
        return rows.selectExpr(*self.columns, *(f"{sql} AS c{i}" for i, sql in enumerate(own, self.width)))


def matched(
    node: Match,
    frame: Frame,
    kept: Sequence[str],
    names: Names,
    members: Members,
    frames: Frames,
    first: int = 0,
) -> Frame:
    """Each row once for every member that wants it: `kept`, c0, …, then what `member_columns` says.

    If `_index` is among `kept`, a member gets no rows that came before it was created. `first`: no index is smaller.
    """
    width = len(node.input.schema)
    columns = [*kept, *(f"c{i}" for i in range(width))]

    def name(column: Column) -> str:
        if column.relation == MEMBER:
            return f"_{column.name}"
        return column.name if column.relation == _LOG else names(column)

    later = INDEX in kept and members.since >= max(first, 1)
    asked = _Asked(frame, columns, node.asks, node.constants, name, members, frames, later, width)
    indexed = {form: ranges for form in node.forms if (ranges := _indexed(form, asked)) is not None}
    parts = [_by_join(form, asked) for form in node.forms if form not in indexed]
    parts += _by_filters(indexed, asked)
    made = parts[0]
    for part in parts[1:]:
        made = made.unionAll(part)
    return made


def _by_join(form: Form, asked: _Asked) -> Frame:
    """Every row beside every member: for few members, or for predicates that no index serves."""
    only = _only(form, asked)
    if only is not None:
        return _by_only(form, only, asked)
    members = asked.members.frame(form.name, asked.frames)
    condition = "true" if form.predicate is None else spark_sql(form.predicate, asked.names)
    if asked.later:
        condition = f"({condition}) AND {INDEX} > {SINCE}"
    return asked.with_extra(joined(asked.frame, members, condition), form)


def _only(form: Form, asked: _Asked) -> Mapping[str, Literal] | None:
    """What is known of the only member, by column, if the kernel takes a condition with these constants as it takes one
    of a query by itself; Spark would compile its plan anew for each."""
    values = asked.members.tables[form.name].only
    if values is None or not isinstance(asked.frame, sheet.Frame):
        return None
    types = {f"_p{i}": type_ for i, type_ in enumerate(form.constants)}
    types |= {f"_a{i}": type_ for i, type_ in enumerate(asked.above)}
    known = {name: Literal(value, types.get(name, BIGINT)) for name, value in values.items()}
    predicate = () if form.predicate is None else (_given(form.predicate, known),)
    return None if any(map(why_not_expression, (*known.values(), *predicate))) else known


def _given(predicate: TypedExpr, known: Mapping[str, Literal]) -> TypedExpr:
    def constant(part: Expr) -> TypedExpr | None:
        return known[f"_{part.name}"] if isinstance(part, Column) and part.relation == MEMBER else None

    return rewritten(predicate, constant)


def _by_only(form: Form, only: Mapping[str, Literal], asked: _Asked) -> Frame:
    """The rows that the only member wants: nothing is joined, and the kernel skips what its constants rule out."""

    def written(name: str) -> str:
        return literal_sql(only[name].value, only[name].type)

    condition = "true" if form.predicate is None else spark_sql(_given(form.predicate, only), asked.names)
    if asked.later:
        condition = f"({condition}) AND {INDEX} > {written(SINCE)}"
    return asked.with_extra(asked.frame.where(condition), form, written)


def _indexed(form: Form, asked: _Asked) -> Ranges | None:
    """What the index of a grouped filter is by, in the kernel; None if there cannot be one or it would not help."""
    path = asked.members.tables[form.name].path
    if path is None or form.predicate is None or not isinstance(asked.frame, sheet.Frame):
        return None
    return _ranges(form.predicate, asked.later)


def _by_filters(forms: Mapping[Form, Ranges], asked: _Asked) -> list[Frame]:
    """The rows are computed once for all forms, and so is each attribute that forms are indexed by."""
    if not forms:
        return []
    attributes: dict[TypedExpr, str] = {}
    for ranges in forms.values():
        for expr in ranges.attributes.values():
            attributes.setdefault(expr, f"_x{len(attributes)}")
    wanted = AskedFor(asked.names)
    costly = {name: wanted.value(expr) for expr, name in attributes.items() if is_expensive(expr)}
    cheap = [f"{spark_sql(e, asked.names)} AS {name}" for e, name in attributes.items() if name not in costly]
    given = asked.frame.selectExpr(*asked.columns, *cheap, *wanted.inputs)
    matched_by = [_matched_by(form, ranges, attributes, asked) for form, ranges in forms.items()]
    assert isinstance(given, sheet.Frame)
    found = given.matched(matched_by, costly, asked.columns, QUERY)
    return [
        _checked(form, ranges, as_frame(rows), asked) for (form, ranges), rows in zip(forms.items(), found, strict=True)
    ]


def _matched_by(form: Form, ranges: Ranges, attributes: Mapping[TypedExpr, str], asked: _Asked) -> sheet.Matched:
    table = asked.members.tables[form.name]
    assert table.path is not None
    types = {name: arrow_type(expr.type) for name, expr in ranges.attributes.items()}
    casts = {name: arrow_type(type_) for name, type_ in ranges.casts.items()}
    columns = {name: attributes[expr] for name, expr in ranges.attributes.items()}
    return sheet.Matched(form.name, Filter(table.path, ranges.form, types, casts, table.count), columns)


def _checked(form: Form, ranges: Ranges, found: Frame, asked: _Asked) -> Frame:
    """What no index serves is looked at on the candidates only."""
    if asked.above or ranges.rest is not None:
        found = found.join(asked.members.frame(form.name, asked.frames), QUERY)
    else:
        found = asked.members.tables[form.name].standing(found, asked.frames)
    if ranges.rest is not None:
        found = selected(found, ranges.rest, asked.names)
    return asked.with_extra(found, form)


@lru_cache(maxsize=10_000)
def _ranges(predicate: TypedExpr, later: bool) -> Ranges | None:
    return ranges_of(predicate, _LATER if later else None)
