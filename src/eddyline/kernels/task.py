"""A task's work: open segments, compute, write results as segments, and say which."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.kernels.dialect import MACROS
from eddyline.log.segment import DIFF, INDEX, TICK, Segment, bounds_of
from eddyline.log.storage import Storage

#: a segment is written when it has that many rows, so that a task's memory stays bounded
SEGMENT_ROWS = 1_000_000
WINDOW = "_window"
#: beyond it the kernel goes to disk
_MEMORY = "1GB"
_SETTINGS = (
    "SET threads = 1",  # Spark gives a task one core
    f"SET memory_limit = '{_MEMORY}'",
    "SET TimeZone = 'UTC'",
    "SET default_null_order = 'nulls_first_on_asc_last_on_desc'",
    "SET preserve_insertion_order = false",
)
_connection: duckdb.DuckDBPyConnection | None = None


@dataclass(frozen=True)
class Work:
    """What a task is to do for one stage; small enough to travel with the task."""

    stage: str
    batch: int
    root: str  # of the storage
    statement: str
    files: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, pa.Table]
    schema: pa.Schema  # of the segments it writes
    folder: str  # where they go


@dataclass(frozen=True)
class Reference:
    """A segment that a task has written, or why the kernel could not do its work."""

    stage: str
    segment: Segment | None
    refused: str = ""


def done(works: Iterable[Work]) -> Iterator[Reference]:
    """What Spark calls in a task, with the works of its partition."""
    for work in works:
        storage = Storage(work.root)
        try:
            yield from written(_computed(work), work.stage, work.batch, storage, work.folder)
        except (duckdb.Error, pa.ArrowInvalid) as problem:  # an overflow, for one: Spark has another answer to it
            yield Reference(work.stage, None, str(problem).splitlines()[0])


def _computed(work: Work) -> Iterator[pa.RecordBatch]:
    with bound(work) as connection:
        # the columns are named by their place: a result may have names that no table could
        for batch in connection.sql(work.statement).to_arrow_reader():
            columns = [c if c.type == f.type else c.cast(f.type) for c, f in zip(batch, work.schema, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=work.schema)


@contextmanager
def bound(work: Work) -> Iterator[duckdb.DuckDBPyConnection]:
    """A kernel that has the work's segments and tables under the names of its leaves."""
    connection, storage = kernel(), Storage(work.root)
    try:
        for name, paths in work.files.items():
            connection.register(name, storage.dataset(paths))
        for name, table in work.tables.items():
            connection.register(name, table)
        yield connection
    finally:
        for name in (*work.files, *work.tables):
            connection.unregister(name)


def kernel() -> duckdb.DuckDBPyConnection:
    """One for each process: Spark uses its Python workers again."""
    global _connection
    if _connection is None:
        _connection = duckdb.connect()
        _connection.execute(f"SET temp_directory = '{tempfile.gettempdir()}/eddyline-{uuid.uuid4().hex[:8]}'")
        for statement in (*_SETTINGS, *MACROS):
            _connection.execute(statement)
    return _connection


def written(
    batches: Iterable[pa.RecordBatch], stage: str, batch: int, storage: Storage, folder: str
) -> Iterator[Reference]:
    """Rows as segments of a stage's log."""
    for table in _tables(batches):
        # a path of its own for every attempt: what a failed or overtaken task wrote is never referred to
        path = f"{folder}/{batch:012d}-{uuid.uuid4().hex}.parquet"
        size = storage.write_table(path, table)
        number = next((name for name in (INDEX, WINDOW) if name in table.column_names), None)
        index = (0, -1) if number is None else bounds_of(table, number)
        minus = pc.sum(pc.less(table.column(DIFF), 0)).as_py() or 0
        segment = Segment(path, table.num_rows, size, (batch, batch), index, bounds_of(table, TICK), minus)
        yield Reference(stage, segment)


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= SEGMENT_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
