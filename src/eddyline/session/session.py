"""One script over its finite inputs, on the reference engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eddyline.algebra.answer import Answer, TextAnswer
from eddyline.algebra.node import StreamOp
from eddyline.algebra.relational import WindowCrossProduct, WindowJoin
from eddyline.algebra.tag import Tagger
from eddyline.algebra.tagging import behind_taggers
from eddyline.algebra.window import Scan
from eddyline.binder.statement import (
    AttachOnce,
    Define,
    Insert,
    Register,
    Revise,
    Show,
    StatementBinder,
    Step,
    Withdraw,
)
from eddyline.catalog.catalog import TAGS, BoundQuery
from eddyline.errors import EddylineError, Position
from eddyline.language import parse_script
from eddyline.reference.answers import Reporter
from eddyline.reference.element import Clock
from eddyline.reference.engine import Context, StandingQuery
from eddyline.reference.feed import Batch, Feed
from eddyline.rules import check_rule_names, optimize
from eddyline.session.inflow import Inflow, constants
from eddyline.session.starts import Starts
from eddyline.sources import Arrival, Reject, Source, merged, open_source, read_table

#: how many arrivals pass between two reports of progress
_PROGRESS_ROWS = 1_000


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    rows: int
    bytes_read: int
    total_bytes: int | None
    clock: int | None
    answers: int


def _ignore(_: object) -> None:
    return None


@contextmanager
def _placed(position: Position) -> Iterator[None]:
    """An error that does not say where it is, is at this statement."""
    try:
        yield
    except EddylineError as error:
        error.position = error.position or position
        raise


class Session:
    """One script over finite inputs. Building it parses and binds everything; `answers` runs it to its end."""

    def __init__(
        self,
        text: str,
        base: Path,
        batch_rows: int = 1,
        on_reject: Callable[[Reject], None] = _ignore,
        on_warning: Callable[[str], None] = _ignore,
        on_progress: Callable[[Progress], None] | None = None,
        on_query: Callable[[str, tuple[str, ...]], None] = lambda name, columns: None,
        without_rules: frozenset[str] = frozenset(),
    ) -> None:
        self._batch_rows = batch_rows
        self._base = base
        self._on_reject, self._on_warning, self._on_progress = on_reject, on_warning, on_progress
        self._on_query = on_query
        self._without_rules = without_rules
        check_rule_names(without_rules)
        binder = StatementBinder(without_rules=without_rules)
        self._steps: list[tuple[Position, Step]] = []  # with the place of the statement in the text
        for statement in parse_script(text):
            with _placed(statement.position):
                self._steps += [(statement.position, step) for step in binder.bind(statement.tree)]
        self._catalog = binder.catalog
        self.queries: Mapping[str, tuple[str, ...]] = {
            step.name: step.query.columns for _, step in self._steps if isinstance(step, Register)
        }
        self._sources: dict[str, Source] = {}
        self._inflow = Inflow(self._catalog.tick_micros, self._set_aside)
        self._starts = Starts([step for _, step in self._steps], self._sources, self._catalog.tick_micros)
        self._standing: dict[str, tuple[StandingQuery, Reporter]] = {}
        self._waiting: dict[str, BoundQuery] = {}  # registered, but no data has come yet
        self._taggers: list[tuple[str, str, Tagger]] = []  # query, stream, what tags it
        self._tables: dict[str, list[tuple[object, ...]]] = {}
        self._flowed = False
        self._rows = self._answers = 0

    def _set_aside(self, arrival: Arrival, reason: str) -> None:
        self._on_reject(Reject(arrival.extent, arrival.file, arrival.line, arrival.text, reason))

    # -- running ------------------------------------------------------------------------------------------------------

    def answers(self) -> Iterator[Answer]:
        for position, step in self._steps:
            if isinstance(step, Define):
                with _placed(position):
                    self._open(step)
        for position, step in self._steps:
            with _placed(position):
                yield from self._counted(self._run(step))
        yield from self._counted(self._flow())
        yield from self._counted(self._end())
        self._report_progress()

    def _counted(self, answers: Iterator[Answer]) -> Iterator[Answer]:
        for answer in answers:
            self._answers += 1
            yield answer

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

    def _run(self, step: Step) -> Iterator[Answer]:
        if isinstance(step, Register):
            yield from self._register(step)
        elif isinstance(step, Withdraw):
            self._waiting.pop(step.name, None)
            self._standing.pop(step.name, None)
            self._taggers = [tagger for tagger in self._taggers if tagger[0] != step.name]
        elif isinstance(step, Show):
            yield TextAnswer(step.name, step.text)
        elif isinstance(step, AttachOnce):
            self._inflow.attach(step.extent, step.tagger)
        elif isinstance(step, Insert) and not step.extent.is_stream:
            self._tables[step.extent.name] += constants(step.rows)
        elif isinstance(step, Insert):
            yield from self._flow()
            for row in constants(step.rows):
                self._inflow.insert(step.extent, row)
                yield from self._batch_if_full()
            yield from self._batch()
        elif isinstance(step, Revise):
            yield from self._flow()
            self._inflow.revise(step.extent, step.schema, step.where, step.values)
            yield from self._batch()

    def _register(self, step: Register) -> Iterator[Answer]:
        self._on_query(step.name, step.query.columns)
        if _is_one_off(step.query):
            yield from self._answered_once(step.name, step.query)
            return
        self._starts.of(step.query.streams)  # reads the files once, before they flow
        self._waiting[step.name] = step.query
        if step.tagger is not None:
            self._taggers.append((step.name, *step.tagger))
        if self._inflow.feed.batches:  # data has flowed: it begins at once, with all that has passed
            yield from self._begin_waiting()

    def _answered_once(self, name: str, query: BoundQuery) -> Iterator[Answer]:
        feed = Feed([Batch({}, Clock(None, None))])
        standing, reporter = self._started(name, query, feed)
        yield from reporter.report(standing.step())

    def _begin_waiting(self) -> Iterator[Answer]:
        """Queries begin with the data, so that taggers created after them tag for them too."""
        waiting, self._waiting = self._waiting, {}
        for name, query in waiting.items():
            standing, reporter = self._standing[name] = self._started(name, query, self._inflow.feed)
            for _ in self._inflow.feed.batches:
                yield from reporter.report(standing.step())

    def _started(self, name: str, query: BoundQuery, feed: Feed) -> tuple[StandingQuery, Reporter]:
        plan = optimize(behind_taggers(query.plan, self._taggers_before(name)), self._without_rules).plan
        context = Context(feed, self._starts.of(query.streams), lambda table: self._tables[table])
        joins = any(isinstance(op, WindowCrossProduct | WindowJoin) for op in plan.walk())
        reporter = Reporter(name, query.plan.schema, query.columns, query.with_tags, joins, query.kind == TAGS)
        return StandingQuery(plan, context), reporter

    def _taggers_before(self, name: str) -> Callable[[str], list[Tagger]]:
        """The taggers on a stream; a tagging query itself sees the tags of those before it only."""
        names = [query for query, _, _ in self._taggers]
        seen = self._taggers[: names.index(name)] if name in names else self._taggers
        return lambda stream: [tagger for _, tagged, tagger in seen if tagged == stream]

    # -- batches ------------------------------------------------------------------------------------------------------

    def _flow(self) -> Iterator[Answer]:
        """Let the files flow, all of them, merged; once."""
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
            for name, (standing, reporter) in list(self._standing.items()):
                if name not in starting:
                    yield from reporter.report(standing.step())

    def _end(self) -> Iterator[Answer]:
        yield from self._batch(ended=True)

    def _report_progress(self) -> None:
        if self._on_progress is not None:
            sizes = [source.total_bytes() for source in self._sources.values()]
            total = None if any(size is None for size in sizes) else sum(size or 0 for size in sizes)
            read = sum(source.bytes_read for source in self._sources.values())
            self._on_progress(Progress(self._rows, read, total, self._inflow.reached, self._answers))


def _is_one_off(query: BoundQuery) -> bool:
    """Whether a query reads tables alone, as they are: it is answered where it stands in the script, once."""
    return not any(isinstance(op, StreamOp) or (isinstance(op, Scan) and op.interval) for op in query.plan.walk())
