"""A database at work: its logs, its one streaming query, and the executor that the query drives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import WindowSort
from eddyline.algebra.schema import Schema
from eddyline.algebra.stream import StreamReceive
from eddyline.catalog.catalog import BoundQuery
from eddyline.catalog.extent import Extent
from eddyline.errors import StorageUnusable
from eddyline.log.answers import Shape
from eddyline.log.ingest import Ingest
from eddyline.log.journal import Journal
from eddyline.log.results import ResultLog
from eddyline.log.storage import Storage
from eddyline.sources import Reject
from eddyline.sources.chunk import Chunk
from eddyline.spark.evaluate.batch import Batch, Clock
from eddyline.spark.evaluate.evaluate import windows
from eddyline.spark.evaluate.relational import with_rank
from eddyline.spark.evaluate.tuples import tuples
from eddyline.spark.executor import BatchReport, Executor, Standing, given_logs, storage_problem
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.source import FORMAT, LogSource
from eddyline.spark.spans import EVERYTHING, LOW
from eddyline.spark.stages import WINDOWS, Stage, cut
from eddyline.spark.start import start_session
from eddyline.spark.tables import Tables
from eddyline.spark.work import Scans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: rows that a micro-batch takes at most, unless the user says otherwise
BATCH_ROWS = 1_000_000


class Engine:
    """Everything about running, nothing about SQL. Streams and queries are bound already."""

    def __init__(
        self,
        root: str,
        master: str | None = None,
        batch_rows: int = BATCH_ROWS,
        set_aside: Callable[[Reject], None] = lambda reject: None,
        on_batch: Callable[[BatchReport], None] = lambda report: None,
        on_trouble: Callable[[str], None] = lambda text: None,
        now: Callable[[], int] | None = None,
    ) -> None:
        self.spark = start_session(master)
        self.storage = Storage(root)
        self._batch_rows = batch_rows
        self.journal = Journal(self.storage)
        self.ingest = Ingest(self.storage, self.journal, set_aside, now)
        self.tables = Tables(self.spark, self.storage, set_aside)
        self.executor = Executor(self.spark, self.storage, self.tables, on_batch, on_trouble)
        self.results = ResultLog(self.storage)
        self._extents: dict[str, Extent] = {}
        self._query: Any = None
        self._guard = threading.RLock()

    # -- what there is ------------------------------------------------------------------------------------------------

    def define(self, extent: Extent, base: Path) -> None:
        if extent.is_stream:
            self._extents[extent.name] = extent
            self.executor.add_stream(extent)
        else:
            self.tables.add(extent, base)

    def register(self, name: str, query: BoundQuery, plan: Operator, start: int | None, history: bool) -> None:
        """Let a query stand. `history`: it first answers over everything that has passed."""
        stages = cut(name, plan, query.columns)
        clock = self.ingest.clock
        created = Clock(_tick(clock.reached), _tick(clock.closed))
        self.executor.add(Standing(name, stages, start, history, created))

    def drop(self, name: str) -> None:
        self.executor.drop(name)

    def shape(self, name: str, query: BoundQuery) -> Shape:
        return Shape(name, query.kind, query.columns)

    # -- data ---------------------------------------------------------------------------------------------------------

    def append(self, chunks: Sequence[Chunk], ended: bool = False) -> None:
        self.ingest.append(self._extents, chunks, ended)

    def touch(self) -> None:
        """Make Spark run a batch although nothing has come, so that a new query begins at once."""
        self.ingest.touch()

    def standing(self, extent: Extent) -> DataFrame:
        """The tuples of a stream as they stand now: `_index`, `_tick` and the values, then tick and index again."""
        self.journal.refresh()
        logs = given_logs(self.journal, self._extents, self.journal.number, ())
        plan = StreamReceive(extent.name, extent.schema, implicit=True)
        return tuples(plan, self._batch(logs))

    def revise(
        self,
        extent: Extent,
        schema: Schema,
        where: TypedExpr | None,
        values: Sequence[TypedExpr] | None,
        tick_of: Callable[[pa.Table], pa.Array | None],
    ) -> None:
        """Send a revision of every standing tuple that satisfies the condition."""
        frame = self.standing(extent)
        names = names_of(schema, [f"c{i}" for i in range(len(schema))])
        if where is not None:
            frame = frame.where(spark_sql(where, names))
        own = extent.schema.names
        if values is None:
            found = frame.selectExpr("_index", "_tick", *(f"c{i}" for i in range(len(own))))
        else:
            texts = [spark_sql(value, names) for value in values]
            different = " OR ".join(f"NOT (({text}) <=> c{i})" for i, text in enumerate(texts))
            found = frame.where(different).selectExpr("_index", "_tick", *(f"{t} AS n{i}" for i, t in enumerate(texts)))
        rows = found.orderBy("_index").toArrow()
        if not rows.num_rows:
            return
        new = rows.select(rows.column_names[2:]).rename_columns(list(own))
        ticks = None if values is None else tick_of(new)
        table = pa.table(
            {
                "_index": rows.column("_index"),
                "_tick": rows.column("_tick") if ticks is None else ticks,
                "_new": pa.array([values is not None] * rows.num_rows),
                **{name: new.column(name) for name in own},
            }
        )
        self.ingest.revise(extent, table)

    def answered_once(self, plan: Operator) -> pa.Table:
        """A query over tables alone, as they are: its rows as c0, c1, …"""
        batch = self._batch({})
        batch.snapshots = Scans(self.tables, {}).of(Stage("", WINDOWS, plan, ()), 0, Clock(), Clock())
        made = windows(plan, batch, EVERYTHING)
        rows = made.rows
        if isinstance(plan, WindowSort):
            rows = with_rank(plan, rows, [], made.width).orderBy("_rank")
        return rows.select(*made.columns).toArrow()

    def _batch(self, logs: Mapping[str, Any]) -> Batch:
        return Batch(
            self.spark,
            self.storage,
            logs,
            Clock(),
            Clock(),
            0,
            lambda name: self.tables.frame(name, self.tables.current(name)),
        )

    # -- running ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the streaming query, if it does not run."""
        with self._guard:
            if self._query is not None and self._query.isActive:
                return
            self.spark.dataSource.register(LogSource)
            reader = self.spark.readStream.format(FORMAT).option("root", self.storage.root)
            references = reader.option("batchRows", str(self._batch_rows)).load()
            writer = references.writeStream.foreachBatch(self.executor.process)
            self._query = writer.option("checkpointLocation", self.storage.url("checkpoint")).start()

    def flush(self) -> None:
        """Wait until everything that has come in is answered."""
        self.start()
        try:
            self._query.processAllAvailable()
        except Exception as problem:
            raise _explained(problem) from problem

    def stop(self) -> None:
        with self._guard:
            self.executor.stop()
            if self._query is not None:
                self._query.stop()
                self._query = None


def _explained(problem: BaseException) -> BaseException:
    """The error of ours inside Spark's, if there is one."""
    reason = storage_problem(problem)
    if reason is not None:
        return StorageUnusable(reason)
    return problem


def _tick(value: int | None) -> int:
    return LOW if value is None else value
