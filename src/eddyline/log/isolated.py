"""Tags that cover what comes right behind them and nothing else, for many of them at once.

People mostly tag one tuple, or some that follow each other: an instant tag in front of them. Such a tag is through
before the next one comes, so it meets no other, and there is nothing to weigh up: what it says is read once for all
tags with the same words, and the marks are put together column by column. What else there is `coverage` does, tag by
tag.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.marks import GIVEN, MarkText
from eddyline.algebra.tag import TickTag

Array = Any
#: the list of tuples that a tag is on, where it is a stretch, and what stands for it where all are alike
_STRETCH = r'"tuples"\s*:\s*"(?P<first>\d{1,15})-(?P<last>\d{1,15})"'
#: a tag that lists more is not so common that it matters, and may be refused
_MOST = 1_000
_ANY_STRETCH, _STANDS_FOR = '"tuples":"1-1"', (1,)


@dataclass(frozen=True)
class Said:
    """What tags with the same words say: their marks without the numbers, and the text of the tag around its tuples."""

    mark: str
    before: str
    behind: str
    lists: bool


def said_by(tag: TickTag, fields: frozenset[int] | None) -> Said | None:
    """None if the tag may live on, or if it depends on what is in a tuple whether it is on it."""
    on = tag.applies_to
    if tag.lifespan is not None or on.by_value or on.values is not None or fields == frozenset():
        return None
    if on.tuples not in (None, _STANDS_FOR):
        return None
    places = None if fields is None else tuple(sorted(fields))
    mark = MarkText(0, GIVEN, 0, on.stream, tag.tagger, tag.content, tag.sign, tag.type, None, tag.mode, places)
    objects = _json([on.attributes, on.attribute_pattern, on.by_value, on.values])[1:]
    return Said(
        _json(mark[3:])[1:], f"[{_json(on.stream)},", f",{objects},{_json(mark[4:])[1:]}", on.tuples is not None
    )


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Isolated:
    """The tags among some rows; `simple` tells which of them are through before the next one comes."""

    def __init__(self, texts: pa.Array, upto: Array, index: Array, understood: Callable[[str], Said | None]) -> None:
        """`upto`: how many of the tuples, whose indexes are `index`, came before each tag."""
        words = pc.replace_substring_regex(texts, _STRETCH, _ANY_STRETCH).dictionary_encode()
        self._said = [understood(text) for text in words.dictionary.to_pylist()]
        self._which = pc.fill_null(words.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        known = np.array([*(each is not None for each in self._said), False])  # the last is for those without a text
        lists = np.array([*(each is not None and each.lists for each in self._said), False])[self._which]
        self.first, self.last = upto.copy(), upto.copy()
        if lists.any():
            found = pc.extract_regex(texts, _STRETCH)
            begins = int(index[0]) if len(index) else 0
            for places, name in ((self.first, "first"), (self.last, "last")):
                listed = pc.struct_field(found, name).cast(pa.int64())
                places[lists] = pc.fill_null(listed, -1).to_numpy(zero_copy_only=False)[lists] - begins
        follows = np.append(upto[1:], len(index))
        in_order = len(index) == 0 or int(index[-1]) - int(index[0]) == len(index) - 1
        size = self.last - self.first
        here = (self.first >= upto) & (size >= 0) & (size < _MOST) & (self.last < follows)
        self.simple = known[self._which] & here & in_order
        self._others = np.append(np.flatnonzero(~self.simple), len(upto))
        self._index = index

    def end_of_run(self, at: int) -> int:
        """The first tag from there on that is not simple."""
        return int(self._others[np.searchsorted(self._others, at)])

    def marks(self, at: int, end: int, done: int, upto: int, ticks: Array, numbers: Array) -> pa.Array:
        """Those of the tuples from the place `done` on, as far as the tags of a run cover them."""
        which = self._which[at:end]
        texts = self._numbered("[[", ticks, numbers, pa.array(self._texts("mark")).take(pa.array(which)), "]")
        of_tuple = np.full(upto - done, -1, np.int64)
        first, last = self.first[at:end] - done, self.last[at:end] - done
        sizes = last - first + 1
        places = np.repeat(first - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(int(sizes.sum()))
        of_tuple[places] = np.repeat(np.arange(end - at), sizes)
        return texts.take(pa.array(of_tuple, mask=of_tuple < 0))

    def told(self, at: int, end: int, ticks: Array, numbers: Array) -> pa.Array:
        """The tags of a run themselves, each with all that it applies to."""
        which = pa.array(self._which[at:end])
        before, behind = (pa.array(self._texts(name)).take(which) for name in ("before", "behind"))
        lists = np.array([each is not None and each.lists for each in self._said])[self._which[at:end]]
        tuples = pc.if_else(pa.array(lists), self._listed(at, end), "null") if lists.any() else "null"
        rest = pc.binary_join_element_wise(before, tuples, behind, "")
        return self._numbered("[[", ticks, numbers, rest, "]")

    def _listed(self, at: int, end: int) -> pa.Array:
        first, sizes = self.first[at:end], self.last[at:end] - self.first[at:end] + 1
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(first - offsets[:-1], sizes) + np.arange(int(offsets[-1]))
        texts = pa.array(self._index[places]).cast(pa.string())
        joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts), ",")
        return pc.binary_join_element_wise("[", joined, "]", "")

    def _texts(self, name: str) -> list[str]:
        return ["" if each is None else getattr(each, name) for each in self._said]

    def _numbered(self, opened: str, ticks: Array, numbers: Array, rest: pa.Array, closed: str) -> pa.Array:
        tick, number = (pa.array(each, pa.int64()).cast(pa.string()) for each in (ticks, numbers))
        return pc.binary_join_element_wise(opened, tick, f",{GIVEN},", number, ",", rest, closed, "")
