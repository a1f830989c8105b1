"""Answers that are all rows of a stream's segments as they are: the files are given to the result log, not written."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.marks import MARKS
from eddyline.log.linked import Linked
from eddyline.log.segment import INDEX, Segment
from eddyline.log.storage import Storage

_TAGS = pa.schema([(INDEX, pa.int64()), (MARKS, pa.string())])


@dataclass(frozen=True)
class PassedOn:
    """The segments whose rows a stage answers with, none of whose indexes meet; it travels with the work."""

    segments: tuple[Segment, ...]
    shape: str  # what an answer has beside the tuple, as `log/linked.py` calls it
    tags: str = ""  # a statement: indexes of tuples, and the marks that are told with each

    def fits(self, storage: Storage, schema: pa.Schema) -> bool:
        """Whether the files have what segments of the result log would have."""
        if not storage.local or len(set(schema.names)) < len(schema.names):
            return False
        named = Linked("", 0, self.shape, False)
        found = [named.schema(storage.schema_of(segment.path)) for segment in self.segments]
        return all(_fields(each) == _fields(schema) for each in found)

    def linked(self, storage: Storage, folder: str, batch: int, told: Iterable[pa.RecordBatch]) -> list[Segment] | None:
        """Segments of the result log that are these files; None if the file system does not do it."""
        tags = _with_marks(told)
        found: list[Segment] = []
        for segment in self.segments:
            own = tags if len(self.segments) == 1 else tags.filter(_among(tags.column(INDEX), segment.index))
            start = f"{folder}/{batch:012d}-{uuid.uuid4().hex}"
            path = Linked.path_of(start, self.shape, own.num_rows > 0)
            size = storage.link(segment.path, path)
            if size is None:
                _forget(storage, found)
                return None
            same = Linked(path, batch, self.shape, own.num_rows > 0)
            if same.some:
                size += storage.write_table(same.tags, _in_order(own))
            place = (batch, batch), segment.index, segment.tick
            found.append(Segment(path, segment.rows, size, *place, marked=MARKS in same.behind))
        return found


def _with_marks(told: Iterable[pa.RecordBatch]) -> pa.Table:
    """Of tuples with what is told of their tags, those of which something is."""
    batches = [_typed(some) for batch in told if (some := _without_nothing(batch)).num_rows]
    return pa.Table.from_batches(batches, _TAGS)


def _without_nothing(batch: pa.RecordBatch) -> pa.RecordBatch:
    marks = batch.column(1)
    return batch.filter(pc.is_valid(marks)) if marks.null_count else batch


def _in_order(tags: pa.Table) -> pa.Table:
    """By index, as the kernel mostly gives them."""
    index = tags.column(INDEX).to_numpy()
    return tags if bool((index[1:] > index[:-1]).all()) else tags.sort_by(INDEX)


def _typed(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = [column.cast(field.type) for column, field in zip(batch, _TAGS, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=_TAGS)


def _among(index: pa.ChunkedArray, bounds: tuple[int, int]) -> pa.ChunkedArray:
    low, high = bounds
    return pc.and_(pc.greater_equal(index, low), pc.less_equal(index, high))


def _forget(storage: Storage, segments: Sequence[Segment]) -> None:
    """What nobody is going to refer to; upkeep would find it, too."""
    for segment in segments:
        storage.delete(segment.path)
        storage.delete(Linked(segment.path, 0, "", True).tags)


def _fields(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in schema]
