"""Stored tables: kept as immutable Parquet pieces, so that what a query has seen of a table can be seen again."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.errors import EddylineError, SourceUnusable
from eddyline.log.storage import Storage
from eddyline.sources import Reject
from eddyline.sources.batches import read_table_columns
from eddyline.sources.files import find_files
from eddyline.spark.evaluate.frames import Frame, Frames
from eddyline.spark.literal import back_quoted, spark_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: formats that our own readers read, which say which rows do not fit and why
_OWN = frozenset({"csv", "json", "parquet"})


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

    def add(self, extent: Extent, base: Path) -> None:
        """A new table; what INSERT put into it before a restart is still there."""
        table = self._tables[extent.name] = _Table(extent, base)
        table.inserted = self._storage.read_json(self._manifest(extent.name)) or []
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
        table = self._tables[name]
        if table.extent.format in _OWN:
            self._read_files(table)
        elif table.extent.format is not None:
            table.pieces = [self._copied(table)]
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
        table.pieces, table.seen = [self._write(extent.name, rows)], seen

    def _copied(self, table: _Table) -> str:
        """A table of any format that Spark reads, as it is now: it may change, and what was seen must stay."""
        extent = table.extent
        assert extent.format is not None
        options = dict(extent.options)
        if "path" in options and "://" not in options["path"]:
            options["path"] = str((table.base / options["path"]).absolute())
        try:
            ddl = ", ".join(f"{back_quoted(f.name)} {spark_type(f.type)}" for f in extent.schema.fields)
            reader = self._spark.read.format(extent.format).options(**options)
            try:
                frame = reader.schema(ddl).load()
            except Exception:
                frame = reader.load()  # formats that know their schema do not want to be told
            found = frame.selectExpr(
                *(
                    f"CAST({back_quoted(f.name)} AS {spark_type(f.type)}) AS {back_quoted(f.name)}"
                    for f in extent.schema.fields
                )
            ).toArrow()
        except EddylineError:
            raise
        except Exception as problem:
            reason = str(problem).strip().splitlines()[0]
            raise SourceUnusable(f"{extent.name}: Spark cannot read it as {extent.format}: {reason}") from None
        return self._write(extent.name, found.cast(arrow_schema(extent.schema)))

    def _write(self, name: str, rows: pa.Table) -> str:
        path = f"tables/{name}/{uuid.uuid4().hex}.parquet"
        self._storage.write_table(path, rows)
        return path

    def _manifest(self, name: str) -> str:
        return f"tables/{name}/inserted.json"
