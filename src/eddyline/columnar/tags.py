"""What becomes of tags, as functions on columns of marks: what stages call wherever a plan carries tags along.

Each is computed once for every text that occurs, not for every row: a column has few different ones. Tags that say the
same differ in their numbers alone, so these are left aside where they do not matter.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra import marks as of
from eddyline.algebra.arrival import saying, text_of_sayings


def projected(tags: pa.Array, reads: pa.Array) -> pa.Array:
    """Marks after a projection; `reads` is a constant: the input fields of each output column, as JSON."""
    sources = _text_of(reads)
    return _text_of_each(tags, lambda text: _projected(text, sources))


def joined(left: pa.Array, right: pa.Array, widths: pa.Array) -> pa.Array:
    """Marks of two tuples that became one; `widths` is a constant: the fields of both sides, as JSON.

    Behind them may stand what a projection makes of both.
    """
    about = _text_of(widths)
    alone = (
        _text_of_each(left, lambda text: _joined(text, None, about)),
        _text_of_each(right, lambda text: _joined(None, text, about)),
    )
    if left.null_count == len(left) or right.null_count == len(right):
        return pc.coalesce(*alone)
    # two tags that are not the same stand one behind the other, which is nearly always so
    some = pc.and_(pc.is_valid(left), pc.is_valid(right))
    apart = pc.and_(pc.and_(_is_one(left), _is_one(right)), _numbers_differ(left, right))
    both = pc.binary_join_element_wise(
        pc.utf8_slice_codeunits(alone[0], 0, -1), pc.utf8_slice_codeunits(alone[1], 1), ","
    )
    found = pc.coalesce(pc.if_else(apart, both, None), *alone)
    rest = pc.and_not(some, apart)
    if pc.any(rest).as_py():
        pairs = _of_pairs(left.filter(rest), right.filter(rest), lambda one, other: _joined(one, other, about))
        found = pc.replace_with_mask(found, rest, pairs)
    return found


def side_by_side(left: pa.Array, right: pa.Array, widths: pa.Array) -> pa.Array:
    """The same of tuples of different streams, where nobody asks which tags they are of. What is given may be numbers
    of a dictionary; what comes out is, where few texts repeat."""
    about = _text_of(widths)
    one = _Pieces(left, lambda text: _beside(text, None, about))
    other = _Pieces(right, lambda text: _beside(None, text, about))
    if one.are_none or other.are_none:
        return pc.coalesce(one.whole(), other.whole())
    possible = len(one.made) * len(other.made)
    if possible <= _MOST_POSSIBLE * len(left):
        pairs = one.which.astype(np.int64) * len(other.made) + other.which
        occurs = np.bincount(pairs, minlength=possible) > 0
        different = np.flatnonzero(occurs)
        if len(different) * _OFTEN <= len(pairs):
            places = zip(*(each.tolist() for each in np.divmod(different, len(other.made))), strict=True)
            texts = [_side_by_side(one.made[left], other.made[right]) for left, right in places]
            return _numbered(texts, (np.cumsum(occurs, dtype=np.int32) - 1)[pairs])
    both = pc.binary_join_element_wise(one.opened(), other.closed(), ",")
    return both if not both.null_count else pc.coalesce(both, one.whole(), other.whole())


#: texts of two sides are put together in Python, once for each two that meet, if these do so often on average …
_OFTEN = 4
#: … and if so few could meet, for each row, that it can be counted which do
_MOST_POSSIBLE = 16


def _side_by_side(one: str | None, other: str | None) -> str | None:
    return f"{one[:-1]},{other[1:]}" if one is not None and other is not None else one or other


def _numbered(texts: list[str | None], which: np.ndarray) -> pa.DictionaryArray:
    """Numbers of a dictionary, which has a text also where there is none: no file could have it otherwise."""
    missing = np.array([text is None for text in texts])
    numbers = pa.array(which, mask=missing[which] if missing.any() else None)
    return pa.DictionaryArray.from_arrays(numbers, pa.array([text or "" for text in texts], pa.string()))


class _Pieces:
    """What becomes of the marks of one side: by themselves, and without a bracket where those of the other stand. It is
    made once for each text that occurs, which is why nothing is cut out of the texts of rows."""

    def __init__(self, tags: pa.Array, made: Callable[[str], str | None]) -> None:
        encoded = tags.dictionary_encode()
        self.which = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy()
        self.made = [*(made(text) for text in encoded.dictionary.to_pylist()), None]
        self.are_none = not any(text is not None for text in self.made)

    def whole(self) -> pa.Array:
        return self._taken(self.made)

    def opened(self) -> pa.Array:
        """The first half of a text."""
        return self._taken([text and text[:-1] for text in self.made])

    def closed(self) -> pa.Array:
        """The second."""
        return self._taken([text and text[1:] for text in self.made])

    def _taken(self, texts: list[str | None]) -> pa.Array:
        return pa.array(texts, pa.string()).take(pa.array(self.which))


@lru_cache(maxsize=8_192)
def _beside(one: str | None, other: str | None, about: str) -> str | None:
    left_width, right_width, *reads = _parsed(about)
    marks = of.beside(of.read(one), left_width, of.read(other), right_width)
    return of.written(of.projected(marks, reads[0]) if reads else marks)


#: what was computed for a text: a kernel calls for some thousand rows at a time, which say the same again and again
_REMEMBERED = 8_192


@lru_cache(maxsize=_REMEMBERED)
def _projected(text: str, reads: str) -> str | None:
    return of.written(of.projected(of.read(text), _parsed(reads)))


@lru_cache(maxsize=_REMEMBERED)
def _joined(one: str | None, other: str | None, about: str) -> str | None:
    left_width, right_width, *reads = _parsed(about)
    marks = of.joined(of.read(one), left_width, of.read(other), right_width)
    return of.written(of.projected(marks, reads[0]) if reads else marks)


@lru_cache(maxsize=64)
def _searched(search: Callable[[of.Marks], bool]) -> Callable[[str], bool]:
    return lru_cache(maxsize=_REMEMBERED)(lambda text: search(of.read(text)))


@lru_cache(maxsize=1_024)
def _parsed(constant: str) -> Any:
    return json.loads(constant)


def _text_of(constant: pa.Array) -> str:
    return str(constant[0].as_py()) if len(constant) else "[0,0]"


def _of_pairs(left: pa.Array, right: pa.Array, of_both: Callable[[str | None, str | None], str | None]) -> pa.Array:
    """Computed once for each pair of texts that occurs."""
    rows = pa.table({"left": left, "right": right, "row": pa.array(range(len(left)), pa.int64())})
    found = rows.group_by(["left", "right"], use_threads=False).aggregate([("row", "list")])
    pairs = zip(found.column("left").to_pylist(), found.column("right").to_pylist(), strict=True)
    texts = [of_both(one, other) for one, other in pairs]
    lists = found.column("row_list").combine_chunks()
    order = pc.sort_indices(lists.flatten())
    return pa.array(texts, pa.string()).take(pc.list_parent_indices(lists).take(order))


def grouped(tags: pa.Array, reads: pa.Array) -> pa.Array:
    """Marks of an aggregate from those of its tuples, which follow each other with commas between."""
    sources = _constant(reads)
    return each_text(tags, lambda text: of.written(of.grouped(of.read_all(text), sources)))


def of_tag_group(tags: pa.Array, reads: pa.Array) -> pa.Array:
    """The same of a tag group, which has those of its tuples' marks that match."""
    sources = _constant(reads)
    return each_text(tags, lambda text: of.written(of.of_tag_group(of.read_all(text), sources)))


def in_order(tags: pa.Array) -> pa.Array:
    """Marks in the order of what they say, for tuples that have no other."""
    return each_text(tags, lambda text: of.written(sorted(of.read(text), key=_saying)))


def sayings(tags: pa.Array) -> pa.Array:
    """What marks say, as texts that put tuples in order; nobody's number is in them."""
    return each_text(tags, lambda text: text_of_sayings(map(_saying, of.read(text))))


def _saying(mark: of.MarkText) -> tuple[Any, ...]:
    return saying(mark, mark.fields)


def of_copies(tags: pa.Array) -> pa.Array:
    """Marks of a tuple that stands for several alike."""
    return each_text(tags, lambda text: of.written(of.of_copies(of.read_all(text))))


def counted(tags: pa.Array, which: pa.Array) -> pa.Array:
    """How many tags tuples carry; `which` is a constant: the sign and the field, as JSON."""
    sign, field = _constant(which) or (None, None)
    found = each_text(tags, lambda text: of.counted(of.read_all(text), sign, field), pa.int64())
    return pc.fill_null(found, 0)


def scored(tags: pa.Array, which: pa.Array) -> pa.Array:
    """What the signs of the tags that tuples carry add up to; `which` is a constant: the field, as JSON."""
    field = _constant(which)
    return each_text(tags, lambda text: of.scored(of.read_all(text), field), pa.float64())


def added(tags: pa.Array, tick: pa.Array, index: pa.Array, rest: pa.Array) -> pa.Array:
    """Marks with one more behind them, that of a tag made for each tuple; `rest` is what its text ends with."""
    mark = "[", tick.cast(pa.string()), f",{of.MADE},", index.cast(pa.string()), ",", rest, "]"
    if tags.null_count == len(tags):
        return pc.binary_join_element_wise("[", *mark, "")
    before = pc.binary_join_element_wise(pc.utf8_slice_codeunits(tags, 0, -1), ",", "")
    return pc.binary_join_element_wise(pc.coalesce(before, "["), *mark, "")


def rest_of(mark: of.MarkText) -> str:
    """What the text of a made mark ends with, behind its tick and index."""
    return json.dumps(mark[3:], separators=(",", ":"), ensure_ascii=False)[1:]


def _constant(array: pa.Array) -> Any:
    return json.loads(array[0].as_py()) if len(array) else None


def each_text(array: pa.Array, compute: Callable[[str], Any], type_: pa.DataType | None = None) -> pa.Array:
    """A function of texts, computed once for each of them; nothing of nothing."""
    type_ = type_ or pa.string()
    if array.null_count == len(array):
        return pa.nulls(len(array), type_)
    encoded = array.dictionary_encode()
    made = pa.array([compute(text) for text in encoded.dictionary.to_pylist()], type_)
    return made.take(encoded.indices)


#: the beginning of a text with one mark: when it came, what made it, and its number; and what stands for any
_NUMBERS = r"^\[\[-?\d+,\d+,\d+,"
_ANY_NUMBERS = "[[0,0,0,"


def _is_one(tags: pa.Array) -> pa.Array:
    """Where there is one mark for sure; a text that looks like several may be one."""
    return pc.fill_null(pc.invert(pc.match_substring(tags, "],[")), False)


def _numbers_differ(left: pa.Array, right: pa.Array) -> pa.Array:
    """Where two texts begin with other numbers, so that they are of two tags; both have one mark."""
    one, other = (pc.struct_field(pc.extract_regex(tags, f"(?P<n>{_NUMBERS})"), "n") for tags in (left, right))
    return pc.fill_null(pc.not_equal(one, other), False)


def _text_of_each(tags: pa.Array, compute: Callable[[str], str | None]) -> pa.Array:
    """A function that gives marks other fields, or leaves some out, whatever their numbers are.

    Single marks are looked at without them, so that it is computed once for all tags that say the same.
    """
    if tags.null_count == len(tags):
        return pa.nulls(len(tags), pa.string())
    one = _is_one(tags)
    if not pc.any(one).as_py():
        return each_text(tags, compute)
    alike = each_text(pc.replace_substring_regex(pc.if_else(one, tags, None), _NUMBERS, _ANY_NUMBERS), compute)
    numbers = pc.struct_field(pc.extract_regex(tags, f"(?P<n>{_NUMBERS})"), "n")
    found = pc.binary_join_element_wise(numbers, pc.utf8_slice_codeunits(alike, len(_ANY_NUMBERS)), "")
    others = pc.and_not(pc.is_valid(tags), one)
    return pc.coalesce(found, each_text(pc.if_else(others, tags, None), compute)) if pc.any(others).as_py() else found


class ApartFromNumbers(NamedTuple):
    """Texts of which some have one mark for sure: how those begin, their numbers, and what they say with any others."""

    one: pa.Array
    beginning: pa.Array  # the text of the numbers
    numbers: tuple[Any, Any, Any]  # when it came, what made it, and its number; 0 where there is not one mark
    alike: pa.DictionaryArray
    tags: pa.Array

    def completed(self, found: pa.Array, compute: Callable[[pa.Array], pa.Array]) -> pa.Array:
        """What was found for those with one mark, and what is to be computed for the others."""
        others = pc.and_not(pc.is_valid(self.tags), self.one)
        if not pc.any(others).as_py():
            return found
        return pc.coalesce(pc.if_else(self.one, found, None), compute(pc.if_else(others, self.tags, None)))


def apart_from_numbers(tags: pa.Array) -> ApartFromNumbers | None:
    """None if no text has one mark for sure."""
    one = _is_one(tags)
    if not pc.any(one).as_py():
        return None
    single = pc.if_else(one, tags, None)
    found = pc.extract_regex(single, r"(?P<text>^\[\[(?P<t>-?\d+),(?P<m>\d+),(?P<n>\d+),)")
    numbers = (pc.fill_null(pc.struct_field(found, name).cast(pa.int64()), 0).to_numpy() for name in "tmn")
    alike = pc.replace_substring_regex(single, _NUMBERS, _ANY_NUMBERS).dictionary_encode()
    when, made, number = numbers
    return ApartFromNumbers(one, pc.struct_field(found, "text"), (when, made, number), alike, tags)


def number_of(text: str) -> int:
    """A number that stands for a text, and is the same in every process."""
    return int.from_bytes(sha256(text.encode()).digest()[:7], "big")


def selected(search: Callable[[of.Marks], bool], tags: pa.Array) -> pa.Array:
    """Those of the marks that satisfy a search, each for itself."""
    each = each_text if _reads_numbers(search) else _text_of_each
    return each(tags, lambda text: of.written([mark for mark in of.read(text) if search((mark,))]))


def found(search: Callable[[of.Marks], bool], tags: pa.Array) -> pa.Array:
    """Whether marks satisfy a search; no marks do not."""
    if not _reads_numbers(search):  # then it is the same for all that say the same
        tags = pc.replace_substring_regex(tags, _NUMBERS, _ANY_NUMBERS)
    return pc.fill_null(each_text(tags, _searched(search), pa.bool_()), False)


def _reads_numbers(search: Callable[[of.Marks], bool]) -> bool:
    return bool(getattr(search, "reads_time", True))


def with_search(code: Callable[..., pa.Array], search: Callable[[of.Marks], bool]) -> Callable[[pa.Array], pa.Array]:
    """A function with its search, which can be sent to workers."""
    return partial(code, search)
