"""Chunks of rows that stay in their file: what is asked about a row is read then, or follows from where it stands."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.sources.arrival import INSERT
from eddyline.sources.chunk import Chunk
from eddyline.sources.in_place import InPlace

Spans = tuple[tuple[int, int], ...]


class StayingChunk(Chunk):
    """All rows are tuples with a tick. Memory that is filled for nothing would cost more than reading the times."""

    stays: InPlace

    def __init__(
        self, extent: str, stays: InPlace, bytes_read: int, spans: Spans = (), file: str | None = None
    ) -> None:
        """`spans`: the ticks of the rows, and the ends of the first and last really are; none if they are not known."""
        given = {"extent": extent, "file": file or stays.file, "values": pa.table({}), "rejects": ()}
        for name, value in {**given, "bytes_read": bytes_read, "stays": stays, "_spans": spans}.items():
            object.__setattr__(self, name, value)

    @property
    def num_rows(self) -> int:
        return self.stays.rows

    @property
    def last_line(self) -> int:
        return self.stays.start + self.stays.rows

    @property
    def spans(self) -> Spans:
        return self.__dict__["_spans"]  # type: ignore[no-any-return]

    @property
    def ticks(self) -> tuple[int, int]:
        if self.spans:
            return min(low for low, _ in self.spans), max(high for _, high in self.spans)
        return super().ticks

    def slice(self, start: int, stop: int) -> Chunk:
        if start == 0 and stop >= self.num_rows:
            return self
        return StayingChunk(self.extent, self.stays.slice(start, stop - start), self.bytes_read, (), self.file)

    def after(self, line: int) -> Chunk:
        return self.slice(max(0, line - self.stays.start), self.num_rows)

    def copied(self, extent: Extent) -> Chunk:
        schema = arrow_schema(extent.schema)
        self.stays.check(extent.name)
        values = pa.concat_tables([schema.empty_table(), *self.stays.tables(schema.names)]).combine_chunks()
        columns = (self.tick, self.op, self.ref, self.tag, self.line, self.text)
        return Chunk(self.extent, self.file, values, *columns, (), self.bytes_read)

    # -- by row -------------------------------------------------------------------------------------------------------

    @cached_property
    def tick(self) -> pa.Int64Array:
        self.stays.check(self.extent)
        times = [table.column(0) for table in self.stays.tables([self.stays.time])]
        return self.stays.ticks(pa.chunked_array([chunk for column in times for chunk in column.chunks]))

    @cached_property
    def op(self) -> pa.StringArray:
        return pa.repeat(INSERT, self.num_rows)

    @cached_property
    def ref(self) -> pa.Int64Array:
        return pa.nulls(self.num_rows, pa.int64())

    @cached_property
    def tag(self) -> pa.StringArray:
        return pa.nulls(self.num_rows, pa.string())

    @cached_property
    def line(self) -> pa.Int64Array:
        return pa.array(np.arange(self.stays.start + 1, self.last_line + 1))

    @cached_property
    def text(self) -> pa.StringArray:
        return pa.nulls(self.num_rows, pa.string())
