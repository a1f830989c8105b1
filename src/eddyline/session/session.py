"""One script on the reference engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import astuple
from functools import partial
from typing import Any

from eddyline.algebra.answer import Answer, TagLine
from eddyline.algebra.node import Operator
from eddyline.algebra.notation import notation
from eddyline.algebra.relational import WindowCrossProduct, WindowJoin
from eddyline.algebra.revision_report import Rows
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.user_function import UserFunction
from eddyline.binder.detach import DetachOnce, ShowTags
from eddyline.binder.explain import ANALYZE, Show
from eddyline.binder.function import Declaration
from eddyline.binder.revisions import ShowRevisions
from eddyline.binder.statement import AttachOnce, Define, Insert, Register, Revise
from eddyline.binder.words import DefineWords, DropWords
from eddyline.catalog.catalog import TAGS, BoundQuery, like
from eddyline.catalog.connection import ConnectionPoint
from eddyline.errors import NotSupported
from eddyline.reference.answers import Reporter
from eddyline.reference.element import Clock
from eddyline.reference.engine import Context, StandingQuery
from eddyline.reference.feed import Batch, Feed
from eddyline.reference.tag_report import TagReport
from eddyline.rules import optimize
from eddyline.session.asking import Asking
from eddyline.session.functions import in_this_process
from eddyline.session.inflow import Inflow, constants
from eddyline.session.join_trees import with_join_trees
from eddyline.session.reference_revisions import revisions_of
from eddyline.session.script_run import Progress, ScriptRun, nothing_to_take_back, of_idle_tags
from eddyline.session.starts import Starts
from eddyline.sources import Arrival, Reject, Source, merged, open_source, read_table

#: in place of a query's name, for all of them
ALL = ""
#: how many arrivals pass between two reports of progress
_PROGRESS_ROWS = 1_000


class Session(ScriptRun):
    """A script whose queries are evaluated by plain Python generators, tuple by tuple."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for _, step in self._steps:
            if isinstance(step, Show) and step.what == ANALYZE:
                raise NotSupported("EXPLAIN ANALYZE needs the Spark engine", step.position, "write EXPLAIN")
        self._sources: dict[str, Source] = {}
        self._inflow = Inflow(self._catalog.tick_micros, self._set_aside)
        self._starts = Starts([step for _, step in self._steps], self._sources, self._catalog.tick_micros)
        self._standing: dict[str, tuple[StandingQuery, Reporter]] = {}
        self._contexts: dict[str, tuple[Operator, Context, BoundQuery]] = {}  # of the queries that stand
        self._waiting: dict[str, BoundQuery] = {}  # registered, but no data has come yet
        self._tables: dict[str, list[tuple[object, ...]]] = {}
        self._asking = Asking(self._catalog, self._on_warning)
        self._flowed = False

    def _set_aside(self, arrival: Arrival, reason: str) -> None:
        self._on_reject(Reject(arrival.extent, arrival.file, arrival.line, arrival.text, reason))

    def _function(self, declaration: Declaration) -> UserFunction:
        return in_this_process(declaration, self._base)

    def _open(self, step: Define) -> None:
        extent = step.extent
        if extent.is_stream:
            self._inflow.add_stream(extent)
            source = open_source(extent, self._base, self._catalog.tick_micros)
            if source is not None:
                self._sources[extent.name] = source
        else:
            rows, rejects = read_table(extent, self._base) if extent.format else ([], [])
            self._tables[extent.name] = list(rows)
            for reject in rejects:
                self._on_reject(reject)

    def _open_on_spark(self, step: Define) -> None:
        raise AssertionError("opening it has told that this engine cannot")

    # -- statements ---------------------------------------------------------------------------------------------------

    def _withdraw(self, name: str) -> None:
        self._waiting.pop(name, None)
        self._standing.pop(name, None)
        self._contexts.pop(name, None)
        self._inflow.feed.taggers.end(name, self._inflow.arrived)

    def _connect(self, point: ConnectionPoint) -> None:
        if point.is_stream:  # all answers are kept for ever here
            self._inflow.connect(point.on, point.name, point.retain)

    def _disconnect(self, point: ConnectionPoint) -> None:
        if point.is_stream:
            self._inflow.disconnect(point.on, point.name)

    def _explained(self, step: Show) -> str:
        text = f"{notation(step.plan)}\nengine: reference\nrules applied: {', '.join(step.rules) or 'none'}"
        return with_join_trees(text, step, {})

    def _revisions_of(self, step: ShowRevisions) -> Rows:
        return revisions_of(step, self._contexts)

    def _learn(self, step: DefineWords | DropWords) -> None:
        self._inflow.learn(step.words, gone=isinstance(step, DropWords))

    def _attach(self, step: AttachOnce) -> None:
        self._inflow.attach(step.extent, step.tagger)

    def _detach(self, step: DetachOnce) -> Iterator[Answer]:
        if not self._inflow.detach(step.extent, step.withdrawal, step.schema):
            self._on_warning(nothing_to_take_back(step))
        yield from self._batch()

    def _tags_of(self, step: ShowTags) -> Rows:
        wanted = like(step.pattern)
        lines = [line for stream in step.streams for line in self.tags_of(stream)]
        return tuple(astuple(line) for line in lines if wanted.fullmatch(line.content.lower()))

    @property
    def streams(self) -> list[str]:
        """The names of the streams that the script declares."""
        return [extent.name for extent in self._catalog.extents.values() if extent.is_stream]

    def tags_of(self, stream: str) -> list[TagLine]:
        """The tags of a stream as they stand."""
        return self._report(stream).lines()

    def _report(self, stream: str) -> TagReport:
        extent = self._catalog.extents[stream.lower()]
        received = StreamReceive(extent.name, extent.schema.renamed(extent.name.rsplit(".", 1)[-1]), tick_tags=True)
        return TagReport(received, self._inflow.feed, self._inflow.arriving(extent.name))

    def _warn_of_idle_tags(self) -> None:
        """A tag that never applied to anything is likely to be a mistake."""
        for stream in self._inflow.tagged_streams:
            if warning := of_idle_tags(stream, self._report(stream).never_applied()):
                self._on_warning(warning)

    def _insert_into_table(self, step: Insert) -> None:
        self._tables[step.extent.name] += constants(step.rows)

    def _insert(self, step: Insert) -> Iterator[Answer]:
        for number, row in enumerate(constants(step.rows), 1):
            self._inflow.insert(step.extent, row, number)
            yield from self._batch_if_full()
        yield from self._batch()

    def _revise(self, step: Revise) -> Iterator[Answer]:
        self._inflow.revise(step.extent, step.schema, step.where, step.values)
        yield from self._batch()

    def _flush_revisions(self, query: str | None) -> Iterator[Answer]:
        yield from self._batch()
        self._inflow.flush_batch(ALL if query is None else query.lower())
        yield from self._steps_of(())

    def _flushes(self, reader: str, begun: int, number: int, query: str | None) -> bool:
        """Whether a batch shows what is withheld in a query: by `reader` itself, or by a `query` that it reads.

        Of its first answers, over the batches that had come when it began, none is withheld.
        """
        withholds = reader.lower() if query is None else query
        return number < begun or self._inflow.feed.batches[number].flushed in (ALL, withholds)

    def _register(self, step: Register) -> Iterator[Answer]:
        self._starts.of(step.query.streams)  # reads the files once, before they flow
        self._waiting[step.name] = step.query
        if step.tagger is not None:
            stream, tagger = step.tagger
            self._inflow.feed.taggers.add(stream, tagger, self._inflow.arrived(stream))
        if self._inflow.feed.batches:  # data has flowed: it begins at once, with all that has passed
            yield from self._begin_waiting()

    def _answered_once(self, name: str, query: BoundQuery) -> Iterator[Answer]:
        feed = Feed([Batch({}, Clock(None, None))])
        standing, reporter = self._started(name, query, feed)
        yield from reporter.report(standing.step())

    def _begin_waiting(self) -> Iterator[Answer]:
        """Queries begin with the data: only then it is known at which tick."""
        waiting, self._waiting = self._waiting, {}
        for name, query in waiting.items():
            standing, reporter = self._standing[name] = self._started(name, query, self._inflow.feed)
            self._contexts[name] = standing.plan, standing.context, query
            for _ in self._inflow.feed.batches:
                yield from reporter.report(standing.step())

    def _started(self, name: str, query: BoundQuery, feed: Feed) -> tuple[StandingQuery, Reporter]:
        plan = optimize(query.plan, self._without_rules).plan
        start = query.started(self._starts.of(query.streams))
        flushes = partial(self._flushes, name, len(feed.batches))
        context = Context(feed, start, lambda table: self._tables[table], flushes, self._asking.answers)
        joins = any(isinstance(op, WindowCrossProduct | WindowJoin) for op in plan.walk())
        reporter = Reporter(name, query.plan.schema, query.columns, query.with_tags, joins, query.kind == TAGS)
        return StandingQuery(plan, context), reporter

    # -- batches ------------------------------------------------------------------------------------------------------

    def _flow(self) -> Iterator[Answer]:
        if self._flowed:
            return
        self._flowed = True
        for row in merged(list(self._sources.values())):
            if isinstance(row, Reject):
                self._on_reject(row)
                continue
            self._inflow.take(row)
            yield from self._batch_if_full()
            self._rows += 1
            if self._rows % _PROGRESS_ROWS == 0:
                self._report_progress()
        for source in self._sources.values():
            for warning in source.warnings:
                self._on_warning(warning)
        yield from self._batch(ended=bool(self._sources))

    def _batch_if_full(self) -> Iterator[Answer]:
        if self._inflow.pending >= self._batch_rows:
            yield from self._batch()

    def _batch(self, ended: bool = False) -> Iterator[Answer]:
        starting = list(self._waiting)
        if self._inflow.end_batch(ended):
            yield from self._begin_waiting()
            yield from self._steps_of(starting)

    def _steps_of(self, starting: Collection[str]) -> Iterator[Answer]:
        """What the new batch changes in the answers of all queries that did not start with it."""
        for name, (standing, reporter) in list(self._standing.items()):
            if name not in starting:
                yield from reporter.report(standing.step())

    def _end(self) -> Iterator[Answer]:
        yield from self._batch(ended=True)
        self._warn_of_idle_tags()

    def _report_progress(self) -> None:
        if self._on_progress is not None:
            sizes = [source.total_bytes() for source in self._sources.values()]
            total = None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)
            read = sum(source.bytes_read for source in self._sources.values())
            queries = len(self._standing) + len(self._waiting)
            reached = self._inflow.reached
            self._on_progress(Progress(self._rows, read, total, reached, self._answers, queries, self._revisions))
