"""Which tick-tags cover which tuples, for whole stretches of tuples at once (semantics section 6).

It says what `reference.coverage` says tuple by tuple. Between two tags the tags at hand are the same, so each of them
is laid over all tuples of the stretch as an array, and the tuples that have the same tags share one text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eddyline.algebra.dictionary import shipped
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import MOST_WAITING, Applicability, TickTag
from eddyline.log.active_tag import ActiveTag, Attachment, Condition, Stretch, ValueText, fits, left_of
from eddyline.log.carried import Carried, carried_by
from eddyline.log.detached import Detachment

Array = Any
#: so many tags whose time is over are at hand, for tuples that come a little late
MOST_PAST = 10_000
#: of so many tuples and tags it is told at a time which are on which: all of it may be more than fits
_AT_ONCE = 1 << 24
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
        self._past: list[ActiveTag] = []  # whose time is over, for tuples that come late
        self._arrived = 0
        self._schema, self._stream, self._texts = schema, stream, texts
        self._active: list[ActiveTag] = []
        #: by tagger and whether they are on whole tuples, those that have not lost everything; and the latest time of
        #: a tag that overwrites others
        self._open: dict[tuple[str, bool], list[ActiveTag]] = {}
        self._overwritten: dict[tuple[str, bool], int] = {}
        self._patient: list[ActiveTag] = []  # those that may wait for ever, and some that have gone …
        self._all_wait = False  # … unless nothing has happened since it was looked at
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
        new = ActiveTag(self._arrived, tag, positions, condition, detached=list(detached))
        kind = tag.tagger, new.fields is None
        if new.overwrites_any_tuple and not self._is_over(new):
            self._all_wait = False
            for active in self._may_lose(new, kind):
                active.lose(new)
            self._open[kind] = [active for active in self._open.get(kind, ()) if active.ended is None]
            self._overwritten[kind] = max(tag.timestamp, self._overwritten.get(kind, tag.timestamp))
        if new.fields != frozenset():
            self._active.append(new)
            self._open.setdefault(kind, []).append(new)
            if tag.may_wait:
                self._have_wait(new)

    def _have_wait(self, new: ActiveTag) -> None:
        """The oldest of too many goes: who lists tuples or values that never come takes no more memory than that."""
        if self._is_used_up(new):
            return
        self._patient.append(new)
        if len(self._patient) > MOST_WAITING and not self._all_wait:
            self._patient = [tag for tag in self._patient if tag.ended is None and not self._is_used_up(tag)]
            self._all_wait = True
        if len(self._patient) > MOST_WAITING:
            oldest = self._patient.pop(0)
            oldest.used_up = True
            self._active.remove(oldest)
            self._open[oldest.tag.tagger, oldest.fields is None].remove(oldest)

    def _may_lose(self, new: ActiveTag, kind: tuple[str, bool]) -> Sequence[ActiveTag]:
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
        self._all_wait = False
        for each in (*self._past, *self._active):
            tag, fields = each.tag, each.fields
            if what.is_about(tag.content, tag.tagger, fields, tag.applies_to.by_value):
                found = True
                each.detached.append(detach)
                each.used_up = each.used_up or (detach.condition is None and not what.left(fields))
        self._past, self._active = ([each for each in tags if not each.used_up] for tags in (self._past, self._active))
        self._open_again()
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
            self._all_wait = False
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
            places = np.flatnonzero(fits(attachment, stretch))[:1].tolist()
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
        candidates = self._candidates(int(stretch.tick.min()))
        most = max(1, _AT_ONCE // max(1, len(candidates)))
        if len(stretch) > most:
            return Carried.joined([self._laid(stretch.slice(at, at + most)) for at in range(0, len(stretch), most)])
        layers = [(tag, *tag.on(stretch, self._texts)) for tag in candidates]
        layers = [layer for layer in layers if layer[1].any()]
        self.passed(stretch)
        if not layers:
            return Carried.nothing(len(stretch))
        codes = np.stack([codes for _, codes, _ in layers], axis=1)
        alike, which = np.unique(codes, axis=0, return_inverse=True)
        marks = [
            left_of([(layers[at][0], layers[at][2][code - 1]) for at, code in enumerate(row) if code]) for row in alike
        ]
        return carried_by(marks, which.ravel(), stretch.tick, stretch.index)

    def _candidates(self, lowest: int) -> list[ActiveTag]:
        """The tags that may be on tuples at this tick or later."""
        tags: Sequence[ActiveTag] = self._active
        if self._past and self._is_late(lowest):
            tags = sorted((*self._past, *self._active), key=lambda tag: tag.place)
        return [tag for tag in tags if tag.end is None or tag.end > lowest]

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
            if free > 0:
                latest, past = past[free - 1].over, past[free:]
                self.forgotten = latest if self.forgotten is None else max(latest, self.forgotten)
            self._past = past

    def _open_again(self) -> None:
        self._open = {}
        for tag in self._active:
            if tag.ended is None:
                self._open.setdefault((tag.tag.tagger, tag.fields is None), []).append(tag)

    def _has_come(self, tick: int) -> bool:
        return self._reached_tick is not None and tick <= self._reached_tick

    def _is_late(self, tick: int) -> bool:
        return self._reached_tick is not None and tick < self._reached_tick

    def _is_used_up(self, tag: ActiveTag) -> bool:
        tuples = tag.tag.applies_to.tuples
        return tag.used_up or (tuples is not None and max(tuples, default=0) <= self._reached_index)

    def _is_over(self, tag: ActiveTag) -> bool:
        end, reached = tag.end, self._reached_tick
        return self._is_used_up(tag) or (end is not None and reached is not None and end <= reached)
