"""What is said of a query beside what it asks: CREATE QUERY … WITH (setting = constant, …)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from sqlglot import exp

from eddyline.algebra.node import Operator
from eddyline.binder.limit import cpu_limit, memory_limit
from eddyline.binder.position import position_of
from eddyline.binder.revise_if import with_revise_if
from eddyline.catalog.catalog import AUTO, DOWNSTREAM, UPSTREAM, BoundQuery
from eddyline.errors import DuplicateName, InvalidDefinition, Position, UnknownName, nearest
from eddyline.language import syntax
from eddyline.planner.multi_join import input_names, inputs_of, join_nodes
from eddyline.planner.written import tree_written

HIGHEST_PRIORITY = 10


def with_settings(query: BoundQuery, settings: Iterable[syntax.Setting]) -> BoundQuery:
    """The query as its settings want it."""
    seen: set[str] = set()
    for setting in settings:
        name = setting.this.name.lower()
        if name not in _SETTINGS:
            guess = nearest(name, _SETTINGS)
            hint = f"did you mean {guess}?" if guess else f"there is {', '.join(_SETTINGS)}"
            raise UnknownName(f"there is no setting {setting.this.name}", position_of(setting.this), hint)
        if name in seen:
            raise DuplicateName(f"{name} is given twice", position_of(setting))
        seen.add(name)
        query = _SETTINGS[name](query, setting.args["value"])
    return query


def checked_priority(value: object, position: Position | None = None) -> int:
    """A whole number from 1 to 10."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= HIGHEST_PRIORITY:
        raise InvalidDefinition(f"a priority is a whole number from 1 to {HIGHEST_PRIORITY}, not {value}", position)
    return value


def checked_way(way: object, text: str, position: Position | None = None) -> str:
    """How answers are corrected; `text` is how the user has put it."""
    if way not in (UPSTREAM, DOWNSTREAM, AUTO):
        raise InvalidDefinition(f"revisions is '{AUTO}', '{UPSTREAM}' or '{DOWNSTREAM}', not {text}", position)
    return str(way)


def _priority(query: BoundQuery, value: exp.Expr) -> BoundQuery:
    text = value.sql()
    number = int(text) if text.isdigit() else text
    return replace(query, priority=checked_priority(number, position_of(value)))


def _revisions(query: BoundQuery, value: exp.Expr) -> BoundQuery:
    way = value.name.lower() if isinstance(value, exp.Literal) and value.is_string else ""
    return replace(query, revisions=checked_way(way, value.sql(), position_of(value)))


def _revise_if(query: BoundQuery, value: exp.Expr) -> BoundQuery:
    if not isinstance(value, exp.Literal) or not value.is_string:
        hint = "write it in quotes: revise_if = 'abs(new - old) > 0.5'"
        raise InvalidDefinition("revise_if is a condition on old and new", position_of(value), hint)
    return with_revise_if(query, value.name, position_of(value))


def _join_tree(query: BoundQuery, value: exp.Expr) -> BoundQuery:
    if not isinstance(value, exp.Literal) or not value.is_string:
        hint = "write it in quotes: join_tree = '((a b) c)'"
        raise InvalidDefinition("join_tree is the tree by which a join runs", position_of(value), hint)
    inputs = _joined(query)
    if inputs is None:
        raise InvalidDefinition("only a join of three inputs or more has a tree", position_of(value))
    try:
        tree_written(value.name, input_names(inputs))
    except InvalidDefinition as problem:
        raise InvalidDefinition(problem.message, position_of(value), problem.hint) from None
    return replace(query, join_tree=value.name)


def _joined(query: BoundQuery) -> tuple[Operator, ...] | None:
    """The inputs of the join that runs by a tree; None if there is none."""
    joins = [inputs_of(node) for node in join_nodes(query.plan)]
    return next((inputs for inputs in joins if len(inputs) > 2), None)


def _of_a_join(query: BoundQuery, value: exp.Expr, name: str) -> BoundQuery:
    if _joined(query) is None:
        hint = "other queries take what they need"
        raise InvalidDefinition(f"only a join of three inputs or more has a {name}", position_of(value), hint)
    return query


_SETTINGS: Mapping[str, Callable[[BoundQuery, exp.Expr], BoundQuery]] = {
    "priority": _priority,
    "revisions": _revisions,
    "revise_if": _revise_if,
    "join_tree": _join_tree,
    "cpu_limit": lambda query, value: _of_a_join(replace(query, cpu_limit=cpu_limit(value)), value, "cpu_limit"),
    "memory_limit": lambda query, value: _of_a_join(
        replace(query, memory_limit=memory_limit(value)), value, "memory_limit"
    ),
}
