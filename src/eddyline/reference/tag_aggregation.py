"""Aggregates over the tuples of each tag group (Stream Tag Framework section 4.1, "Tag-Based Aggregation")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

from eddyline.algebra.arrival import by_arrival, saying, text_of_sayings
from eddyline.algebra.dictionary import Dictionary, shipped
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import Applicability, TagAggregation, TickTag, WindowTagAggregation
from eddyline.reference.element import Change, Clock, Row, Stamped, StreamElement, TagElement, Window, WindowElement
from eddyline.reference.marks import group_marks
from eddyline.reference.relational import aggregate_function, each_window, reads, within
from eddyline.reference.tag import stream_below
from eddyline.reference.tag_group import TagGroup, TagGroups
from eddyline.reference.value import order_key


def tag_aggregation(
    node: TagAggregation, elements: Iterable[StreamElement], dictionary: Dictionary | None = None
) -> Iterator[StreamElement]:
    """After every batch the answers of the groups that it has changed, which replace their last ones.

    The first answer of a group is an insertion, later ones are replacements under the same index; the tick is the
    latest of the group's tuples. Each of the group's tags is sent once, in front of the first answer that it belongs
    to. In front of an answer for tuples without tags stands a tag without content, so that no earlier tag seems to
    apply to it. After a revision the groups are formed again from all tuples, since a tuple may have founded one.

    Tuples are put into groups in the order in which they came. Those that a query has made did not come one by one:
    they go by their ticks, then by their values, then by what their tags say.
    """
    answer = _answering(node, node.input.schema)
    arrive = by_arrival(node.input)
    tuples: dict[int, Stamped] = {}  # by index, in order of arrival
    groups = _groups_of(node, {}, dictionary)
    touched: dict[int, TagGroup] = {}  # those that this batch has added to, while it revises nothing
    revised = False
    given: dict[str, tuple[int, Stamped]] = {}  # by group: the index and the answer that stands
    indexes = count(1)
    sent: set[TickTag] = set()

    def tags_before(group: TagGroup, tick: int) -> Iterator[TagElement]:
        if group.founder is None:
            yield TagElement(tick, _no_tag(stream_below(node), tick))
        for mark in group.marks:
            if mark.tag not in sent:
                sent.add(mark.tag)
                yield TagElement(tick, mark.tag)

    def update(group: TagGroup) -> Iterator[StreamElement]:
        new = Stamped(max(tuples[index].tick for index in group.members), answer(group))
        index, old = given.get(group.key) or (next(indexes), None)
        if new != old:
            given[group.key] = (index, new)
            yield from tags_before(group, new.tick)
            yield Change(index, old, new)

    def formed_again() -> TagGroups:
        standing = tuples if arrive else dict(sorted(tuples.items(), key=lambda each: _place(*each[1])))
        rows = {index: stamped.row if arrive else _in_order(stamped.row) for index, stamped in standing.items()}
        return _groups_of(node, rows, dictionary)

    for element in elements:
        if isinstance(element, TagElement):
            continue  # sent when an answer carries it
        if isinstance(element, Change):
            revised = revised or not arrive or element.old is not None or element.new is None
            if element.new is None:
                tuples.pop(element.index, None)
            else:
                tuples[element.index] = element.new
            if not revised and element.new is not None:
                group = groups.add(element.index, element.new.row)
                touched.update({} if group is None else {id(group): group})
            continue
        if not isinstance(element, Clock):
            yield element
            continue
        if revised:
            groups = formed_again()
            for gone in given.keys() - {group.key for group in groups.groups}:
                index, old = given.pop(gone)
                yield Change(index, old, None)
        for group in groups.groups if revised else touched.values():
            yield from update(group)
        touched, revised = {}, False
        yield element


def window_tag_aggregation(
    node: WindowTagAggregation, elements: Iterator[WindowElement], dictionary: Dictionary | None = None
) -> Iterator[WindowElement]:
    """For each window one tuple per tag group.

    Tuples that a query has made are put into groups in the order of their values, then of what their tags say.
    """
    answer = _answering(node, within(node.input.schema))
    arrive = by_arrival(node.input)

    def aggregated(window: Window) -> tuple[Row, ...]:
        bag = window.rows if arrive else map(_in_order, sorted(window.rows, key=lambda row: _place(0, row)))
        rows = {i: Row((*row.values, window.tick), row.marks) for i, row in enumerate(bag)}
        return tuple(answer(group) for group in _groups_of(node, rows, dictionary).groups)

    return each_window(elements, aggregated)


def _place(tick: int, row: Row) -> tuple[Any, ...]:
    """Where a tuple stands that has no place of its own."""
    return tick, order_key(row.values), text_of_sayings(saying(*mark) for mark in row.marks)


def _in_order(row: Row) -> Row:
    """The tuple with its tags in the order of what they say."""
    return Row(row.values, tuple(sorted(row.marks, key=lambda mark: saying(*mark))))


def _groups_of(
    node: TagAggregation | WindowTagAggregation, rows: dict[int, Row], dictionary: Dictionary | None
) -> TagGroups:
    groups = TagGroups(node.function, dictionary or node.function.dictionary, node.untagged)
    for member, row in rows.items():
        groups.add(member, row)
    return groups


def _answering(node: TagAggregation | WindowTagAggregation, schema: Schema) -> Callable[[TagGroup], Row]:
    compute = [aggregate_function(column.expr, schema) for column in node.aggregates]
    used = [frozenset[int](), *(reads(column.expr, node.input.schema) for column in node.aggregates)]

    def answer(group: TagGroup) -> Row:
        rows = list(group.members.values())
        return Row((group.label, *(function(rows) for function in compute)), group_marks([group.marks], used))

    return answer


def _no_tag(stream: str, tick: int) -> TickTag:
    return TickTag("", Applicability(stream), stream, tick, shipped().classify(""))
