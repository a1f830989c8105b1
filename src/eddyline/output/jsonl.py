"""Answers for programs: one JSON object a line, exactly as LANGUAGE.md fixes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import singledispatchmethod

from eddyline.algebra.answer import (
    Answer,
    RelationAnswer,
    StixAnswer,
    TagAnswer,
    TagView,
    TextAnswer,
    TupleAnswer,
    Values,
    WindowAnswer,
)
from eddyline.algebra.lineage import Cause
from eddyline.algebra.tag import Applicability, TickTag
from eddyline.output.json_value import json_array, json_object, json_string, json_text

#: a member of an object: its key, and its value as JSON text
Member = tuple[str, str]

#: the lifespan of a tag that covers a single instance
INSTANT = "I"


class JsonLines:
    """Writes each answer as soon as it is shown; `write` gets whole lines, with their line feed."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._keys: dict[str, tuple[str, ...]] = {}

    def begin(self, query: str, columns: tuple[str, ...]) -> None:
        """The names that the rows of a query have in the output."""
        self._keys[query] = tuple(json_string(column) for column in columns)

    def show(self, answer: Answer, causes: Sequence[Cause] | None = None) -> None:
        """`causes`: the revisions that an answer comes from, if somebody has asked for them and it comes from some."""
        members = [("query", json_string(answer.query)), *self._members(answer)]
        if causes is not None:
            members.append(("causes", json_array([_cause(cause) for cause in causes])))
        self._write(json_object(members) + "\n")

    def pause(self) -> None:
        """Nothing is ever held back."""

    def close(self) -> None:
        """Every line is out already."""

    @singledispatchmethod
    def _members(self, answer: Answer) -> Iterator[Member]:
        raise TypeError(f"{type(answer).__name__} is not an answer")

    @_members.register
    def _tuple(self, answer: TupleAnswer) -> Iterator[Member]:
        yield "tick", str(answer.tick)
        yield "index", str(answer.index)
        yield "op", json_string(answer.op)
        if answer.old is not None:
            yield "old", self._row(answer.query, answer.old)
        yield "row", self._row(answer.query, answer.row)
        if answer.tags is not None:
            yield "tags", _tag_views(answer.tags)
        if answer.stix is not None:
            yield "stix", json_string(answer.stix)

    @_members.register
    def _window(self, answer: WindowAnswer) -> Iterator[Member]:
        yield "tick", str(answer.tick)
        yield "window", str(answer.window)
        yield "op", json_string(answer.op)
        if answer.old_tick is not None:
            yield "old_tick", str(answer.old_tick)
        if answer.old_rows is not None:
            yield "old_rows", self._rows(answer.query, answer.old_rows)
        yield "rows", self._rows(answer.query, answer.rows)
        if answer.tags is not None:
            yield "tags", json_array([_tag_views(tags) for tags in answer.tags])
        if answer.stix is not None:
            yield "stix", json_text(answer.stix)

    @_members.register
    def _relation(self, answer: RelationAnswer) -> Iterator[Member]:
        yield "tick", str(answer.tick)
        yield "op", json_string(answer.op)
        yield "row", self._row(answer.query, answer.row)
        if answer.tags is not None:
            yield "tags", _tag_views(answer.tags)

    @_members.register
    def _tag(self, answer: TagAnswer) -> Iterator[Member]:
        yield "tick", str(answer.tick)
        yield "op", '"#"'
        yield "tag", _tick_tag(answer.tag)

    @_members.register
    def _stix(self, answer: StixAnswer) -> Iterator[Member]:
        yield "tick", str(answer.tick)
        yield "op", '"#"'
        yield "stix", json_string(answer.stix)

    @_members.register
    def _text(self, answer: TextAnswer) -> Iterator[Member]:
        yield "text", json_string(answer.text)

    def _row(self, query: str, row: Values) -> str:
        keys = self._keys[query]
        return "{" + ", ".join([f"{key}: {json_text(value)}" for key, value in zip(keys, row, strict=True)]) + "}"

    def _rows(self, query: str, rows: tuple[Values, ...]) -> str:
        return json_array([self._row(query, row) for row in rows])


def _cause(cause: Cause) -> str:
    return json_object(
        (
            ("stream", json_string(cause.stream)),
            ("index", str(cause.index)),
            ("op", json_string(cause.op)),
            ("precision", json_string(cause.precision)),
        )
    )


def _tag_views(tags: Iterable[TagView]) -> str:
    return json_array(
        [
            json_object(
                (
                    ("content", json_string(tag.content)),
                    ("sign", json_text(tag.sign)),
                    ("attributes", json_text(tag.attributes)),
                )
            )
            for tag in tags
        ]
    )


def _tick_tag(tag: TickTag) -> str:
    return json_object(
        (
            ("content", json_string(tag.content)),
            ("sign", json_text(tag.sign)),
            ("type", json_string(tag.type)),
            ("lifespan", json_text(INSTANT if tag.lifespan is None else tag.lifespan)),
            ("mode", json_string(tag.mode)),
            ("tagger", json_string(tag.tagger)),
            ("applies_to", json_object(_applies_to(tag.applies_to))),
        )
    )


def _applies_to(objects: Applicability) -> Iterator[Member]:
    """Only what is set: the rest means any."""
    yield "stream", json_string(objects.stream)
    if objects.tuples is not None:
        yield "tuples", json_text(objects.tuples)
    if objects.attributes is not None:
        yield "attributes", json_text(objects.attributes)
    if objects.attribute_pattern is not None:
        yield "attributes", json_string(objects.attribute_pattern)
    if objects.by_value:
        yield "value", "true"
    if objects.values is not None:
        yield "values", json_string(objects.values)
