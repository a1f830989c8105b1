"""EXPLAIN ANALYZE: the stages of a query are run over all that has passed, and Spark tells what each operator did.

What the stages write goes to a scratch place and is deleted: the query's answers stay as they are.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eddyline.algebra.user_function import plain_names
from eddyline.errors import FunctionFailed
from eddyline.kernels.eddy.report import Report
from eddyline.kernels.task import Work
from eddyline.log.linked import linked
from eddyline.log.segment import Segment
from eddyline.spark.doubt import asked_again, doubted_by_stage
from eddyline.spark.eddy_text import told
from eddyline.spark.explain import Passed, Question, View, footing, heading, is_once
from eddyline.spark.kernel_job import run_and_measure
from eddyline.spark.physical import counted, described
from eddyline.spark.spans import NOTHING, Spans
from eddyline.spark.stages import Stage
from eddyline.spark.trouble import told_plainly
from eddyline.spark.writer import references_of, segments_by_stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from eddyline.spark.engine import Engine

#: Spark's names for what an operator gives, how long it takes, what it holds in memory, and what it reads or sends
_ROWS = ("numOutputRows", "pythonNumRowsReceived", "shuffleRecordsWritten")
_TIMES = (
    "pipelineTime",
    "aggTime",
    "sortTime",
    "scanTime",
    "buildTime",
    "collectTime",
    "broadcastTime",
    "shuffleWriteTime",
    "pythonProcessingTime",
)
_MEMORY = ("peakMemory", "spillSize")
_BYTES = ("shuffleBytesWritten", "dataSize", "filesSize", "pythonDataSent")
_SECONDS = {"timing": 1e-3, "nsTiming": 1e-9}
_LONGEST = 100  # characters of an operator's text
_COLUMNS = ("rows", "time", "memory", "bytes")


def analyze(engine: Engine, question: Question) -> str:
    """What running the query over all that has passed costs, stage by stage and operator by operator."""
    text = []
    with Passed.over(engine, question, imagined=False) as passed:
        for stage in passed.stages:
            view = passed.view(stage)
            text += [heading(stage), *(f"  {line}" for line in described(stage, view))]
            text += [
                f"  {line}"
                for line in (
                    passed.where(stage),
                    *_run(passed, stage, view),
                    *_corrected(passed, stage),
                    *passed.asking(stage),
                )
            ]
    return plain_names("\n".join([*text, *footing(engine, question)]))


def _corrected(passed: Passed, stage: Stage) -> list[str]:
    """What corrections cost that are not made from tuples."""
    view = passed.from_slices(stage, passed.view(stage))
    if view is None:
        return []
    read = f"{counted(view.rows, 'row')} of {counted(len(view.segments), 'segment')}"
    found = _computed(passed, stage, view)
    if found is None:
        return []
    wrote = counted(sum(segment.rows for segment in found.segments), "row")
    said = f"corrected downstream: all of it takes {read}, of slices, and gives {wrote} in {_seconds(found.seconds)}"
    return [said, *_table(found.operators)]


def _computed(passed: Passed, stage: Stage, view: View) -> _Run | None:
    works = passed.works(stage, view)
    found = _run_in_kernel(passed, stage, works) if works else None
    if found is not None and found.doubted:
        return _computed(passed, stage, asked_again(view, found.doubted))
    if works is None or (found is not None and found.refused):
        frame = passed.frame(stage, view)
        found = None if frame is None else _run_on_spark(stage, frame, found)
    return found


def _run(passed: Passed, stage: Stage, view: View) -> list[str]:
    found = _computed(passed, stage, view)
    if found is None:
        passed.add(stage, ())
        return ["there is nothing to do for the data there is now"]
    if is_once(stage):
        return [f"gave {counted(found.rows, 'row')} in {_seconds(found.seconds)}", *_table(found.operators)]
    passed.add(stage, found.segments)
    size = sum(segment.size for segment in found.segments)
    read = f"{counted(view.rows, 'row')} of {counted(len(view.segments), 'segment')}"
    wrote = f"{counted(sum(s.rows for s in found.segments), 'row')} in {counted(len(found.segments), 'segment')}"
    said = [f"read {read}, wrote {wrote} ({_bytes(size)}) in {_seconds(found.seconds)}"]
    if any(linked(segment.path) is not None for segment in found.segments):  # what is on the disk is there once
        said = [f"shares {wrote} with its stream, as the files are, in {_seconds(found.seconds)}"]
    if found.refused:
        said.insert(0, f"the kernel would not: {found.refused}")
    if found.memory:
        said.append(f"the kernel held {_bytes(found.memory)} at most")
    had = passed.result(stage)
    if had.segments:
        kept = _bytes(sum(segment.size for segment in had.segments))
        said.append(f"its log so far: {had.plus:,} +, {had.minus:,} -, {kept}")
    return [*said, *found.eddies, *_table(found.operators)]


@dataclass(frozen=True)
class _Run:
    """A stage that was run."""

    seconds: float
    operators: Sequence[_Measured]
    segments: Sequence[Segment] = ()
    rows: int = 0  # that it gave at once
    memory: int = 0
    refused: str = ""  # why it did not run in the kernel
    eddies: Sequence[str] = ()  # what they did
    doubted: Spans = NOTHING  # where slices could not answer


def _run_in_kernel(passed: Passed, stage: Stage, works: Sequence[Work]) -> _Run:
    began = time.monotonic()
    profiles = run_and_measure(passed.spark, works)
    seconds = time.monotonic() - began
    references = [reference for profile in profiles for reference in profile.references]
    operators = [
        _Measured(_shortened(o.text), o.depth, (f"{o.rows:,}", _shown(o.seconds, _seconds), "", _shown(o.size, _bytes)))
        for profile in profiles
        for o in profile.operators
    ]
    memory = max(profile.memory for profile in profiles)
    reports: dict[str, Report] = {}
    for reference in references:
        for name, report in reference.reports.items():
            if name in reports:
                reports[name].add(report)
            else:
                reports[name] = report
    failed = next((r.failed for r in references if r.failed), "")
    if failed:  # nobody could run it
        raise FunctionFailed(failed)
    refused = next((r.refused for r in references if r.refused), "")
    if refused:
        return _Run(seconds, (), refused=refused)
    segments = segments_by_stage(references).get(stage.name, ())
    doubted = doubted_by_stage(references).get(stage.name, NOTHING)
    return _Run(seconds, operators, segments, memory=memory, eddies=told(reports), doubted=doubted)


def _run_on_spark(stage: Stage, frame: DataFrame, tried: _Run | None = None) -> _Run:
    """`tried`: what the kernel had to say."""
    refused = "" if tried is None else tried.refused
    began = time.monotonic()
    with told_plainly("Spark cannot run it"):
        rows = frame.collect()
    seconds = time.monotonic() - began
    operators = list(_operators(frame._jdf.queryExecution().executedPlan(), 0))
    if is_once(stage):
        return _Run(seconds, operators, rows=len(rows))
    return _Run(seconds, operators, segments_by_stage(references_of(rows)).get(stage.name, ()), refused=refused)


@dataclass(frozen=True)
class _Measured:
    """One operator, and what is said of it, as text."""

    text: str
    depth: int
    cells: tuple[str, str, str, str]


def _measured(plan: Any, depth: int) -> _Measured:
    """An operator of Spark's plan."""
    metrics = _metrics(plan)
    rows = next((metrics[name][0] for name in _ROWS if name in metrics), None)

    def total(names: tuple[str, ...]) -> float:
        found = [metrics[name] for name in names if name in metrics]
        return sum(max(value, 0) * _SECONDS.get(kind, 1) for value, kind in found)

    cells = (
        "" if rows is None else f"{rows:,}",
        _shown(total(_TIMES), _seconds),
        _shown(total(_MEMORY), _bytes),
        _shown(total(_BYTES), _bytes),
    )
    return _Measured(_text(plan), depth, cells)


def _operators(plan: Any, depth: int) -> Iterator[_Measured]:
    """Spark's operators in the order of its own print-out; wrappers that do nothing are left out."""
    kind = plan.getClass().getSimpleName()
    if kind == "AdaptiveSparkPlanExec":
        yield from _operators(plan.executedPlan(), depth)
    elif kind.endswith("QueryStageExec"):
        yield from _operators(plan.plan(), depth)
    elif kind == "InputAdapter":
        yield from _operators(plan.child(), depth)
    else:
        yield _measured(plan, depth)
        children = plan.children()
        for i in range(children.size()):
            yield from _operators(children.apply(i), depth + 1)


def _text(plan: Any) -> str:
    return _shortened(re.sub(r"#\d+L?|, \[plan_id=\d+\]", "", str(plan.simpleString(10)).replace("\n", " ")).strip())


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _metrics(plan: Any) -> dict[str, tuple[int, str]]:
    found = {}
    pairs = plan.metrics().iterator()
    while pairs.hasNext():
        pair = pairs.next()
        metric = pair._2()
        found[str(pair._1())] = int(metric.value()), str(metric.metricType())
    return found


def _table(operators: Sequence[_Measured]) -> list[str]:
    if not operators:  # files were shared, and nothing computed
        return []
    rows = [_COLUMNS, *(operator.cells for operator in operators)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
    texts = ["operator", *(f"{'  ' * operator.depth}{operator.text}" for operator in operators)]
    return [
        "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=True)), text])
        for row, text in zip(rows, texts, strict=True)
    ]


def _shown(value: float, unit: Any) -> str:
    return unit(value) if value else ""


def _seconds(seconds: float) -> str:
    """
    >>> _seconds(0.0123), _seconds(12.34)
    ('12 ms', '12.3 s')
    """
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def _bytes(size: float) -> str:
    """
    >>> _bytes(12), _bytes(3 << 20)
    ('12 B', '3.0 MiB')
    """
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
