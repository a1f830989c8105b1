"""Marks as text: the tick-tags that a tuple carries, as engines keep and pass them on that hold rows as columns.

A mark is a tick-tag on a tuple and which of the tuple's fields it is on. The marks of a tuple are one JSON text; tuples
that follow each other mostly have the same tags, so that a dictionary of a few texts serves a whole column, as the one
tick-tag in front of them does in the paper. No tags are no text (NULL).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from eddyline.algebra.answer import TagView
from eddyline.algebra.stix import stix_text
from eddyline.algebra.tag import Applicability, TickTag

#: what columns of marks are called in plans, with a number behind it; no column of a user's is
MARKS = "$tags"
#: what the column is called that tells tick-tags from tuples, where both are in one stream
KIND = "$kind"
#: what stands there in front of a stix, whose tags the row tells too
STIX = "stix "
#: what made a tag: somebody who put it into the stream, or a query that tags tuple by tuple
GIVEN, MADE = 0, 1


#: behind the name of a column of marks: what of the tuple, beside what its tags say, tells these from others
MARKS_ROLE, PLACES_ROLE, TICK_ROLE, INDEX_ROLE = "", " places", " tick", " index"
#: and what continuous taggers make, where that is shown by itself
MADE_ROLE = " made"


def is_marks(name: str) -> bool:
    """Whether a field holds marks, or belongs to some."""
    return name.startswith(MARKS)


def role_of(name: str) -> str:
    """What a column of ours holds.

    >>> role_of("$tags1"), role_of("$tags1 tick"), role_of("$kind")
    ('', ' tick', '$kind')
    """
    return (
        name
        if name == KIND
        else next((r for r in (PLACES_ROLE, TICK_ROLE, INDEX_ROLE, MADE_ROLE) if name.endswith(r)), "")
    )


class MarkText(NamedTuple):
    """A mark in the order of its JSON. All but `fields` tells which tag it is; the first three, when it came."""

    timestamp: int
    made: int
    number: int
    objects: str | tuple[object, ...]  # the stream; of a tag itself, or one on values, what it applies to
    tagger: str
    content: str
    sign: str | None
    type: str
    lifespan: int | None
    mode: str
    fields: tuple[int, ...] | None  # None: it is on the tuple as a whole

    @property
    def tag(self) -> tuple[object, ...]:
        return self[:-1]

    def on(self, fields: Iterable[int] | None) -> MarkText:
        """The same tag on other fields."""
        return self._replace(fields=None if fields is None else tuple(sorted(fields)))

    @property
    def is_by_value(self) -> bool:
        """Whether the tag is on values of its attributes."""
        return not isinstance(self.objects, str) and bool(self.objects[4])

    @property
    def tick_tag(self) -> TickTag:
        """The tag itself, as far as the text tells what it is on."""
        applies_to = Applicability(self.objects) if isinstance(self.objects, str) else _applicability(self.objects)
        if self.made:  # for one tuple alone
            applies_to = replace(applies_to, tuples=(self.number,))
        return TickTag(
            self.content,
            applies_to,
            self.tagger,
            self.timestamp,
            self.type,
            self.sign,
            self.lifespan,
            self.mode,
            2 * self.number + self.made,
        )


def _applicability(on: tuple[Any, ...]) -> Applicability:
    stream, tuples, attributes, pattern, by_value, values = on
    names = None if attributes is None else tuple(attributes)
    return Applicability(stream, None if tuples is None else tuple(tuples), names, pattern, by_value, values)


Marks = tuple[MarkText, ...]


def mark_of(tag: TickTag, fields: Iterable[int] | None, made: int = GIVEN, whole: bool = False) -> MarkText:
    """The mark that a tag leaves on some fields of a tuple; with `whole`, it tells all that the tag applies to."""
    on = None if fields is None else tuple(sorted(fields))
    to = tag.applies_to
    objects: str | tuple[object, ...] = to.stream
    if whole:
        objects = to.stream, to.tuples, to.attributes, to.attribute_pattern, to.by_value, to.values
    elif to.by_value:  # values and attributes are different objects, and who takes a tag back says which
        objects = to.stream, None, None, None, True, None
    return MarkText(
        tag.timestamp,
        made,
        tag.number,
        objects,
        tag.tagger,
        tag.content,
        tag.sign,
        tag.type,
        tag.lifespan,
        tag.mode,
        on,
    )


def written(marks: Sequence[MarkText]) -> str | None:
    """Marks as text."""
    return json.dumps(marks, separators=(",", ":"), ensure_ascii=False) if marks else None


@lru_cache(maxsize=4_096)
def read(text: str | None) -> Marks:
    """The marks that a text stands for."""
    return () if text is None else _marks(json.loads(text))


def read_all(texts: str | None) -> list[Marks]:
    """The marks of several tuples, whose texts follow each other with commas between."""
    return [] if texts is None else [_marks(marks) for marks in json.loads(f"[{texts}]")]


def _marks(given: list[list[Any]]) -> Marks:
    return tuple(map(_mark, given))


def _mark(given: list[Any]) -> MarkText:
    objects, fields = given[3], given[-1]
    if not isinstance(objects, str):
        objects = tuple(tuple(part) if isinstance(part, list) else part for part in objects)
    return MarkText._make([*given[:3], objects, *given[4:-1], None if fields is None else tuple(fields)])


# -- what becomes of them: `reference.marks` says the same of the reference engine's -----------------------------------


def projected(marks: Marks, reads: Sequence[Sequence[int]]) -> Marks:
    """The marks after a projection; `reads[i]` are the input fields from which output column i is computed."""
    moved = (mark.on(_moved(mark.fields, reads)) for mark in marks)
    return tuple(mark for mark in moved if mark.fields != ())


def joined(left: Marks, left_width: int, right: Marks, right_width: int) -> Marks:
    """The marks of two tuples that became one: a tag on a whole tuple is on all that came from it."""
    return merged(beside(left, left_width, right, right_width))


def beside(left: Marks, left_width: int, right: Marks, right_width: int) -> Marks:
    """The same, if no tag can be on both."""
    from_left = (mark.on(_spread(mark, left_width, 0)) for mark in left)
    from_right = (mark.on(_spread(mark, right_width, left_width)) for mark in right)
    return (*from_left, *from_right)


def grouped(rows: Iterable[Marks], reads: Sequence[Sequence[int]]) -> Marks:
    """The marks of an aggregate: the tags of all tuples of the group, each once, in the order in which they came."""
    moved = (mark.on(_moved(mark.fields, reads) or None) for marks in rows for mark in marks)
    return tuple(sorted(merged(moved), key=_when))


def of_tag_group(rows: Iterable[Marks], reads: Sequence[Sequence[int]]) -> Marks:
    """The marks of a tag group's aggregate: a tag is first all that it is on in the group, and then moves."""
    return grouped([merged(mark for marks in rows for mark in marks)], reads)


def of_copies(rows: Iterable[Marks]) -> Marks:
    """The marks of a tuple that stands for several alike."""
    return tuple(sorted(dict.fromkeys(mark for marks in rows for mark in marks), key=_when))


def merged(marks: Iterable[MarkText]) -> Marks:
    """One mark for each tag, in the order in which they appear first; the whole tuple wins over its parts."""
    found: dict[tuple[object, ...], MarkText] = {}
    for mark in marks:
        known = found.get(mark.tag)
        if known is None:
            found[mark.tag] = mark
        elif known.fields is not None:
            found[mark.tag] = mark.on(None if mark.fields is None else {*known.fields, *mark.fields})
    return tuple(found.values())


def counted(rows: Iterable[Marks], sign: str | None, field: int | None) -> int:
    """How many tags tuples carry, a tag on several counted once; `sign` and `field` say which."""
    return len(
        {
            mark.tag
            for marks in rows
            for mark in marks
            if (sign is None or (mark.sign or "") == sign)
            and (field is None or (mark.fields is not None and field in mark.fields))
        }
    )


def scored(rows: Sequence[Marks], field: int | None) -> float | None:
    """(plus - minus) / (plus + minus) of the signs of tags that tuples carry; None if there is neither."""
    plus, minus = counted(rows, "+", field), counted(rows, "-", field)
    return (plus - minus) / (plus + minus) if plus or minus else None


def _moved(fields: tuple[int, ...] | None, reads: Sequence[Sequence[int]]) -> list[int] | None:
    if fields is None:
        return None
    return [column for column, read in enumerate(reads) if not set(fields).isdisjoint(read)]


def _spread(mark: MarkText, width: int, offset: int) -> list[int]:
    return [offset + field for field in (range(width) if mark.fields is None else mark.fields)]


def _when(mark: MarkText) -> tuple[int, int, int, str, tuple[int, ...]]:
    return mark.timestamp, mark.made, mark.number, str(mark.objects), mark.fields or ()


# -- as they are shown ------------------------------------------------------------------------------------------------


def views(marks: Marks, columns: Sequence[str]) -> tuple[TagView, ...]:
    """The tags as a `WITH TAGS` row shows them."""
    return tuple(
        TagView(mark.content, mark.sign, tuple(columns[field] for field in mark.fields or ())) for mark in marks
    )


def stix(marks: Marks, width: int) -> str | None:
    """The stix in front of a joined tuple with `width` fields, None if it has no tags."""
    if not marks:
        return None
    every = range(1, width + 1)
    return stix_text([((1,), every if mark.fields is None else [field + 1 for field in mark.fields]) for mark in marks])
