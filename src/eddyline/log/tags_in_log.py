"""What the log of a stream has of its tags: the marks of tuples, and tags among tuples, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.tag_places import HERE
from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.log.journal import StreamState
from eddyline.log.segment import DIFF, INDEX, MARKS, OP, PLACES, SEQ, TAG, TICK, Segment
from eddyline.log.standing_tags import without_standings
from eddyline.log.storage import Storage

Array = Any
_NONE = pa.array([], pa.int64())


def has_tags(state: StreamState) -> bool:
    """Whether there has ever been a tag in what a stream retains."""
    return any(segment.tags or segment.marked for segment in state.segments)


def marks_in_log(storage: Storage, segments: Sequence[Segment], indexes: Array) -> pa.Table:
    """The marks of those of some tuples that have any, by index: also where the tags stand, and the tuple's tick."""
    nothing = pa.array([], pa.string())
    found = [pa.table({SEQ: _NONE, INDEX: _NONE, TICK: _NONE, MARKS: nothing, PLACES: nothing})]
    wanted = pa.array(indexes, pa.int64())
    for segment in segments if len(indexes) else ():
        has_marks = segment.marked and not segment.only_tags
        if has_marks and segment.index[0] <= indexes[-1] and indexes[0] <= segment.index[1]:
            table = storage.read_table(segment.path, [SEQ, INDEX, TICK, DIFF, MARKS, PLACES])
            table = table.filter(pc.greater(table.column(DIFF), 0)).drop_columns([DIFF])
            found.append(table.filter(pc.is_in(table.column(INDEX), value_set=wanted)))
    together = pa.concat_tables(found).sort_by([(INDEX, "ascending"), (SEQ, "ascending")])
    index = together.column(INDEX).to_numpy()
    last = np.ones(len(index), bool)
    last[:-1] = index[1:] != index[:-1]
    latest = together.filter(pa.array(last)).drop_columns([SEQ])  # tags may have been taken back since it came
    return latest.filter(pc.is_valid(latest.column(MARKS)))


def tuples_and_tags(first: int, state: StreamState, storage: Storage, extent: Extent) -> Iterator[pa.Table]:
    """The new tuples and tags of a log from a place on, in order: a segment of tuples at a time, with the tags that
    stand among them. What only tells which tags stand is left out."""
    wanted = [each for each in state.segments if each.seq[1] >= first and not each.minus]
    tags = deque(sorted((each for each in wanted if each.only_tags), key=lambda each: each.seq))
    system = [SEQ, INDEX, TICK, DIFF, OP, TAG]
    columns = [*system, *arrow_schema(extent.schema).names]
    read: list[pa.Table] = []
    for segment in sorted((each for each in wanted if not each.only_tags), key=lambda each: each.seq):
        while tags and tags[0].seq[0] <= segment.seq[1]:
            read.append(without_standings(tags_in(storage, tags.popleft())))
        rows = storage.read_table(segment.path, columns)
        among = [each.filter(pc.less_equal(each.column(SEQ), segment.seq[1])) for each in read]
        read = [each.filter(pc.greater(each.column(SEQ), segment.seq[1])) for each in read]
        yield _from_on(first, _in_order([rows, *among]))
    read += [without_standings(tags_in(storage, segment)) for segment in tags]
    if read:
        nothing = pa.table([pa.array([], field.type) for field in arrow_schema(extent.schema)], extent.schema.names)
        yield _from_on(first, _in_order([nothing, *read]))


def _from_on(place: int, rows: pa.Table) -> pa.Table:
    """A segment may have been merged of some before and some behind a place."""
    return rows.filter(pc.greater_equal(rows.column(SEQ), place))


def _in_order(parts: Sequence[pa.Table]) -> pa.Table:
    missing = pa.table({MARKS: pa.array([], pa.string()), PLACES: pa.array([], pa.string())})
    return pa.concat_tables([*parts, missing], promote_options="default").sort_by(SEQ)


def tags_in(storage: Storage, segment: Segment) -> pa.Table:
    """The rows of a segment of tags, as those of others are but without columns of the stream."""
    table = storage.read_table(segment.path)
    names = [SEQ, INDEX, TICK, DIFF, OP, TAG, *((MARKS, PLACES) if segment.marked else ())]
    same = {DIFF: pa.scalar(0, pa.int8()), OP: pa.scalar("#"), TAG: pa.scalar(None, pa.string())}
    columns = [
        table.column(name) if name in table.column_names else pa.repeat(same[name], table.num_rows) for name in names
    ]
    return pa.table(columns, names)


def tags_of_tuples(rows: pa.Table) -> pa.Table:
    """The tags of which new tuples are all that the log has: where they stand, and what they say."""
    alone = pc.and_(pc.is_valid(rows.column(MARKS)), pc.is_null(rows.column(PLACES)))
    found = rows.select([SEQ, INDEX, TICK, MARKS]).filter(pc.and_(alone, pc.equal(rows.column(OP), "+")))
    for at, name in enumerate((SEQ, INDEX)):
        found = found.set_column(at, name, pc.subtract(found.column(name), 1))
    return found.append_column(PLACES, pa.repeat(pa.scalar(HERE), found.num_rows))
