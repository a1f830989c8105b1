"""One immutable Parquet file of weighted rows, and its zone map: what is known of it without opening it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.errors import StorageUnreadable

#: the columns that every segment of a stream has beside the stream's own
SEQ, INDEX, TICK, DIFF, OP, REF, TAG = "_seq", "_index", "_tick", "_diff", "_op", "_ref", "_tag"
#: the marks of each tuple and where its tags stand, in those segments of a stream of which a tuple has any, and tags
#: with all that they apply to, in those of tags
MARKS, PLACES = "_tags", "_tag_places"
#: the column that every segment of results has: the micro-batch that a row was told in
BATCH = "_batch"
SYSTEM = pa.schema(
    [
        pa.field(SEQ, pa.int64()),  # place in the log, from 1
        pa.field(INDEX, pa.int64()),  # place of the tuple in its stream
        pa.field(TICK, pa.int64()),
        pa.field(DIFF, pa.int8()),  # +1 the tuple is there from here on, -1 no longer, 0 it is a tick-tag
        pa.field(OP, pa.string()),  # what the source sent: + - = #
        pa.field(REF, pa.int64()),  # the index that - and = revise
        pa.field(TAG, pa.string()),  # a statement on tags
    ]
)


#: how tags are kept in segments that have any; the first way was with their numbers in the texts
_WAY = 2


@dataclass(frozen=True)
class Segment:
    """Where a segment is and the bounds of what is in it, all inclusive."""

    path: str
    rows: int
    size: int
    seq: tuple[int, int]
    index: tuple[int, int]
    tick: tuple[int, int]
    minus: int = 0  # rows that take a tuple away
    place: tuple[int, int] | None = None  # the windows or tuples that results are of, if ticks do not tell them
    tags: int = 0  # tick-tags among its rows
    marked: bool = False  # whether tuples carry tags, so that there is a column of them
    only_marks: bool = False  # whether tuples are replaced by themselves with other tags: nothing for who reads no tags

    def to_json(self) -> dict[str, Any]:
        value = asdict(self)
        for name in ("tags", "marked", "only_marks"):  # most have none, and there are many segments
            if not value[name]:
                del value[name]
        if self.marked:
            value["marked"] = _WAY
        return value

    @property
    def only_tags(self) -> bool:
        """Whether its rows are tick-tags, of which tuples know nothing."""
        return 0 < self.tags == self.rows

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Segment:
        if "marked" in value:
            if value["marked"] is True or value["marked"] != _WAY:
                raise StorageUnreadable(
                    f"{value['path']} keeps tags in the way of another version of Eddyline",
                    hint="open the database with that version, or send the data again to a new one",
                )
            value = {**value, "marked": True}
        pairs = {key: tuple(value[key]) for key in ("seq", "index", "tick", "place") if value.get(key) is not None}
        return cls(**{**value, **pairs})


@dataclass(frozen=True)
class Exchange:
    """Segments that go and what comes in their place: the same rows in fewer files, or nothing if nobody needs them."""

    gone: frozenset[str]  # paths
    come: tuple[Segment, ...] = ()

    def applied(self, segments: Iterable[Segment]) -> list[Segment]:
        """The segments in order, those that go replaced."""
        rest = [segment for segment in segments if segment.path not in self.gone]
        return sorted([*rest, *self.come], key=lambda segment: (segment.seq, segment.path))


def bounds_of(table: pa.Table, column: str) -> tuple[int, int]:
    """The smallest and the largest value; (0, -1) if there is none."""
    found = pc.min_max(table.column(column)).as_py()
    return (0, -1) if found["min"] is None else (found["min"], found["max"])


def segment_of(path: str, size: int, table: pa.Table) -> Segment:
    """The zone map of a table that was written there; columns that say the same in every row may have been left out."""
    minus = pc.sum(pc.less(table.column(DIFF), 0)).as_py() or 0
    tags = pc.sum(pc.equal(table.column(DIFF), 0)).as_py() or 0
    return Segment(
        path,
        table.num_rows,
        size,
        bounds_of(table, SEQ),
        bounds_of(table, INDEX),
        bounds_of(table, TICK),
        minus,
        tags=tags,
        marked=MARKS in table.column_names and table.column(MARKS).null_count < table.num_rows,
    )
