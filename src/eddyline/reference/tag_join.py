"""The tag join: tagged objects of two streams brought together because their tags match (section 4.1, Figure 8)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from eddyline.algebra.dictionary import Dictionary
from eddyline.algebra.tag import TagJoin, TickTag
from eddyline.reference.element import Change, Clock, Mark, Row, Stamped, StreamElement, TagElement
from eddyline.reference.stix import StixElement, stix_text
from eddyline.reference.tag_function import Occurrences, closeness

LEFT, RIGHT = 0, 1


def tag_join(
    node: TagJoin, left: Iterator[StreamElement], right: Iterator[StreamElement], dictionary: Dictionary | None = None
) -> Iterator[StreamElement | StixElement]:
    """For every tagged tuple the matches of its tags with those in the other window, each behind its stix.

    A tuple is joined when its tick is closed, the left stream before the right: the order within a tick would
    otherwise depend on how the input is cut into batches, and with it what is found. Everything that is sent for a
    tuple has that tuple's tick, and a running index.

    Revisions: the answer to each tuple is worked out again without what was deleted and with what was replaced. If a
    match only loses or changes objects, they are withdrawn or replaced under their indexes, and its stix goes on
    counting the places as they were sent. A match that is gone is withdrawn; one that has got another object is
    withdrawn and sent again behind a new stix. Tags and stixes are not withdrawn: they describe what was sent.
    """
    join = _Join(node, dictionary or node.function.dictionary)
    waiting: list[_Arrival] = []
    for arrivals, clock in _batches(left, right):
        waiting += arrivals
        closed = clock.closed
        if closed is not None:
            for arrival in sorted((a for a in waiting if a.reached <= closed), key=lambda a: a[:3]):
                yield from join.process(arrival.side, arrival.change)
            waiting = [arrival for arrival in waiting if arrival.reached > closed]
        yield clock


class _Arrival(NamedTuple):
    """A change with its place in the merged input: by the tick that its stream has reached, then left before right."""

    reached: int
    side: int
    number: int
    change: Change


def _batches(*sides: Iterator[StreamElement]) -> Iterator[tuple[list[_Arrival], Clock]]:
    reached: dict[int, int] = {}  # by side
    numbers = count()
    while True:
        arrivals: list[_Arrival] = []
        for side, elements in enumerate(sides):
            for element in elements:
                if isinstance(element, Clock):
                    clock = element
                    break
                if isinstance(element, Change):
                    for _, stamped in element.weights():
                        reached[side] = max(stamped.tick, reached.get(side, stamped.tick))
                    arrivals.append(_Arrival(reached[side], side, next(numbers), element))
            else:
                return
        yield arrivals, clock


@dataclass(frozen=True, slots=True)
class _Tuple:
    """A tuple that stands. Joining goes by `place`: by tick, the left stream before the right, then by index."""

    side: int
    index: int
    stamped: Stamped

    @property
    def place(self) -> tuple[int, int, int]:
        return self.stamped.tick, self.side, self.index

    @property
    def key(self) -> tuple[int, int]:
        return self.side, self.index


@dataclass
class _Side:
    """The tuples of one stream. All are kept, because a late or revised tuple may need any of them."""

    tuples: dict[int, _Tuple] = field(default_factory=dict)
    by_tick: list[tuple[int, int]] = field(default_factory=list)

    def put(self, tuple_: _Tuple) -> None:
        self.tuples[tuple_.index] = tuple_
        insort(self.by_tick, (tuple_.stamped.tick, tuple_.index))

    def take(self, index: int) -> _Tuple | None:
        tuple_ = self.tuples.pop(index, None)
        if tuple_ is not None:
            del self.by_tick[bisect_left(self.by_tick, (tuple_.stamped.tick, index))]
        return tuple_

    def between(self, first: int, last: int) -> list[_Tuple]:
        """In order of arrival, both ends inclusive."""
        found = self.by_tick[bisect_left(self.by_tick, (first, 0)) : bisect_left(self.by_tick, (last + 1, 0))]
        return [self.tuples[index] for index in sorted(index for _, index in found)]


TagPair = tuple[TickTag, TickTag]
Key = tuple[int, int]  # the side and index of a tuple


class _Join:
    def __init__(self, node: TagJoin, dictionary: Dictionary) -> None:
        self.function = node.function
        self.dictionary = dictionary
        self.ranges = (node.left_range, node.right_range)
        self.widths = (len(node.left.schema), len(node.right.schema))
        self.sides = (_Side(), _Side())
        self.indexes = count(1)
        #: for each tuple and match what was sent: the objects with their indexes in the output
        self.sent: dict[Key, dict[TagPair, dict[Key, tuple[int, Stamped]]]] = {}

    def process(self, side: int, change: Change) -> Iterator[StreamElement | StixElement]:
        old, new = self.sides[side].take(change.index), None
        if change.new is not None:
            new = _Tuple(side, change.index, change.new)
            self.sides[side].put(new)
        for key in self.affected([version for version in (old, new) if version is not None]):
            yield from self.answer(key)

    def affected(self, versions: list[_Tuple]) -> list[Key]:
        """The tuple itself, and those behind it that had or have it in their windows: if it is late, there are some."""
        places = {version.key: version.place for version in versions}
        for version in versions:
            tick = version.stamped.tick
            for side in self.sides:
                for other in side.between(tick, tick + self.ranges[version.side]):
                    if other.place > version.place:
                        places[other.key] = other.place
        return sorted(places, key=lambda key: places[key])

    def answer(self, key: Key) -> Iterator[StreamElement | StixElement]:
        """What is sent for a tuple, as the difference to what was sent for it before."""
        tuple_ = self.sides[key[0]].tuples.get(key[1])
        now = {} if tuple_ is None else self.matches(tuple_)
        sent: dict[TagPair, dict[Key, tuple[int, Stamped]]] = {}
        for pair, block in self.sent.pop(key, {}).items():
            wanted = now.get(pair, {})
            kept = wanted if wanted.keys() <= block.keys() else {}
            for object_, (index, old) in block.items():
                if kept.get(object_) != old:
                    yield Change(index, old, kept.get(object_))
            if kept:
                sent[pair] = {object_: (block[object_][0], stamped) for object_, stamped in kept.items()}
        for pair, objects in now.items():
            if pair not in sent and tuple_ is not None:
                sent[pair] = {object_: (next(self.indexes), stamped) for object_, stamped in objects.items()}
                yield from _block(tuple_.stamped.tick, pair, sent[pair])
        if sent:
            self.sent[key] = sent

    def matches(self, tuple_: _Tuple) -> dict[TagPair, dict[Key, Stamped]]:
        """Figure 8, lines 11 to 16: the pairs of matching tags, and the objects of both windows that carry them."""
        tick, own = tuple_.stamped.tick, {mark.tag for mark in tuple_.stamped.row.marks}
        if not own:
            return {}
        windows = [
            [other for other in side.between(tick - length, tick) if other.place <= tuple_.place]
            for side, length in zip(self.sides, self.ranges, strict=True)
        ]
        carriers = [_carriers(window) for window in windows]
        carriers[tuple_.side] = {tag: tuples for tag, tuples in carriers[tuple_.side].items() if tag in own}
        close = closeness(self.function, self.dictionary, _occurrences(windows))
        return {
            (a, b): {
                **{each.key: self.object_of(each, a, tick) for each in left_objects},
                **{each.key: self.object_of(each, b, tick) for each in right_objects},
            }
            for a, left_objects in carriers[LEFT].items()
            for b, right_objects in carriers[RIGHT].items()
            if close(a.content, b.content) > 0
        }

    def object_of(self, tuple_: _Tuple, tag: TickTag, tick: int) -> Stamped:
        """A tuple of one side as it is sent: NULL in the fields of the other side, with the tag that matched."""
        offset = 0 if tuple_.side == LEFT else self.widths[LEFT]
        values, marks = tuple_.stamped.row
        padding = (None,) * self.widths[1 - tuple_.side]
        moved = tuple(
            Mark(tag, None if mark.fields is None else frozenset(field + offset for field in mark.fields))
            for mark in marks
            if mark.tag == tag
        )
        return Stamped(tick, Row(values + padding if tuple_.side == LEFT else padding + values, moved))


def _block(tick: int, pair: TagPair, objects: dict[Key, tuple[int, Stamped]]) -> Iterator[StreamElement | StixElement]:
    """Figure 8, lines 17 to 19: the stix, the two tags, the left objects, the right objects."""
    left = sum(1 for side, _ in objects if side == LEFT)
    yield StixElement(tick, stix_text([(range(1, left + 1), None), (range(left + 1, len(objects) + 1), None)]))
    for tag in pair:
        yield TagElement(tick, tag)
    for index, stamped in objects.values():
        yield Change(index, None, stamped)


def _carriers(window: list[_Tuple]) -> dict[TickTag, list[_Tuple]]:
    """The tags of a window in the order in which they appear, with the tuples that carry them."""
    carriers: dict[TickTag, list[_Tuple]] = {}
    for tuple_ in window:
        for mark in tuple_.stamped.row.marks:
            carriers.setdefault(mark.tag, []).append(tuple_)
    return carriers


def _occurrences(windows: list[list[_Tuple]]) -> Occurrences:
    occurrences = Occurrences()
    for tuple_ in (tuple_ for window in windows for tuple_ in window):
        for mark in tuple_.stamped.row.marks:
            occurrences.add(tuple_.key, mark)
    return occurrences
