"""Queries that show tags in query classes: what they have in common with those that do not.

A class has one plan while nobody in it shows tags, and another while somebody does: the same with a column of marks.
Both have the same match, so members of both kinds are found by the same tables, and both write the same log, in which
older segments have no such column.
"""

from __future__ import annotations

from dataclasses import replace

from eddyline.algebra.marks import MARKS
from eddyline.algebra.node import Operator
from eddyline.algebra.remote import is_remote
from eddyline.algebra.sharing import QUERY
from eddyline.algebra.stream import StreamAcquire, StreamReceive
from eddyline.algebra.tag import TaggedObjectSelection, Tagger
from eddyline.algebra.user_function import UserFunction, functions_in, functions_of
from eddyline.catalog.catalog import DOWNSTREAM, TAGS, BoundQuery
from eddyline.sharing import Shape, shape_of
from eddyline.spark.stages import cut
from eddyline.spark.tags.lowering import reads_tags, reads_tags_itself


def without_tags(plan: Operator) -> Operator:
    """The plan of the same query without WITH TAGS; tags that say what it answers are still read."""
    if reads_tags(plan):
        return _hidden(plan)
    return _untagged(plan)


def _hidden(plan: Operator) -> Operator:
    """Down to who reads tags first: what that reads, is carried there."""
    if isinstance(plan, TaggedObjectSelection):
        return replace(plan, with_tags=False)
    if reads_tags_itself(plan):
        return plan
    return plan.with_inputs(*map(_hidden, plan.inputs))


def _untagged(plan: Operator) -> Operator:
    if isinstance(plan, StreamReceive | StreamAcquire):
        return replace(plan, tick_tags=False)
    if isinstance(plan, Tagger):
        return _untagged(plan.input)
    return plan.with_inputs(*map(_untagged, plan.inputs))


def shape_in_class(query: BoundQuery) -> Shape | None:
    """The shape of a query, with or without tags; None if it cannot be answered together with others."""
    if any(map(is_remote, query.plan.walk())):
        return None  # each has its own tuples that wait
    if query.in_class is None:
        return None if MARKS in query.columns else shape_of(query.plan, query.columns)
    plain, shown = query.in_class
    if shown is None:
        return shape_of(plain, query.columns)
    marked, bare = shape_of(shown, query.columns), shape_of(plain, query.columns[:-1])
    if marked is None:
        return None
    if bare is not None and _same(marked, bare) and why_apart(marked, query) is None:
        return replace(bare, marked=marked.plan)
    return replace(marked, columns=query.columns[:-1], marked=marked.plan)


def functions_of_shape(shape: Shape) -> tuple[UserFunction, ...]:
    """The functions that a class calls, those among them that carry tags along."""
    asked = () if shape.predicate is None else functions_in([shape.predicate])
    shown = () if shape.marked is None else functions_of(shape.marked)
    return (*functions_of(shape.plan), *shown, *asked)


def why_apart(shape: Shape, query: BoundQuery) -> str | None:
    """Why a query that shows tags shares with others that do so alone; None if it may with all."""
    if query.revisions == DOWNSTREAM:
        return "tags are in no slices, and it has its answers corrected from slices"
    assert shape.marked is not None or query.in_class is not None
    plan = shape.plan if shape.marked is None else shape.marked
    if len(cut("", plan, (*query.columns, QUERY))) > 1:
        return "there is a stream inside of it, which has a log that carries tags or does not"
    return None


def _same(marked: Shape, bare: Shape) -> bool:
    """Whether both are found among members in the same way."""
    one, other = ((s.predicate, s.where, s.constants, s.above, s.windowed, s.together) for s in (marked, bare))
    return one == other


def why_alone(query: BoundQuery) -> str | None:
    """Why a query with tags is never a member of a class; None if it may be, or has no tags."""
    if query.kind != TAGS:
        return None
    return "what it tells are tags themselves, which stand between tuples and are told once"
