"""Tags that list the tuples they are on, as a stretch or as some that come next: what they say beside it, and where it
begins and ends.

They are looked at twice, where rows come in and where tags find their tuples, and there may be as many different ones
as tags: what was found where they came in is kept until others come.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

#: the tuples that a tag is on, as a stretch of some, and what stands for it where all are alike
_STRETCH = r'(?s)^(?P<before>.*)"tuples"\s*:\s*"(?P<first>[1-9]\d{0,14})-(?P<last>[1-9]\d{0,14})"(?P<behind>.*)$'
#: the same where it is the last that a tag says and nothing else is in braces, as programs write it: here only one way
#: can be right at each letter, so that it is found in half the time
_LAST = (
    r'^(?P<before>[^{}]*\{[^{}]*\{)"tuples"\s*:\s*"(?P<first>[1-9]\d{0,14})-(?P<last>[1-9]\d{0,14})"(?P<behind>\}\})$'
)
#: a number of tuples that come next, in the same place
_NEXT = r'^(?P<before>[^{}]*\{[^{}]*\{)"next"\s*:\s*(?P<first>)(?P<last>[1-9]\d{0,14})(?P<behind>\}\})$'
ANY_STRETCH, ANY_NEXT = '"tuples":"1-1"', '"next":1'


class Listed(NamedTuple):
    """Of some texts: what each says with any stretch in it, numbered, and where its own begins and ends; -1 if it has
    none. The first that comes next is the first."""

    words: pa.DictionaryArray
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]


_latest: tuple[pa.Array, Listed] | None = None


def listed_in(texts: pa.Array) -> Listed:
    """What a dictionary of texts says that has just come."""
    global _latest
    found = _listed_in(texts)  # a program may write the next texts into the memory of the last ones
    _latest = texts, found
    return found


def listed_before(texts: pa.Array) -> Listed:
    """The same of texts on their way to the log, which nobody may change any more.

    The array that is kept keeps its memory, so no other can be at its place."""
    known = _latest  # others may push at the same time
    return known[1] if known is not None and _are_the_same(known[0], texts) else _listed_in(texts)


def _are_the_same(one: pa.Array, other: pa.Array) -> bool:
    places = ([len(each), each.offset, *(b and b.address for b in each.buffers())] for each in (one, other))
    return next(places) == next(places)


def _listed_in(texts: pa.Array) -> Listed:
    first, last = np.full(len(texts), -1), np.full(len(texts), -1)
    words = texts
    left = pa.array(np.arange(len(texts)))
    for pattern, stands in ((_LAST, ANY_STRETCH), (_NEXT, ANY_NEXT), (_STRETCH, ANY_STRETCH)):
        some = texts if len(left) == len(texts) else texts.take(left)
        found = pc.extract_regex(some, pattern)
        if found.null_count < len(some):
            there = pc.is_valid(found)
            at, found = left.filter(there).to_numpy(), found.filter(there)
            begin, last[at] = (_numbers(found, name) for name in ("first", "last"))
            first[at] = begin
            made = pc.binary_join_element_wise(*(pc.struct_field(found, name) for name in ("before", "behind")), stands)
            words = made if len(at) == len(texts) else pc.replace_with_mask(words, _mask(at, len(texts)), made)
            left = left.filter(pc.invert(there))
        if not len(left):
            break
    return Listed(words.dictionary_encode(), first, last)


def _numbers(found: pa.StructArray, name: str) -> npt.NDArray[np.int64]:
    """A number that stands for nothing is 1."""
    digits = pc.struct_field(found, name)
    numbers: npt.NDArray[np.int64] = pc.if_else(pc.equal(digits, ""), "1", digits).cast(pa.int64()).to_numpy()
    return numbers


def _mask(places: npt.NDArray[np.int64], size: int) -> pa.Array:
    there = np.zeros(size, bool)
    there[places] = True
    return pa.array(there)
