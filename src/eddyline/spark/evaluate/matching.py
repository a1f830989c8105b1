"""Which members of a query class want which rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from eddyline.algebra.expression import Column, TypedExpr
from eddyline.algebra.sharing import MEMBER, QUERY, Form, Match
from eddyline.algebra.types import BIGINT, DataType
from eddyline.algebra.user_function import is_expensive
from eddyline.columnar.types import arrow_type
from eddyline.kernels import sheet
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
#: what is said of a member without a column of its table
_SAID = frozenset(map(sql_of, (False, True)))
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

    def extra(self, form: Form) -> list[tuple[str, str]]:
        """What is added of a member: columns of its table, or as SQL, each with the name it gets."""
        asks = [sql_of(form.asks)] if self.asks else []
        own = [QUERY, *asks, *(f"_a{i}" for i in range(len(self.above)))]
        return [(name, f"c{i}") for i, name in enumerate(own, self.width)]

    def with_extra(self, rows: Frame, form: Form) -> Frame:
        return rows.selectExpr(*self.columns, *(f"{name} AS {as_}" for name, as_ in self.extra(form)))


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
    only = asked.members.tables[form.name].only
    if only is not None and isinstance(asked.frame, sheet.Frame):
        return _by_only(form, only, asked)
    members = asked.members.frame(form.name, asked.frames)
    condition = "true" if form.predicate is None else spark_sql(form.predicate, asked.names)
    if asked.later:
        condition = f"({condition}) AND {INDEX} > {SINCE}"
    return asked.with_extra(joined(asked.frame, members, condition), form)


def _by_only(form: Form, only: Mapping[str, Any], asked: _Asked) -> Frame:
    """The rows that the only member wants. To the kernel its constants are what those of a query by itself are, which
    is twice as fast as comparing with a table of one row; Spark would compile the statement anew for each of them."""
    types = {f"_p{i}": type_ for i, type_ in enumerate(form.constants)}
    types |= {f"_a{i}": type_ for i, type_ in enumerate(asked.above)}

    def known(name: str) -> str:
        return literal_sql(only[name], types.get(name, BIGINT))

    def name(column: Column) -> str:
        return known(f"_{column.name}") if column.relation == MEMBER else asked.names(column)

    condition = "true" if form.predicate is None else spark_sql(form.predicate, name)
    if asked.later:
        condition = f"({condition}) AND {INDEX} > {known(SINCE)}"
    columns = [f"{value if value in _SAID else known(value)} AS {as_}" for value, as_ in asked.extra(form)]
    return asked.frame.where(condition).selectExpr(*asked.columns, *columns)


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
