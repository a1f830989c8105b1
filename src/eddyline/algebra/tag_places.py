"""Where the tags that a tuple carries stand in their stream: when each came, and behind which tuple.

The text of marks says what tags say, and is the same for all tuples whose tags say the same. Which tags these are is
told beside it, mark by mark, as seen from the tuple: an instant tag stands right in front of it or a little before, so
that this is the same text nearly everywhere, too. A tag with a lifespan is on many tuples, and its place is told as it
is. Only who has to tell tags apart, or asks when they came, looks at it.

    0:1:0           at the tick of the tuple, behind the tuple before it, no other tag between
    -2:5:1 @7:1048  two ticks before, behind the fifth tuple before it, with one tag between; and tick 7, number 1048

Where nothing is written, it is the first of these, and the tag is an instant one on this tuple as a whole and on
nothing else: then the tuple as it came is all that the log has of the tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from eddyline.algebra.marks import Marks, MarkText, read
from eddyline.errors import InvalidTag

#: bits of a tag's number for how many tags came between the tuple before it and the tag
TAGS_BETWEEN = 20
_MASK = (1 << TAGS_BETWEEN) - 1
#: so many tags can stand in front of one tuple
MOST_BETWEEN = 1 << TAGS_BETWEEN
#: of the tag right in front of a tuple
USUAL = "0:1:0"
#: the same as the tag tells it
HERE = "0:0:0"


class TagPlace(NamedTuple):
    """The place of one tag: told as it is, or as seen from a tuple."""

    fixed: bool
    timestamp: int
    number: int  # seen from a tuple: less that of the tuple's index

    def seen_from(self, tick: int, index: int) -> tuple[int, int]:
        """The timestamp and the number of the tag."""
        if self.fixed:
            return self.timestamp, self.number
        return tick + self.timestamp, (index << TAGS_BETWEEN) + self.number


def number_of(last: int, between: int) -> int:
    """The number of a tag behind the tuple `last`, with so many tags between."""
    return (last << TAGS_BETWEEN) + between


def has_room(between: int) -> bool:
    """Whether another tag can stand behind a tuple and so many tags: one more would have the number of the next."""
    return between < MOST_BETWEEN


def no_room() -> InvalidTag:
    """What is wrong with a tag that finds no room."""
    return InvalidTag(f"{MOST_BETWEEN} tags stand in front of the next row already, and more have no place there")


def last_before(number: int) -> int:
    """The tuple behind which the tag with this number stands.

    >>> last_before(number_of(17, 3))
    17
    """
    return number >> TAGS_BETWEEN


def place_text(timestamp: int, number: int, lives: bool, tick: int, index: int) -> str:
    """The place of a tag as a tuple tells it.

    >>> place_text(7, number_of(4, 0), False, 7, 5), place_text(7, 1048, True, 9, 5)
    ('0:1:0', '@7:1048')
    """
    if lives:
        return f"@{timestamp}:{number}"
    return f"{timestamp - tick}:{index - last_before(number)}:{number & _MASK}"


def places_text(places: Sequence[str]) -> str | None:
    """The places of all tags of a tuple."""
    return " ".join(places) or None


@lru_cache(maxsize=4_096)
def places_of(text: str | None) -> tuple[TagPlace, ...]:
    """What a text stands for.

    >>> places_of(None) == places_of("0:1:0") == (TagPlace(False, 0, -(1 << 20)),)
    True
    """
    return tuple(map(_place, (text or USUAL).split(" ")))


def _place(text: str) -> TagPlace:
    if text.startswith("@"):
        timestamp, number = text[1:].split(":")
        return TagPlace(True, int(timestamp), int(number))
    apart, before, between = text.split(":")
    return TagPlace(False, int(apart), int(between) - (int(before) << TAGS_BETWEEN))


def told_apart(tags: str | None, places: str | None, tick: int, index: int) -> Marks:
    """The marks of a tuple, with what tells their tags from others. Tuples that a tag lists are told from its place."""
    where = iter(places_of(places))  # of those that were given: who makes a mark knows its place
    return tuple(mark if mark.made else _seen(mark, next(where), tick, index) for mark in read(tags))


def _seen(mark: MarkText, place: TagPlace, tick: int, index: int) -> MarkText:
    timestamp, number = place.seen_from(tick, index)
    objects = mark.objects
    if not isinstance(objects, str) and objects[1] is not None:
        listed = tuple(index + each for each in objects[1])  # type: ignore[attr-defined]
        objects = (objects[0], listed, *objects[2:])
    return mark._replace(timestamp=timestamp, number=number, objects=objects)


@lru_cache(maxsize=4_096)
def moved(text: str | None, by: int) -> str | None:
    """The places of the tags of a tuple whose tick has become greater by so much.

    >>> moved(None, 3), moved("-2:5:1 @7:1048", -2), moved("3:1:0", 3)
    ('-3:1:0', '0:5:1 @7:1048', '0:1:0')
    """
    if not by:
        return text  # nothing written stays so: a row that takes another away must be equal to it
    parts = (text or USUAL).split(" ")
    return places_text([part if part.startswith("@") else _moved(part, by) for part in parts])


def _moved(part: str, by: int) -> str:
    apart, _, rest = part.partition(":")
    return f"{int(apart) - by}:{rest}"
