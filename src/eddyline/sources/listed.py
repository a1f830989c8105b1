"""Tags that list the tuples they are on, as a stretch: what they say beside it, and where it begins and ends.

They are looked at twice, where rows come in and where tags find their tuples, and there may be as many different ones
as tags: what was found for the latest texts is kept until others come.
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
ANY_STRETCH = '"tuples":"1-1"'


class Listed(NamedTuple):
    """Of some texts: what each says with any stretch in it, numbered, and where its own begins and ends; -1 if it has
    none."""

    words: pa.DictionaryArray
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]


_latest: tuple[pa.Array, Listed] | None = None


def listed_in(texts: pa.Array) -> Listed:
    """What a dictionary of texts says. The array that is kept keeps its memory, so no other can be at its place."""
    global _latest
    known = _latest  # others may push at the same time
    if known is None or not _are_the_same(known[0], texts):
        known = _latest = texts, _listed_in(texts)
    return known[1]


def _are_the_same(one: pa.Array, other: pa.Array) -> bool:
    places = ([len(each), each.offset, *(b and b.address for b in each.buffers())] for each in (one, other))
    return next(places) == next(places)


def _listed_in(texts: pa.Array) -> Listed:
    found = pc.extract_regex(texts, _LAST)
    if found.null_count:
        found = pc.extract_regex(texts, _STRETCH)
    if found.null_count == len(found):
        none = np.full(len(texts), -1)
        return Listed(texts.dictionary_encode(), none, none)
    first, last = (
        pc.fill_null(pc.struct_field(found, name).cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        for name in ("first", "last")
    )
    before, behind = (pc.struct_field(found, name) for name in ("before", "behind"))
    words = pc.coalesce(pc.binary_join_element_wise(before, behind, ANY_STRETCH), texts)
    return Listed(words.dictionary_encode(), first, last)
