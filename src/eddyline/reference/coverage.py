"""Which tick-tags cover which tuples (semantics section 6; Stream Tag Framework section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from eddyline.algebra.dictionary import Dictionary, shipped
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import MOST_WAITING, OVERWRITE, Applicability, TagSpec, TickTag
from eddyline.reference.detach import Detach
from eddyline.reference.element import Change, Mark, Row, Stamped, StreamElement, TagElement, Values
from eddyline.reference.functions.casting import Cast, to_text
from eddyline.reference.value import group_key

#: over the columns, tick and index
Condition = Callable[[Values], bool]


@dataclass(frozen=True, slots=True)
class Attach:
    """An ad hoc ATTACH TAG that waits for its place in the stream: in front of the first tuple it may cover."""

    spec: TagSpec
    tagger: str
    condition: Condition | None = None
    detached: tuple[Detach, ...] = ()  # what has taken it back from some tuples while it waited


class Coverage:
    """The active tick-tags of one place in a stream, in order of arrival.

    A tag is collected when it cannot cover any more: an instant tag after its tuple, a tag on listed tuples after the
    last of them, a timed tag when a tuple at or past the end of its life has come. Only tuples count for that, so that
    a tagger cannot end the tags of others. `lateness` keeps timed tags for so many ticks longer, for the sake of
    tuples that come later than that (None: for ever).

    Overwriting ends what the same tagger said earlier about the same object. If the new tag is for any tuple, its
    objects are attributes of the stream, so the earlier tag loses them for good from the new one's time on: it does not
    come back when the new one expires, because a tagger overwrites to retract (section 3.2, "Mode"). If the new tag is
    for some tuples only (listed, by value or by condition), the earlier one loses just the objects that the new one
    covers.
    """

    def __init__(
        self, schema: Schema, stream: str, dictionary: Dictionary | None = None, lateness: int | None = 0
    ) -> None:
        self.schema = schema
        self.stream = stream
        self.dictionary = dictionary or shipped()
        self.lateness = lateness
        self._texts = tuple(to_text(declared.type) for declared in schema.fields)
        self._active: list[_ActiveTag] = []  # in order of arrival
        self._past: list[_ActiveTag] = []  # whose time is over, kept for tuples that come late
        self._waiting: list[Attach] = []
        self._made = self._arrived = 0
        self._reached_tick: int | None = None
        self._reached_index = 0

    def __len__(self) -> int:
        """How many tags are active or wait for their first tuple."""
        return len(self._active) + len(self._past) + len(self._waiting)

    def active_tags(self) -> set[TickTag]:
        """The tags that may cover tuples which are to come."""
        return {active.tag for active in self._active if not self._is_over(active)}

    def waiting_contents(self) -> list[str]:
        """What the attachments say that have found no tuple yet."""
        return [attach.spec.content for attach in self._waiting]

    def arrive(
        self, element: TagElement, condition: Condition | None = None, detached: tuple[Detach, ...] = ()
    ) -> None:
        """A tag takes its place; with a condition it covers only tuples that satisfy it."""
        self._arrived += 1
        positions = element.tag.applies_to.positions(self.schema)
        new = _ActiveTag(self._arrived, element.tag, positions, condition, self._texts, detached=list(detached))
        if new.overwrites_any_tuple and not self._is_over(new):
            for active in (*self._past, *self._active) if self._is_late(element.tag.timestamp) else self._active:
                active.lose(new)
        if new.fields != frozenset():
            self._active.append(new)
        if element.tag.may_wait:
            self._have_wait()

    def _have_wait(self) -> None:
        """The oldest of too many goes: who lists tuples or values that never come takes no more memory than that."""
        tags = (each for each in self._active if each.tag.may_wait and each.ended is None)
        waiting = [each for each in tags if not self._is_used_up(each)]
        if len(waiting) > MOST_WAITING:
            waiting[0].used_up = True
            self._active = [each for each in self._active if not each.used_up]

    def attach(self, attach: Attach) -> None:
        self._waiting.append(attach)

    def detach(self, detach: Detach) -> None:
        """Its tagger's tags lose what it takes back, for the tuples that are to come."""
        self._active = [active for active in self._active if active.detach(detach)]
        self._past = [active for active in self._past if active.detach(detach)]
        waiting = (self._without(attach, detach) for attach in self._waiting)
        self._waiting = [attach for attach in waiting if attach is not None]

    def _without(self, attach: Attach, detach: Detach) -> Attach | None:
        """What is left of an attachment that waits."""
        spec = attach.spec
        positions = Applicability(self.stream, attributes=spec.attributes).positions(self.schema)
        if not detach.is_about(spec.content, attach.tagger, positions, spec.by_value):
            return attach
        if detach.condition is not None:
            return replace(attach, detached=(*attach.detached, detach))
        left = (positions or frozenset()) - (detach.fields or frozenset())
        names = tuple(self.schema.fields[position].name for position in sorted(left))
        return replace(attach, spec=replace(spec, attributes=names)) if names else None

    def make(self, attach: Attach, index: int, tick: int) -> TagElement:
        """Put the tag that `attach` asks for in front of the tuple at `index`."""
        spec = attach.spec
        # A condition cannot be written into the tag's applicability; the one tuple of an instant tag can.
        tuples = (index,) if attach.condition is not None and spec.lifespan is None else None
        self._made += 1
        type_ = spec.type or self.dictionary.classify(spec.content)
        element = TagElement(tick, spec.tag(self.stream, attach.tagger, tick, type_, self._made, tuples))
        self.arrive(element, attach.condition, attach.detached)
        return element

    def due(self, index: int, stamped: Stamped) -> Iterator[TagElement]:
        """The waiting attachments for which this tuple is the first; from now on they are tags in the stream."""
        values = stamped.row.values
        waiting, self._waiting = self._waiting, []
        for attach in waiting:
            satisfied = attach.condition is None or attach.condition((*values, stamped.tick, index))
            if satisfied and not any(detach.concerns(index, stamped) for detach in attach.detached):
                yield self.make(attach, index, stamped.tick)
            else:
                self._waiting.append(attach)

    def mark(self, index: int, stamped: Stamped) -> Row:
        """The tuple, which comes next in the stream, with the tags that cover it after those it has already."""
        values, marks = stamped.row
        return Row(values, marks + self.marks_on(index, stamped))

    def marks_on(self, index: int, stamped: Stamped) -> tuple[Mark, ...]:
        """The marks that the active tags leave on the tuple that comes next in the stream."""
        marks: list[Mark] = []
        candidates = self._active
        if self._past and self._is_late(stamped.tick):
            candidates = sorted((*self._past, *self._active), key=lambda tag: tag.number)
        for active in candidates:
            mark = active.on(index, stamped)
            if mark is None:
                continue
            if mark.tag.mode == OVERWRITE:
                marks = [left for earlier in marks if (left := _overwritten(earlier, mark)) is not None]
            marks.append(mark)
        tick, reached = stamped.tick, self._reached_tick
        self._reached_tick = tick if reached is None else max(reached, tick)
        self._reached_index = max(self._reached_index, index)
        self._collect()
        return tuple(marks)

    def _is_late(self, tick: int) -> bool:
        return self._reached_tick is not None and tick < self._reached_tick

    def _collect(self) -> None:
        if self.lateness is None:
            self._past += [active for active in self._active if self._has_passed(active, 0)]
        self._active = [active for active in self._active if not self._is_over(active)]

    def _is_over(self, active: _ActiveTag) -> bool:
        """Whether a tag can cover nothing more, or only what comes later than `lateness` allows."""
        return self._is_used_up(active) or self._has_passed(active, self.lateness or 0)

    def _is_used_up(self, active: _ActiveTag) -> bool:
        tuples = active.tag.applies_to.tuples
        return active.used_up or (tuples is not None and max(tuples, default=0) <= self._reached_index)

    def _has_passed(self, active: _ActiveTag, lateness: int) -> bool:
        end = active.end
        passed = end is not None and self._reached_tick is not None and end + lateness <= self._reached_tick
        return passed and not self._is_used_up(active)


def covered(
    elements: Iterable[StreamElement | Attach | Detach],
    schema: Schema,
    stream: str,
    dictionary: Dictionary | None = None,
    lateness: int | None = 0,
    coverage: Coverage | None = None,
) -> Iterator[StreamElement | Detach]:
    """The tuples of a stream with the tags that cover them, each tag still in front of its first tuple.

    A tuple's tags are settled when it arrives: a replacement keeps them, a deletion takes them along. Only who has
    attached a tag can take it back: the tuples that have it are then replaced by themselves without it.
    """
    if coverage is None:
        coverage = Coverage(schema, stream, dictionary, lateness)
    settled: dict[int, tuple[Stamped, tuple[Mark, ...]]] = {}  # tuples that have any tags, with these
    for element in elements:
        if isinstance(element, Attach):
            coverage.attach(element)
        elif isinstance(element, Detach):
            coverage.detach(element)
            yield from _detached(element, settled)
            yield element
        elif isinstance(element, Change):
            index, old, new = element.index, element.old, element.new
            _, marks = settled.pop(index, (None, ()))
            if old is None and new is not None:
                yield from coverage.due(index, new)
                marks = coverage.marks_on(index, new)
            if new is not None and marks:
                settled[index] = new, marks
            yield Change(index, with_marks(old, marks), with_marks(new, marks))
        else:
            if isinstance(element, TagElement):
                coverage.arrive(element)
            yield element


def _detached(detach: Detach, settled: dict[int, tuple[Stamped, tuple[Mark, ...]]]) -> Iterator[Change]:
    for index, (stamped, marks) in sorted(settled.items()):
        if detach.is_too_late_for(stamped):
            continue
        left = tuple(kept for mark in marks if (kept := detach.after(mark, index, stamped)) is not None)
        if left != marks:
            if left:
                settled[index] = stamped, left
            else:
                del settled[index]
            yield Change(index, with_marks(stamped, marks), with_marks(stamped, left))


def with_marks(stamped: Stamped | None, marks: tuple[Mark, ...]) -> Stamped | None:
    return None if stamped is None else Stamped(stamped.tick, Row(stamped.row.values, marks))


@dataclass(slots=True)
class _ActiveTag:
    number: int  # in order of arrival
    tag: TickTag
    fields: frozenset[int] | None
    condition: Condition | None
    texts: tuple[Cast, ...]  # how the values of each field are written, for patterns
    followed: dict[int, Any] = field(default_factory=dict)  # the values that a tag on values has settled on
    used_up: bool = False
    losses: list[Mark] = field(default_factory=list)  # to tags that overwrite it, from their time on
    ended: int | None = None  # when it has lost everything
    detached: list[Detach] = field(default_factory=list)  # what has taken it back, from some of its objects

    @property
    def overwrites_any_tuple(self) -> bool:
        return self.tag.mode == OVERWRITE and self.condition is None and self.tag.applies_to.any_tuple

    @property
    def end(self) -> int | None:
        """The first tick at which it covers nothing any more, None if that is not known."""
        ends = [tick for tick in (self.tag.end, self.ended) if tick is not None]
        return min(ends, default=None)

    def lose(self, new: _ActiveTag) -> None:
        """Give up what `new` overwrites, from the time of `new` on."""
        other, since = Mark(new.tag, new.fields), new.tag.timestamp
        left = self._left_at(since)
        if left is None or _overwritten(left, other) == left:
            return  # it has nothing of that any more, then and later
        self.losses.append(other)
        if self._left_at(max(since, self.ended or since)) is None:
            self.ended = since if self.ended is None else min(since, self.ended)

    def detach(self, detach: Detach) -> bool:
        """Give up what is taken back; False if nothing is left."""
        any_left, _ = detach.left(self.tag, self.fields)
        if detach.is_about(self.tag.content, self.tag.tagger, self.fields, self.tag.applies_to.by_value):
            self.detached.append(detach)
        return any_left or detach.condition is not None

    def _left_at(self, tick: int) -> Mark | None:
        """What it still has at a tick after others have overwritten it."""
        left: Mark | None = Mark(self.tag, self.fields)
        for loss in self.losses:
            if left is not None and loss.tag.timestamp <= tick:
                left = _overwritten(left, loss)
        return left

    def on(self, index: int, stamped: Stamped) -> Mark | None:
        """The mark that the tag leaves on a tuple, None if it does not cover it."""
        applies_to, values = self.tag.applies_to, stamped.row.values
        listed = applies_to.tuples is None or index in applies_to.tuples
        if self.used_up or not listed or not self._lives_at(stamped.tick):
            return None
        if self.condition is not None and not self.condition((*values, stamped.tick, index)):
            return None
        left = self._left_at(stamped.tick)
        if left is None:
            return None
        if left.fields is None:
            fields, covers = None, applies_to.values is None or any(map(self._has_pattern, count(), values))
        else:
            fields = frozenset(position for position in left.fields if self._holds(position, values[position]))
            covers = bool(fields)
        mark = Mark(self.tag, fields) if covers else None
        for detach in self.detached:
            mark = None if mark is None else detach.after(mark, index, stamped)
        if mark is None:
            return None
        self.used_up = self.tag.lifespan is None and applies_to.tuples is None
        return mark

    def _lives_at(self, tick: int) -> bool:
        return self.tag.end is None or self.tag.timestamp <= tick < self.tag.end

    def _holds(self, position: int, value: Any) -> bool:
        if self.tag.applies_to.values is not None:
            return self._has_pattern(position, value)
        if not self.tag.applies_to.by_value:
            return True
        key = group_key(value)
        return bool(self.followed.setdefault(position, key) == key)

    def _has_pattern(self, position: int, value: Any) -> bool:
        pattern = self.tag.applies_to.values
        if pattern is None or value is None:
            return False
        return re.fullmatch(pattern, self.texts[position](value)) is not None


def _overwritten(earlier: Mark, new: Mark) -> Mark | None:
    """What `earlier` still has after `new`. The tuple and its attributes are different objects."""
    if earlier.tag.tagger != new.tag.tagger or (earlier.fields is None) != (new.fields is None):
        return earlier
    left = (earlier.fields or frozenset()) - (new.fields or frozenset())
    return Mark(earlier.tag, left) if left else None
