"""Attaching tags and selecting by tags (Stream Tag Framework sections 4.1, 4.2 and Figure 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from eddyline.algebra.node import Operator
from eddyline.algebra.schema import Schema
from eddyline.algebra.stream import StreamAcquire, StreamReceive
from eddyline.algebra.tag import TAG_SCHEMA, TaggedObjectSelection, Tagger, TagPredicate, TagSelection, TickTag
from eddyline.errors import InvalidAlgebra
from eddyline.reference.coverage import Attach, Coverage, with_marks
from eddyline.reference.element import ALWAYS, Change, Clock, Mark, Stamped, StreamElement, TagElement, Values
from eddyline.reference.expression import compile_predicate


def tagger(node: Tagger, elements: Iterable[StreamElement]) -> Iterator[StreamElement]:
    """The stream with a new tag in front of the tuples that satisfy the condition (Figure 7): of all, or the first."""
    if node.continuous:
        return tagged(elements, stream_below(node), lambda: (node,))
    return _tagged_once(node, elements)


def tagged(
    elements: Iterable[StreamElement], stream: str, taggers: Callable[[], Sequence[Tagger]]
) -> Iterator[StreamElement]:
    """The stream behind continuous taggers, which may come and go.

    Each makes one tag for each tuple that satisfies its condition, which is on that tuple alone. The paper's
    optimisation sends a tag only if the last one does not cover the tuple too; the tuples would be tagged alike, with
    fewer tags in between, so an engine may do it wherever nobody looks at the tags themselves.

    A continuous tag is the answer of a query about the tuple, so it is revised with the tuple: a replacement that
    satisfies the condition for the first time gets a tag, one that no longer does loses it.
    """
    making = Making(stream)
    made: dict[int, tuple[Mark, ...]] = {}  # the marks of these taggers, by index
    for element in elements:
        if not isinstance(element, Change):
            yield element
            continue
        index, old, new = element.index, element.old, element.new
        before = made.pop(index, ())
        after: tuple[Mark, ...] = ()
        if new is not None:
            after = tuple(mark for each in taggers() if (mark := making.mark(each, index, new)) is not None)
            told = {mark.tag.tagger for mark in before}
            yield from (TagElement(new.tick, mark.tag) for mark in after if mark.tag.tagger not in told)
        if after:
            made[index] = after
        yield Change(index, _also_marked(old, before), _also_marked(new, after))


class Making:
    """What continuous taggers make for the tuples of a stream."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._conditions: dict[str, tuple[Tagger, Callable[[Values], bool]]] = {}  # by name of the tagger

    def mark(self, tagger: Tagger, index: int, stamped: Stamped) -> Mark | None:
        """The tag of its own that a tuple gets, on what of it; None if it gets none."""
        if not tagger.stood_at(index) or not self._condition(tagger)((*stamped.row.values, stamped.tick, index)):
            return None
        tag = tagger.tag_for(self._stream, index, stamped.tick)
        return Mark(tag, tag.applies_to.positions(tagger.input.schema))

    def _condition(self, tagger: Tagger) -> Callable[[Values], bool]:
        if tagger.condition is None:
            return lambda values: True
        known, condition = self._conditions.get(tagger.tagger, (None, None))
        if condition is None or known is None or known.condition != tagger.condition:
            condition = compile_predicate(tagger.condition, tagger.asked)
            self._conditions[tagger.tagger] = tagger, condition
        return condition


def _tagged_once(node: Tagger, elements: Iterable[StreamElement]) -> Iterator[StreamElement]:
    condition = None if node.condition is None else compile_predicate(node.condition, node.asked)
    coverage = Coverage(node.input.schema, stream_below(node))
    coverage.attach(Attach(node.tag, node.tagger, condition))
    given: dict[int, tuple[Mark, ...]] = {}  # the marks of this tagger, by index
    for element in elements:
        if not isinstance(element, Change):
            yield element
            continue
        index, old, new = element.index, element.old, element.new
        before = after = given.pop(index, ())
        if new is not None and old is None:
            yield from coverage.due(index, new)
            after = coverage.marks_on(index, new)
        if new is not None and after:
            given[index] = after
        yield Change(index, _also_marked(old, before), _also_marked(new, after))


def tag_selection(node: TagSelection, elements: Iterable[StreamElement]) -> Iterator[StreamElement]:
    """The tags that satisfy the predicate, without their tuples, each when it passes."""
    found = _tag_search(node.predicate)
    for element in elements:
        if isinstance(element, Clock) or (isinstance(element, TagElement) and found(element.tag)):
            yield element


def tagged_object_selection(node: TaggedObjectSelection, elements: Iterable[StreamElement]) -> Iterator[StreamElement]:
    """The tuples that hold an object with a tag that satisfies the predicate, with all their tags or with none."""
    selected = _with_found_tag(node, elements)
    return delayed_tags(selected) if node.with_tags else _without_tags(selected)


def delayed_tags(elements: Iterable[StreamElement]) -> Iterator[StreamElement]:
    """Each tag right in front of the first tuple that carries it, and not at all if none does (section 4.2).

    It comes after an operator that drops tuples. A tag waits for as long as the query runs, because a revision may
    let one of its tuples pass at any time. What a continuous tagger makes for a tuple is one tag, wherever the tuple
    moves, and also if a revision takes it away and another brings it again.
    """
    waiting: dict[TickTag, TagElement] = {}
    told: set[TickTag] = set()  # of those that taggers make
    for element in elements:
        if isinstance(element, TagElement):
            if _same_for_a_tuple(element.tag) not in told:
                waiting[_same_for_a_tuple(element.tag)] = element
            continue
        if isinstance(element, Change) and element.new is not None:
            for mark in element.new.row.marks:
                one = _same_for_a_tuple(mark.tag)
                if one in waiting:
                    passed = waiting.pop(one)
                    yield passed if passed.tag == mark.tag else TagElement(mark.tag.timestamp, mark.tag)
                    if one != mark.tag:
                        told.add(one)
        yield element


def _same_for_a_tuple(tag: TickTag) -> TickTag:
    """The tag without its time if it was made for one tuple, with which it moves; any other tag as it is."""
    return replace(tag, timestamp=ALWAYS) if tag.applies_to.tuples == (tag.number,) else tag


def stream_below(node: Operator) -> str:
    """The name of the stream that an operator reads."""
    for operator in node.walk():
        if isinstance(operator, StreamReceive | StreamAcquire):
            return operator.name
    raise InvalidAlgebra(f"{type(node).__name__} reads no stream that could be tagged")


def tag_values(tag: TickTag) -> tuple[str | int | None, ...]:
    """A tag as a tuple of TAG_SCHEMA."""
    return (tag.content, tag.sign, tag.type, tag.lifespan, tag.mode, tag.tagger, tag.timestamp)


def _tag_search(predicate: TagPredicate) -> Callable[[TickTag], bool]:
    where = None if predicate.where is None else compile_predicate(predicate.where, TAG_SCHEMA)

    def found(tag: TickTag) -> bool:
        on_objects = all(tag.applies_to.describes(attribute) for attribute in predicate.attributes)
        on_objects = on_objects and (tag.applies_to.whole_tuple or not predicate.whole)
        on_objects = on_objects and (tag.applies_to.by_value or not predicate.by_value)
        return on_objects and (where is None or where(tag_values(tag)))

    return found


def _mark_search(predicate: TagPredicate, schema: Schema) -> Callable[[Mark], bool]:
    """As `_tag_search`, but a mark knows what the tag still is on after others have overwritten it."""
    found = _tag_search(TagPredicate(predicate.where, by_value=predicate.by_value))
    names = [name.lower() for name in schema.names]
    wanted = [name.lower() for name in predicate.attributes]

    def found_on(mark: Mark) -> bool:
        on = {names[field] for field in mark.fields or ()}
        on_objects = on.issuperset(wanted) and (mark.fields is None or not predicate.whole)
        return on_objects and found(mark.tag)

    return found_on


def _with_found_tag(node: TaggedObjectSelection, elements: Iterable[StreamElement]) -> Iterator[StreamElement]:
    found = _mark_search(node.predicate, node.input.schema)

    def kept(stamped: Stamped | None) -> Stamped | None:
        return stamped if stamped is not None and any(map(found, stamped.row.marks)) else None

    for element in elements:
        if not isinstance(element, Change):
            yield element
            continue
        old, new = kept(element.old), kept(element.new)
        if old is not None or new is not None:
            yield Change(element.index, old, new)


def _without_tags(elements: Iterable[StreamElement]) -> Iterator[StreamElement]:
    for element in elements:
        if isinstance(element, Change):
            old, new = with_marks(element.old, ()), with_marks(element.new, ())
            if old != new:
                yield Change(element.index, old, new)
        elif isinstance(element, Clock):
            yield element


def _also_marked(stamped: Stamped | None, own: tuple[Mark, ...]) -> Stamped | None:
    """With the tagger's marks after those that the tuple has already."""
    return None if stamped is None else with_marks(stamped, (*stamped.row.marks, *own))
