"""The executor: what happens in one micro-batch.

The plan of every query is built anew for each batch over exactly the segments it needs, so queries can come and go
between batches. All stages of one level leave in a single Spark action; a query over the stream of another query, or
with a stream inside, takes one action more for each level.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eddyline.catalog.extent import Extent
from eddyline.kernels.task import Reference, Work
from eddyline.log.journal import Entry, Journal
from eddyline.log.results import Record, ResultLog, Results, StageResult
from eddyline.log.storage import Storage
from eddyline.spark.evaluate.batch import Batch, Clock, Log
from eddyline.spark.evaluate.frames import Frames, SparkFrames
from eddyline.spark.evaluate.members import Members
from eddyline.spark.kernel_job import reason_for_spark, run, works_of
from eddyline.spark.planning import planned
from eddyline.spark.routes import Routes
from eddyline.spark.source import ENTRY
from eddyline.spark.spans import EVERYTHING, LOW, Spans
from eddyline.spark.stages import Stage
from eddyline.spark.tables import Tables
from eddyline.spark.trouble import reason_of, storage_problem, was_cancelled
from eddyline.spark.work import Scans, stage_frame
from eddyline.spark.writer import folder_of, references_of, segments_by_stage, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_NOTHING = StageResult()


@dataclass
class Standing:
    """A query at work."""

    name: str
    stages: Sequence[Stage]
    start: int | None  # None: at the first tick that its streams bring
    history: bool  # whether it first answers over everything that has passed
    created: Clock  # when it was created
    entry: int = 0  # of the journal, after which it was created
    since: Mapping[str, int] = field(default_factory=dict)  # by stream, the last index that had come by then
    memory: dict[str, dict[Any, Any]] = field(default_factory=dict)  # by stage, on the driver
    members: Members | None = None  # of a query class

    def settle(self) -> None:
        """Get ready for a batch."""


@dataclass(frozen=True)
class BatchReport:
    """What one micro-batch did."""

    batch: int
    rows: int
    seconds: float
    reached: int | None
    plus: int
    minus: int
    stages: int


class Executor:
    """Runs inside `foreachBatch`; everything it must remember is in the journal and the result log."""

    def __init__(
        self,
        spark: SparkSession,
        storage: Storage,
        tables: Tables,
        on_batch: Callable[[BatchReport], None] = lambda report: None,
        on_trouble: Callable[[str], None] = lambda text: None,
        kernels: bool = True,
    ) -> None:
        self.kernels = kernels  # False: Spark's own plans for everything
        self.refused: dict[str, str] = {}  # by stage, why the kernel could not do it: it is not asked again
        self.routes = Routes()
        self.frames: Frames = SparkFrames(spark, storage)
        self._spark = spark
        self._storage = storage
        self._tables = tables
        self._journal = Journal(storage)
        self._log = ResultLog(storage)
        self.results = self._log.load()
        self._extents: dict[str, Extent] = {}
        self._queries: dict[str, Standing] = {}
        self._guard = self.changing = threading.RLock()  # held by whoever changes what there is
        self._on_batch, self._on_trouble = on_batch, on_trouble
        self._stopping = threading.Event()
        self.upkeep: Callable[[int], None] = lambda committed: None  # told before each batch what Spark has committed

    # -- what there is ------------------------------------------------------------------------------------------------

    def add_stream(self, extent: Extent) -> None:
        with self._guard:
            self._extents[extent.name] = extent

    def add(self, query: Standing) -> None:
        with self._guard:
            self._queries[query.name] = query

    def drop(self, name: str) -> None:
        with self._guard:
            standing = self._queries.pop(name, None)
            if standing is not None:
                self.results.forget(stage.name for stage in standing.stages)
                for stage in standing.stages:
                    self.refused.pop(stage.name, None)
                    self.routes.forget(stage.name)

    def rest_on(self, base: Results) -> None:
        """Take over what upkeep has put in place of old segments."""
        with self._guard:
            self.results.rest_on(base)

    @property
    def journal(self) -> Journal:
        return self._journal

    def queries(self) -> list[Standing]:
        with self._guard:
            return list(self._queries.values())

    def stop(self) -> None:
        self._stopping.set()

    def forget_attempt(self) -> None:
        """Nothing is left of a batch that failed half-way."""
        with self._guard:
            for query in self._queries.values():
                query.memory.clear()
            self.results = self._log.load()

    # -- a batch ------------------------------------------------------------------------------------------------------

    def process(self, references: DataFrame, batch: int) -> None:
        """What Spark calls for each micro-batch, and again for one that it is not sure was finished."""
        began = time.monotonic()
        # Spark lost its commit, or is doing it again; or the Spark of a killed process has committed behind our back
        if batch != self.results.last.batch + 1:
            self.results = self._results_before(batch)
        outdated = self._tables.outdated()  # by now: those of this batch may be in use until its end
        self.upkeep(batch - 1)
        entry = self._end_of(batch)
        self._journal.refresh()
        entries = self._journal.between(self.results.last.entry, entry)
        with self._guard:
            for query in self._queries.values():
                query.settle()
            work = _Work(self, batch, entry, entries)
        record = self._retried(work)
        with self._guard:
            self.results.take(record)
            standing = {stage.name for query in self._queries.values() for stage in query.stages}
            self.results.forget([name for name in record.stages if name not in standing])  # dropped meanwhile
            used = {piece for taken in self.results.scans.values() for _, pieces in taken for piece in pieces}
        self._tables.delete_unused(outdated, used)
        rows = sum(e.rows for e in entries)
        for name, stage in record.stages.items():
            if stage.failed:
                self._on_trouble(f"the query {name} has stopped: {stage.failed}; the others go on")
        plus = sum(stage.plus for stage in record.stages.values())
        minus = sum(stage.minus for stage in record.stages.values())
        seconds = time.monotonic() - began
        self._on_batch(BatchReport(batch, rows, seconds, record.reached, plus, minus, len(record.stages)))

    def _retried(self, work: _Work) -> Record:
        """A folder that is full or read-only is said once and tried again until somebody has mended it."""
        waiting, said = 0.5, None
        while True:
            try:
                record = work.run()
                self._log.write(record)
                return record
            except Exception as problem:
                found = storage_problem(problem)
                if found is None or not found.retryable or self._stopping.is_set():
                    raise
                told = re.sub(r"-[0-9a-f]{32}", "", found.message)  # every attempt has file names of its own
                if told != said:
                    self._on_trouble(f"{told}; trying again until it can be written")
                    said = told
                if self._stopping.wait(waiting):
                    raise found from None
                waiting = min(waiting * 2, 10.0)

    def _end_of(self, batch: int) -> int:
        """Up to which entry of the journal the batch goes: Spark has written it down before it began."""
        content = self._storage.read(f"checkpoint/offsets/{batch}")
        assert content is not None
        return int(json.loads(content.decode().splitlines()[-1])[ENTRY])

    def _results_before(self, batch: int) -> Results:
        results = self._log.load()
        return results if results.last.batch < batch else self.results


class _Work:
    """One micro-batch from plans to its record."""

    def __init__(self, executor: Executor, batch: int, entry: int, entries: Sequence[Entry]) -> None:
        self._spark, self._storage = executor._spark, executor._storage
        self._tables = executor._tables
        self._results = executor.results
        self._batch, self._entry = batch, entry
        last = self._results.last
        at = entries[-1] if entries else None
        self._reached = last.reached if at is None else at.reached
        self._closed = last.closed if at is None else at.closed
        self._queries = list(executor._queries.values())
        self._read_rows = 0
        self._failures: dict[str, str] = {}  # by stage, in this batch
        self._frames, self._kernels, self._refused = executor.frames, executor.kernels, executor.refused
        self._routes = executor.routes
        self._journal, self._extents, self._entries = executor._journal, dict(executor._extents), entries
        self._logs = given_logs(self._journal, self._extents, entry, entries)

    def run(self) -> Record:
        self._failures.clear()  # it may be tried again
        stages: dict[str, StageResult] = {}
        scans = Scans(self._tables, self._results.scans)
        logs = dict(self._logs)
        for level in _levels(self._queries, set(logs)):
            views = {}
            for query, stage in level:
                view = self._view(query, stage, logs, scans)
                if view is not None:
                    views[stage] = view
            begun = {stage.name: view.start for stage, view in views.items()}
            added = segments_by_stage(self._written(views))
            stages.update(self._stopped_among(level))
            for _, stage in level:
                if stage.name in begun and stage.name not in self._failures:
                    had = self._results.stages.get(stage.name, StageResult())
                    stages[stage.name] = _result(had, added.get(stage.name, []), begun[stage.name])
                logs[stage.name] = _derived(stage, self._results.stages.get(stage.name), stages.get(stage.name))
        return Record(self._batch, self._entry, self._reached, self._closed, stages, scans.taken)

    def _written(self, views: Mapping[Stage, Batch]) -> list[Reference]:
        """What the stages of a level write: those for the kernel in one Spark job, the others in one Spark action."""
        self._read_rows = 0
        works: list[Work] = []
        for_spark: list[Stage] = []
        for stage, view in views.items():
            found = self._works(stage, view)
            if found is None:
                for_spark.append(stage)
            else:
                works += found
        references = self._run(works) if works else []
        refused = {reference.stage: reference.refused for reference in references if reference.refused}
        self._refused.update(refused)
        for_spark += [stage for stage in views if stage.name in refused]
        frames = {}
        for stage in for_spark:
            frame = stage_frame(stage, views[stage], self._results.stages.get(stage.name), self._batch)
            if frame is not None:
                frames[stage.name] = written(frame, stage, self._batch, self._storage, folder_of(stage))
        kept = [reference for reference in references if reference.stage not in refused]
        if not frames:
            return kept
        return [*kept, *self._collected(frames)]

    def _run(self, works: Sequence[Work]) -> list[Reference]:
        try:
            return self._routes.taken(run(self._spark, works))
        except Exception as problem:
            if storage_problem(problem) or was_cancelled(problem):
                raise
            reason = reason_of(str(problem))  # whatever it was, Spark's own plans may do
            return [Reference(work.stage, None, reason) for work in works]

    def _collected(self, frames: Mapping[str, DataFrame]) -> list[Reference]:
        """All outputs in one Spark action; if it fails, each by itself, so that one query does not stop the others."""
        try:
            return references_of(planned(self._spark, list(frames.values()), self._read_rows).collect())
        except Exception as problem:
            if storage_problem(problem) or was_cancelled(problem):
                raise
        found: list[Reference] = []
        for name, frame in frames.items():
            try:
                found += references_of(planned(self._spark, [frame], self._read_rows).collect())
            except Exception as problem:
                if storage_problem(problem) or was_cancelled(problem) or not self._spark_works():
                    raise
                self._failures[name] = reason_of(str(problem))
        return found

    def _spark_works(self) -> bool:
        """Whether it is not Spark itself that fails."""
        try:
            return bool(self._spark.sparkContext.parallelize([1], 1).count() == 1)
        except Exception:
            return False

    def _stopped_among(self, level: Sequence[tuple[Standing, Stage]]) -> dict[str, StageResult]:
        """A query of which a stage has failed has stopped: the record says so, and it is not asked again."""
        stopped = {}
        for query, stage in level:
            if stage.name in self._failures:
                had, reason = self._results.stages.get(query.name, _NOTHING), self._failures[stage.name]
                stopped[query.name] = StageResult(count=had.count, start=had.start, failed=reason)
        return stopped

    def _works(self, stage: Stage, view: Batch) -> list[Work] | None:
        if not self._kernels or stage.name in self._refused or reason_for_spark(stage) is not None:
            return None
        had, known = self._results.stages.get(stage.name), self._routes.known(stage.name)
        return works_of(stage, view, had, self._batch, self._storage.root, folder_of(stage), known)

    def _view(self, query: Standing, stage: Stage, logs: Mapping[str, Log], scans: Scans) -> Batch | None:
        """What a stage sees; None while its query has not begun, and when it has stopped."""
        if self._results.stages.get(query.name, _NOTHING).failed or self._has_failed(query):
            return None
        had = self._results.stages.get(stage.name)
        start = query.start if had is None else had.start
        if self._entry <= query.entry:
            return None  # what this batch takes in came before the query
        if query.entry > self._results.last.entry:
            logs = {**logs, **self._logs_after(query.entry)}
        mine = {name: logs[name] for name in stage.streams}
        before = Clock(_tick(self._results.last.reached), _tick(self._results.last.closed))
        if had is None:
            before = query.created
            if query.history:
                before = Clock()
                mine = {name: _all_fresh(log) for name, log in mine.items()}
        if start is None and not query.history:
            start = self._first_tick(query)
        elif start is None:
            start = min((log.touched.low for log in mine.values() if log.touched), default=None)
        if start is None:
            return None
        now = Clock(_tick(self._reached), _tick(self._closed))
        memory = query.memory.setdefault(stage.name, {})
        view = Batch(self._frames, mine, now, before, start, scans.current, memory=memory, since=query.since)
        view.members = query.members
        view.snapshots = scans.of(stage, start, now, before)
        view.on_read = self._count
        return view

    def _has_failed(self, query: Standing) -> bool:
        return any(stage.name in self._failures for stage in query.stages)

    def _first_tick(self, query: Standing) -> int | None:
        """The smallest tick of the first entry for a query: the same however the entries are cut into batches."""
        streams = {name for stage in query.stages for name in stage.streams if name in self._extents}
        for entry in self._entries:
            lows = [low for name in streams for low, _ in entry.touched.get(name, ())]
            if entry.number > query.entry and lows:
                return min(lows)
        return None

    def _logs_after(self, entry: int) -> dict[str, Log]:
        """The streams as a query sees them that was created after an entry of this very batch."""
        entries = [e for e in self._entries if e.number > entry]
        return given_logs(self._journal, self._extents, self._entry, entries)

    def _count(self, rows: int) -> None:
        self._read_rows += rows


def given_logs(journal: Journal, extents: Mapping[str, Extent], entry: int, entries: Sequence[Entry]) -> dict[str, Log]:
    """The streams as they stand at an entry of the journal; it may have gone on since."""
    later = {
        segment.path
        for following in journal.between(entry, journal.number)
        for segments in following.segments.values()
        for segment in segments
    }
    logs = {}
    for name, extent in extents.items():
        segments = [segment for segment in journal.state(name).segments if segment.path not in later]
        fresh = [segment for e in entries for segment in e.segments.get(name, ())]
        touched = Spans.of(span for e in entries for span in e.touched.get(name, ())).coarser()
        logs[name] = Log(name, extent.schema, extent.schema.names, segments, fresh, touched)
    return logs


def _levels(queries: Sequence[Standing], given: set[str]) -> list[list[tuple[Standing, Stage]]]:
    """The stages, each on a later level than those whose logs it reads."""
    waiting = [(query, stage) for query in queries for stage in query.stages]
    known = set(given)
    levels = []
    while waiting:
        ready = [(query, stage) for query, stage in waiting if set(stage.streams) <= known]
        if not ready:
            break  # they read a stream that was dropped
        levels.append(ready)
        made = {stage.name for _, stage in ready}
        known |= made
        waiting = [(query, stage) for query, stage in waiting if stage.name not in made]
    return levels


def _all_fresh(log: Log) -> Log:
    """A stream for a query that is new: everything that has passed comes at once."""
    return Log(log.name, log.schema, log.columns, log.segments, log.segments, EVERYTHING if log.segments else Spans())


def _derived(stage: Stage, had: StageResult | None, now: StageResult | None) -> Log:
    """The log of a stage as the next level sees it."""
    fresh = () if now is None else now.segments
    earlier = () if had is None else had.segments
    touched = Spans.of(() if now is None else now.touched).coarser()
    return Log(stage.name, stage.schema, stage.columns, (*earlier, *fresh), fresh, touched)


def _result(had: StageResult, segments: Sequence[Any], start: int) -> StageResult:
    highest = max((segment.index[1] for segment in segments), default=0)
    minus = sum(segment.minus for segment in segments)
    plus = sum(segment.rows for segment in segments) - minus
    touched = Spans.of(segment.tick for segment in segments).parts
    return StageResult(tuple(segments), max(had.count, highest), touched, start, plus, minus)


def _tick(value: int | None) -> int:
    return LOW if value is None else value


__all__ = ["BatchReport", "Executor", "Standing", "given_logs"]
