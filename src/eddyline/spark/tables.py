"""Stored tables: kept as immutable Parquet pieces, so that what a query has seen of a table can be seen again."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddyline.catalog.extent import Extent
from eddyline.errors import EddylineError
from eddyline.log.storage import UNFINISHED, Storage
from eddyline.sources import Reject, needs_spark
from eddyline.sources.batches import read_table_columns
from eddyline.sources.files import find_files
from eddyline.spark.evaluate.frames import Frame, Frames
from eddyline.spark.foreign import explained, fitted, stored_frame
from eddyline.spark.literal import back_quoted, spark_type
from eddyline.spark.pieces import write_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class _Table:
    extent: Extent
    base: Path
    pieces: list[str] = field(default_factory=list)  # what was read from files
    inserted: list[str] = field(default_factory=list)
    seen: Any = None  # size and time of the files when they were read


class Tables:
    """All tables of a database, as they stand."""

    def __init__(self, spark: SparkSession, storage: Storage, set_aside: Callable[[Reject], None]) -> None:
        self._spark = spark
        self._storage = storage
        self._set_aside = set_aside
        self._tables: dict[str, _Table] = {}
        self._outdated: dict[str, int] = {}  # by piece, the how-manieth it was to be replaced
        self._replaced = 0
        self._readers: list[int] = []  # of each, how many pieces had been replaced when it began
        self._guard = threading.RLock()

    def add(self, extent: Extent, base: Path) -> None:
        """A new table; what INSERT put into it before a restart is still there."""
        table = self._tables[extent.name] = _Table(extent, base)
        table.inserted = self._storage.read_json(self._manifest(extent.name)) or []
        self._outdate(self._left_over(table))
        if extent.lookup is None:  # else it is scanned only if that pays
            self.current(extent.name)

    def drop(self, name: str) -> None:
        self._tables.pop(name, None)
        self._storage.delete_folder(f"tables/{name}")

    def insert(self, name: str, rows: pa.Table) -> None:
        table = self._tables[name]
        table.inserted.append(self._write(name, rows))
        self._storage.write_json(self._manifest(name), table.inserted)

    def current(self, name: str) -> tuple[str, ...]:
        """The pieces that hold the table as it stands, read again if its files have changed."""
        with self._guard:
            table = self._tables[name]
            if needs_spark(table.extent):
                self._copy(table)
            elif table.extent.format is not None:
                self._read_files(table)
            return (*table.pieces, *table.inserted)

    def known(self, name: str) -> tuple[str, ...]:
        """The pieces that held the table when it was last looked at."""
        table = self._tables[name]
        return (*table.pieces, *table.inserted)

    def frame(self, name: str, pieces: Sequence[str], frames: Frames) -> Frame:
        """Pieces of a table as c0, c1, …"""
        schema = self._tables[name].extent.schema
        fields = {field.name: spark_type(field.type) for field in schema.fields}
        return frames.read(pieces, fields, [f"{back_quoted(name)} AS c{i}" for i, name in enumerate(fields)])

    def _read_files(self, table: _Table) -> None:
        extent = table.extent
        files = find_files(extent.name, extent.option("path") or "", table.base) if extent.option("path") else ()
        seen = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
        if table.seen == seen and table.seen is not None:
            return
        rows, rejects = read_table_columns(extent, table.base)
        for reject in rejects:
            self._set_aside(reject)
        self._replace(table, [self._write(extent.name, rows)], seen)

    def _copy(self, table: _Table) -> None:
        """A table of any format that Spark reads, as it is now: it may change, and what was seen must stay."""
        extent = table.extent
        frame = stored_frame(self._spark, extent, table.base)
        seen = _seen(self._spark, frame)
        if seen and seen == table.seen:
            return
        try:
            folder = f"tables/{extent.name}"
            pieces = write_pieces(fitted(frame, extent), folder, self._storage, only_fitting=True)
        except Exception as problem:
            raise explained(extent, problem) from None
        for piece in pieces:
            for line, reason, text in piece.unfit:
                self._set_aside(Reject(extent.name, extent.format or "", line, text, reason))
        self._replace(table, [piece.path for piece in pieces], seen)

    def _replace(self, table: _Table, pieces: list[str], seen: Any) -> None:
        with self._guard:
            self._outdate(table.pieces)
            table.pieces, table.seen = pieces, seen

    def _outdate(self, pieces: Iterable[str]) -> None:
        with self._guard:
            for piece in pieces:
                self._replaced += 1
                self._outdated[piece] = self._replaced

    # -- pieces that nobody needs -------------------------------------------------------------------------------------

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """While somebody outside of the batches reads tables, nothing is deleted that was current since it began.

        What had been replaced before is not kept: else one who is always reading would keep all of it for ever.
        """
        with self._guard:
            began = self._replaced
            self._readers.append(began)
        try:
            yield
        finally:
            with self._guard:
                self._readers.remove(began)

    def outdated(self) -> list[str]:
        """Pieces that were replaced by newer ones, or were left by a process before this one."""
        with self._guard:
            return list(self._outdated)

    def delete_unused(self, outdated: Iterable[str], used: Callable[[], Container[str]]) -> None:
        """Delete outdated pieces, except those that corrections of earlier answers need.

        `used` is asked while no reader can begin or end: one that ends says first what it has seen.
        """
        with self._guard:
            needed, oldest = used(), min(self._readers, default=self._replaced)
            for path in outdated:
                if path not in needed and self._outdated.get(path, oldest + 1) <= oldest:
                    with suppress(EddylineError):
                        self._storage.delete(path)
                    del self._outdated[path]

    def _left_over(self, table: _Table) -> list[str]:
        """What was copied before a restart."""
        folder = f"tables/{table.extent.name}"
        found = [path for path, _ in self._storage.files_below(folder)]
        return [path for path in found if path.endswith((".parquet", UNFINISHED)) and path not in table.inserted]

    def _write(self, name: str, rows: pa.Table) -> str:
        path = f"tables/{name}/{uuid.uuid4().hex}.parquet"
        self._storage.write_table(path, rows)
        return path

    def _manifest(self, name: str) -> str:
        return f"tables/{name}/inserted.json"


def _seen(spark: SparkSession, frame: DataFrame) -> list[tuple[str, int, int]]:
    """Name, size and time of the files that the frame is read from; nothing if it is not read from files."""
    jvm: Any = spark._jvm
    settings = spark._jsc.hadoopConfiguration()
    found = []
    for name in sorted(frame.inputFiles()):
        path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(name))
        status = path.getFileSystem(settings).getFileStatus(path)
        found.append((name, int(status.getLen()), int(status.getModificationTime())))
    return found
