"""The input of an extent as columns: the same rows as `source` gives, a chunk of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.sources.arrival import INSERT, REPLACE, Reject
from eddyline.sources.batch_intake import BatchIntake
from eddyline.sources.chunk import Chunk
from eddyline.sources.conversion import RowConversion
from eddyline.sources.converted import mask
from eddyline.sources.csv_batches import CsvBatchReader
from eddyline.sources.files import ByteMeter
from eddyline.sources.horizon import horizons
from eddyline.sources.json_batches import JsonBatchReader
from eddyline.sources.parquet_batches import ParquetBatchReader
from eddyline.sources.reach import Reach
from eddyline.sources.source import Source, open_source

__all__ = ["CHUNK_ROWS", "BatchInput", "BatchSource", "Chunk", "open_batches", "reach_of_chunks", "read_table_columns"]

CHUNK_ROWS = 1 << 16


class BatchReader(Protocol):
    """A file format, set up for one extent, that gives columns."""

    conversion: RowConversion

    def chunks(self, file: Path, intake: BatchIntake, meter: ByteMeter, chunk_rows: int) -> Iterator[Chunk]:
        """The rows of a file; `chunk_rows` is a wish."""


_FORMATS: dict[str, Callable[[Extent], BatchReader]] = {
    "csv": CsvBatchReader,
    "json": JsonBatchReader,
    "parquet": ParquetBatchReader,
}


class BatchInput(Protocol):
    """Whatever feeds a stream with chunks, to an end."""

    @property
    def extent(self) -> Extent: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def bytes_read(self) -> int: ...

    def chunks(self) -> Iterator[Chunk]: ...
    def reach(self) -> Reach: ...
    def total_bytes(self) -> int | None: ...


class BatchSource:
    """The files of one extent, checked. `warnings` are for the user; `bytes_read` is that of the latest pass."""

    def __init__(self, source: Source, tick_micros: int, chunk_rows: int = CHUNK_ROWS) -> None:
        self.extent = source.extent
        self.files = source.files
        self.warnings = source.warnings
        self._source = source
        self._reader = _FORMATS[source.extent.format or ""](source.extent)
        self._tick_micros = tick_micros
        self._chunk_rows = chunk_rows
        self._meter = ByteMeter()

    def chunks(self) -> Iterator[Chunk]:
        """A new pass over the files, in their order; no chunk has more rows than asked for, none is empty.

        Rows that stay in their file come in the stretches in which they are read there.
        """
        intake = BatchIntake(self.extent, self._reader.conversion, self._tick_micros)
        self._meter.restart()
        for file in self.files:
            intake.file = str(file)
            for chunk in self._reader.chunks(file, intake, self._meter, self._chunk_rows):
                if chunk.stays is not None and chunk.num_rows:
                    yield chunk
                elif chunk.num_rows or chunk.rejects:
                    for start in range(0, max(1, chunk.num_rows), self._chunk_rows):
                        yield chunk.slice(start, start + self._chunk_rows)

    def reach(self) -> Reach:
        """From which tick to which the tuples of the input reach; a full pass."""
        return reach_of_chunks(self.extent.retain, self.chunks())

    def total_bytes(self) -> int | None:
        return self._source.total_bytes()

    @property
    def bytes_read(self) -> int:
        return self._meter.count


def reach_of_chunks(retain: int | None, chunks: Iterable[Chunk]) -> Reach:
    """From which tick to which the tuples of some chunks reach."""
    reach = Reach(retain)
    for chunk in chunks:
        _reach(reach, chunk)
    return reach


def _reach(reach: Reach, chunk: Chunk) -> None:
    timed = pc.is_valid(chunk.tick)
    inserted = mask(pc.and_(timed, pc.equal(chunk.op, INSERT)))
    taken = inserted | mask(pc.and_(timed, pc.equal(chunk.op, REPLACE)))
    ticks = pc.fill_null(chunk.tick, 0).to_numpy()
    taken &= ticks >= horizons(ticks, inserted, reach.top, reach.retain)
    if taken.any():
        tops = ticks[taken & inserted]
        reach.add(int(ticks[taken].min()), int(tops.max()) if len(tops) else None)


def open_batches(extent: Extent, base: Path, tick_micros: int, chunk_rows: int = CHUNK_ROWS) -> BatchSource | None:
    """The input of an extent, relative paths taken from `base`; None if nothing but INSERT and pushes feed it."""
    source = open_source(extent, base, tick_micros)
    return None if source is None else BatchSource(source, tick_micros, chunk_rows)


def read_table_columns(extent: Extent, base: Path) -> tuple[pa.Table, list[Reject]]:
    """The rows of a stored extent as columns, and those that do not fit."""
    source = open_batches(extent, base, tick_micros=1)
    tables = [arrow_schema(extent.schema).empty_table()]
    rejects: list[Reject] = []
    for chunk in source.chunks() if source is not None else ():
        tables.append(chunk.values)
        rejects += chunk.rejects
    return pa.concat_tables(tables), rejects
