"""One tick-tag over a stretch of tuples: which it is on, and what is left of it when others have overwritten it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.tag import OVERWRITE, TagSpec, TickTag
from eddyline.log.answers import python_rows
from eddyline.log.detached import Detachment, asked_of

Array = Any
Fields = frozenset[int] | None
#: which tuples of a table, with tick and index behind their columns, satisfy a condition
Condition = Callable[[pa.Table], Array]
#: how a value of a field is written, for patterns
ValueText = Callable[[Any], str]


@dataclass(frozen=True)
class Attachment:
    """An ad hoc ATTACH TAG that waits for its first tuple; `number` is that of the tag it becomes."""

    spec: TagSpec
    tagger: str
    number: int
    condition: Condition | None = None
    detached: tuple[Detachment, ...] = ()  # what has taken it back from some tuples while it waited


@dataclass(frozen=True)
class Stretch:
    """Tuples that follow each other in the order of arrival, among other rows."""

    rows: pa.Table
    places: Array  # where the tuples are among them
    index: Array
    tick: Array

    @classmethod
    def of(cls, values: pa.Table, index: Array, tick: Array) -> Stretch:
        return cls(values, np.arange(len(index)), index, tick)

    def __len__(self) -> int:
        return len(self.index)

    def slice(self, first: int, last: int) -> Stretch:
        return Stretch(self.rows, self.places[first:last], self.index[first:last], self.tick[first:last])

    @cached_property
    def values(self) -> pa.Table:
        """Most tags do not depend on them."""
        return self.rows.take(pa.array(self.places))

    @cached_property
    def asked(self) -> pa.Table:
        """What conditions read."""
        return asked_of(self.values, self.tick, self.index)


@dataclass(eq=False)
class ActiveTag:
    place: int  # in order of arrival
    tag: TickTag
    fields: Fields
    condition: Condition | None
    followed: dict[int, Any] = field(default_factory=dict)  # the values that a tag on values has settled on
    used_up: bool = False
    losses: list[tuple[int, Fields]] = field(default_factory=list)  # to tags that overwrite it, from their time on
    ended: int | None = None  # when it has lost everything
    detached: list[Detachment] = field(default_factory=list)  # what has taken it back, from some of its objects

    @property
    def overwrites_any_tuple(self) -> bool:
        return self.tag.mode == OVERWRITE and self.condition is None and self.tag.applies_to.any_tuple

    @property
    def end(self) -> int | None:
        """The first tick at which it covers nothing any more; None if that is not known."""
        if self.ended is None:
            return self.tag.end
        return self.ended if self.tag.end is None else min(self.ended, self.tag.end)

    @property
    def over(self) -> int:
        """The same, of a tag of which it is known."""
        return 2**63 - 1 if self.end is None else self.end

    def lose(self, new: ActiveTag) -> None:
        """Give up what another overwrites, from its time on."""
        if not _same_kind(self.tag, self.fields, new.tag, new.fields):
            return
        left = self._left_at(new.tag.timestamp)
        if left is False or (isinstance(left, frozenset) and left.isdisjoint(new.fields or ())):
            return  # it has nothing of that any more, then and later
        self.losses.append((new.tag.timestamp, new.fields))
        self.losses.sort(key=lambda loss: loss[0])
        self.ended = next((since for since, _ in self.losses if not _is_something(self._left_at(since))), None)

    def _left_at(self, tick: int) -> Fields | bool:
        """The fields that it still has at a tick, None for the whole tuple; False if nothing is left."""
        left = self.fields
        for since, lost in self.losses:
            if since <= tick and (left is None or not (left := left - (lost or frozenset()))):
                return False
        return left

    def on(self, stretch: Stretch, texts: Sequence[ValueText]) -> tuple[Array, list[Fields]]:
        """For each tuple 0, or which of some sets of fields the tag is on, from 1."""
        covers = self._may_cover(stretch)
        codes = np.zeros(len(stretch), np.int32)
        if self.used_up or not covers.any():
            return codes, []
        found: list[Fields] = []
        since = np.array([tick for tick, _ in self.losses], np.int64)
        level: Array = np.searchsorted(since, stretch.tick, side="right")
        lefts = {at: self._left_at(int(since[at - 1]) if at else -(2**63)) for at in np.unique(level[covers]).tolist()}
        for at, left in lefts.items():
            if left is None:
                rows = covers & (level == at)
                if self.tag.applies_to.values is not None:
                    rows &= self._matching(stretch, range(stretch.values.num_columns), texts).any(axis=1)
                found.append(None)
                codes[rows] = len(found)
        fields = sorted({position for left in lefts.values() if isinstance(left, frozenset) for position in left})
        if fields:
            had = np.zeros((len(stretch), len(fields)), bool)
            for at, left in lefts.items():
                if isinstance(left, frozenset):
                    had[covers & (level == at)] = [position in left for position in fields]
            had &= self._holding(stretch, fields, had, texts)
            alike, which = np.unique(had, axis=0, return_inverse=True)
            for number, row in enumerate(alike):
                if row.any():
                    found.append(frozenset(position for position, on in zip(fields, row, strict=True) if on))
                    codes[which.ravel() == number] = len(found)
        for detach in self.detached:
            self._take_back(detach, stretch, codes, found)
        if self.tag.lifespan is None and self.tag.applies_to.tuples is None and codes.any():
            self.used_up = True
            codes[int(np.flatnonzero(codes)[0]) + 1 :] = 0
        return codes, found

    def _take_back(self, detach: Detachment, stretch: Stretch, codes: Array, found: list[Fields]) -> None:
        """Change the codes of tuples that lose the tag, or something of it."""
        becomes = list(range(len(found) + 1))
        for code, fields in enumerate(list(found), 1):
            if detach.what.is_about(self.tag.content, self.tag.tagger, fields, self.tag.applies_to.by_value):
                left = detach.what.left(fields)
                if left:
                    found.append(left)
                becomes[code] = len(found) if left else 0
        changed = np.array(becomes, np.int32)[codes] != codes
        if changed.any():
            rows = changed & detach.concerns(stretch.values, stretch.tick, stretch.index)
            codes[rows] = np.array(becomes, np.int32)[codes[rows]]

    def _may_cover(self, stretch: Stretch) -> Array:
        tag, tuples = self.tag, self.tag.applies_to.tuples
        covers = np.ones(len(stretch), bool) if tuples is None else np.isin(stretch.index, tuples)
        if tag.end is not None:
            covers &= (stretch.tick >= tag.timestamp) & (stretch.tick < tag.end)
        if self.condition is not None and covers.any():
            covers &= self.condition(stretch.asked)
        return covers

    def _holding(self, stretch: Stretch, fields: Sequence[int], had: Array, texts: Sequence[ValueText]) -> Array:
        """Which of the fields hold what the tag is on, where it is on values."""
        if self.tag.applies_to.values is not None:
            return self._matching(stretch, fields, texts)
        holds = np.ones((len(stretch), len(fields)), bool)
        for at, position in enumerate(fields) if self.tag.applies_to.by_value else ():
            rows = np.flatnonzero(had[:, at])
            if not len(rows):
                continue
            column = stretch.values.column(position)
            first = int(rows[0])
            if self.tag.lifespan is None and self.tag.applies_to.tuples is None:
                first = int(np.flatnonzero(had.any(axis=1))[0])  # it covers one tuple, so no other settles its values
            value = self.followed.setdefault(position, column[first])
            holds[:, at] = _same(column, value)
        return holds

    def _matching(self, stretch: Stretch, fields: Sequence[int], texts: Sequence[ValueText]) -> Array:
        """Which of the fields match the pattern of the tag's values; each different value is looked at once."""
        pattern = re.compile(self.tag.applies_to.values or "")
        found = np.zeros((len(stretch), len(fields)), bool)
        for at, position in enumerate(fields):
            values = stretch.values.column(position).combine_chunks()
            different = values.unique()
            matches = [
                value is not None and pattern.fullmatch(texts[position](value)) is not None
                for (value,) in python_rows(["v"], pa.table({"v": different}))
            ]
            wanted = different.filter(pa.array(matches, pa.bool_()))
            found[:, at] = pc.is_in(values, value_set=wanted).to_numpy(zero_copy_only=False)
        return found


def fits(attachment: Attachment, stretch: Stretch) -> Array:
    """Which tuples an attachment can stand in front of."""
    fits = np.ones(len(stretch), bool)
    if attachment.condition is not None:
        fits &= attachment.condition(stretch.asked)
    for detach in attachment.detached:
        if fits.any():
            fits &= ~detach.concerns(stretch.values, stretch.tick, stretch.index)
    return fits


def _is_something(left: Fields | bool) -> bool:
    return left is not False


def _same(column: pa.ChunkedArray, value: pa.Scalar) -> Array:
    """Where a column has a value, in the way that groups are told apart: NULL is NULL, and NaN is NaN."""
    if not value.is_valid:
        return pc.is_null(column).to_numpy()
    if pa.types.is_floating(value.type) and value.as_py() != value.as_py():
        return pc.fill_null(pc.is_nan(column), False).to_numpy()
    return pc.fill_null(pc.equal(column, value), False).to_numpy()


def _same_kind(earlier: TickTag, on: Fields, new: TickTag, new_on: Fields) -> bool:
    """Whether a tag can take something from an earlier one: tuples and their attributes are different objects."""
    return earlier.tagger == new.tagger and (on is None) == (new_on is None)


def left_of(marks: Sequence[tuple[ActiveTag, Fields]]) -> list[tuple[TickTag, Fields]]:
    """The tags of a tuple, in order of arrival, less what later ones overwrite."""
    left: dict[int, tuple[TickTag, Fields]] = {}
    alike: dict[tuple[str, bool], list[int]] = {}  # those that can take something from each other
    for number, (active, fields) in enumerate(marks):
        new = active.tag
        others = alike.setdefault((new.tagger, fields is None), [])
        if new.mode == OVERWRITE:
            for at in others:
                tag, on = left.pop(at)
                if rest := (on or frozenset()) - (fields or frozenset()):
                    left[at] = tag, rest
            others[:] = [at for at in others if at in left]
        left[number] = new, fields
        others.append(number)
    return [left[at] for at in sorted(left)]
