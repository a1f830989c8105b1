"""Which tags tuples carry, and how tags are listed, as rows that engines can join and count.

SHOW TAGS lists tags together that say the same of the same. Tuples and tags meet by the numbers of tags, wherever they
are, and lines are counted: neither the tuples nor the tags have to come to the driver.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.marks import MarkText, read
from eddyline.algebra.tag_places import TAGS_BETWEEN, places_of
from eddyline.log.carried import numbered
from eddyline.log.segment import INDEX, MARKS, PLACES

Array = Any
NUMBER, LINE = "number", "line"
#: a tuple, a tag that it carries, and the line that the tag is listed in if nothing but this tuple tells of it
BORNE = pa.schema([(INDEX, pa.int64()), (NUMBER, pa.int64()), (LINE, pa.string())])


class TagKey(NamedTuple):
    """What tags are listed by together."""

    content: str
    sign: str | None
    type: str
    on: str | None

    @classmethod
    def of(cls, tag: MarkText, names: Sequence[str]) -> TagKey:
        """`names` are those of the columns of the stream."""
        if tag.fields is None:
            return cls(tag.content, tag.sign, tag.type, None)
        suffix = ".value" if tag.is_by_value else ""
        return cls(tag.content, tag.sign, tag.type, ", ".join(names[field] + suffix for field in tag.fields))

    @property
    def line(self) -> str:
        return json.dumps(self, ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str) -> TagKey:
        return cls(*json.loads(line))


def borne(rows: pa.Table, made: Sequence[tuple[str, str]], names: Sequence[str]) -> pa.Table:
    """The tags that tuples carry, a row for each of a tuple's.

    `made` names a column for each continuous tagger that tells which tuples it tags, and the line its tags are listed
    in. Each tuple has a tag of its own, whose number is below those of all others.
    """
    index = rows.column(INDEX).to_numpy()
    parts = [_tags(rows, names)]
    for place, (column, line) in enumerate(made):
        tuples = index[pc.fill_null(rows.column(column), False).to_numpy()]
        own = -1 - (tuples * len(made) + place)
        parts.append(pa.table([tuples, own, pa.repeat(pa.scalar(line), len(tuples))], schema=BORNE))
    return pa.concat_tables(parts)


def listed(tags: pa.Table, names: Sequence[str]) -> pa.Table:
    """Tags as a log tells them, with the lines in which they are listed."""
    return _tags(tags, names).drop_columns([INDEX])


def _tags(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """A row for each mark of each row, whose line is that of what it is on there.

    It depends on two texts of a row, and is looked up once for all that have the same.
    """
    index, (texts, beside, which) = rows.column(INDEX).to_numpy(), _pairs(rows)
    of_pair = [(read(text), place) for text, place in zip(texts, beside, strict=True)]
    stands = [each for marks, place in of_pair if marks for each in places_of(place)]
    lines = [TagKey.of(mark, names).line for marks, _ in of_pair for mark in marks]
    sizes = np.array([len(marks) for marks, _ in of_pair], np.int64)
    size = sizes[which]
    if not size.sum():
        return BORNE.empty_table()
    tuples = np.repeat(index, size)
    within = np.arange(len(tuples)) - np.repeat(np.cumsum(size) - size, size)
    mark = np.repeat((np.cumsum(sizes) - sizes)[which], size) + within
    seen_from = np.where(np.array([each.fixed for each in stands])[mark], 0, tuples << TAGS_BETWEEN)
    numbers = seen_from + np.array([each.number for each in stands], np.int64)[mark]
    return pa.table([tuples, numbers, pa.array(lines, pa.string()).take(pa.array(mark))], schema=BORNE)


def _pairs(rows: pa.Table) -> tuple[list[str | None], list[str | None], Array]:
    """The different pairs of what tags say and where they stand, and which of them each row has."""
    columns = [numbered(rows.column(name)) for name in (MARKS, PLACES)]
    texts, beside = ([*column.dictionary.to_pylist(), None] for column in columns)
    left, right = (
        pc.fill_null(column.indices, len(column.dictionary)).to_numpy(zero_copy_only=False).astype(np.int64)
        for column in columns
    )
    pairs, which = np.unique(left * len(beside) + right, return_inverse=True)
    found = [divmod(pair, len(beside)) for pair in pairs.tolist()]
    return [texts[one] for one, _ in found], [beside[other] for _, other in found], which
