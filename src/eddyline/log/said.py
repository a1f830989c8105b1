"""What was said about a stream, as a stream beside it: a tuple for each tick-tag, at the tick of the tag.

FROM TAGS OF reads it like any other log. It is written with the step that brings the tags; without any there
is none. A tag that is taken back is deleted there, and one that loses some of its attributes is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.dictionary import word_of
from eddyline.algebra.marks import MarkText, read
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import TAG_HISTORY_SCHEMA
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.columnar.types import arrow_schema
from eddyline.log.detached import Detached
from eddyline.log.journal import StreamState
from eddyline.log.rows import log_table
from eddyline.log.segment import DIFF, INDEX, MARKS, OP, SEQ, TICK
from eddyline.log.storage import Storage

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


def unsaid(
    storage: Storage, state: StreamState, what: Detached, schema: Schema, horizon: int | None
) -> pa.Table | None:
    """The rows that take tags out of the history, or some of their attributes; None if there are none.

    Only tags of one tagger with one content are looked at, of a segment at a time.
    """
    of_tagger = pc.equal(pc.field("tagger"), what.tagger) & pc.equal(pc.field("by_value"), what.by_value)
    wanted = of_tagger if horizon is None else of_tagger & (pc.field(TICK) >= horizon)
    parts = []
    for segment in state.segments:
        if horizon is None or segment.tick[1] >= horizon:
            rows = storage.read_table(segment.path, rows=wanted)
            contents = pc.unique(rows.column("content")).to_pylist()
            meant = pa.array([each for each in contents if word_of(each) == word_of(what.content)], pa.string())
            parts.append(rows.filter(pc.is_in(rows.column("content"), value_set=meant)))
    rows = pa.concat_tables(parts).sort_by(SEQ) if parts else None
    changes = [] if rows is None else [change for row in _standing(rows) for change in _unsaid(row, what, schema)]
    if not changes:
        return None
    return log_table(
        seq=state.last_seq + 1 + np.arange(len(changes)),
        index=np.array([row[INDEX] for row, _, _ in changes], np.int64),
        tick=np.array([row[TICK] for row, _, _ in changes], np.int64),
        diff=np.array([diff for _, diff, _ in changes], np.int8),
        op=pa.array([op for _, _, op in changes]),
        ref=pa.array([row[INDEX] for row, _, _ in changes], pa.int64()),
        tag=pa.nulls(len(changes), pa.string()),
        values=pa.Table.from_pylist([{name: row[name] for name in _SCHEMA.names} for row, _, _ in changes], _SCHEMA),
    )


def _standing(rows: pa.Table) -> list[dict[str, Any]]:
    """The versions of tags that are there, from rows in the order of the log."""
    found: dict[int, dict[str, Any]] = {}
    for row in rows.to_pylist():
        if row[DIFF] > 0:
            found[row[INDEX]] = row
        else:
            found.pop(row[INDEX], None)
    return list(found.values())


def _unsaid(row: dict[str, Any], what: Detached, schema: Schema) -> list[tuple[dict[str, Any], int, str]]:
    """How one tag changes: rows with their weights and operations."""
    names = row["attributes"]
    fields = None if names is None else frozenset(schema.names.index(name) for name in names)
    if not what.is_about(row["content"], row["tagger"], fields, row["by_value"]):
        return []
    left = what.left(fields)
    if not left:
        return [(row, -1, "-")]
    new = {**row, "attributes": [schema.names[field] for field in sorted(left)]}
    return [(row, -1, "="), (new, 1, "=")]
