"""One script on Spark: the same statements, the files appended to the stream logs, answers read from the result log."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from eddyline.algebra.answer import Answer, WindowAnswer
from eddyline.algebra.dictionary import Words, extended
from eddyline.algebra.node import Operator
from eddyline.algebra.revision_report import Rows
from eddyline.algebra.user_function import UserFunction
from eddyline.binder.detach import DetachOnce, ShowTags
from eddyline.binder.explain import ANALYZE, Show
from eddyline.binder.function import Declaration
from eddyline.binder.revisions import ShowRevisions
from eddyline.binder.statement import AttachOnce, Define, Insert, Register, Revise, Step
from eddyline.binder.words import DefineWords, DropWords
from eddyline.catalog.catalog import BoundQuery
from eddyline.catalog.connection import ConnectionPoint
from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.errors import InvalidDefinition, StreamingFailed
from eddyline.log.answers import Reading, answers, python_rows, read_segments
from eddyline.log.journal import Flush
from eddyline.rules import optimize
from eddyline.session.functions import code_of, for_workers
from eddyline.session.inflow import constants, inserted
from eddyline.session.join_trees import with_join_trees
from eddyline.session.script_run import Progress, ScriptRun, is_one_off, nothing_to_take_back, of_idle_tags
from eddyline.session.starts import Starts
from eddyline.session.tags import Understanding, attach, is_tagged, on_spark, shown_tags
from eddyline.sources import needs_spark, open_source
from eddyline.sources.arrival import INSERT_STATEMENT
from eddyline.sources.batches import BatchInput, open_batches
from eddyline.sources.chunk import chunk_of_arrivals
from eddyline.sources.intake import time_position
from eddyline.sources.merged_batches import merged_batches
from eddyline.sources.staged import limit_of
from eddyline.spark.analyze import analyze
from eddyline.spark.classes import sharing_from
from eddyline.spark.engine import BATCH_ROWS, Engine
from eddyline.spark.explain import Question, explain
from eddyline.spark.join_at_work import Allowed
from eddyline.spark.join_report import join_at_work
from eddyline.spark.keeping import nothing_to_connect, why_no_slices
from eddyline.spark.lineage.causes import Asked, Lineage
from eddyline.spark.lineage.members import inner_logs
from eddyline.spark.lineage.report import Known, Report
from eddyline.spark.observed import observed_rates
from eddyline.spark.revising import Revision, revise, take_back
from eddyline.spark.stages import cut
from eddyline.spark.tags.history import keep_histories
from eddyline.spark.tags.lowering import has_tags
from eddyline.spark.tags.report import never_applied
from eddyline.spark.tags.standing import begin_tagging, end_tagging
from eddyline.spark.user_functions import keep

#: inputs below that many bytes are answered before Java's optimizing compiler would have paid for itself
_LITTLE = 50_000_000
#: sources that go on for ever, so that a script would too
_ENDLESS = frozenset({"rate"})
#: without its optimizing compiler Java reserves little space for code, and stops compiling when it is full
QUICK_START = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
}


class SparkRun(ScriptRun):
    """A script whose queries run on Spark Structured Streaming, in a database that lives as long as the script."""

    def __init__(self, *arguments: Any, master: str | None = None, **options: Any) -> None:
        self._functions: dict[UserFunction, bytes] = {}
        super().__init__(*arguments, **options)
        self._batch_rows = self._batch_rows or BATCH_ROWS
        self._share_from = sharing_from(None)
        self._folder = tempfile.mkdtemp(prefix="eddyline-run-")
        self._sources: dict[str, BatchInput] = {}
        self._starts = Starts(
            [step for _, step in self._steps],
            self._sources,
            self._catalog.tick_micros,
            lambda source: source.reach(),
        )
        self._master = master
        self._extents: list[Extent] = []
        self._readings: dict[str, Reading] = {}
        self._standing: dict[str, BoundQuery] = {}
        self._read = -1  # the last batch whose answers were given
        self._flowed = False
        self._looks_back = False  # whether a query was registered when data had flowed
        self._words: dict[tuple[str, str], Words] = {}  # of the user's own, in the dictionary as it stands

    def answers(self) -> Iterator[Answer]:
        try:
            yield from super().answers()
            for name, problem in self._engine.stopped().items() if "_engine" in self.__dict__ else ():
                raise StreamingFailed(f"the query {name} has stopped: {problem}")
        finally:
            if "_engine" in self.__dict__:
                self._engine.stop()
            shutil.rmtree(self._folder, ignore_errors=True)

    @cached_property
    def _engine(self) -> Engine:
        """Started when all inputs are open: a script with a mistake must not wait for Spark to be told so."""
        little = sum(source.total_bytes() or 0 for source in self._sources.values()) < _LITTLE
        engine = Engine(
            self._folder,
            self._master,
            self._batch_rows,
            self._on_reject,
            on_trouble=self._on_warning,
            conf=QUICK_START if little else {},
            share_from=self._share_from,
            reading=Understanding(
                lambda: self._catalog.tick_micros,
                lambda: extended(tuple(self._words.values())),
                lambda: engine.executor.taggers.names,
            ),
        )
        known = self._catalog
        engine.join_limits = lambda: Allowed(known.cpu_limit, known.memory_limit, known.tick_micros / 1_000_000)
        for extent in self._extents:
            if not needs_spark(extent):
                engine.define(extent, self._base)
        for function, content in self._functions.items():
            keep(engine.storage, function, content)
            engine.add_function(function)
        return engine

    # -- statements ---------------------------------------------------------------------------------------------------

    def _function(self, declaration: Declaration) -> UserFunction:
        function, content = for_workers(declaration, code_of(declaration, self._base))
        self._functions[function] = content
        return function

    def _open(self, step: Define) -> None:
        extent = step.extent
        if needs_spark(extent):
            if extent.format in _ENDLESS and extent.is_stream and limit_of(extent) is None:
                raise InvalidDefinition(
                    f"{extent.name}: {extent.format} never ends, and a script reads its inputs to their end",
                    hint="say after how many rows it ends: OPTIONS (maxRows '1000')",
                )
            return
        if extent.is_stream:
            source = open_batches(extent, self._base, self._catalog.tick_micros)
            if source is not None:
                self._sources[extent.name] = source
        else:
            open_source(extent, self._base, 1)  # is the file there, does it fit?
        self._extents.append(extent)

    def _open_on_spark(self, step: Define) -> None:
        extent = step.extent
        self._engine.define(extent, self._base)
        if extent.is_stream:
            time_position(extent)
            staging = self._engine.staging(extent, self._base)
            staging.run(self._report_progress)
            self._sources[extent.name] = staging.source(0, self._catalog.tick_micros)

    def _answered_once(self, name: str, query: BoundQuery) -> Iterator[Answer]:
        plan = optimize(query.plan, self._without_rules).plan
        table = self._engine.answered_once(plan).rename_columns(list(query.columns))
        yield WindowAnswer(name, 0, 1, "+", tuple(python_rows(query.columns, table)))

    def _register(self, step: Register) -> Iterator[Answer]:
        begin_tagging(self._engine, step.tagger)
        query = on_spark(step.query, self._without_rules)
        self._stand(step.name, query, query.plan if is_tagged(step.query) else self._optimized(query))
        yield from ()

    def _optimized(self, query: BoundQuery) -> Operator:
        return optimize(query.plan, self._without_rules).plan

    def _stand(self, name: str, query: BoundQuery, plan: Operator) -> None:
        start = query.started(self._starts.of(query.streams))
        self._standing[name] = query
        keep_histories(self._engine, query)
        seat = self._engine.register(name, query, plan, start, history=True)
        self._readings[name] = self._engine.reading(name, query, seat)
        self._looks_back = bool(self._engine.journal.number)

    def _run(self, step: Step) -> Iterator[Answer]:
        """Queries that follow each other when data has flowed look back together, before the next statement."""
        if not isinstance(step, Register) or is_one_off(step.query):
            yield from self._looked_back()
        yield from super()._run(step)

    def _looked_back(self) -> Iterator[Answer]:
        if self._looks_back:
            self._looks_back = False
            self._engine.touch()
            yield from self._answered()

    def _withdraw(self, name: str) -> None:
        end_tagging(self._engine, name)
        reading = self._readings.pop(name, None)
        if reading is None:
            return
        if reading.seat is None:
            self._engine.drop(name, self._standing[name])
        else:
            self._engine.leave(reading.seat.log, [reading.seat.number], self._standing[name])

    def _connect(self, point: ConnectionPoint) -> None:
        if point.is_stream:
            self._engine.connect(point, point.on, self._engine.horizon(point.on))
        else:
            seat = self._readings[point.on].seat
            self._engine.connect(point, point.on if seat is None else seat.log, None)
            query = self._standing[point.on]
            plan = optimize(query.plan, self._without_rules).plan
            reason = why_no_slices(cut(point.on, plan, query.columns)[-1], query.revisions)
            if reason is not None:
                self._on_warning(nothing_to_connect(point, reason))

    def _disconnect(self, point: ConnectionPoint) -> None:
        self._engine.disconnect(point.name)

    def _explained(self, step: Show) -> str:
        start = step.query.started(self._starts.of(step.query.streams))
        query, plan = step.query, step.plan
        if has_tags(plan):
            query = on_spark(replace(query, plan=plan), self._without_rules)
            plan = query.plan
        question = Question(step.name, plan, query.columns, step.rules, start, query.revisions)
        text = analyze(self._engine, question) if step.what == ANALYZE else explain(self._engine, question)
        rates = observed_rates(self._engine.logs(), step.tick_micros)
        return with_join_trees(text, step, rates, join_at_work(self._engine, question))

    def _revisions_of(self, step: ShowRevisions) -> Rows:
        engine = self._engine
        schemas = {extent.name: extent.schema for extent in self._extents}
        lineage = Lineage(engine.storage, engine.results.load(), dict(engine.journal.streams), schemas)
        report = Report(lineage, step.since, step.limit)
        if step.query is not None:
            return report.of_query(self._known(step.query))
        if step.stream is not None:
            readers = [name for name in self._readings if step.stream in self._standing[name].streams]
            return report.of_stream(step.stream, [self._known(name) for name in readers])
        return report.overview({standing.name: standing.stages for standing in engine.executor.queries()}, str)

    def _known(self, name: str) -> Known:
        reading, query = self._readings[name], self._standing[name]
        log = name if reading.seat is None else reading.seat.log
        stages = cut(log, optimize(query.plan, self._without_rules).plan, query.columns)
        inner = inner_logs(stages, query, log) if reading.seat is not None and len(stages) > 1 else None
        return Known(name, Asked(log, stages, reading.seat, inner), reading)

    def _attach(self, step: AttachOnce) -> None:
        attach(self._engine, step)

    def _detach(self, step: DetachOnce) -> Iterator[Answer]:
        _, found = take_back(self._engine, step.extent, step.withdrawal, step.schema)
        if not found:
            self._on_warning(nothing_to_take_back(step))
        yield from self._answered()

    def _tags_of(self, step: ShowTags) -> Rows:
        return shown_tags(self._engine, step)

    def _learn(self, step: DefineWords | DropWords) -> None:
        if isinstance(step, DefineWords):
            self._words[step.words.key] = step.words
        else:
            self._words.pop(step.words.key, None)

    def _insert_into_table(self, step: Insert) -> None:
        rows = constants(step.rows)
        schema = arrow_schema(step.extent.schema)
        columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
        self._engine.tables.insert(step.extent.name, pa.Table.from_arrays(columns, schema=schema))

    def _insert(self, step: Insert) -> Iterator[Answer]:
        extent = step.extent
        arrived = self._engine.journal.state(extent.name).last_index
        arrivals = [
            inserted(extent, values, at + 1, arrived + at, self._catalog.tick_micros)
            for at, values in enumerate(constants(step.rows))
        ]
        for first in range(0, len(arrivals), self._batch_rows):
            some = arrivals[first : first + self._batch_rows]
            self._engine.append([chunk_of_arrivals(extent, INSERT_STATEMENT, some, [None] * len(some), (), 0)])
            yield from self._answered()

    def _revise(self, step: Revise) -> Iterator[Answer]:
        tick = self._catalog.tick_micros
        revise(self._engine, Revision(step.extent, step.schema, step.where, step.values, tick))
        yield from self._answered()

    def _flush_revisions(self, query: str | None) -> Iterator[Answer]:
        reading = None if query is None else self._readings.get(query)
        if reading is None:
            flush = Flush()
        elif reading.seat is None:
            flush = Flush(reading.query, reading.query)
        else:
            flush = Flush(reading.query, reading.seat.log, reading.seat.number)
        self._engine.flush_revisions(flush)
        yield from self._answered()

    # -- batches ------------------------------------------------------------------------------------------------------

    def _flow(self) -> Iterator[Answer]:
        if self._flowed:
            return
        self._flowed = True
        batches = merged_batches(list(self._sources.values()), self._batch_rows)
        waiting = next(batches, None)
        while waiting is not None:
            following = next(batches, None)
            self._rows += sum(chunk.num_rows for chunk in waiting)
            self._engine.append(waiting, ended=following is None)
            self._report_progress()
            yield from self._answered()
            waiting = following
        for source in self._sources.values():
            for warning in source.warnings:
                self._on_warning(warning)

    def _end(self) -> Iterator[Answer]:
        yield from self._looked_back()
        self._engine.advance(None, ended=True)
        yield from self._answered()
        for extent in self._catalog.extents.values():
            if extent.is_stream and (warning := of_idle_tags(extent.name, never_applied(self._engine, extent))):
                self._on_warning(warning)

    def _answered(self) -> Iterator[Answer]:
        """Wait until Spark has taken in everything, and give what it answered since."""
        self._engine.flush(None if self._on_progress is None else self._report_progress)
        for record in self._engine.results.after(self._read):
            self._read = record.batch
            for name, reading in self._readings.items():
                result = record.stages.get(name if reading.seat is None else reading.seat.log)
                storage = self._engine.storage
                table = None if result is None else read_segments(storage, result.segments, seat=reading.seat)
                if table is not None:
                    yield from answers(reading, table)

    def _report_progress(self) -> None:
        if self._on_progress is not None:
            sizes = [source.total_bytes() for source in self._sources.values()]
            total = None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)
            read = sum(source.bytes_read for source in self._sources.values())
            clock = self._engine.ingest.clock.reached
            self._on_progress(
                Progress(self._rows, read, total, clock, self._answers, len(self._readings), self._revisions)
            )
