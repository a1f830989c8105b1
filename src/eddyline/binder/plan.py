"""A query that is bound, but may still become a part of another one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from eddyline.algebra.literals import with_literals
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import RelationChanges
from eddyline.algebra.revision import StreamRevise, WindowRevise
from eddyline.algebra.tag import TagSelection
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
