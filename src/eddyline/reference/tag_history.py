"""The tick-tags of a stream as tuples: what was said about it, and what was taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import Tagger, TagHistory, TickTag
from eddyline.algebra.tagging import NUMBERS
from eddyline.reference.detach import Detach
from eddyline.reference.element import Change, Clock, Row, Stamped, StreamElement, TagElement
from eddyline.reference.tag import Making, stream_below

_Fields = frozenset[int] | None


def tag_history(
    node: TagHistory,
    elements: Iterable[StreamElement | Detach],
    taggers: Callable[[str], Sequence[Tagger]] = lambda stream: (),
) -> Iterator[StreamElement]:
    """Each tag is a tuple with the tick and in the place of the tag. One that is taken back is deleted, and one that
    loses some of its attributes is replaced; what is taken back from some tuples only stays as it is.

    The tag that a continuous tagger makes for a tuple comes and goes with it.
    """
    schema = node.input.schema
    stream = stream_below(node)
    making = Making(stream)
    indexes = count(1)
    said: dict[int, tuple[TickTag, _Fields]] = {}
    for element in elements:
        if isinstance(element, Clock):
            yield element
        elif isinstance(element, TagElement):
            index, fields = next(indexes), element.tag.applies_to.positions(schema)
            said[index] = element.tag, fields
            yield Change(index, None, _tuple(element.tag, fields, schema))
        elif isinstance(element, Detach) and element.condition is None:
            yield from _taken_back(element, said, schema)
        elif isinstance(element, Change):
            for number, tagger in enumerate(taggers(stream), 1):
                old, new = (_made(making, tagger, element.index, each, schema) for each in (element.old, element.new))
                if old != new:
                    yield Change(number * NUMBERS + element.index, old, new)


def _made(making: Making, tagger: Tagger, index: int, stamped: Stamped | None, schema: Schema) -> Stamped | None:
    mark = None if stamped is None else making.mark(tagger, index, stamped)
    return None if mark is None else _tuple(mark.tag, mark.fields, schema)


def _taken_back(detach: Detach, said: dict[int, tuple[TickTag, _Fields]], schema: Schema) -> Iterator[Change]:
    for index, (tag, fields) in list(said.items()):
        any_left, left = detach.left(tag, fields)
        if detach.is_too_late_for(_tuple(tag, fields, schema)) or (any_left and left == fields):
            continue
        if any_left:
            said[index] = tag, left
            yield Change(index, _tuple(tag, fields, schema), _tuple(tag, left, schema))
        else:
            del said[index]
            yield Change(index, _tuple(tag, fields, schema), None)


def _tuple(tag: TickTag, fields: _Fields, schema: Schema) -> Stamped:
    """In the order of TAG_HISTORY_SCHEMA."""
    applies_to = tag.applies_to
    attributes = None if fields is None else tuple(schema.fields[field].name for field in sorted(fields))
    values: tuple[Any, ...] = (tag.content, tag.sign, tag.type, tag.tagger, tag.lifespan, tag.mode, tag.timestamp)
    return Stamped(tag.timestamp, Row((*values, attributes, applies_to.by_value, applies_to.values, applies_to.tuples)))
