"""EXPLAIN: which query is asked about, and what is to be shown of it. Each engine renders it in its own way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from eddyline.algebra.node import Operator
from eddyline.binder.attach import bind_continuous
from eddyline.binder.environment import Environment
from eddyline.binder.expression import position_of
from eddyline.binder.query import bind_query
from eddyline.catalog.catalog import BoundQuery, Catalog
from eddyline.errors import Position, UnknownName, nearest
from eddyline.language import syntax
from eddyline.rules import optimize

#: what is shown: the plan that is run, the algebra as it is written, or what running the plan costs
PLAN, ALGEBRA, ANALYZE = "plan", "algebra", "analyze"


@dataclass(frozen=True)
class Show:
    """A plan for the user. `plan` is that of the query, after the rules unless the algebra is asked for."""

    name: str  # of the query, or explain1, explain2, …
    what: str
    query: BoundQuery
    plan: Operator
    rules: tuple[str, ...]  # that have changed the plan
    position: Position | None
    cpu_limit: float | None = None  # of its joins, in processors; None: as many as the machine has
    memory_limit: float | None = None  # of its joins, in bytes
    tick_micros: int = 1_000_000


def bind_explain(node: syntax.Explain, env: Environment, unnamed: str, without_rules: frozenset[str]) -> Show:
    """`unnamed` is what a query is called that stands in the statement itself."""
    what = (node.args.get("mode") or PLAN).lower()
    name, query = _target(node.this, env, unnamed)
    position = position_of(node)
    if what == ALGEBRA:
        return Show(name, what, query, query.plan, (), position)
    return replace(show_query(name, query, env.catalog, without_rules), what=what, position=position)


def show_query(name: str, query: BoundQuery, catalog: Catalog, without_rules: frozenset[str] = frozenset()) -> Show:
    """The plan by which a query is run, with its limits or those of all."""
    best = optimize(query.plan, without_rules)
    cpu = catalog.cpu_limit if query.cpu_limit is None else query.cpu_limit
    memory = catalog.memory_limit if query.memory_limit is None else query.memory_limit
    return Show(name, PLAN, query, best.plan, best.applied, None, cpu, memory, catalog.tick_micros)


def _target(target: exp.Expr, env: Environment, unnamed: str) -> tuple[str, BoundQuery]:
    if isinstance(target, syntax.Name):
        return _named(target, env.catalog)
    if isinstance(target, syntax.AttachTag):
        return unnamed, bind_continuous(target, env, unnamed)[2]
    assert isinstance(target, syntax.Query)
    return unnamed, bind_query(target, env)


def _named(target: syntax.Name, catalog: Catalog) -> tuple[str, BoundQuery]:
    name = target.text_form
    found = catalog.query(name)
    one_of_many = catalog.one_of_many(name) if found is None else None
    if one_of_many is not None:
        return name, one_of_many
    if found is None:
        guess = nearest(name, (catalog.names[key] for key in catalog.queries))
        hint = f"did you mean {guess}?" if guess else None
        raise UnknownName(f"there is no query {name}", position_of(target), hint)
    return catalog.names[name.lower()], found
