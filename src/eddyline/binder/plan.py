"""A query that is bound, but may still become a part of another one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from eddyline.algebra.literals import with_literals
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import RelationChanges
from eddyline.algebra.revision import StreamRevise, WindowRevise
from eddyline.algebra.stream import StreamAcquire, StreamReceive
from eddyline.algebra.tag import TaggedObjectSelection, TagSelection
from eddyline.catalog.catalog import BoundQuery
from eddyline.errors import NotSupported, Position


@dataclass(frozen=True)
class Plan:
    """A bound query before it is known whether it stands alone or inside another."""

    operator: Operator
    streams: tuple[str, ...]
    relation: bool = False  # windows that stand for a CQL relation
    recent: bool = False  # a relation over the tag paper's windows: shown as the stream of its insertions


def plan_of_query(query: BoundQuery, position: Position | None, name: str = "") -> Plan:
    """A standing query as the input of another one, which sees what it shows."""
    operator = with_literals(query.plan, lambda literal: replace(literal, place=None))  # those are of another text
    if isinstance(operator, TagSelection):
        hint = "SELECT TAGGED OBJECTS gives the tuples"
        raise NotSupported("SELECT TAGS gives tags without tuples; no query can read it", position, hint)
    if isinstance(operator, RelationChanges):
        return Plan(operator.input, query.streams, relation=True)
    if isinstance(operator, StreamRevise):
        operator = replace(operator, of=name.lower())
    if isinstance(operator, WindowRevise):
        hint = f"make {name} a stream, CREATE QUERY {name} … AS RSTREAM(…), which is read as it is shown"
        raise NotSupported(f"{name} has revise_if, and no query can read windows as they are shown", position, hint)
    return Plan(operator, query.streams)


def as_inputs(query: BoundQuery, name: str) -> tuple[Operator, ...]:
    """What others that read a standing query have of it in their plans: it as it is shown, and with its tags."""
    try:
        plan = plan_of_query(query, None, name)
    except NotSupported:
        return ()
    if any(isinstance(operator, StreamRevise) for operator in plan.operator.walk()):
        return (plan.operator,)
    return plan.operator, with_its_tags(plan, None, name).operator


def with_its_tags(plan: Plan, position: Position | None, name: str) -> Plan:
    """A named query, standing or of a WITH clause, as the input of one that shows or reads tags: as if its text stood
    there in parentheses. Whether it shows tags itself is a matter of its own answers.
    """
    if any(isinstance(operator, StreamRevise) for operator in plan.operator.walk()):
        hint = f"leave the tags out, or read what {name} reads"
        raise NotSupported(f"{name} shows only corrections that matter, by revise_if, and no tags", position, hint)
    return replace(plan, operator=_tag_aware(plan.operator))


def _tag_aware(plan: Operator) -> Operator:
    if isinstance(plan, StreamReceive | StreamAcquire):
        return replace(plan, tick_tags=True)
    made = plan.with_inputs(*map(_tag_aware, plan.inputs))
    return replace(made, with_tags=True) if isinstance(made, TaggedObjectSelection) else made
