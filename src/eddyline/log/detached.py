"""Tags that are taken back, for whole stretches of tuples: what `reference.detach` says tuple by tuple."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.dictionary import word_of
from eddyline.algebra.marks import MarkText, read, written
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import Applicability, Withdrawal
from eddyline.algebra.tag_places import USUAL, places_text

Array = Any
Fields = frozenset[int] | None
#: what the text of a DETACH in the log begins with
DETACH = "DETACH "


@dataclass(frozen=True)
class Detached:
    """What is taken back: the tags of a tagger with one content, from these fields, or from whole tuples (None)."""

    content: str
    tagger: str
    fields: Fields
    by_value: bool

    @classmethod
    def of(cls, withdrawal: Withdrawal, stream: str, schema: Schema) -> Detached:
        fields = Applicability(stream, attributes=withdrawal.attributes).positions(schema)
        return cls(withdrawal.content, withdrawal.tagger, fields, withdrawal.by_value)

    def is_about(self, content: str, tagger: str, fields: Fields, by_value: bool) -> bool:
        """Whether a tag on these fields loses any. The tuple and its attributes are different objects."""
        if tagger != self.tagger or by_value != self.by_value or word_of(content) != word_of(self.content):
            return False
        if fields is None or self.fields is None:
            return fields is None and self.fields is None
        return bool(fields & self.fields)

    def left(self, fields: Fields) -> frozenset[int]:
        """Of those of a tag that it is about; none if nothing is left."""
        return (fields or frozenset()) - (self.fields or frozenset())

    def after(self, marks: Sequence[MarkText]) -> list[MarkText]:
        """What is left of the marks of a tuple."""
        return [mark for mark in map(self._after, marks) if mark is not None]

    def _after(self, mark: MarkText) -> MarkText | None:
        fields = None if mark.fields is None else frozenset(mark.fields)
        if not self.is_about(mark.content, mark.tagger, fields, mark.is_by_value):
            return mark
        left = self.left(fields)
        return mark.on(left) if left else None

    def texts_after(self, tags: pa.Array, places: pa.Array) -> tuple[pa.Array, pa.Array]:
        """What tuples carry without what is taken back; computed once for what occurs together."""
        one, other = (column.dictionary_encode() for column in (tags, places))
        texts, beside = ([*each.dictionary.to_pylist(), None] for each in (one, other))
        codes = [pc.fill_null(each.indices, -1).to_numpy(zero_copy_only=False) for each in (one, other)]
        pairs, which = np.unique(np.stack(codes), axis=1, return_inverse=True)
        made = [self._texts_after(texts[one], beside[other]) for one, other in pairs.T.tolist()]
        chosen = pa.array(which.ravel())
        left, where = (pa.array([pair[side] for pair in made], pa.string()).take(chosen) for side in (0, 1))
        return left, where

    def _texts_after(self, tags: str | None, places: str | None) -> tuple[str | None, str | None]:
        if tags is None:
            return None, None
        marks = list(map(self._after, read(tags)))
        where = (places or USUAL).split(" ")
        kept = [place for mark, place in zip(marks, where, strict=True) if mark is not None]
        return written([mark for mark in marks if mark is not None]), places_text(kept)


@dataclass(frozen=True)
class Detachment:
    """The same on its way through the stream: with a condition, only tuples that satisfy it lose the tag."""

    what: Detached
    condition: Callable[[pa.Table], Array] | None = None  # over the columns, tick and index

    def concerns(self, values: pa.Table, tick: Array, index: Array) -> Array:
        """Which tuples are among those that lose the tag."""
        if self.condition is None:
            return np.ones(len(index), bool)
        return self.condition(asked_of(values, tick, index))


def asked_of(values: pa.Table, tick: Array, index: Array) -> pa.Table:
    """What conditions read: the columns of tuples, tick and index."""
    columns = [*values.columns, pa.array(tick), pa.array(index)]
    named = [f"c{at}" for at in range(len(columns))]
    return pa.Table.from_arrays([_one(column) for column in columns], named)


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def detach_text(what: Detached, where: Any) -> str:
    """A DETACH as it stands in the log; `where` is its condition with the schema that this reads, or None."""
    value = {
        "content": what.content,
        "tagger": what.tagger,
        "fields": None if what.fields is None else sorted(what.fields),
        "by_value": what.by_value,
        "where": None if where is None else base64.b64encode(pickle.dumps(where)).decode(),
    }
    return DETACH + json.dumps(value)


def is_conditional(text: str) -> bool:
    """Whether only some tuples lose the tags."""
    return json.loads(text.removeprefix(DETACH))["where"] is not None


def detached_by(text: str) -> Detached:
    """What a text in the log takes back."""
    value = json.loads(text.removeprefix(DETACH))
    fields = None if value["fields"] is None else frozenset(value["fields"])
    return Detached(value["content"], value["tagger"], fields, value["by_value"])


def detachment(text: str, condition_of: Callable[[Any, Schema], Callable[[pa.Table], Array]]) -> Detachment:
    """What a text in the log stands for."""
    value, what = json.loads(text.removeprefix(DETACH)), detached_by(text)
    if value["where"] is None:
        return Detachment(what)
    return Detachment(what, condition_of(*pickle.loads(base64.b64decode(value["where"]))))
