"""The inside of a database: its folder, its engine, what it remembers, and what happens when something fails."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from eddyline.binder.connection import Connect, Disconnect
from eddyline.binder.statement import NAMES, Define, Register, Step, Vocabulary, Withdraw
from eddyline.catalog.catalog import STREAM, BoundQuery
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.database import points, pushing
from eddyline.database.alike import Alike
from eddyline.database.definitions import Definitions, StandingQuery, StandingSet
from eddyline.database.flow import flowing
from eddyline.database.functions import Functions
from eddyline.database.lock import Lock
from eddyline.database.reader import ResultReader
from eddyline.database.rejects import Rejects
from eddyline.database.revisions import Revisions
from eddyline.database.sets import QuerySet, StandingByRecord, like, types_of
from eddyline.database.statements import DROP, DROP_LIKE, Definition, SetRecord, StatementLog
from eddyline.database.status import BACKFILL, BEHIND, LIVE, STOPPED
from eddyline.database.stream import Pushed
from eddyline.errors import DatabaseClosed, EddylineError, StorageUnusable, UnknownName
from eddyline.language import pieces
from eddyline.log.answers import CLASS
from eddyline.log.journal import Flush
from eddyline.log.segment import Segment
from eddyline.log.storage import Storage
from eddyline.log.upkeep import Pace
from eddyline.session.tags import Understanding
from eddyline.sources import needs_spark
from eddyline.sources.batches import BatchInput, open_batches
from eddyline.sources.intake import time_position
from eddyline.spark.batch_report import BatchReport
from eddyline.spark.changes import changes_of
from eddyline.spark.engine import Engine
from eddyline.spark.fairness import Policy
from eddyline.spark.moment import Moment
from eddyline.spark.past import Progress
from eddyline.spark.staging import Staging
from eddyline.spark.tags.history import keep_histories
from eddyline.spark.tags.standing import begin_tagging, end_tagging
from eddyline.spark.templates import with_values
from eddyline.spark.user_functions import keep_only

#: how soon after a batch its commit is looked for
_COMMIT = 0.02
_LONGEST_BACKOFF = 60.0


class Core:
    """Everything that outlasts a statement. All of it may be used from several threads."""

    def __init__(
        self,
        root: str,
        master: str | None,
        batch_rows: int,
        now: Callable[[], int] | None,
        without_rules: frozenset[str],
        temporary: bool,
        pace: Pace,
    ) -> None:
        self.storage = Storage(root)
        self._temporary = temporary
        self._lock = Lock(self.storage)
        self._closed = threading.Event()
        self._news = threading.Condition()
        self._reported = -1  # the last batch that was run, committed or not
        self._garbage: list[str] = []  # results of dropped queries that a running batch may still read
        self._backoff, self._restarted = 1.0, 0.0
        self.batch_rows = batch_rows
        self.warnings: list[str] = []
        self.rejects = Rejects(self.storage)
        self.reader = ResultReader(self.storage)
        self.revisions = Revisions(self)
        self.functions = Functions(self.storage)
        self.definitions = Definitions(without_rules, self.functions.load)
        self.definitions.catalog.one_of_many = self._one_of_many
        self.alike = Alike()
        self._without_rules = without_rules
        self.defining = threading.RLock()
        self._flowing = threading.Lock()
        self._files: dict[str, tuple[Extent, Path]] = {}
        known = self.definitions
        self.now = now or (lambda: time.time_ns() // 1_000 // known.catalog.tick_micros)
        try:
            self.statements = StatementLog(self.storage)
            definitions = self.statements.read()
            self.engine = Engine(
                root,
                master,
                batch_rows,
                self.rejects.add,
                self._batch_done,
                self.warnings.append,
                self.now,
                pace=pace,
                policy=Policy(),
                reading=Understanding(
                    lambda: known.catalog.tick_micros,
                    lambda: known.catalog.dictionary,
                    lambda: self.engine.executor.taggers.names,
                ),
            )
            for definition in definitions:
                self._replay(definition)
            # not while they are replayed: the code of those that were dropped since is gone
            for function in self.definitions.catalog.all_functions():
                self.engine.add_function(function)
            keep_only(self.storage, [*self.definitions.catalog.code_in_use(), *self.engine.tag_functions])
            for log in StandingByRecord(definitions, self.storage).unused_logs:
                self._free(log)
            if self.definitions.queries or self.definitions.sets:
                self.engine.start()
        except BaseException:
            self._lock.release()
            raise

    # -- definitions --------------------------------------------------------------------------------------------------

    def remember(self, kind: str, text: str, base: Path | str, **more: Any) -> None:
        self.statements.append(Definition(self.statements.next_number, kind, text, str(base), **more))

    def define(self, extent: Extent, base: Path, check: bool = True) -> None:
        """Open the input of an extent; raises if it cannot be read."""
        if extent.is_stream and needs_spark(extent):
            if check:
                time_position(extent)
                self.engine.staging(extent, base).check()
            self._files[extent.name] = extent, base
        elif extent.is_stream and extent.option("path"):
            open_batches(extent, base, self.definitions.catalog.tick_micros)
            self._files[extent.name] = extent, base
        self.engine.define(extent, base)

    def add(self, query: StandingQuery, past: int | None = None) -> None:
        """Let a query stand from the moment on that its record names; `past`: the entries that it looks back at now."""
        record = query.record
        moment = Moment(record.reached, record.closed, record.entry, record.arrived)
        plan = self.definitions.plan(query.query) if record.seat is None else None  # a member has no plan of its own
        keep_histories(self.engine, query.query)
        standing = self.engine.prepare(record.log, plan, query.query, moment, record.history, past)
        self.engine.stand(standing, query.query, record.seat)
        self.definitions.stand(record, query.query)

    def add_set(self, record: SetRecord, made: BoundQuery, values: pa.Table, past: int | None = None) -> StandingSet:
        """Let the queries of a template stand, one for each row of values."""
        first, query = record.query, self.definitions.for_spark(made)
        assert first.seat is not None
        moment = Moment(first.reached, first.closed, first.entry, first.arrived)
        keep_histories(self.engine, query)
        standing = self.engine.prepare(first.log, None, query, moment, first.history, past)
        self.engine.stand_all(standing, query, first.seat, values)
        many = StandingSet(QuerySet(record, values.column(NAMES).combine_chunks()), made, query)
        self.definitions.sets.append(many)
        return many

    def drop_like(self, pattern: str, upto: Mapping[str, int] | None = None) -> int:
        """Drop all queries whose names are LIKE a pattern; gives how many. `upto`: `tagged_upto` when that was said."""
        self.alike.forget()
        dropped = 0
        for name in like([query.record.name for query in self.definitions.queries.values()], pattern):
            query = self.definitions.withdraw(name)
            assert query is not None
            end_tagging(self.engine, name, upto)
            if self.definitions.catalog.query(name) is not None:
                self.definitions.catalog.drop_query(name)
            self.withdraw(query)
            dropped += 1
        for many in list(self.definitions.sets):
            numbers = many.members.like(pattern)
            if numbers:
                self._leave_set(many, numbers)
            dropped += len(numbers)
        return dropped

    def _one_of_many(self, name: str) -> BoundQuery | None:
        """A query of a template with its own constants in the places of the parameters."""
        many = self.definitions.one_of_many(name)
        record = None if many is None else many.members.find(name)
        if many is None or record is None or record.seat is None:
            return None
        values = self.storage.read_table(many.members.record.values)
        return with_values(many.template, values.slice(record.seat.number - many.members.seat.number, 1))

    def drop_one_of_many(self, name: str) -> None:
        many = self.definitions.one_of_many(name)
        if many is not None:
            record = many.members.find(name)
            assert record is not None and record.seat is not None
            self._leave_set(many, [record.seat.number])

    def _leave_set(self, many: StandingSet, numbers: list[int]) -> None:
        many.members.drop(numbers)
        if not len(many.members):
            self.definitions.sets.remove(many)
            with contextlib.suppress(EddylineError):  # the log of definitions says by now that nobody needs it
                self.storage.delete(many.members.record.values)
        log = many.members.seat.log
        if self.engine.leave(log, numbers, many.query):
            self.reader.forget(log)
            with self._news:
                self._garbage.append(log)
                self._news.notify_all()

    def withdraw(self, query: StandingQuery) -> None:
        if not self._leave(query):
            return  # others have the same log
        self.reader.forget(query.record.log)
        with self._news:
            self._garbage.append(query.record.log)
            self._news.notify_all()

    def _replay(self, definition: Definition) -> None:
        """A definition takes its place again. An input that is not there now is no reason to lose the rest."""
        if definition.many is not None:
            many = definition.many
            if not self.storage.exists(many.values):  # all of them were dropped
                assert many.query.seat is not None
                self.engine.classes.reserve(many.query.log, many.query.seat.number + many.count - 1)
                return
            values = self.storage.read_table(many.values)
            about = many.looks_back, many.since, many.priority, many.revisions, many.revise_if
            template = self.definitions.bind_template(definition.text, types_of(values), *about)
            self.add_set(many, template, values)
            return
        if definition.kind == DROP_LIKE:
            self.drop_like(definition.text, definition.arrived)
            return
        piece = next(pieces(definition.text))
        like = self.alike.find(piece) if definition.query is not None and definition.query.seat is not None else None
        if like is not None and definition.query is not None:
            self.definitions.catalog.add_query(definition.query.name, like)
            self.add(StandingQuery(definition.query, like))
            return
        for step in self._bound_again(definition):
            if isinstance(step, Vocabulary):
                self.alike.forget()
            elif isinstance(step, Define):
                try:
                    # a data source of the user's own may be registered later
                    self.define(step.extent, Path(definition.base), check=False)
                except EddylineError as problem:
                    self.warnings.append(problem.message)
                    if step.extent.is_stream:
                        self.engine.define(step.extent, Path(definition.base))
            elif isinstance(step, Register) and definition.query is not None:
                query = self.definitions.for_spark(step.query)
                self.add(StandingQuery(definition.query, query))
                begin_tagging(self.engine, step.tagger, definition.query.arrived)
                self.alike.learn(piece, query)
            elif isinstance(step, Connect):
                points.stand(self, step.point, definition.floor)
            elif isinstance(step, Disconnect):
                self.engine.disconnect(step.point.name)
            elif isinstance(step, Withdraw):
                self.alike.forget(step.name)
                found = self.definitions.withdraw(step.name)
                end_tagging(self.engine, step.name, definition.arrived)
                if found is not None:
                    self._leave(found)
                else:
                    self.drop_one_of_many(step.name)

    def _bound_again(self, definition: Definition) -> list[Step]:
        try:
            with self.functions.known(definition.function):
                return self.definitions.replay(definition.text)
        except UnknownName:
            if definition.kind != DROP:
                raise
            return []  # it was one of many, of which none is left

    def _leave(self, query: StandingQuery) -> bool:
        """Take a query out of the engine; gives whether its log is nobody's now."""
        if query.record.seat is not None:
            return self.engine.leave(query.record.seat.log, [query.record.seat.number], query.query)
        self.engine.drop(query.record.log, query.query)
        return True

    def _free(self, log: str) -> None:
        with contextlib.suppress(OSError, EddylineError):
            self.storage.delete_folder(f"results/{log}")
            if log.startswith(CLASS):
                self.engine.classes.free(log)

    # -- data ---------------------------------------------------------------------------------------------------------

    def take(self, extent: Extent, rows: Any, tags: Any = None) -> Pushed:
        """Rows that a program pushes to one stream."""
        (pushed,) = pushing.push(self, [pushing.Given(extent, rows, tags)])
        return pushed

    def run_files(self) -> Pushed:
        """Take in what the files of all streams hold beyond what was taken in before."""
        micros = self.definitions.catalog.tick_micros
        rows, before = 0, len(self.rejects)
        with self._flowing:
            sources, staged = self._opened(micros)
            for chunks, reached in flowing(sources, dict(self.engine.journal.origin), self.batch_rows):
                self.check()
                rows += sum(chunk.given for chunk in chunks)
                self.engine.append(chunks, origin=reached)
                pushing.save_rejects(self)
            for source in sources:
                self.warnings += [warning for warning in source.warnings if warning not in self.warnings]
            if sources:
                self.engine.advance(None, ended=True)
            for name, staging in staged.items():
                staging.clear(self._taken(name))
        rejected = len(self.rejects) - before
        return Pushed(rows - rejected, rejected)

    def _opened(self, micros: int) -> tuple[list[BatchInput], dict[str, Staging]]:
        """All inputs; for those that Spark reads, it has written down what there is."""
        sources: list[BatchInput] = []
        staged: dict[str, Staging] = {}
        for name, (extent, base) in list(self._files.items()):
            if needs_spark(extent):
                staged[name] = self.engine.staging(extent, base)
                staged[name].run(self.check)
                sources.append(staged[name].source(self._taken(name), micros))
            else:
                source = open_batches(extent, base, micros)
                if source is not None:
                    sources.append(source)
        return sources, staged

    def _taken(self, stream: str) -> int:
        """How many rows of a stream that Spark reads are in its log."""
        extent, _ = self._files[stream]
        return self.engine.journal.origin.get(f"{stream}\n{extent.format}", 0)

    def counts_time(self) -> bool:
        """Whether a query waits for the wall clock: it has windows over tuples that get the time of their arrival."""
        untimed = {
            extent.name
            for extent in self.definitions.catalog.extents.values()
            if extent.timestamp is None and extent.kind == PUSHED
        }
        queries = [(q.record.kind, q.query) for q in list(self.definitions.queries.values())]
        queries += [(many.members.record.query.kind, many.query) for many in list(self.definitions.sets)]
        return any(kind != STREAM and untimed.intersection(query.streams) for kind, query in queries)

    def beat(self) -> None:
        """Let the clock show what time it is, if somebody waits for that."""
        with contextlib.suppress(EddylineError):  # whoever asks next is told
            if self.counts_time():
                self.engine.advance(self.now())

    # -- batches ------------------------------------------------------------------------------------------------------

    def _batch_done(self, report: BatchReport) -> None:
        """Runs in Spark's callback, so it takes no lock that a waiting user may hold."""
        with self._news:
            self._reported = report.batch
            garbage, self._garbage = self._garbage, []
            self._news.notify_all()
        for log in garbage:
            self._free(log)

    def wait(self, batch: int, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self.reader.refresh() <= batch and not self._closed.is_set():
            left = end - time.monotonic()
            if left <= 0:
                return
            with self._news:
                self._news.wait(min(left, _COMMIT) if self._reported > self.reader.last else left)

    def flush(self, meanwhile: Callable[[], None] | None = None) -> None:
        """Wait until everything that has come in is answered; without queries there is nothing to wait for."""
        self.check()
        if not self.definitions.queries and not self.definitions.sets:
            return
        try:
            self.engine.flush(meanwhile)
        except EddylineError:
            raise
        except Exception:
            self.check()  # says what went wrong in words of ours
            raise
        self.reader.refresh()

    def changes_frame(self, query: StandingQuery, segments: list[Segment], since: int) -> Any:
        """The segments as a Spark DataFrame."""
        at_work = next(q for q in self.engine.executor.queries() if q.name == query.record.log)
        return changes_of(self.engine.spark, self.storage, at_work.stages[-1], segments, since, query.record.reading)

    def is_standing(self, query: StandingQuery) -> bool:
        return self.definitions.is_standing(query)

    # -- trouble ------------------------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def check_open(self) -> None:
        if self._closed.is_set():
            raise DatabaseClosed(f"the database {self.storage.root} is closed")

    def check(self) -> None:
        """Raises if nothing can be answered. A folder that could not be used is tried again by itself."""
        self.check_open()
        failure = self.engine.failure()
        if failure is None:
            return
        self.check_open()  # it may have been closed just now, which ends the streaming query too
        if (
            isinstance(failure, StorageUnusable)
            and failure.retryable
            and time.monotonic() - self._restarted > self._backoff
        ):
            self._backoff = min(2 * self._backoff, _LONGEST_BACKOFF)
            self.warnings.append(f"{failure.message}; started again")
            self.restart()
            return
        failure.hint = failure.hint or "db.restart() goes on with the batch that failed; DROP QUERY removes its cause"
        raise failure

    def problem_of(self, query: StandingQuery) -> str | None:
        return self.engine.stopped().get(query.record.log)

    def state_of(self, log: str) -> str:
        """How the query or query class is that has a log."""
        found = self.engine.executor.results.stages.get(log)
        if found is not None and found.failed:
            return STOPPED
        progress = self.engine.executor.progress(log)
        if progress is not None:
            return f"{BACKFILL} {progress}"
        return BEHIND if self.engine.executor.is_late(log) else LIVE

    def backfills(self) -> dict[str, float]:
        """By query, how much of the past it has answered, of those that are not through."""
        found = {}
        records = [query.record for query in list(self.definitions.queries.values())]
        records += [many.members.record.query for many in list(self.definitions.sets)]
        for record in records:
            progress = self.engine.executor.progress(record.log)
            if progress is not None:
                found[record.name] = progress.fraction
        return found

    def progress_of(self, query: StandingQuery) -> Progress | None:
        return self.engine.executor.progress(query.record.log)

    def flush_revisions(self, query: StandingQuery | None = None) -> None:
        self.check()
        self.engine.flush_revisions(Flush() if query is None else query.record.flush)

    def restart(self) -> None:
        self._restarted = time.monotonic()
        self.engine.restart()

    def close(self) -> None:
        if self._closed.is_set():
            return
        self._closed.set()
        with self._news:
            self._news.notify_all()
        with contextlib.suppress(Exception):  # Spark may be gone already
            self.engine.stop()
        for log in self._garbage:
            self._free(log)
        if self._temporary and os.path.isdir(self.storage.root):
            shutil.rmtree(self.storage.root, ignore_errors=True)
        self._lock.release()
