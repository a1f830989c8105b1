"""Streams of tuples: input, selection, projection and look-up in tables (SNEEql section 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, zip_longest
from typing import Any

from eddyline.algebra.expression import columns_of
from eddyline.algebra.remote import asks
from eddyline.algebra.stream import StreamAcquire, StreamLookup, StreamProject, StreamReceive, StreamSelect
from eddyline.algebra.tagging import taggers_for
from eddyline.reference.coverage import covered
from eddyline.reference.element import Change, Clock, Row, Stamped, StreamElement, Values
from eddyline.reference.expression import compile_expression, compile_predicate
from eddyline.reference.feed import Feed
from eddyline.reference.marks import join_marks, project_marks
from eddyline.reference.tag import delayed_tags, tagged


def receive(node: StreamReceive | StreamAcquire, feed: Feed) -> Iterator[StreamElement]:
    """What arrives on an extent, with its tags if the query wants them, with tick and index if it names them."""
    elements: Iterator[Any]
    if node.tick_tags:
        # nothing is forgotten here: however late a tuple, the tags of its time are still known
        given: Iterator[Any] = covered(feed.of(node.name), node.declared, node.name, lateness=None)
        elements = tagged(given, node.name, lambda: taggers_for(node, feed.taggers.of(node.name)))
    else:
        elements = (element for element in feed.of(node.name) if isinstance(element, Change | Clock))
    return _with_implicit(elements) if node.implicit else elements


def _with_implicit(elements: Iterator[StreamElement]) -> Iterator[StreamElement]:
    for element in elements:
        yield _mapped(element, lambda s, i: Row((*s.row.values, s.tick, i), s.row.marks))


def _mapped(element: StreamElement, function: Callable[[Stamped, int], Row]) -> StreamElement:
    """The same change to what `function` makes of each version."""
    if not isinstance(element, Change):
        return element

    def version(stamped: Stamped | None) -> Stamped | None:
        return None if stamped is None else Stamped(stamped.tick, function(stamped, element.index))

    return Change(element.index, version(element.old), version(element.new))


def select(node: StreamSelect, elements: Iterator[StreamElement]) -> Iterator[StreamElement]:
    """A replacement becomes an insertion, a deletion or a replacement as old and new satisfy the predicate."""
    satisfies = compile_predicate(node.predicate, node.input.schema)

    def selected() -> Iterator[StreamElement]:
        for element in elements:
            if not isinstance(element, Change):
                yield element
                continue
            old = element.old if element.old and satisfies(element.old.row.values) else None
            new = element.new if element.new and satisfies(element.new.row.values) else None
            if old or new:
                yield replace(element, old=old, new=new)

    return delayed_tags(selected()) if node.tagged else selected()


def project(node: StreamProject, elements: Iterator[StreamElement]) -> Iterator[StreamElement]:
    schema = node.input.schema
    compute = [compile_expression(column.expr, schema) for column in node.columns]
    reads = [frozenset(schema.position(c.name, c.relation) for c in columns_of(n.expr)) for n in node.columns]

    def projected(stamped: Stamped, _: int) -> Row:
        row = stamped.row
        marks = project_marks(row.marks, reads) if row.marks else ()
        return Row(tuple(function(row.values) for function in compute), marks)

    for element in elements:
        mapped = _mapped(element, projected)
        if not isinstance(mapped, Change) or mapped.old != mapped.new:
            yield mapped


def lookup(
    node: StreamLookup, elements: Iterator[StreamElement], table: Callable[[], Sequence[Values]]
) -> Iterator[StreamElement]:
    """Each tuple beside the matching rows of the table as it stands on arrival."""
    return _beside(node, elements, lambda values: table())


def remote_lookup(
    node: StreamLookup, elements: Iterator[StreamElement], answers: Callable[[Any], Sequence[Values]]
) -> Iterator[StreamElement]:
    """Each tuple beside the rows that the table gives for its key, as if it had not taken any time to ask."""
    key = compile_expression(asks(node), node.input.schema)

    def rows(values: Values) -> Sequence[Values]:
        asked = key(values)
        return () if asked is None else answers(asked)

    return _beside(node, elements, rows)


def _beside(
    node: StreamLookup, elements: Iterator[StreamElement], table: Callable[[Values], Sequence[Values]]
) -> Iterator[StreamElement]:
    """Each tuple beside the rows of a table that fit; the output has indexes of its own.

    A revision meets the table as it stands when the revision arrives.
    """
    widths = (len(node.input.schema), len(node.table.schema))
    satisfies = None if node.predicate is None else compile_predicate(node.predicate, node.schema)
    following = count(1)
    given: dict[int, list[tuple[int, Stamped]]] = {}  # input index → what was put out for it

    def beside(stamped: Stamped | None) -> list[Stamped]:
        if stamped is None:
            return []
        row = stamped.row
        marks = join_marks(row.marks, widths[0], (), widths[1]) if row.marks else ()
        found = (row.values + other for other in table(row.values))
        return [Stamped(stamped.tick, Row(v, marks)) for v in found if satisfies is None or satisfies(v)]

    for element in elements:
        if not isinstance(element, Change):
            yield element
            continue
        before = given.pop(element.index, [])
        kept = []
        for earlier, new in zip_longest(before, beside(element.new)):
            index = earlier[0] if earlier else next(following)
            old = earlier[1] if earlier else None
            if old != new:
                yield Change(index, old, new)
            if new is not None:
                kept.append((index, new))
        if kept:
            given[element.index] = kept
