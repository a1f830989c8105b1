"""What was said about a stream, as a stream beside it: a tuple for each tick-tag, at the tick of the tag.

FROM TAGS OF reads it like any other log. It is written with the step that brings the tags, and streams without tags have
none. A tag that is taken back is deleted there, and one that loses some of its attributes is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.marks import MarkText, read
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import TAG_HISTORY_SCHEMA
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.columnar.types import arrow_schema
from eddyline.log.journal import StreamState
from eddyline.log.rows import log_table
from eddyline.log.segment import MARKS, OP

_SCHEMA = arrow_schema(TAG_HISTORY_SCHEMA)


def history_of(extent: Extent) -> Extent:
    """The stream of what is said about a stream. Nothing moves the clock there."""
    name = history_name(extent.name)
    return Extent(name, PUSHED, TAG_HISTORY_SCHEMA, retain=extent.retain, further=extent.further)


def history_name(stream: str) -> str:
    """No stream of a user's has such a name."""
    return f"{stream}$tags"


def said_in(rows: pa.Table) -> list[MarkText]:
    """The tags among rows of a log, in their order; an attachment is one where it has found its place."""
    if MARKS not in rows.column_names:
        return []
    tags = rows.column(MARKS).filter(pc.equal(rows.column(OP), "#")).drop_null()
    return [mark for text in tags.to_pylist() for mark in read(text)]


def history_rows(tags: Sequence[MarkText], schema: Schema, state: StreamState) -> pa.Table:
    """The rows of the history for new tags on a stream with this schema; `state` is that of the history."""
    count = len(tags)
    return log_table(
        seq=state.last_seq + 1 + np.arange(count),
        index=state.last_index + 1 + np.arange(count),
        tick=np.array([tag.timestamp for tag in tags], np.int64),
        diff=np.ones(count, np.int8),
        op=pa.repeat(pa.scalar("+"), count),
        ref=pa.nulls(count, pa.int64()),
        tag=pa.nulls(count, pa.string()),
        values=_values(tags, schema),
    )


def _values(tags: Iterable[MarkText], schema: Schema) -> pa.Table:
    return pa.Table.from_pylist([_row(tag, schema) for tag in tags], schema=_SCHEMA)


def _row(tag: MarkText, schema: Schema) -> dict[str, Any]:
    on = tag.tick_tag.applies_to
    return {
        "content": tag.content,
        "sign": tag.sign,
        "type": tag.type,
        "tagger": tag.tagger,
        "lifespan": tag.lifespan,
        "mode": tag.mode,
        "time": tag.timestamp,
        "attributes": None if tag.fields is None else [schema.names[field] for field in tag.fields],
        "by_value": on.by_value,
        "pattern": on.values,
        "tuples": on.tuples,
    }
