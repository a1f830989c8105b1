"""WITH (revise_if = 'abs(new - old) > 0.5'): which corrections of a query's answer matter.

The condition is asked of a result as it is shown (`old`) and as it should be (`new`). So it must be known which result
of the one is which of the other: tuples of a stream have their index, rows of a window the keys that they were grouped
by.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from eddyline.algebra.expression import Column, TypedExpr
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.relational import (
    Instants,
    RelationChanges,
    WindowAggregation,
    WindowAlias,
    WindowDistinct,
    WindowProject,
    WindowSelect,
    WindowSort,
)
from eddyline.algebra.revision import NEW, OLD, ReviseIf, StreamRevise, WindowRevise, pair_schema
from eddyline.algebra.schema import Schema
from eddyline.algebra.stream import (
    DStream,
    IStream,
    RStream,
    StreamAcquire,
    StreamAlias,
    StreamProject,
    StreamReceive,
    StreamSelect,
)
from eddyline.algebra.types import is_numeric
from eddyline.binder.expression import bind_predicate
from eddyline.binder.unbounded import true_without_bound, widened
from eddyline.catalog.catalog import BoundQuery
from eddyline.errors import (
    EddylineError,
    InvalidDefinition,
    InvalidGrouping,
    NotSupported,
    Position,
    UnknownColumn,
    nearest,
)
from eddyline.language import parse_condition

_PER_TUPLE = (StreamSelect, StreamProject, StreamAlias, StreamRevise)
_PER_WINDOW = (WindowSelect, WindowSort, WindowDistinct, WindowAlias, Instants)
_EXAMPLE = "write a condition on old and new, such as 'abs(new - old) > 0.5'"


def with_revise_if(query: BoundQuery, text: str, place: Position | None = None) -> BoundQuery:
    """The query, whose corrections are shown if a condition holds; `place` is that of the text with its quotes."""
    start = None if place is None or place.end - place.start != len(text) + 2 else place.start + 1
    try:
        tree = parse_condition(text, start or 0)
        keys = _keys_of(query)
        revise = _bound(text, tree, query.plan.schema, keys)
    except EddylineError as problem:
        if isinstance(problem, InvalidGrouping):
            problem.hint = "the condition is about one result, as it is shown and as it should be"
        if start is None or problem.position is None:
            problem.position = place  # it is written with escapes, or nobody has written it
        raise
    plan = query.plan
    if isinstance(plan, WindowOp):
        return replace(query, plan=WindowRevise(revise, plan), revise_if=text)
    assert isinstance(plan, StreamOp)
    return replace(query, plan=StreamRevise(revise, plan), revise_if=text)


# -- who is who -------------------------------------------------------------------------------------------------------


def _keys_of(query: BoundQuery) -> tuple[int, ...] | None:
    """The positions of the columns by which rows of a window are paired; None for tuples, which have their index."""
    plan = query.plan
    if plan.tagged or "tag" in query.kind:
        raise NotSupported("revise_if does not go with tags")
    if isinstance(plan, RelationChanges):
        hint = "wrap it in RSTREAM, ISTREAM or DSTREAM, or give its window a SLIDE: [FROM NOW-… TO NOW SLIDE …]"
        raise NotSupported("the answer is what enters and leaves a relation, of which nothing is revised", None, hint)
    if not any(isinstance(operator, StreamOp) for operator in plan.walk()):
        raise NotSupported("a query over tables alone is answered once, so there is nothing to revise")
    if isinstance(plan, RStream | IStream | DStream):
        return _window_keys(plan.input)
    if isinstance(plan, WindowOp):
        return _window_keys(plan)
    _check_tuples(plan)
    return None


def _check_tuples(plan: Operator) -> None:
    while isinstance(plan, _PER_TUPLE):
        plan = plan.inputs[0]
    if not isinstance(plan, StreamReceive | StreamAcquire | RStream | IStream | DStream):
        hint = "a row of the table may match one time and not another; leave revise_if away, or aggregate in a window"
        raise NotSupported("what a tuple finds in a table cannot be told apart from one time to the next", None, hint)


def _window_keys(plan: Operator) -> tuple[int, ...]:
    """By lineage: each key must come out as it is."""
    if isinstance(plan, WindowAggregation):
        return tuple(range(len(plan.keys)))
    if isinstance(plan, _PER_WINDOW):
        return _window_keys(plan.inputs[0])
    if isinstance(plan, WindowProject):
        below = plan.input.schema.fields
        found = []
        for key in _window_keys(plan.input):
            wanted = Column(below[key].name, below[key].type, below[key].relation)
            place = next((i for i, column in enumerate(plan.columns) if column.expr == wanted), None)
            if place is None:
                hint = f"add {wanted.name} to SELECT"
                raise NotSupported(f"without {wanted.name}, by which it is grouped, rows cannot be paired", None, hint)
            found.append(place)
        return tuple(found)
    hint = "group them: with GROUP BY, the keys tell which row of a window was which"
    raise NotSupported("the rows of its windows cannot be paired with those that were shown before", None, hint)


# -- the condition ----------------------------------------------------------------------------------------------------


@dataclass
class _PairScope:
    """`old` and `new` alone mean a column that is given; `old.c` and `new.c` that of a name."""

    output: Schema
    column: int | None  # None: which columns are meant is not asked yet
    bare: list[Position | None] = field(default_factory=list)
    named: list[int] = field(default_factory=list)

    def resolve(self, parts: tuple[str, ...], position: Position | None) -> TypedExpr:
        relation, *rest = (part.lower() for part in parts)
        if relation not in (OLD, NEW) or len(rest) > 1:
            hint = f"{OLD} is a result as it is shown, {NEW} as it should be; {OLD}.c is a column of it"
            raise UnknownColumn(f"there is no {'.'.join(parts)} in revise_if", position, hint)
        if rest:
            place = next((i for i, f in enumerate(self.output.fields) if f.name.lower() == rest[0]), None)
            if place is None:
                guess = nearest(parts[1], self.output.names)
                hint = f"did you mean {relation}.{guess}?" if guess else f"it has {', '.join(self.output.names)}"
                raise UnknownColumn(f"the query has no column {parts[1]}", position, hint)
            self.named.append(place)
        else:
            self.bare.append(position)
            place = self.column or 0
        found = self.output.fields[place]
        return widened(Column(found.name, found.type, relation))


def _bound(text: str, tree: exp.Expr, output: Schema, keys: tuple[int, ...] | None) -> ReviseIf:
    _with_doubles(tree)
    numeric = [i for i, f in enumerate(output.fields) if is_numeric(f.type) and i not in (keys or ())]
    scope = _PairScope(output, numeric[0] if numeric else None)
    first = true_without_bound(bind_predicate(tree, scope))
    schema = pair_schema(output)
    if not scope.bare and not scope.named:
        raise InvalidDefinition("revise_if says nothing about old and new", hint=_EXAMPLE)
    if not scope.bare:
        return ReviseIf(text, keys, tuple(dict.fromkeys(scope.named)), (first,), schema, each=False)
    if scope.named:
        hint = f"name all of them: {OLD}.c and {NEW}.c"
        message = "old and new alone mean each numeric column in turn, so no other can be named beside them"
        raise NotSupported(message, scope.bare[0], hint)
    if not numeric:
        hint = f"name the column: {OLD}.c and {NEW}.c"
        raise InvalidDefinition(
            "old and new mean numeric columns that are not grouped by; there is none", scope.bare[0], hint
        )
    conditions = tuple(true_without_bound(bind_predicate(tree, _PairScope(output, place))) for place in numeric)
    return ReviseIf(text, keys, tuple(numeric), conditions, schema)


def _with_doubles(tree: exp.Expr) -> None:
    """A threshold like 0.5 is a DOUBLE: beside a BIGINT a DECIMAL would make all of it a DECIMAL, for no gain."""
    for constant in tree.find_all(exp.Literal):
        if not constant.is_string and "." in constant.name and "e" not in constant.name.lower():
            constant.set("this", f"{constant.name}E0")
