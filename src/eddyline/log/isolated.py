"""Tags that cover what comes right behind them and nothing else, for many of them at once.

People mostly tag one tuple, or some that follow each other: an instant tag in front of them. Such a tag is through
before the next one comes, so it meets no other, and there is nothing to weigh up: what it says is read once for all
tags with the same words, and tuples get its number. What else there is `coverage` does, tag by tag.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.marks import GIVEN, MarkText, read
from eddyline.algebra.tag import TickTag
from eddyline.algebra.tag_places import HERE
from eddyline.log.carried import Carried, chosen, no_texts, numbered
from eddyline.sources.listed import listed_before

Array = Any
#: so many codes are looked up in an array
_PACKED = 1 << 22
#: a tag that lists more is not so common that it matters, and may be refused
_MOST = 1_000
#: where a tag stands that tuples tell all about: ticks apart, tuples and tags between, and that they do
_ALONE = (0, 1, 0, 0)
#: what a tag lists whose stretch was left out
_STANDS_FOR = (1,)


@dataclass(frozen=True)
class Said:
    """What tags with the same words say: the marks they leave, and the text of the tag around the tuples it lists."""

    marks: str
    before: str
    behind: str
    lists: bool
    whole: bool  # whether it is on tuples as a whole
    next: bool = False  # whether it lists those that come next

    def told(self, first: int, size: int) -> str:
        """The tag itself, with all that it applies to: if it lists tuples, so many from the first behind it on."""
        return f"{self.before}{_listed(first, size) if self.lists else 'null'}{self.behind}"


@lru_cache(maxsize=4_096)
def _listed(first: int, size: int) -> str:
    return _json(list(range(first, first + size)))


def said_by(tag: TickTag, fields: frozenset[int] | None, following: bool = False) -> Said | None:
    """None if the tag may live on, or if it depends on what is in a tuple whether it is on it.

    `following`: whether the tuples that it lists are those that come next.
    """
    on = tag.applies_to
    if tag.lifespan is not None or on.by_value or on.values is not None or fields == frozenset():
        return None
    if on.tuples not in (None, _STANDS_FOR):
        return None
    places = None if fields is None else tuple(sorted(fields))
    mark = MarkText(0, GIVEN, 0, on.stream, tag.tagger, tag.content, tag.sign, tag.type, None, tag.mode, places)
    objects = _json([on.attributes, on.attribute_pattern, on.by_value, on.values])[1:]
    return Said(
        _json([mark]),
        f"[[0,{GIVEN},0,[{_json(on.stream)},",
        f",{objects},{_json(mark[4:])[1:]}]",
        on.tuples is not None,
        fields is None,
        following,
    )


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class Isolated:
    """The tags among some rows; `simple` tells which of them are through before the next one comes."""

    def __init__(self, simple: Array, first: Array, last: Array, upto: Array, index: Array) -> None:
        """`upto`: how many of the tuples, whose indexes are `index`, came before each tag, which covers those from the
        place `first` to `last`, if it is as simple as it looks."""
        self.first, self.last = first, last
        self._index = index
        follows = np.append(upto[1:], len(index))
        in_order = len(index) == 0 or int(index[-1]) - int(index[0]) == len(index) - 1
        here = last < follows
        if first is not upto:
            size = last - first
            here &= (first >= upto) & (size >= 0) & (size < _MOST)
        self.simple = simple & here & in_order
        self._others = np.append(np.flatnonzero(~self.simple), len(upto))
        self.said: list[Said | None] = []
        self.which: Array = np.full(len(upto), -1)

    @classmethod
    def said_in(
        cls, texts: pa.Array, upto: Array, index: Array, understood: Callable[[Sequence[str]], list[Said | None]]
    ) -> Isolated:
        """Of tags as they came."""
        each = numbered(texts)
        words, begin, end = listed_before(each.dictionary)
        said = understood(words.dictionary.to_pylist())
        codes = (pc.fill_null(each.indices, -1) if each.null_count else each.indices).to_numpy(zero_copy_only=False)
        which = np.append(words.indices.to_numpy(zero_copy_only=False), -1).astype(np.int64)[codes]
        known = np.array([*(each is not None for each in said), False])[which]  # the last is for those without a text
        first = last = upto
        if any(each is not None and each.lists for each in said):
            lists = np.array([*(each is not None and each.lists for each in said), False])[which]
            first, last = upto.copy(), upto.copy()
            begins = int(index[0]) if len(index) else 0
            # what comes next is counted from the tuples before
            before = np.where(
                np.array([*(each is not None and each.next for each in said), False])[which], upto - 1, -begins
            )
            for places, stretch in ((first, begin), (last, end)):
                places[lists] = (np.append(stretch, -1)[codes] + before)[lists]
        made = cls(known, first, last, upto, index)
        made.said, made.which = said, which
        return made

    @classmethod
    def told_in(cls, told: pa.Array, lasts: Array, upto: Array, index: Array) -> Isolated:
        """Of tags as the log has them; `lasts` are the indexes of the tuples before them."""
        encoded = told.dictionary_encode()
        which = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        stretches = [*map(_stretch, encoded.dictionary.to_pylist()), None]
        known = np.array([each is not None for each in stretches])[which]
        lists = np.array([bool(each) for each in stretches])[which]
        first, last = upto.copy(), upto.copy()
        begins = int(index[0]) if len(index) else 0
        for places, end in ((first, 0), (last, 1)):
            offsets = np.array([each[end] if each else 0 for each in stretches])[which]
            places[lists] = (lasts + offsets - begins)[lists]
        return cls(known, first, last, upto, index)

    def end_of_run(self, at: int) -> int:
        """The first tag from there on that is not simple."""
        return int(self._others[np.searchsorted(self._others, at)])

    def silent(self, run: Run, tick: Array) -> Array:
        """Which tags of a run tuples tell all about: instant ones right in front of one tuple, on it as a whole.

        `tick`: of all tuples.
        """
        plain = np.array([each is not None and each.whole and not each.lists for each in self.said])
        first = self.first[run.at : run.end]
        found = (self._index[first] - run.lasts == 1) & (run.ticks == tick[first])
        if not plain.all():
            found &= plain[self.which[run.at : run.end]]
        found[:1] &= run.between == 0
        return found

    def carried(self, run: Run, done: int, upto: int, tick: Array, silent: Array) -> Carried:
        """What the tuples from the place `done` on carry, as far as the tags of a run cover them; `tick` is theirs."""
        if silent.all():
            return Carried(self._one_by_one(run, done, upto), no_texts(upto - done))
        first, sizes = self.first[run.at : run.end] - done, self._sizes(run)
        number = np.arange(run.end - run.at)
        places = first
        if not (sizes == 1).all():
            starts = np.repeat(first - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
            places, number = starts + np.arange(int(sizes.sum())), np.repeat(number, sizes)
        of_tuple = np.full(upto - done, -1, np.int32)
        of_tuple[places] = self.which[run.at : run.end][number]
        tags = chosen(of_tuple, self._marks())
        apart = run.ticks[number] - tick[places]
        before = self._index[places + done] - run.lasts[number]
        ways, way = _different(apart, before, np.where(number == 0, run.between, 0), ~self._alone(run)[number])
        texts = [None if (*where, told) == _ALONE else "{}:{}:{}".format(*where) for *where, told in ways]
        codes = np.full(len(of_tuple), -1, np.int32)
        codes[places] = way
        return Carried(tags, chosen(codes, texts))

    def _one_by_one(self, run: Run, done: int, upto: int) -> pa.DictionaryArray:
        """What tuples carry if each tag is on one."""
        of_tuple = self.which[run.at : run.end]
        if len(of_tuple) < upto - done:
            of_tuple = np.full(upto - done, -1, np.int32)
            of_tuple[self.first[run.at : run.end] - done] = self.which[run.at : run.end]
        return chosen(of_tuple, self._marks())

    def _marks(self) -> list[str | None]:
        return [None if each is None else each.marks for each in self.said]

    def _alone(self, run: Run) -> Array:
        """Which tags are instant ones on one tuple as a whole, which does not have to be told."""
        plain = np.array([each is not None and each.whole and not each.lists for each in self.said])
        return plain[self.which[run.at : run.end]]

    def told(self, run: Run, silent: Array) -> Carried:
        """The tags of a run themselves, each with all that it applies to, but for those that tuples tell all about."""
        which = self.which[run.at : run.end]
        if silent.all():
            return Carried.nothing(len(which))
        ahead, sizes = self._index[self.first[run.at : run.end]] - run.lasts, self._sizes(run)
        ways, of_tag = _different(which, ahead, sizes)
        said = [self.said[which] for which, _, _ in ways]
        texts = [None if each is None else each.told(*way[1:]) for each, way in zip(said, ways, strict=True)]
        places = np.where(silent, -1, np.arange(len(which)) > 0)
        return Carried(chosen(np.where(silent, -1, of_tag), texts), chosen(places, [f"0:0:{run.between}", HERE]))

    def _sizes(self, run: Run) -> Array:
        return self.last[run.at : run.end] - self.first[run.at : run.end] + 1


@dataclass(frozen=True)
class Run:
    """Simple tags that follow each other: their ticks, and the indexes of the tuples before them.

    Between the first one and the tuple before it there are so many others.
    """

    at: int
    end: int
    ticks: Array
    lasts: Array
    between: int


def _different(*columns: Array) -> tuple[list[tuple[int, ...]], Array]:
    """The different rows of some columns of integers, and which of them each row is."""
    lows = [int(column.min()) if len(column) else 0 for column in columns]
    spans = [int(column.max()) - low + 1 if len(column) else 1 for column, low in zip(columns, lows, strict=True)]
    if math.prod(spans) > _PACKED:
        rows, which = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        return [tuple(row) for row in rows.tolist()], which.ravel()
    packed = np.zeros(len(columns[0]), np.int64)
    for column, low, span in zip(columns, lows, spans, strict=True):
        if span > 1:  # mostly all stand in the tick of their tuples, alone
            packed *= span
            packed += column
            packed -= low
    used = np.zeros(math.prod(spans), bool)
    used[packed] = True
    codes = np.flatnonzero(used)
    parts = [(each + low).tolist() for each, low in zip(np.unravel_index(codes, spans), lows, strict=True)]
    return list(zip(*parts, strict=True)), (np.cumsum(used) - 1)[packed]


def _stretch(told: str) -> tuple[int, int] | tuple[()] | None:
    """The first and the last tuple that a tag of the log lists, from its place on; () if it lists none.

    None if it may live on, or if it depends on what is in a tuple whether it is on it."""
    (mark,) = read(told)
    assert not isinstance(mark.objects, str)
    _, tuples, _, _, by_value, values = mark.objects
    if mark.lifespan is not None or by_value or values is not None or mark.fields == ():
        return None
    if tuples is None:
        return ()
    listed = list(tuples)  # type: ignore[call-overload]
    return (listed[0], listed[-1]) if listed == list(range(listed[0], listed[0] + len(listed))) else None
