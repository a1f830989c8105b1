"""The input of an extent: its files, read row by row as often as asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from eddyline.catalog.extent import Extent
from eddyline.errors import InvalidDefinition, NotSupported, nearest
from eddyline.sources.arrival import INSERT, REPLACE, Arrival, Reject
from eddyline.sources.conversion import RowConversion
from eddyline.sources.csv_file import CsvReader
from eddyline.sources.files import ByteMeter, find_files
from eddyline.sources.intake import Intake
from eddyline.sources.json_file import JsonReader
from eddyline.sources.reach import Reach

#: wrappers to which others push; in a script, INSERT does
PUSH_WRAPPERS = frozenset({"http", "push", "tcp", "websocket"})


class FileReader(Protocol):
    """A file format, set up for one extent."""

    conversion: RowConversion

    def check(self, file: Path) -> list[str]:
        """Raises SourceUnusable if the file's columns do not fit; returns warnings."""

    def rows(self, file: Path, intake: Intake, meter: ByteMeter) -> Iterator[Arrival | Reject]: ...


def _parquet_reader(extent: Extent) -> FileReader:
    from eddyline.sources.parquet_file import ParquetReader  # pyarrow is slow to load and most scripts need none

    return ParquetReader(extent)


_FORMATS: dict[str, Callable[[Extent], FileReader]] = {
    "csv": CsvReader,
    "json": JsonReader,
    "parquet": _parquet_reader,
}


def needs_spark(extent: Extent) -> bool:
    """Whether the extent is of a format that Spark reads and we do not."""
    return extent.format is not None and extent.format not in PUSH_WRAPPERS and extent.format not in _FORMATS


def probably_meant(format_: str) -> str | None:
    """The format of ours that a name of no format of ours looks like."""
    return nearest(format_, _FORMATS)


class Source:
    """The files of one extent, checked. `warnings` are for the user; `bytes_read` is that of the latest pass."""

    def __init__(self, extent: Extent, reader: FileReader, files: tuple[Path, ...], tick_micros: int) -> None:
        self.extent = extent
        self.files = files
        self._reader = reader
        self._tick_micros = tick_micros
        self._meter = ByteMeter()
        self._intake()  # a TIMESTAMP BY that cannot be must show now, not at the first row
        self.warnings = [warning for file in files for warning in reader.check(file)]

    def rows(self) -> Iterator[Arrival | Reject]:
        """A new pass over the files, in their order."""
        intake = self._intake()
        self._meter.restart()
        for file in self.files:
            intake.file = str(file)
            yield from self._reader.rows(file, intake, self._meter)

    def _intake(self) -> Intake:
        return Intake(self.extent, self._reader.conversion, self._tick_micros)

    def total_bytes(self) -> int | None:
        return sum(file.stat().st_size for file in self.files)

    @property
    def bytes_read(self) -> int:
        return self._meter.count


def open_source(extent: Extent, base: Path, tick_micros: int) -> Source | None:
    """The input of an extent, relative paths taken from `base`; None if nothing but INSERT and pushes feed it."""
    if extent.format is None or extent.format in PUSH_WRAPPERS:
        return None
    make_reader = _FORMATS.get(extent.format)
    if make_reader is None:
        guess = probably_meant(extent.format)
        raise NotSupported(
            f"{extent.name}: --engine reference reads csv, json and parquet, not {extent.format}",
            hint=f"did you mean {guess}?" if guess else "run it on Spark: --engine spark",
        )
    location = extent.option("path")
    if not location:
        raise InvalidDefinition(
            f"{extent.name}: USING {extent.format} needs a path", hint="OPTIONS (path 'folder/file.csv')"
        )
    reader = make_reader(extent)
    return Source(extent, reader, find_files(extent.name, location, base), tick_micros)


def reach_of(source: Source) -> Reach:
    """From which tick to which the tuples of an input reach; a full pass."""
    reach = Reach(source.extent.retain)
    for row in source.rows():
        if isinstance(row, Arrival) and row.op in (INSERT, REPLACE) and row.tick is not None:
            reach.take(row.tick, row.op == REPLACE)
    return reach


def read_table(extent: Extent, base: Path) -> tuple[list[tuple[object, ...]], list[Reject]]:
    """The rows of a stored extent, and those that do not fit."""
    source = open_source(extent, base, tick_micros=1)
    rows: list[tuple[object, ...]] = []
    rejects: list[Reject] = []
    for row in source.rows() if source is not None else ():
        if isinstance(row, Reject):
            rejects.append(row)
        elif row.values is not None:
            rows.append(row.values)
    return rows, rejects
