"""What becomes of a tuple's tags when the tuple becomes another one (Stream Tag Framework section 4.2).

Pure functions on marks. Fields are positions in the tuple; a mark without fields is on the tuple as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eddyline.algebra.answer import TagView
from eddyline.algebra.tag import TickTag
from eddyline.reference.element import Mark, Row
from eddyline.reference.stix import stix_text

Marks = tuple[Mark, ...]


def project_marks(marks: Sequence[Mark], reads: Sequence[frozenset[int]]) -> Marks:
    """The marks after a projection; `reads[i]` are the input fields from which output column i is computed.

    A tag moves to the columns that use what it is on; a tag on nothing that is used is dropped.
    """
    kept = (Mark(mark.tag, _moved(mark.fields, reads)) for mark in marks)
    return tuple(mark for mark in kept if mark.fields != frozenset())


def join_marks(left: Sequence[Mark], left_width: int, right: Sequence[Mark], right_width: int) -> Marks:
    """The marks of two tuples that became one: a tag on a whole tuple is on all that came from it (Figure 6)."""
    from_left = (Mark(mark.tag, _spread(mark, left_width, 0)) for mark in left)
    from_right = (Mark(mark.tag, _spread(mark, right_width, left_width)) for mark in right)
    return merge_marks((*from_left, *from_right))


def group_marks(rows_marks: Iterable[Sequence[Mark]], reads: Sequence[frozenset[int]]) -> Marks:
    """The marks of an aggregate: the tags of all tuples of the group, each once.

    A tag on an attribute that no column of the answer uses still describes data that the answer stands for (it may
    have decided which tuples there are), so it stays, on the answer as a whole.
    """
    moved = (Mark(mark.tag, _moved(mark.fields, reads) or None) for marks in rows_marks for mark in marks)
    return merge_marks(moved)


def merge_marks(marks: Iterable[Mark]) -> Marks:
    """One mark for each tag, in the order in which they appear first; the whole tuple wins over its parts."""
    merged: dict[TickTag, frozenset[int] | None] = {}
    for tag, fields in marks:
        known = merged.get(tag, frozenset())
        merged[tag] = None if fields is None or known is None else known | fields
    return tuple(Mark(tag, fields) for tag, fields in merged.items())


def stix_of(marks: Sequence[Mark], width: int) -> str | None:
    """The stix in front of a joined tuple with `width` fields, None if it has no tags (Figure 6).

    It counts tags in the order of `marks`, and fields from 1.
    """
    if not marks:
        return None
    every = range(1, width + 1)
    return stix_text([((1,), every if mark.fields is None else [field + 1 for field in mark.fields]) for mark in marks])


def tag_views(marks: Sequence[Mark], columns: Sequence[str]) -> tuple[TagView, ...]:
    """The tags as a `WITH TAGS` row shows them, in order of arrival."""
    return tuple(
        TagView(mark.tag.content, mark.tag.sign, tuple(columns[field] for field in sorted(mark.fields or ())))
        for mark in marks
    )


def tag_count(rows: Sequence[Row], sign: str | None, field: int | None) -> int:
    """How many tags the tuples of a group carry, a tag on several tuples counted once (section 3.2, "Sign").

    `sign` is '+', '-' or '' for neutral tags, None for all; `field` restricts it to the tags on one attribute.
    """
    return len(
        {
            mark.tag
            for row in rows
            for mark in row.marks
            if (sign is None or (mark.tag.sign or "") == sign)
            and (field is None or (mark.fields is not None and field in mark.fields))
        }
    )


def tag_score(rows: Sequence[Row], field: int | None) -> float | None:
    """(plus − minus) / (plus + minus), from −1 to 1; None if nobody has said which (section 3.2, "Sign")."""
    plus, minus = tag_count(rows, "+", field), tag_count(rows, "-", field)
    return (plus - minus) / (plus + minus) if plus or minus else None


def _moved(fields: frozenset[int] | None, reads: Sequence[frozenset[int]]) -> frozenset[int] | None:
    if fields is None:
        return None
    return frozenset(column for column, read in enumerate(reads) if read & fields)


def _spread(mark: Mark, width: int, offset: int) -> frozenset[int]:
    return frozenset(offset + field for field in (range(width) if mark.fields is None else mark.fields))
