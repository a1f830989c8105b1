"""Queries: from syntax to the algebra (SNEEql section 5)."""

from __future__ import annotations

from eddyline.algebra.node import WindowOp
from eddyline.algebra.relational import Instants, RelationChanges
from eddyline.algebra.stream import DStream, IStream, RStream
from eddyline.binder.asking import check_order
from eddyline.binder.environment import Environment
from eddyline.binder.expression import position_of
from eddyline.binder.plan import Plan, plan_of_query
from eddyline.binder.select import Select
from eddyline.binder.special import counts_tags
from eddyline.binder.stream_query import stream_plan
from eddyline.binder.tag_query import bind_tag_query, is_tag_query
from eddyline.binder.window_query import window_plan
from eddyline.catalog.catalog import RELATION, STREAM, WINDOWS, BoundQuery
from eddyline.errors import Unbounded
from eddyline.language import syntax


def bind_query(node: syntax.Query, env: Environment) -> BoundQuery:
    """A query that stands alone: how its answers are shown follows from its inputs."""
    if is_tag_query(node):
        bound = bind_tag_query(node, _defining(node, env))  # type: ignore[arg-type]
        check_order(bound.plan, position_of(node))
        return bound
    with_tags = _wants_tags(node)
    plan = bind_plan(node, env.with_tags(with_tags))
    operator, kind = plan.operator, STREAM
    if isinstance(operator, WindowOp):
        kind = WINDOWS
        if plan.relation and plan.streams:
            operator, kind = (IStream(operator), STREAM) if plan.recent else (RelationChanges(operator), RELATION)
    check_order(operator, position_of(node))
    return BoundQuery(operator, kind, operator.schema.names, with_tags, plan.streams)


def _wants_tags(node: syntax.Query) -> bool:
    while isinstance(node, syntax.ToStream):
        node = node.this
    return bool(node.args.get("with_tags"))


def bind_plan(node: syntax.Query, env: Environment) -> Plan:
    if isinstance(node, syntax.ToStream):
        return _to_stream(node, env)
    assert isinstance(node, syntax.SelectQuery)
    env = _defining(node, env)
    if is_tag_query(node):
        return plan_of_query(bind_tag_query(node, env), position_of(node))
    select = Select(node, env.with_tags(bool(node.args.get("with_tags")) or counts_tags(node)))
    select.bind()
    if select.is_stream:
        return Plan(stream_plan(select), select.streams)
    recent = select.is_relation and any(i.recent for i in select.inputs)
    return Plan(window_plan(select), select.streams, select.is_relation, recent)


def _defining(node: syntax.Query, env: Environment) -> Environment:
    """With the names of its WITH clause; whoever reads one of them says whether tags are carried."""
    for definition in node.args.get("ctes") or ():
        env = env.defining(definition.this.name, bind_plan(definition.args["query"], env))
    return env


def _to_stream(node: syntax.ToStream, env: Environment) -> Plan:
    plan = bind_plan(node.this, env)
    operator, kind = plan.operator, node.args["kind"]
    if not isinstance(operator, WindowOp):
        hint = "give its stream a window, e.g. [FROM NOW-10 TO NOW SLIDE 1 MIN], or leave the wrapper out"
        raise Unbounded(
            f"{kind} turns windows into a stream, but this query is a stream already", position_of(node), hint
        )
    if kind == "RSTREAM":
        return Plan(RStream(Instants(operator) if plan.relation and plan.streams else operator), plan.streams)
    return Plan({"ISTREAM": IStream, "DSTREAM": DStream}[kind](operator), plan.streams)
