"""What was said about a stream, as a stream beside it: a tuple for each tick-tag, at the tick of the tag.

FROM TAGS OF reads it like any other log. It is there from the moment on that somebody wants to read it: what has been
said by then is put together from the log of the stream, and what comes is written with the step that brings the tags.
A tag that is taken back is deleted there, and one that loses some of its attributes is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.dictionary import word_of
from eddyline.algebra.marks import MarkText, read, written
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import TAG_HISTORY_SCHEMA
from eddyline.algebra.tag_places import places_of
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.columnar.types import arrow_schema
from eddyline.log.carried import chosen, numbered
from eddyline.log.detached import DETACH, Detached, detached_by, is_conditional
from eddyline.log.journal import StreamState
from eddyline.log.rows import log_table
from eddyline.log.segment import DIFF, INDEX, MARKS, OP, PLACES, SEQ, SYSTEM, TAG, TICK, Segment
from eddyline.log.storage import Storage, as_texts
from eddyline.log.tags_in_log import tags_in, tags_of_tuples

_HISTORY = "$tags"
_SCHEMA = arrow_schema(TAG_HISTORY_SCHEMA)
_OF_TAGS = [SEQ, INDEX, TICK, MARKS, PLACES]
#: bits: a DETACH takes out or replaces no more tags than it has places for, half as many
_PLACES_OF_A_STATEMENT = 24


def history_of(extent: Extent) -> Extent:
    """The stream of what is said about a stream. Nothing moves the clock there."""
    name = history_name(extent.name)
    return Extent(name, PUSHED, TAG_HISTORY_SCHEMA, retain=extent.retain, further=extent.further)


def history_name(stream: str) -> str:
    """No stream of a user's has such a name."""
    return f"{stream}{_HISTORY}"


def is_history(name: str) -> bool:
    return name.endswith(_HISTORY)


def stream_of(history: str) -> str:
    """The stream that a history is of."""
    return history.removesuffix(_HISTORY)


def said_in(rows: pa.Table, tags: pa.Table | None) -> pa.Table | None:
    """The tags of rows of a log, in their order, and those written down beside them; an attachment is one where it has
    found its place."""
    parts = []
    if MARKS in rows.column_names:
        parts.append(tags_of_tuples(rows))
    if tags is not None:
        parts.append(tags.select(_OF_TAGS).filter(pc.is_valid(tags.column(MARKS))))
    return _in_order(parts)


def _in_order(parts: Sequence[pa.Table]) -> pa.Table | None:
    some = [as_texts(part) for part in parts if part.num_rows]
    return pa.concat_tables(some).sort_by(SEQ) if some else None


def history_rows(tags: pa.Table, schema: Schema, last: int) -> pa.Table:
    """The rows of the history for new tags on a stream with this schema, behind its `last` row."""
    count = tags.num_rows
    values = _values(tags, schema)
    return log_table(
        seq=place_in_history(tags.column(SEQ).to_numpy()),
        index=last + 1 + np.arange(count),
        tick=values.column("time").to_numpy(),
        diff=np.ones(count, np.int8),
        op=pa.repeat(pa.scalar("+"), count),
        ref=pa.nulls(count, pa.int64()),
        tag=pa.nulls(count, pa.string()),
        values=values,
    )


def place_in_history(seq: Any) -> Any:
    """Where in the log of the history stands what is said at a place of the stream's; a DETACH may need more places."""
    return seq << _PLACES_OF_A_STATEMENT


def reached_by(history: StreamState) -> int:
    """Up to which place of the stream's log all that was said is in its history."""
    return history.last_seq >> _PLACES_OF_A_STATEMENT


def taken_back(storage: Storage, state: StreamState, after: int = 0) -> list[tuple[int, Detached]]:
    """Where behind a place of a log tags were taken back, and which."""
    found: list[tuple[int, str]] = []
    for segment in state.segments:
        if segment.only_tags and segment.seq[1] > after:
            rows = tags_in(storage, segment).select([SEQ, TAG])
            texts = rows.filter(pc.starts_with(pc.fill_null(rows.column(TAG), ""), DETACH))
            found += zip(texts.column(SEQ).to_pylist(), texts.column(TAG).to_pylist(), strict=True)
    return [(seq, detached_by(text)) for seq, text in sorted(found) if seq > after and not is_conditional(text)]


def said_since(
    storage: Storage, state: StreamState, taken: Sequence[tuple[int, Detached]], after: int = 0
) -> Iterator[pa.Table]:
    """What a log says behind a place, as it stands after what was `taken` back: in the order of the log, a segment of
    tuples at a time with the tags that stand among them, because all that was ever said may be more than fits."""
    wanted = [segment for segment in state.segments if segment.marked and not segment.minus]
    ends = sorted(segment.seq[1] for segment in wanted if not segment.only_tags)
    ends += sorted(last for segment in wanted if (last := segment.seq[1]) > max(ends, default=0))
    for end in ends:
        there = [segment for segment in wanted if segment.seq[1] > after and segment.seq[0] <= end]
        tags = _in_order([_told_in(storage, segment, after, end) for segment in there])
        if tags is not None and (left := left_of(tags, taken)) is not None:
            yield left
        after = max(after, end)


def _told_in(storage: Storage, segment: Segment, after: int, upto: int) -> pa.Table:
    """The tags of a segment that stand behind a place, up to another."""
    if segment.only_tags:
        rows = tags_in(storage, segment)
        tags = rows.select(_OF_TAGS).filter(pc.is_valid(rows.column(MARKS)))
    else:
        tags = tags_of_tuples(storage.read_table(segment.path, [*_OF_TAGS, OP]))
    seq = tags.column(SEQ)
    return tags.filter(pc.and_(pc.greater(seq, after), pc.less_equal(seq, upto)))


def left_of(tags: pa.Table, taken: Sequence[tuple[int, Detached]]) -> pa.Table | None:
    """Tags after some were taken back; it is looked at once for all that say the same."""
    told = numbered(tags.column(MARKS))
    texts, codes, seq = told.dictionary.to_pylist(), told.indices.to_numpy(), tags.column(SEQ).to_numpy()
    for place, what in taken:
        after = [None if text is None else written(what.after(read(text))) for text in texts]
        # each once: they would be twice as many after each that is taken back
        number = {text: at for at, text in enumerate(dict.fromkeys([*texts, *after]))}
        stays, becomes = (np.array([number[text] for text in some], np.int64) for some in (texts, after))
        codes, texts = np.where(seq < place, becomes[codes], stays[codes]), list(number)
    left = tags.set_column(tags.column_names.index(MARKS), MARKS, chosen(codes, texts))
    left = left.filter(pc.is_valid(left.column(MARKS)))
    return left if left.num_rows else None


def is_said(tags: pa.Table, what: Detached, horizon: int | None) -> bool:
    """Whether there are tags that are meant."""
    near = tags if horizon is None else tags.filter(pc.greater_equal(tags.column(TICK), horizon))
    texts = pc.unique(near.column(MARKS).cast(pa.string())).to_pylist()
    return any(tuple(what.after(read(text))) != read(text) for text in texts)


def _values(tags: pa.Table, schema: Schema) -> pa.Table:
    """What tags say, column by column; it is looked at once for all that say the same."""
    told, places = numbered(tags.column(MARKS)), numbered(tags.column(PLACES))
    said = [read(text)[0] for text in told.dictionary.to_pylist()]
    columns = pa.Table.from_pylist([_row(tag, schema) for tag in said], schema=_SCHEMA).take(told.indices)
    before = np.array([0, *(place[0].timestamp for place in map(places_of, places.dictionary.to_pylist()))])
    which = pc.fill_null(places.indices, -1).to_numpy(zero_copy_only=False) + 1
    index, time = tags.column(INDEX).to_numpy(), tags.column(TICK).to_numpy() + before[which]
    listed = _one(columns.column("tuples"))
    if listed.null_count < len(listed):  # they are told from the place of the tag
        sizes = pc.fill_null(pc.list_value_length(listed), 0).to_numpy(zero_copy_only=False)
        offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        own = listed.flatten().to_numpy(zero_copy_only=False) + np.repeat(index, sizes)
        listed = pa.ListArray.from_arrays(offsets, pa.array(own), type=listed.type, mask=pc.is_null(listed))
    columns = columns.set_column(_SCHEMA.get_field_index("tuples"), _SCHEMA.field("tuples"), listed)
    return columns.set_column(_SCHEMA.get_field_index("time"), _SCHEMA.field("time"), pa.array(time))


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _row(tag: MarkText, schema: Schema) -> dict[str, Any]:
    """What one says, but for when it came; the tuples that it lists are told from its place."""
    on = tag.tick_tag.applies_to
    return {
        "content": tag.content,
        "sign": tag.sign,
        "type": tag.type,
        "tagger": tag.tagger,
        "lifespan": tag.lifespan,
        "mode": tag.mode,
        "time": 0,
        "attributes": None if tag.fields is None else [schema.names[field] for field in tag.fields],
        "by_value": on.by_value,
        "pattern": on.values,
        "tuples": on.tuples,
    }


def unsaid(rows: pa.Table, what: Detached, schema: Schema, place: int) -> pa.Table | None:
    """The rows that take tags out of the history at a place of the stream, or some of their attributes; None if there
    are none. `rows` are those of the history so far."""
    rows = rows.filter(pc.less(rows.column(SEQ), place_in_history(place))).sort_by(SEQ)
    changes = [change for row in _standing(rows) for change in _unsaid(row, what, schema)]
    if not changes:
        return None
    return log_table(
        seq=place_in_history(place) + np.arange(len(changes)),
        index=np.array([row[INDEX] for row, _, _ in changes], np.int64),
        tick=np.array([row[TICK] for row, _, _ in changes], np.int64),
        diff=np.array([diff for _, diff, _ in changes], np.int8),
        op=pa.array([op for _, _, op in changes]),
        ref=pa.array([row[INDEX] for row, _, _ in changes], pa.int64()),
        tag=pa.nulls(len(changes), pa.string()),
        values=pa.Table.from_pylist([{name: row[name] for name in _SCHEMA.names} for row, _, _ in changes], _SCHEMA),
    )


def about(storage: Storage, history: StreamState, what: Detached, horizon: int | None) -> pa.Table:
    """The rows of a history that are of one tagger and content, read a segment at a time."""
    of_tagger = pc.equal(pc.field("tagger"), what.tagger) & pc.equal(pc.field("by_value"), what.by_value)
    wanted = of_tagger if horizon is None else of_tagger & (pc.field(TICK) >= horizon)
    parts = [pa.schema([*SYSTEM, *_SCHEMA]).empty_table()]
    for segment in history.segments:
        if horizon is None or segment.tick[1] >= horizon:
            rows = storage.read_table(segment.path, rows=wanted)
            contents = pc.unique(rows.column("content")).to_pylist()
            meant = pa.array([each for each in contents if word_of(each) == word_of(what.content)], pa.string())
            parts.append(rows.filter(pc.is_in(rows.column("content"), value_set=meant)))
    return pa.concat_tables(parts)


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
