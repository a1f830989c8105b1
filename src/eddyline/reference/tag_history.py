"""The tick-tags of a stream as tuples: what was said about it, and what was taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import TagHistory, TickTag
from eddyline.reference.detach import Detach
from eddyline.reference.element import Change, Clock, Row, Stamped, StreamElement, TagElement

_Fields = frozenset[int] | None


def tag_history(node: TagHistory, elements: Iterable[StreamElement | Detach]) -> Iterator[StreamElement]:
    """Each tag is a tuple with the tick and in the place of the tag. One that is taken back is deleted, and one that
    loses some of its attributes is replaced; what is taken back from some tuples only stays as it is."""
    schema = node.input.schema
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
