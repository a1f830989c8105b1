"""What is done in Spark's tasks about tables that are asked by key: the driver sees names of files and counts."""

from __future__ import annotations

import hashlib
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.catalog.extent import Extent
from eddyline.catalog.lookup import Lookup
from eddyline.columnar.looked_up import answers, scanned
from eddyline.columnar.types import arrow_schema, arrow_type
from eddyline.errors import EddylineError, FunctionFailed
from eddyline.kernels.functions import code_of
from eddyline.log.segment import DIFF
from eddyline.log.storage import Storage
from eddyline.sources.batches import read_table_columns
from eddyline.spark.stages import ASKED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Done_co = TypeVar("Done_co", covariant=True)


class Task(Protocol[Done_co]):
    """Something to be done in a worker; it is pickled, and so is what it gives."""

    def run(self) -> Done_co: ...


@dataclass(frozen=True)
class Keys:
    """Some of the keys in a file, to be asked for in one call."""

    path: str
    first: int
    count: int

    def halves(self) -> tuple[Keys, Keys]:
        half = self.count // 2
        return Keys(self.path, self.first, half), Keys(self.path, self.first + half, self.count - half)


@dataclass(frozen=True)
class Wanted:
    """Which keys are waited for that are neither known nor on their way. They are written into a file."""

    root: str
    extent: Extent
    waiting: Sequence[str]  # logs of those who wait
    known: Sequence[str]  # pieces of answers
    on_their_way: Sequence[Keys]

    def run(self) -> list[Keys]:
        storage, lookup = Storage(self.root), _lookup(self.extent)
        type_, place = _key_type(self.extent), self.extent.schema.names.index(lookup.key)
        tables = [storage.read_table(path, [DIFF, ASKED]) for path in self.waiting]
        rows = pa.concat_tables(tables).filter(pc.field(ASKED).is_valid())
        weights = (
            rows.set_column(0, DIFF, rows.column(DIFF).cast(pa.int64())).group_by(ASKED).aggregate([(DIFF, "sum")])
        )
        keys = weights.filter(pc.field(f"{DIFF}_sum") > 0).column(ASKED).cast(type_).combine_chunks()
        known = (storage.read_table(path, [f"c{place}"]).column(0) for path in self.known)
        for there in chain(known, self._slices(storage)):
            keys = keys.filter(pc.invert(pc.is_in(keys, value_set=there.combine_chunks().cast(type_))))
        if not len(keys):
            return []
        path = f"{folder_of(self.extent)}/keys/{uuid.uuid4().hex}.parquet"
        storage.write_table(path, pa.table({ASKED: keys}))
        most = lookup.batch
        return [Keys(path, first, min(most, len(keys) - first)) for first in range(0, len(keys), most)]

    def _slices(self, storage: Storage) -> Iterator[pa.ChunkedArray]:
        """The keys on their way: others of the same files may have been answered, and be wanted anew."""
        for path in sorted({keys.path for keys in self.on_their_way}):
            column = storage.read_table(path, [ASKED]).column(ASKED)
            yield from (column.slice(some.first, some.count) for some in self.on_their_way if some.path == path)


@dataclass(frozen=True)
class Came:
    """What has come of a look-up or a scan: a file of answers, or why there is none."""

    path: str = ""
    rows: int = 0
    seconds: float = 0.0
    failed: str = ""


@dataclass(frozen=True)
class Asked:
    """One call of the user's function. If it is `over`, nobody is asked any more: there is nothing for these keys."""

    root: str
    extent: Extent
    keys: Keys
    over: bool = False

    def run(self) -> Came:
        storage, lookup = Storage(self.root), _lookup(self.extent)
        keys = storage.read_table(self.keys.path, [ASKED]).column(ASKED).combine_chunks()
        keys = keys.slice(self.keys.first, self.keys.count).cast(_key_type(self.extent))
        columns = arrow_schema(self.extent.schema)
        began = time.monotonic()
        try:
            code = (lambda _: columns.empty_table()) if self.over else code_of(storage, lookup.function)
            found = answers(self.extent.name, code, keys, columns, lookup.key)
        except FunctionFailed as problem:
            return Came(seconds=time.monotonic() - began, failed=problem.message)
        return _written(storage, self.extent, found, began)


@dataclass(frozen=True)
class Scanned:
    """All rows of a table that can be read as a whole, too."""

    root: str
    extent: Extent
    base: str

    def run(self) -> Came:
        began = time.monotonic()
        try:
            rows, _ = read_table_columns(self.extent, Path(self.base))
        except EddylineError as problem:
            return Came(seconds=time.monotonic() - began, failed=problem.message)
        found = scanned(arrow_schema(self.extent.schema), rows, _lookup(self.extent).key)
        return _written(Storage(self.root), self.extent, found, began)


def _written(storage: Storage, extent: Extent, found: pa.Table, began: float) -> Came:
    path = f"{folder_of(extent)}/{uuid.uuid4().hex}.parquet"
    storage.write_table(path, found)
    return Came(path, found.num_rows, time.monotonic() - began)


@dataclass(frozen=True)
class Merged:
    """Small pieces of answers as one, which is as old as the oldest of them."""

    root: str
    extent: Extent
    paths: Sequence[str]

    def run(self) -> Came:
        began, storage = time.monotonic(), Storage(self.root)
        return _written(storage, self.extent, pa.concat_tables([storage.read_table(p) for p in self.paths]), began)


def folder_of(extent: Extent) -> str:
    """Names may have anything in them, what leads out of a folder too."""
    plain = re.fullmatch(r"\w[\w.]*", extent.name)
    return f"lookups/{extent.name if plain else hashlib.sha256(extent.name.encode()).hexdigest()}"


def in_a_task(spark: SparkSession | None, task: Task[Done_co]) -> Done_co:
    """Let one of Spark's tasks do it; without Spark it is done here."""
    if spark is None:
        return task.run()

    def run(some: Iterable[Task[Done_co]]) -> Iterator[Done_co]:
        return (one.run() for one in some)

    (done,) = spark.sparkContext.parallelize([task], 1).mapPartitions(run).collect()
    return done


def _lookup(extent: Extent) -> Lookup:
    assert extent.lookup is not None
    return extent.lookup


def _key_type(extent: Extent) -> pa.DataType:
    key = _lookup(extent).key
    return next(arrow_type(field.type) for field in extent.schema.fields if field.name == key)


__all__ = ["Asked", "Came", "Keys", "Merged", "Scanned", "Wanted", "folder_of", "in_a_task"]
