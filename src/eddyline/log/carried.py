"""The tags of some rows of a log as its two columns: what they say, and where they stand. Both have few different texts
and are numbered, from where tags come in to the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.marks import mark_of, written
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import TickTag
from eddyline.algebra.tag_places import TAGS_BETWEEN, place_text, places_text
from eddyline.log.told_apart import moved_places

Array = Any
Fields = frozenset[int] | None


@dataclass(frozen=True)
class Carried:
    """What rows carry, one after the other; both are NULL where they carry nothing."""

    tags: pa.DictionaryArray
    places: pa.DictionaryArray

    def __len__(self) -> int:
        return len(self.tags)

    @classmethod
    def nothing(cls, rows: int) -> Carried:
        return cls(no_texts(rows), no_texts(rows))

    @classmethod
    def of_texts(cls, tags: Sequence[str | None], places: Sequence[str | None]) -> Carried:
        return cls(*(numbered(pa.array(texts, pa.string())) for texts in (tags, places)))

    @classmethod
    def joined(cls, parts: Iterable[Carried]) -> Carried:
        some = [part for part in parts if len(part)] or [cls.nothing(0)]
        if len(some) == 1:
            return some[0]
        return cls(pa.concat_arrays([part.tags for part in some]), pa.concat_arrays([part.places for part in some]))

    def take(self, places: pa.Array) -> Carried:
        return Carried(self.tags.take(places), self.places.take(places))

    def moved(self, by: Array) -> Carried:
        """What tuples carry whose ticks have become greater by so much each."""
        if not np.any(by):
            return self
        return Carried(self.tags, numbered(moved_places(self.tags, self.places.cast(pa.string()), by)))


def numbered(texts: pa.Array) -> pa.DictionaryArray:
    """Texts as numbers of a dictionary."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    return texts if pa.types.is_dictionary(texts.type) else texts.dictionary_encode()


def no_texts(rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.nulls(rows, pa.int32()), pa.array([], pa.string()))


def chosen(codes: Array, texts: Sequence[str | None]) -> pa.DictionaryArray:
    """Texts by their numbers among some; nothing where the number is below 0."""
    there = np.array([*(text is not None for text in texts), False])  # a dictionary has no NULLs
    number = np.where(there, np.cumsum(there) - 1, -1).astype(np.int32)[codes]
    known = pa.array([text for text in texts if text is not None], pa.string())
    absent = number < 0
    return pa.DictionaryArray.from_arrays(pa.array(number, mask=absent) if absent.any() else pa.array(number), known)


def carried_by(marks: Sequence[Sequence[tuple[TickTag, Fields]]], which: Array, tick: Array, index: Array) -> Carried:
    """What tuples carry at these ticks and indexes; `which` tells which of some lists of tags each has."""
    tags = chosen(which, [written([_anonymous(tag, on) for tag, on in some]) for some in marks])
    lives = [[tag.lifespan is not None for tag, _ in some] for some in marks]
    if all(all(some) for some in lives):  # all tuples of a tag tell its place in the same way
        fixed = [places_text([place_text(tag.timestamp, tag.number, True, 0, 0) for tag, _ in some]) for some in marks]
        return Carried(tags, chosen(which, fixed))
    places: Array = np.full(len(which), None, object)
    for number, some in enumerate(marks):
        rows = np.flatnonzero(which == number)
        parts = [_places(tag, tick[rows], index[rows]) for tag, _ in some]
        if parts:
            together = parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, " ")
            places[rows] = together.to_numpy(zero_copy_only=False)
    return Carried(tags, numbered(pa.array(places, pa.string())))


def _places(tag: TickTag, tick: Array, index: Array) -> pa.Array:
    if tag.lifespan is not None:
        return pa.array([place_text(tag.timestamp, tag.number, True, 0, 0)] * len(tick), pa.string())
    apart = pa.array(tag.timestamp - tick, pa.int64()).cast(pa.string())
    before = pa.array(index - (tag.number >> TAGS_BETWEEN), pa.int64()).cast(pa.string())
    return pc.binary_join_element_wise(apart, before, str(tag.number & ((1 << TAGS_BETWEEN) - 1)), ":")


def _anonymous(tag: TickTag, on: Fields) -> Any:
    return mark_of(tag, on)._replace(timestamp=0, number=0)


def told_by(tag: TickTag, schema: Schema, tick: int, index: int) -> tuple[str | None, str]:
    """A tag itself, with all that it applies to, as a row of the log tells it that stands at a tick behind a tuple."""
    mark = mark_of(tag, tag.applies_to.positions(schema), whole=True)
    objects = mark.objects
    if not isinstance(objects, str) and tag.applies_to.tuples is not None:
        listed = tuple(each - index for each in tag.applies_to.tuples)
        objects = (objects[0], listed, *objects[2:])
    text = written([mark._replace(timestamp=0, number=0, objects=objects)])
    return text, place_text(tag.timestamp, tag.number, False, tick, index)
