"""What a tag join asks of marks and contents, for each text once. Lists are lines of fields, with texts as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from eddyline.algebra.dictionary import word_of
from eddyline.algebra.marks import MarkText, read, written
from eddyline.columnar.tags import each_text, number_of
from eddyline.kernels.tag_closeness import Comparison, objects_of


def listed(names: Sequence[str], tags: pa.Array) -> pa.Array:
    """The tags of marks: the place, what tells the tag from others, its content, its word, and its own text."""

    def lines(text: str) -> str:
        found = []
        for place, mark in enumerate(read(text)):
            told = written([_told(mark, names)])
            fields = (str(place), written([mark.on(None)]), _json(mark.content), _json(word_of(mark.content)), told)
            found.append("\t".join(field or "" for field in fields))
        return "\n".join(found)

    return each_text(tags, lines)


def _told(mark: MarkText, names: Sequence[str]) -> MarkText:
    """The tag itself: what a mark knows of the objects that it is on."""
    if not isinstance(mark.objects, str):
        return mark.on(None)
    attributes = None if mark.fields is None else tuple(names[field] for field in mark.fields)
    return mark.on(None)._replace(objects=(mark.objects, None, attributes, None, False, None))


def counted(tags: pa.Array) -> pa.Array:
    """How many objects of a tuple carry two words, for each two that it has: the words and the number."""

    def lines(text: str) -> str:
        objects = objects_of(read(text))
        pairs = [(one, other, len(objects[one] & objects[other])) for one in objects for other in objects]
        return "\n".join(f"{_json(one)}\t{_json(other)}\t{number}" for one, other, number in pairs if number)

    return each_text(tags, lines)


def compared(comparison: Comparison, ones: pa.Array, others: pa.Array) -> pa.Array:
    """Whether contents match, as JSON; each two are compared once."""
    left, right = ones.dictionary_encode(), others.dictionary_encode()
    contents = [json.loads(text) for text in left.dictionary.to_pylist()]
    matches = np.zeros((len(contents), len(right.dictionary)), bool)
    for place, text in enumerate(right.dictionary.to_pylist()):
        matches[:, place] = np.array(comparison.of_contents(contents, json.loads(text))) > 0
    return pa.array(matches[left.indices.to_numpy(), right.indices.to_numpy()])


def compared_by_objects(comparison: Comparison, both: pa.Array, one: pa.Array, other: pa.Array) -> pa.Array:
    """Whether contents match that so many objects carry."""
    numbers = (np.asarray(array.to_numpy(zero_copy_only=False), np.int64) for array in (both, one, other))
    return pa.array(comparison.of_objects(*numbers) > 0)


def numbered(texts: pa.Array) -> pa.Array:
    """A number that stands for a text, in every process."""
    return each_text(texts, number_of, pa.int64())


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
