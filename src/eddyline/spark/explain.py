"""EXPLAIN on Spark: the stages of a query, how each is computed, and Spark's own plan of it. Nothing is run."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eddyline.algebra.node import Operator
from eddyline.algebra.radius import radius_of
from eddyline.algebra.relational import WindowAggregation
from eddyline.algebra.stream import DStream, IStream, RStream
from eddyline.algebra.user_function import functions_of, plain_names
from eddyline.algebra.window import HopWindow, LatestRowsWindow, RowWindow, Scan, TimeWindow
from eddyline.catalog.catalog import AUTO, DOWNSTREAM, UPSTREAM
from eddyline.kernels.task import Work
from eddyline.log.results import StageResult
from eddyline.log.segment import Segment
from eddyline.spark.differing import differing_join
from eddyline.spark.doubt import without_doubt
from eddyline.spark.evaluate.asked import Waiting
from eddyline.spark.evaluate.batch import Batch, Clock, Log, Snapshot
from eddyline.spark.evaluate.frames import Frame
from eddyline.spark.evaluate.kept import correctable_or_reason, slices_of
from eddyline.spark.join_inputs import JoinInputs
from eddyline.spark.keeping import kept_by
from eddyline.spark.kernel_job import reason_for_spark, works_of
from eddyline.spark.physical import counted, described
from eddyline.spark.planning import SMALL, planned
from eddyline.spark.spans import EVERYTHING, LOW, NOTHING
from eddyline.spark.spreading import most_rows
from eddyline.spark.stages import LINEAR, LOOKUP, SLICES, WAITING, Stage, cut
from eddyline.spark.work import once_frame, stage_frame
from eddyline.spark.writer import written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from eddyline.spark.engine import Engine


_BY_ORDER = (
    "its windows count the tuples of a stream that windows make, in the order in which they are given: once a tuple"
    " comes late or is corrected, that depends on the batches"
)


@dataclass(frozen=True)
class Question:
    """The query that is asked about; if it stands, `name` is that of its result log."""

    name: str
    plan: Operator
    columns: tuple[str, ...]
    rules: tuple[str, ...] = ()
    start: int | None = None  # None: at the first tick there is
    revisions: str | None = None  # how it is to be corrected; None: it does not stand


def explain(engine: Engine, question: Question) -> str:
    """The physical plan, and Spark's plan of each stage over the data there is now."""
    text, plans = [], []
    with Passed.over(engine, question, imagined=True) as passed:
        for stage in passed.stages:
            view = passed.view(stage)
            text += [heading(stage), *(f"  {line}" for line in described(stage, view)), f"  {passed.where(stage)}"]
            text += [f"  {line}" for line in (*passed.withholding(stage), *passed.asking(stage))]
            for work in (passed.works(stage, view) or [])[:1]:  # its tasks do all the same
                plans += [f"the kernel's plan of stage {stage.name}:", *_kernel_plan(work)]
            frame = passed.frame(stage, view)
            small = view.rows < SMALL and not is_once(stage)
            how = f" (below {SMALL:,} rows: one partition, interpreted)" if small else ""
            plans += [f"Spark's plan of stage {stage.name}{how}:", *_spark_plan(frame)]
    return plain_names("\n".join([*text, *footing(engine, question), *plans]))


def heading(stage: Stage) -> str:
    asked = [] if stage.asked is None else [f"{stage.asked} by key"]
    reads = ", ".join((*stage.streams, *stage.tables, *asked)) or "nothing"
    writes = "gives its rows at once" if is_once(stage) else f"writes results/{stage.name}"
    return f"stage {stage.name} ({stage.kind}): reads {reads}, {writes}"


def footing(engine: Engine, question: Question) -> list[str]:
    rules = ", ".join(question.rules) or "none"
    return [*corrections_of(engine, question), "engine: spark", f"rules applied: {rules}"]


def corrections_of(engine: Engine, question: Question) -> list[str]:
    """Where corrections of answers come from, why not from elsewhere, and how much history one can need."""
    way = _way(engine, question)
    if not way:
        return []
    order = [_BY_ORDER] if _counts_what_is_said(question.plan) else []
    return [*way, f"a correction can need {radius_of(question.plan)} of history", *order]


def _counts_what_is_said(plan: Operator) -> bool:
    """Whether windows of rows are over a stream that windows make."""
    rows = (operator for operator in plan.walk() if isinstance(operator, RowWindow | LatestRowsWindow))
    return any(isinstance(below, RStream | IStream | DStream) for window in rows for below in window.walk())


#: how a join is corrected that looks at each pair by itself
_BY_DIFFERENCES = {
    DOWNSTREAM: "corrected downstream, by differences: pairs of revised tuples are made, and no others",
    UPSTREAM: "corrected upstream, from the tuples of its windows; downstream is possible, by differences",
    AUTO: "corrected downstream, by differences, or upstream, from the tuples of its windows: whatever costs less for"
    " what a batch corrects",
}


def _way(engine: Engine, question: Question) -> list[str]:
    last = cut(question.name, question.plan, question.columns)[-1]
    if question.revisions is None:
        return []
    if last.kind in (LINEAR, LOOKUP):
        return ["corrected tuple by tuple, where there is nothing to keep"]
    found = correctable_or_reason(last.plan)
    if isinstance(found, str):
        join = differing_join(last)
        if isinstance(join, JoinInputs):
            told = engine.executor.corrections.pairs.told(question.name)
            return [_BY_DIFFERENCES[question.revisions], *([f"  {told}"] if told else [])]
        aggregates = any(isinstance(operator, WindowAggregation) for operator in last.plan.walk())
        why = found if join is None or aggregates else join
        return [f"corrected upstream, from the tuples of its windows; downstream is not possible: {why}"]
    if question.revisions == DOWNSTREAM:
        return ["corrected downstream, from the slices that it keeps"]
    if question.revisions == UPSTREAM:
        return ["corrected upstream, from the tuples of its windows; downstream is possible"]
    return _chosen(engine, question.name)


def _chosen(engine: Engine, name: str) -> list[str]:
    """The way that is in use of a query that leaves it to us, since when, and what has decided."""
    kept = engine.executor.results.stages.get(slices_of(name), StageResult())
    told = engine.executor.corrections.told(name)
    costs = [f"  {told}"] if told else []
    if kept.start is None:
        return ["corrected upstream for now, from the tuples of its windows; downstream is possible", *costs]
    ticks = "all ticks" if kept.start <= LOW else f"the ticks from {kept.start:,} on"
    point = ["  a connection point wants it so"] if name in engine.executor.points else []
    since = f"since batch {kept.since}"
    return [f"corrected downstream for now, from slices of {ticks} that it keeps {since}", *point, *costs]


def is_once(stage: Stage) -> bool:
    """Whether it is a query over tables alone, which is answered at once and does not stand."""
    scans = (operator for operator in stage.plan.walk() if isinstance(operator, Scan))
    return not stage.streams and all(scan.interval is None for scan in scans)


def _kernel_plan(work: Work) -> list[str]:
    """The statement, one part a line; what is kept because several parts need it has a star."""
    lines = []
    for found in work.found:
        lines += [*_parts(found.statement), *(f"  {line}" for line in found.described())]
    if work.passed is not None:
        tags = " and asks for the tags alone" if work.passed.tags else ""
        lines.insert(0, f"  shares the files of its stream where the file system can{tags}; else:")
    return [*lines, *_parts(work.statement)]


def _parts(statement: str) -> list[str]:
    parts = re.findall(r"(f\d+) AS (NOT )?MATERIALIZED \((.*?)\)(?=, f\d+ AS | SELECT )", statement)
    end = statement.rpartition(") SELECT ")[2]
    return [*(f"  {name}{'' if melted else '*'}: {text}" for name, melted, text in parts), f"  SELECT {end}"]


def _spark_plan(frame: DataFrame | None) -> list[str]:
    if frame is None:
        return ["  there is nothing to do for the data there is now"]
    text = str(frame._jdf.queryExecution().simpleString())
    return [f"  {line.rstrip()}" for line in text.splitlines() if line.strip() and not line.startswith("==")]


@dataclass
class View(Batch):
    """What a stage sees; it counts what it is going to read."""

    segments: dict[str, int] = field(default_factory=dict)  # rows by path

    @property
    def rows(self) -> int:
        return sum(self.segments.values())

    def read(self, log: Log, segments: Sequence[Segment], more: Sequence[str] = ()) -> Frame:
        self.segments.update({segment.path: segment.rows for segment in segments if more or not segment.only_tags})
        return super().read(log, segments, more)


class Passed:
    """All that has passed, as the stages of a query see it if it comes in one micro-batch."""

    def __init__(self, engine: Engine, question: Question, imagined: bool) -> None:
        self._engine = engine
        self.spark = engine.spark
        self._imagined = imagined
        engine.use_functions(functions_of(question.plan))
        self._folder = f"explain/{uuid.uuid4().hex}"
        at_work = [query for query in engine.executor.queries() if query.name == question.name]
        self._standing = at_work[0] if at_work else None
        self._members = None if self._standing is None else self._standing.members
        # who waits is told, not run: what a look-up gives depends on the answers alone
        self.stages = [s for s in cut(question.name, question.plan, question.columns) if s.kind != WAITING]
        self._logs = {name: _all_fresh(log) for name, log in engine.logs(tagged=True).items()}
        self._start = self._first_tick(question)
        clock = engine.ingest.clock
        self._now = Clock(*(LOW if tick is None else tick for tick in (clock.reached, clock.closed)))
        if imagined:  # a plan is wanted although no window is due yet
            due = self._start + max((_pace(operator) for operator in question.plan.walk()), default=0)
            self._now = Clock(max(self._now.reached, due), max(self._now.closed, due))

    @classmethod
    @contextlib.contextmanager
    def over(cls, engine: Engine, question: Question, imagined: bool) -> Iterator[Passed]:
        """`imagined`: nothing is run, so a log without rows is taken as if it had some."""
        passed = cls(engine, question, imagined)
        try:
            yield passed
        finally:
            engine.storage.delete_folder(passed._folder)

    def _first_tick(self, question: Question) -> int:
        begun = self.result(self.stages[-1]).start
        if begun is not None:
            return begun
        given = question.start if self._standing is None else self._standing.start
        if given is not None:
            return given
        streams = [name for stage in self.stages for name in stage.streams if name in self._logs]
        return min((s.tick[0] for name in streams for s in self._logs[name].segments), default=0)

    def result(self, stage: Stage) -> StageResult:
        """What a stage of a standing query has written so far."""
        found = None if self._standing is None else self._engine.executor.results.stages.get(stage.name)
        return found or StageResult()

    def add(self, stage: Stage, segments: Sequence[Segment]) -> None:
        """The log that a stage has written to the scratch place, for those that read it."""
        self._logs[stage.name] = _all_fresh(Log(stage.name, stage.schema, stage.columns, segments))

    def view(self, stage: Stage) -> View:
        engine = self._engine
        known = engine.tables.known if self._imagined else engine.tables.current
        if self._imagined:
            for earlier in self.stages:
                if earlier.name in stage.streams:
                    had = self.result(earlier).segments
                    self._logs[earlier.name] = _all_fresh(Log(earlier.name, earlier.schema, earlier.columns, had))
        logs = {name: self._shown(self._logs[name]) for name in stage.streams}
        view = View(
            engine.executor.frames,
            logs,
            self._now,
            Clock(),
            self._start,
            lambda table, frames: engine.tables.frame(table, known(table), frames),
            lambda table, ticks: [Snapshot(LOW, lambda frames: engine.tables.frame(table, known(table), frames))],
        )
        view.since = {} if self._standing is None else self._standing.since
        view.members = self._members
        if stage.asked is not None:
            view.waiting = Waiting(StageResult(), engine.executor.lookups.known()[stage.asked])
        return view

    def from_slices(self, stage: Stage, view: View) -> View | None:
        """What a stage sees if all of its windows are corrected from slices that its query keeps; None if it has none.

        It is the same however few tuples have changed: a correction takes the slices of the windows that it touches.
        """
        if self._standing is None or stage is not self.stages[-1]:
            return None
        keeping = next((one for one in self._standing.stages if one.kind == SLICES), None)
        had = StageResult() if keeping is None else self.result(keeping)
        if keeping is None or had.start is None:
            return None
        logs = {name: replace(log, fresh=()) for name, log in view.logs.items()}
        segments = {segment.path: segment.rows for segment in had.segments}
        return replace(view, slices=kept_by(keeping, had, self._members), logs=logs, segments=segments)

    def _shown(self, log: Log) -> Log:
        """Spark takes the plan over an empty log away, so there is an empty file in its place."""
        if log.segments or not self._imagined:
            return log
        path = f"{self._folder}/empty.parquet"
        self._engine.storage.write(path, b"")
        empty = Segment(path, 0, 0, (1, 1), (1, 1), (self._start, self._now.reached))
        return _all_fresh(replace(log, segments=[empty]))

    def withholding(self, stage: Stage) -> list[str]:
        """Which corrections are shown, and of how many results others are not."""
        if stage.revise is None:
            return []
        withheld = self.result(stage).withheld
        count = counted(sum(number for _, _, number in withheld), "result")
        at = "" if not withheld else f" at {withheld[0][0]} to {withheld[-1][1]}"
        now = f"; withheld now: corrections of about {count}{at}" if withheld else "; nothing is withheld now"
        return [f"shows a correction if {stage.revise.text}{now if self._standing is not None else ''}"]

    def asking(self, stage: Stage) -> list[str]:
        """How a table is asked by key, and what that has cost."""
        return [] if stage.asked is None else self._engine.executor.lookups.told(stage.asked)

    def where(self, stage: Stage) -> str:
        """Who computes a stage, and why."""
        reason = self._reason_for_spark(stage)
        if reason is not None:
            return f"runs on Spark's own plan: {reason}"
        most = f"{most_rows(stage):,} rows to read in one task"
        return f"runs in the kernel, inside of tasks; with more than {most} on Spark's own plan"

    def _reason_for_spark(self, stage: Stage) -> str | None:
        if is_once(stage):
            return "it is asked once"
        if not self._engine.executor.kernels:
            return "kernels are switched off"
        refused = self._engine.executor.refused.get(stage.name)
        return reason_for_spark(stage) if refused is None else f"the kernel said: {refused}"

    def works(self, stage: Stage, view: View) -> list[Work] | None:
        """What tasks are to do for a stage in the kernel; None if it runs on Spark."""
        if self._reason_for_spark(stage) is not None:
            return None
        known = self._engine.executor.routes.known(stage.name)
        return works_of(stage, view, None, 0, self._engine.storage.root, f"{self._folder}/{stage.name}", known)

    def frame(self, stage: Stage, view: View) -> DataFrame | None:
        """What Spark runs for a stage, its plan made; None if there is nothing to do."""
        if is_once(stage):
            return once_frame(stage.plan, view)
        if not self._imagined:
            view = without_doubt(self.spark, stage, view, None, 0)
        changes = stage_frame(stage, view, None, 0)
        if changes is None:
            return None
        frame = written(changes, stage, 0, self._engine.storage, f"{self._folder}/{stage.name}")
        return planned(self._engine.spark, [frame], view.rows)


def _all_fresh(log: Log) -> Log:
    return replace(log, fresh=log.segments, touched=EVERYTHING if log.segments else NOTHING)


def _pace(operator: Operator) -> int:
    """After how many ticks an operator has surely had a window."""
    if isinstance(operator, TimeWindow):
        return operator.slide
    if isinstance(operator, HopWindow):
        return operator.range + operator.slide
    return operator.interval or 0 if isinstance(operator, Scan) else 0
