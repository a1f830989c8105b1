"""Tags that a program pushes beside rows: what they say, which rows they stand in front of, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.catalog.extent import Extent
from eddyline.errors import TypeMismatch, UnknownColumn
from eddyline.sources.arrival import TAG, Reject
from eddyline.sources.batch_intake import Positions, filtered
from eddyline.sources.chunk import Chunk
from eddyline.sources.columns import OP
from eddyline.sources.columns import TAG as TAG_COLUMN
from eddyline.sources.native_value import plain_value
from eddyline.sources.reasons import BadValue, written
from eddyline.sources.tag_fields import as_json
from eddyline.sources.tags_beside import TagsBeside, tags_alone, without_row
from eddyline.sources.usual_tags import are_usual, numbered

#: what stands in place of a file's name
FILE = "push, tags"
#: which row a tag stands in front of
BEFORE = "_before"
_MOST_ROWS = 2**62
#: where a tag stands that does not say it
_NO_PLACE = -(2**63)
_TAGS = f"tags have {BEFORE}, the number of a row, and {TAG_COLUMN}, its fields as JSON, and may have a time"


def tags_beside(
    extent: Extent, tags: Any, rows: int, found: Chunk, taken: Callable[[pa.Table], Chunk]
) -> tuple[TagsBeside, Sequence[Reject]]:
    """The tags among some rows, of which so many were pushed, and those that are wrong.

    `taken` looks at each of them, as at any row that is pushed.
    """
    if not extent.is_stream:
        raise TypeMismatch(f"{extent.name} is a table, and tags are for streams")
    if not isinstance(tags, pa.Table):
        tags = _tags_as_table(extent, tags)
    lines = np.arange(1, tags.num_rows + 1)
    if not tags.num_rows:
        return TagsBeside(
            tags_alone(extent.name, FILE, pa.array([], pa.string()), lines, found.values.schema), lines
        ), ()
    table, before = _placed(extent, tags)
    is_there = (before >= 1) & (before <= rows + 1)
    fits = is_there & ((before > rows) | np.isin(before, found.line.to_numpy()))
    wrong = [
        Reject(extent.name, FILE, at + 1, table.column(TAG_COLUMN)[at].as_py() or "", reason)
        for at in np.flatnonzero(~fits).tolist()
        for reason in [without_row(before[at]) if is_there[at] else _nowhere(before[at], rows)]
    ]
    texts = numbered(table.column(TAG_COLUMN).combine_chunks()) if _are_texts(table) else None
    if table.num_columns == 1 and fits.all() and texts is not None and are_usual(texts).all():
        told = tags_alone(extent.name, FILE, texts, lines, found.values.schema)
    else:
        whole = table.append_column(OP, pa.repeat(TAG, table.num_rows))
        told = taken(whole)
        wrong += told.rejects
        told = filtered(told, pa.array(fits[told.line.to_numpy() - 1]))
    return TagsBeside.of(found, told, before[told.line.to_numpy() - 1]), wrong


def _nowhere(before: int, rows: int) -> str:
    if before == _NO_PLACE:
        return f"{BEFORE} is missing or NULL: it is the number of the row that the tag stands in front of, from 1"
    return f"{BEFORE}: {before} is not between 1 and {rows + 1}, and there are {rows} rows"


def _tags_as_table(extent: Extent, tags: Any) -> pa.Table:
    """From dicts, in which a `_tag` may be a dict itself."""
    if not isinstance(tags, Iterable):
        raise TypeMismatch(f"what is pushed to {extent.name} as tags is no rows: {tags!r:.60}", hint=_TAGS)
    given = [tags] if isinstance(tags, Mapping) else list(tags)
    for number, tag in enumerate(given, 1):
        if not isinstance(tag, Mapping):
            raise TypeMismatch(f"tag {number} pushed to {extent.name} is no dict: {tag!r:.60}", hint=_TAGS)
    spelled = [{str(name).lower(): plain_value(value) for name, value in tag.items()} for tag in given]
    for tag in spelled:
        if isinstance(said := tag.get(TAG_COLUMN), str):  # Arrow has no half of a surrogate pair, JSON can write it
            tag[TAG_COLUMN] = said.encode(errors="backslashreplace").decode()
        elif said is not None:
            tag[TAG_COLUMN] = _as_text(said)
        if isinstance(tag.get(BEFORE), int):  # what Arrow cannot hold is no place either
            tag[BEFORE] = max(-_MOST_ROWS, min(_MOST_ROWS, tag[BEFORE]))
    names = dict.fromkeys([BEFORE, TAG_COLUMN, *(name for tag in spelled for name in tag)])
    try:
        return pa.table({name: pa.array([tag.get(name) for tag in spelled]) for name in names})
    except (pa.ArrowException, OverflowError) as problem:
        raise TypeMismatch(f"the tags pushed to {extent.name} are of different types: {problem}", hint=_TAGS) from None


def _as_text(said: Any) -> str:
    """The JSON of a tag; of what JSON cannot say, what is wrong with it, which is no tag either."""
    try:
        return written(as_json(said), only_ascii=True)
    except BadValue as problem:
        return str(problem)


def _placed(extent: Extent, tags: pa.Table) -> tuple[pa.Table, Positions]:
    """The tags without their places, and these."""
    tags = tags.rename_columns([name.lower() for name in tags.column_names])
    allowed = {BEFORE, TAG_COLUMN, *([extent.timestamp.lower()] if extent.timestamp else ())}
    for name in tags.column_names:
        if name not in allowed:
            raise UnknownColumn(f"tags pushed to {extent.name} have no column '{name}'", hint=_TAGS)
    for name in (BEFORE, TAG_COLUMN):
        if tags.column_names.count(name) != 1:
            raise UnknownColumn(f"the tags pushed to {extent.name} have no column '{name}', or more", hint=_TAGS)
    before = tags.column(BEFORE)
    if not (pa.types.is_integer(before.type) or pa.types.is_null(before.type)):
        raise TypeMismatch(f"{BEFORE} of the tags pushed to {extent.name} is {before.type}, not whole", hint=_TAGS)
    if pa.types.is_uint64(before.type):
        before = pc.min_element_wise(before, pa.scalar(_MOST_ROWS, pa.uint64()), skip_nulls=False)
    numbers = pc.fill_null(before.cast(pa.int64()), _NO_PLACE).to_numpy()
    return tags.drop_columns([BEFORE]), numbers


def _are_texts(table: pa.Table) -> bool:
    type_ = table.column(TAG_COLUMN).type
    return bool(pa.types.is_string(type_) or (pa.types.is_dictionary(type_) and pa.types.is_string(type_.value_type)))
