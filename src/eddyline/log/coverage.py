"""Which tick-tags cover which tuples, for whole stretches of tuples at once (semantics section 6).

It says what `reference.coverage` says tuple by tuple. Between two tags the tags at hand are the same, so each of them
is laid over all tuples of the stretch as an array, and the tuples that have the same tags share one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.dictionary import shipped
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import MOST_WAITING, OVERWRITE, Applicability, TagSpec, TickTag
from eddyline.log.answers import python_rows
from eddyline.log.carried import Carried, carried_by
from eddyline.log.detached import Detachment, asked_of

Array = Any
#: so many tags whose time is over are at hand, for tuples that come a little late
MOST_PAST = 10_000
Fields = frozenset[int] | None
#: what coverage goes on from; the rest follows from it
_STANDING = (
    "_active",
    "_past",
    "_patient",
    "_waiting",
    "_overwritten",
    "_arrived",
    "_reached_tick",
    "_reached_index",
    "forgotten",
)
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


class Coverage:
    """The tags of one stream that can still cover something, in order of arrival.

    A tag goes when it has covered all it can, or when its time is before the horizon, from which on nothing is taken
    any more. Those whose time is over could still cover tuples that come late. The latest `most` are at hand; of the
    others it is known only up to which tick they could (`forgotten`), and who needs them puts them together again from
    the log. None of them is looked at as long as no tuple is late.
    """

    def __init__(
        self,
        schema: Schema,
        stream: str,
        texts: Sequence[ValueText],
        reached: int | None,
        most: int = MOST_PAST,
        kept_from: int | None = None,
    ) -> None:
        """`reached`: the largest tick of the tuples before. What may cover `kept_from` or later is not forgotten."""
        self._most, self.kept_from = most, kept_from
        self.forgotten: int | None = None
        self._past: list[_Active] = []  # whose time is over, for tuples that come late
        self._arrived = 0
        self._schema, self._stream, self._texts = schema, stream, texts
        self._active: list[_Active] = []
        #: by tagger and whether they are on whole tuples, those that have not lost everything; and the latest time of
        #: a tag that overwrites others
        self._open: dict[tuple[str, bool], list[_Active]] = {}
        self._overwritten: dict[tuple[str, bool], int] = {}
        self._patient: list[_Active] = []  # those that may wait for ever, and some that have gone
        self._waiting: list[Attachment] = []
        self.made: list[tuple[int, TickTag]] = []  # tags of attachments, and the tuples that they stand in front of
        self._reached_tick = reached
        self._reached_index = 0

    def __len__(self) -> int:
        return len(self._active) + len(self._past) + len(self._waiting)

    def standing(self) -> dict[str, Any]:
        """All that has to be known to go on from here."""
        return {name: getattr(self, name) for name in _STANDING}

    def resume(self, standing: Mapping[str, Any]) -> None:
        """Go on from what stood somewhere."""
        for name in _STANDING:
            setattr(self, name, standing[name])
        self._open_again()

    @property
    def waiting_contents(self) -> list[str]:
        """What the attachments say that have found no tuple yet."""
        return [attachment.spec.content for attachment in self._waiting]

    def active(self) -> list[TickTag]:
        """The tags that may cover tuples which are to come."""
        return [tag.tag for tag in self._active if not self._is_over(tag)]

    def arrive(self, tag: TickTag, condition: Condition | None = None, detached: tuple[Detachment, ...] = ()) -> None:
        """A tag takes its place; with a condition it covers only tuples that satisfy it."""
        self._arrived += 1
        positions = tag.applies_to.positions(self._schema)
        new = _Active(self._arrived, tag, positions, condition, detached=list(detached))
        kind = tag.tagger, new.fields is None
        if new.overwrites_any_tuple and not self._is_over(new):
            for active in self._may_lose(new, kind):
                active.lose(new)
            self._open[kind] = [active for active in self._open.get(kind, ()) if active.ended is None]
            self._overwritten[kind] = max(tag.timestamp, self._overwritten.get(kind, tag.timestamp))
        if new.fields != frozenset():
            self._active.append(new)
            self._open.setdefault(kind, []).append(new)
            if tag.may_wait:
                self._have_wait(new)

    def _have_wait(self, new: _Active) -> None:
        """The oldest of too many goes: who lists tuples or values that never come takes no more memory than that."""
        self._patient.append(new)
        if len(self._patient) > MOST_WAITING:
            waiting = [tag for tag in self._patient if tag.ended is None and not self._is_used_up(tag)]
            if len(waiting) > MOST_WAITING:
                waiting.pop(0).used_up = True
                self._active = [tag for tag in self._active if not tag.used_up]
            self._patient = waiting

    def _may_lose(self, new: _Active, kind: tuple[str, bool]) -> Sequence[_Active]:
        """Earlier tags that may lose something: those that have anything left, unless it is from an earlier time on."""
        since = new.tag.timestamp
        if self._is_late(since):
            return (*self._past, *self._active)
        return self._active if since < self._overwritten.get(kind, since) else self._open.get(kind, ())

    def attach(self, attachment: Attachment) -> None:
        self._waiting.append(attachment)

    def detach(self, detach: Detachment) -> bool:
        """Its tagger's tags lose what it takes back, for the tuples that are to come; whether there are any."""
        what, found = detach.what, False
        for each in (*self._past, *self._active):
            tag, fields = each.tag, each.fields
            if what.is_about(tag.content, tag.tagger, fields, tag.applies_to.by_value):
                found = True
                each.detached.append(detach)
                each.used_up = each.used_up or (detach.condition is None and not what.left(fields))
        self._past, self._active = ([each for each in tags if not each.used_up] for tags in (self._past, self._active))
        waiting, self._waiting = self._waiting, []
        for attachment in waiting:
            spec = attachment.spec
            on = Applicability(self._stream, attributes=spec.attributes).positions(self._schema)
            if not what.is_about(spec.content, attachment.tagger, on, spec.by_value):
                self._waiting.append(attachment)
                continue
            found = True
            if detach.condition is not None:
                self._waiting.append(replace(attachment, detached=(*attachment.detached, detach)))
            elif left := what.left(on):
                names = tuple(self._schema.fields[position].name for position in sorted(left))
                self._waiting.append(replace(attachment, spec=replace(spec, attributes=names)))
        return found

    def covered(self, stretch: Stretch) -> Carried:
        """What each tuple of a stretch carries."""
        parts, done = [], 0
        for first, attachment in self._due(stretch):
            parts.append(self._laid(stretch.slice(done, first)))
            done = first
            self._make(attachment, int(stretch.index[first]), int(stretch.tick[first]))
        parts.append(self._laid(stretch.slice(done, len(stretch))))
        return Carried.joined(parts)

    def passed(self, stretch: Stretch) -> None:
        """Tuples have come."""
        if len(stretch):
            latest, reached = int(stretch.tick.max()), self._reached_tick
            self._reached_tick = latest if reached is None else max(latest, reached)
            self._reached_index = max(self._reached_index, int(stretch.index.max()))
            # before the latest tick, all earlier tags are looked at anyway
            self._overwritten = {kind: at for kind, at in self._overwritten.items() if not self._has_come(at)}
            self._collect()

    def is_without(self, stretch: Stretch, tags: Array) -> bool:
        """Whether no tag that came before can be on tuples of a stretch, or lose something to the tags among them,
        which stand at these ticks."""
        if self._active or self._waiting:
            return False
        return not self._past or not any(
            len(ticks) and self._is_late(int(ticks.min())) for ticks in (stretch.tick, tags)
        )

    def forget_before(self, horizon: int | None) -> None:
        """Tags whose time is over for all tuples that can still come."""
        if horizon is not None:
            self._active = [tag for tag in self._active if tag.end is None or tag.end > horizon]
            self._past = [tag for tag in self._past if tag.end is None or tag.end > horizon]

    def _due(self, stretch: Stretch) -> list[tuple[int, Attachment]]:
        """The attachments whose first tuple is in a stretch, in the order of these tuples, and where it is."""
        found = []
        waiting, self._waiting = self._waiting, []
        for attachment in waiting if len(stretch) else ():
            places = np.flatnonzero(_fits(attachment, stretch))[:1].tolist()
            if places:
                found.append((places[0], attachment))
            else:
                self._waiting.append(attachment)
        self._waiting = self._waiting if len(stretch) else waiting
        return sorted(found, key=lambda due: due[0])

    def _make(self, attachment: Attachment, index: int, tick: int) -> None:
        spec = attachment.spec
        tuples = (index,) if attachment.condition is not None and spec.lifespan is None else None
        type_ = spec.type or shipped().classify(spec.content)
        tag = spec.tag(self._stream, attachment.tagger, tick, type_, attachment.number, tuples)
        self.arrive(tag, attachment.condition, attachment.detached)
        self.made.append((index, tag))

    def _laid(self, stretch: Stretch) -> Carried:
        if not len(stretch):
            return Carried.nothing(0)
        candidates, lowest = self._active, int(stretch.tick.min())
        if self._past and self._is_late(lowest):
            candidates = sorted((*self._past, *self._active), key=lambda tag: tag.place)
        candidates = [tag for tag in candidates if tag.end is None or tag.end > lowest]
        layers = [(tag, *tag.on(stretch, self._texts)) for tag in candidates]
        layers = [layer for layer in layers if layer[1].any()]
        self.passed(stretch)
        if not layers:
            return Carried.nothing(len(stretch))
        codes = np.stack([codes for _, codes, _ in layers], axis=1)
        alike, which = np.unique(codes, axis=0, return_inverse=True)
        marks = [
            _left([(layers[at][0], layers[at][2][code - 1]) for at, code in enumerate(row) if code]) for row in alike
        ]
        return carried_by(marks, which.ravel(), stretch.tick, stretch.index)

    def _collect(self) -> None:
        """Tags that can cover nothing more go, and those only what is late go aside; the oldest are forgotten."""
        there = [tag for tag in self._active if not self._is_used_up(tag)]
        active = [tag for tag in there if not self._is_over(tag)]
        self._past += [tag for tag in there if self._is_over(tag)]
        if len(active) < len(self._active):
            self._active = active
            self._open_again()
        if len(self._past) > 2 * self._most:  # not one by one: each time all are looked at
            past = [tag for tag in self._past if not self._is_used_up(tag)]
            past.sort(key=lambda tag: tag.over)
            free = len(past) - self._most
            if self.kept_from is not None:
                free = min(free, sum(tag.over <= self.kept_from for tag in past))
            for tag in past[max(free, 1) - 1 : max(free, 0)]:
                self.forgotten = tag.over if self.forgotten is None else max(tag.over, self.forgotten)
            self._past = past[max(free, 0) :]

    def _open_again(self) -> None:
        self._open = {}
        for tag in self._active:
            if tag.ended is None:
                self._open.setdefault((tag.tag.tagger, tag.fields is None), []).append(tag)

    def _has_come(self, tick: int) -> bool:
        return self._reached_tick is not None and tick <= self._reached_tick

    def _is_late(self, tick: int) -> bool:
        return self._reached_tick is not None and tick < self._reached_tick

    def _is_used_up(self, tag: _Active) -> bool:
        tuples = tag.tag.applies_to.tuples
        return tag.used_up or (tuples is not None and max(tuples, default=0) <= self._reached_index)

    def _is_over(self, tag: _Active) -> bool:
        end, reached = tag.end, self._reached_tick
        return self._is_used_up(tag) or (end is not None and reached is not None and end <= reached)


@dataclass
class _Active:
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

    def lose(self, new: _Active) -> None:
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


def _fits(attachment: Attachment, stretch: Stretch) -> Array:
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


def _left(marks: Sequence[tuple[_Active, Fields]]) -> list[tuple[TickTag, Fields]]:
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


__all__ = ["Attachment", "Condition", "Coverage", "Stretch", "ValueText"]
