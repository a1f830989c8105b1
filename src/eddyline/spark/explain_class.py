"""EXPLAIN of a query class: who is in it, how its members are found for a row, and what it shares with others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eddyline.algebra.expression import Column, Expr, Literal, TypedExpr
from eddyline.algebra.naming import sql_text
from eddyline.algebra.node import Operator
from eddyline.algebra.sharing import MEMBER, Form, MemberWindow, StreamMatch, WindowMatch
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamReceive
from eddyline.algebra.user_function import functions_of, is_expensive
from eddyline.algebra.window import TimeWindow
from eddyline.catalog.catalog import BoundQuery
from eddyline.kernels.one_filter import MOST_MEMBERS
from eddyline.kernels.ranges import ranges_of
from eddyline.sharing.shape import WINDOW, Shape, match_of, with_forms
from eddyline.spark.analyze import analyze
from eddyline.spark.classes import QueryClass
from eddyline.spark.evaluate.members import Members
from eddyline.spark.explain import Question, explain
from eddyline.spark.form_table import MOST_JOINED, FormTable
from eddyline.spark.physical import counted
from eddyline.spark.shapes import shape_of_query
from eddyline.spark.stages import LINEAR
from eddyline.spark.standing import Standing

if TYPE_CHECKING:
    from eddyline.spark.engine import Engine

#: so many others who share are named; the rest is counted
_NAMED = 8


def explain_class(engine: Engine, found: QueryClass, query: BoundQuery, run: bool) -> str:
    """The class and its plan for the form of a query; with `run`, what it costs for all forms over all that has passed.

    It is as the latest batch has seen it: taking in now who has come since would change it in the middle of a batch.
    """
    assert found.plan is not None
    shape = shape_of_query(query)
    own = None if shape is None else found.forms.get(shape.form)
    own = own or max(found.forms.values(), key=len)  # nobody in the class asks as it does
    columns = found.stages[-1].columns
    about = [*_about(found, own, engine.executor.queries()), *_its_own(shape)]
    if run:
        return "\n".join(
            [*about, analyze(engine, Question(found.name, found.plan, columns, revisions=query.revisions))]
        )
    # forms are planned one beside the other, each in the same way
    forms = match_of(found.plan).forms
    mine = tuple(each for each in forms if each.predicate == own.form.predicate) or forms[:1]
    question = Question(found.name, with_forms(found.plan, mine), columns, revisions=query.revisions)
    return "\n".join([*about, explain(engine, question)])


def _its_own(shape: Shape | None) -> list[str]:
    """The constants of a member, under the names that its form and the conditions above have for them."""
    if shape is None:
        return []
    names = [*(f"p{i}" for i in range(len(shape.where))), *(f"$a{i}" for i in range(len(shape.above)))]
    types = (*shape.where, *shape.above)
    told = [f"{n} = {sql_text(Literal(v, t))}" for n, v, t in zip(names, shape.constants, types, strict=True)]
    window = ""
    if shape.windowed:
        told, (first, last, slide) = told[:-WINDOW], shape.constants[-WINDOW:]
        window = f"windows from NOW{first:+} to NOW{last:+}, one every {counted(slide, 'tick')}"
    return [f"  its own: {', '.join([*told, *([window] if window else [])])}"] if told or window else []


def form_text(predicate: TypedExpr | None) -> str:
    """What a form asks, p0, p1, … for the constants of a member."""
    if predicate is None:
        return "everything"

    def bare(expr: Expr) -> Expr | None:
        return Column(expr.name, expr.type) if isinstance(expr, Column) and expr.relation == MEMBER else None

    return str(sql_text(predicate.rewrite(bare)))  # type: ignore[arg-type]


def _about(found: QueryClass, own: FormTable, standing: Sequence[Standing]) -> list[str]:
    others = len(found.forms) - 1
    lines = [
        f"class {found.name}: {counted(len(found), 'member')} in {counted(others + 1, 'form')}",
        f"  form {own.form.name}, {counted(len(own), 'member')}: {form_text(own.form.predicate)}",
        f"    {_how_found(own)}",
    ]
    if found.asking:
        shown = "all members show" if found.asking == len(found) else f"{found.asking:,} of {len(found):,} members show"
        lines.append(f"  {shown} tags: these are put together once for all, and taken away for those who show none")
    if others:
        lines.append(f"  and {counted(others, 'other form')}, {counted(len(found) - len(own), 'member')}")
    if found.shape is not None and found.shape.together:
        lines.append("  members began at the same moment, and see the same because of that: nobody comes later")
    windows = [window for window in _windows(found) if isinstance(window, MemberWindow)]
    lines += [f"  members have windows of their own, in slices of {counted(w.unit, 'tick')}" for w in windows]
    return [*lines, *(f"  {line}" for line in shares_of(found, standing))]


def _how_found(table: FormTable) -> str:
    predicate = table.form.predicate
    if predicate is None:
        return "all of them want every row"
    if len(table) <= MOST_JOINED and not is_expensive(predicate):
        return f"each row is compared with each of them: no more than {MOST_JOINED} are faster so"
    ranges = ranges_of(predicate)
    if ranges is None:
        return "each row is compared with each of them: no index serves the condition"
    attributes = ", ".join(sql_text(expr) for expr in ranges.attributes.values())
    rest = "" if ranges.rest is None else "; the rest of the condition is checked on those it finds"
    costly = [sql_text(expr) for expr in ranges.attributes.values() if is_expensive(expr)]
    eddy = f"; an eddy decides for which rows {', '.join(costly)} must be computed, and when" if costly else ""
    return f"a row finds those who want it by an index on {attributes}{rest}{eddy}"


def shares_of(found: Standing, standing: Sequence[Standing]) -> list[str]:
    """What a class or query has in common with the others at work."""
    others = [other for other in standing if other.name != found.name]
    lines = []
    for stream in _streams(found):
        readers = [other for other in others if stream in _streams(other)]
        if readers:
            lines.append(f"reads the same segments of {stream} as {_named(readers)}")
    mates = filter_mates(found, standing)
    if mates:
        lines.append(f"shares its filter with {_named(mates)}, over segments that both read")
    windows = {_window_key(window) for window in _windows(found)}
    alike = [other for other in others if windows & {_window_key(window) for window in _windows(other)}]
    return [*lines, *([f"has the same windows as {_named(alike)}"] if alike else [])]


def filter_mates(found: Standing, standing: Sequence[Standing]) -> list[Standing]:
    """The classes whose members are found by the same filter as those of this one, for rows that both want."""
    by = _filtered_rows(found)
    if by is None:
        return []
    return [other for other in standing if other.name != found.name and _filtered_rows(other) == by]


def _filtered_rows(standing: Standing) -> tuple[str, str] | None:
    """The stream whose rows are looked up for the members of a class, and which rows; None if others cannot join in."""
    if standing.members is None:
        return None
    for stage in standing.stages:
        match = next((op for op in stage.plan.walk() if isinstance(op, StreamMatch | WindowMatch)), None)
        if match is None:
            continue
        in_windows = isinstance(match.input, TimeWindow)
        rows: Operator = match.input.inputs[0] if in_windows else match.input
        while isinstance(rows, StreamAlias):
            rows = rows.input
        if not isinstance(rows, StreamReceive | StreamAcquire) or not (in_windows or stage.kind == LINEAR):
            return None
        found = any(_by_shared_filter(form, standing.members) for form in match.forms)
        kind = "windows" if in_windows else "tuples"
        return (rows.name, kind) if found and not functions_of(stage.plan) else None
    return None


def _by_shared_filter(form: Form, members: Members) -> bool:
    table = members.tables.get(form.name)
    if table is None or table.path is None or table.count > MOST_MEMBERS or form.predicate is None:
        return False
    return ranges_of(form.predicate) is not None


def _streams(standing: Standing) -> tuple[str, ...]:
    own = {stage.name for stage in standing.stages}
    return tuple(dict.fromkeys(name for stage in standing.stages for name in stage.streams if name not in own))


def _windows(standing: Standing) -> list[TimeWindow]:
    return [op for stage in standing.stages for op in stage.plan.walk() if isinstance(op, TimeWindow)]


def _window_key(window: TimeWindow) -> tuple[object, ...]:
    return type(window), window.scope, window.slide


def _named(others: Sequence[Standing]) -> str:
    names = [
        f"{other.name} ({counted(len(other), 'member')})" if isinstance(other, QueryClass) else other.name
        for other in others[:_NAMED]
    ]
    more = len(others) - len(names)
    return ", ".join([*names, *([f"{more:,} more"] if more else [])])
