"""What a tag join asks of marks and contents, for each text once. Lists are lines of fields, with texts as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.dictionary import word_of
from eddyline.algebra.marks import MarkText, read, written
from eddyline.columnar.tags import apart_from_numbers, each_text, number_of
from eddyline.kernels.tag_closeness import Comparison, objects_of

Numbers = npt.NDArray[np.int64]


def listed(names: Sequence[str], tags: pa.Array) -> pa.Array:
    """The tags of marks: the place, a number that stands for the tag, its content, its word, and its own text.

    Tags that say the same differ in when they came: all else is made once for all of them.
    """

    def lines(text: str) -> str:
        found = []
        for place, mark in enumerate(read(text)):
            beginning, rest = [mark.timestamp, mark.made, mark.number], _Rest.of(mark, names)
            key = _keys(np.array([rest.number]), *np.array([beginning]).T)[0]
            found.append(f"{place}\t{key}\t{rest.between}\t[[{','.join(map(str, beginning))},{rest.behind}")
        return "\n".join(found)

    single = apart_from_numbers(tags)
    if single is None:
        return each_text(tags, lines)
    rests = [None if text is None else _Rest.of(read(text)[0], names) for text in single.alike.dictionary.to_pylist()]
    which = single.alike.indices
    numbers = np.array([0 if rest is None else rest.number for rest in rests])
    keys = pa.array(_keys(numbers[which.fill_null(0).to_numpy()], *single.numbers)).cast(pa.string())
    between, behind = (
        pa.array([None if rest is None else getattr(rest, name) for rest in rests], pa.string()).take(which)
        for name in ("between", "behind")
    )
    told = pc.binary_join_element_wise(single.beginning, behind, "")
    found = pc.binary_join_element_wise("0", keys, between, told, "\t")
    return single.completed(found, lambda others: each_text(others, lines))


class _Rest(NamedTuple):
    """What a mark says but for when it came: what stands for it, its content and word, and the end of its own text."""

    number: int
    between: str
    behind: str

    @classmethod
    def of(cls, mark: MarkText, names: Sequence[str]) -> _Rest:
        key, told = (_behind_numbers(each) for each in (mark.on(None), _told(mark, names)))
        return cls(number_of(key), f"{_json(mark.content)}\t{_json(word_of(mark.content))}", told)


def _behind_numbers(mark: MarkText) -> str:
    text = written([mark._replace(timestamp=0, made=0, number=0)])
    assert text is not None
    return text.removeprefix("[[0,0,0,")


def _keys(rest: Numbers, *when: Numbers) -> Numbers:
    """Numbers that stand for tags: of what they say, and of what tells when they came."""
    found = rest
    for each in when:
        found = _mixed(found, each)
    return found


def _mixed(ones: Numbers, others: Numbers) -> Numbers:
    """A number for each two, the same in every process and not another's, as far as chance has it (56 bits)."""
    one, other = ones.astype(np.uint64), others.astype(np.uint64)
    turned = (other << np.uint64(31)) | (other >> np.uint64(33))
    mixed = (one * np.uint64(0x9E3779B97F4A7C15)) ^ ((turned + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9))
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
    found: Numbers = (mixed >> np.uint64(8)).astype(np.int64)
    return found


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
    texts = [json.loads(text) for text in right.dictionary.to_pylist()]
    matches = np.stack([np.array(comparison.of_contents(contents, text)) > 0 for text in texts], axis=1)
    return pa.array(matches[left.indices.to_numpy(), right.indices.to_numpy()])


def compared_by_objects(comparison: Comparison, both: pa.Array, one: pa.Array, other: pa.Array) -> pa.Array:
    """Whether contents match that so many objects carry."""
    numbers = (np.asarray(array.to_numpy(zero_copy_only=False), np.int64) for array in (both, one, other))
    return pa.array(comparison.of_objects(*numbers) > 0)


def paired(ones: pa.Array, others: pa.Array) -> pa.Array:
    """A number that stands for two, in every process."""
    return pa.array(_mixed(*(each.to_numpy(zero_copy_only=False).astype(np.int64) for each in (ones, others))))


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
