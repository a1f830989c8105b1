"""Stages that run in the kernel: which they are, what their tasks do, and the one Spark job that runs them all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from eddyline.algebra.sharing import StreamMatch
from eddyline.algebra.user_function import UserFunction, functions_of
from eddyline.kernels.dialect import Untranslatable
from eddyline.kernels.eddy.knowledge import Knowledge
from eddyline.kernels.fits import why_not
from eddyline.kernels.profile import Profile, profiled
from eddyline.kernels.sheet import Frame, Sheet
from eddyline.kernels.task import Reference, Trusted, Work, done
from eddyline.log.results import StageResult
from eddyline.sharing import with_forms
from eddyline.spark.evaluate.batch import Batch, Log
from eddyline.spark.evaluate.frames import Frames
from eddyline.spark.stages import LINEAR, SLICES, Stage
from eddyline.spark.work import stage_frame
from eddyline.spark.writer import segment_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
#: beyond that many rows one task would take too long; Spark's own plans spread over all cores
MOST_ROWS = 1_000_000
#: as many rows are worth a task of their own
_WORTH_A_TASK = 50_000
#: what so few rows give fits into memory, also if each of them meets each, or stands in a thousand windows
_FEW_ROWS = 1_000


def use_kernels(wanted: bool | None) -> bool:
    """They are used unless somebody says no: in the call, or for a whole process by its environment."""
    return os.environ.get("EDDYLINE_KERNELS", "on").lower() not in ("off", "0", "no") if wanted is None else wanted


@lru_cache(maxsize=10_000)
def reason_for_spark(stage: Stage) -> str | None:
    """Why a stage cannot run in the kernel; None if it can."""
    return why_not(stage.plan)


@lru_cache(maxsize=10_000)
def _functions(stage: Stage) -> tuple[UserFunction, ...]:
    return functions_of(stage.plan)


def works_of(
    stage: Stage,
    view: Batch,
    had: StageResult | None,
    number: int,
    root: str,
    folder: str,
    known: Mapping[str, Knowledge] = MappingProxyType({}),
) -> list[Work] | None:
    """The works of a stage in a batch: none if there is nothing to do; None if Spark had better do it.

    `known`: what its eddies have learned before.
    """
    works = []
    functions = _functions(stage)
    for one, part in _parts(stage, view):
        sheet = Sheet()
        reads = 0

        def count(rows: int) -> None:
            nonlocal reads
            reads += rows

        try:
            frame = stage_frame(one, replace(part, frames=cast(Frames, sheet), on_read=count), had, number)
        except Untranslatable:
            return None
        if reads > MOST_ROWS:
            return None
        if frame is not None:
            made = cast(Frame, frame)
            reads += sum(table.num_rows for table in sheet.tables.values())
            statement = made.statement()
            works.append(
                Work(
                    stage.name,
                    number,
                    root,
                    statement,
                    sheet.files,
                    sheet.tables,
                    segment_schema(made.columns, stage),
                    folder,
                    found=sheet.found,
                    by_row=stage.kind == LINEAR and _only_found(statement, sheet, part),
                    plain=made.plain,
                    functions=functions,
                    known=dict(known),
                    few=reads <= _FEW_ROWS and not stage.tables and not sheet.found,
                    trusted=_trusted(one, part, sheet, had, number),
                )
            )
    return works


def _trusted(stage: Stage, view: Batch, sheet: Sheet, had: StageResult | None, number: int) -> Trusted | None:
    """What can be done without the tuples of windows, as long as nothing that was kept is in doubt."""
    if view.slices is None or stage.kind == SLICES:
        return None
    doubts: list[Any] = []
    frame = stage_frame(stage, replace(view, frames=cast(Frames, sheet), doubts=doubts, on_read=_nobody), had, number)
    if frame is None or not doubts:
        return None
    return Trusted(cast(Frame, frame).statement(), " UNION ALL ".join(f"({doubt.statement()})" for doubt in doubts))


def _nobody(rows: int) -> None:
    """It was counted before."""


def _only_found(statement: str, sheet: Sheet, view: Batch) -> bool:
    """Whether a statement sees new tuples only as rows that were found for it before, and each once."""
    fresh = {segment.path for log in view.logs.values() for segment in log.fresh}
    seen = {path for leaf in re.findall(r"\bleaf\d+\b", statement) for path in sheet.files.get(leaf, ())}
    return not fresh & seen and not any(segment.minus for log in view.logs.values() for segment in log.fresh)


def _parts(stage: Stage, view: Batch) -> list[tuple[Stage, Batch]]:
    """A stage that works tuple by tuple is spread over tasks, each with some of the new segments.

    What indexes find can be looked at piece by piece; rows that are joined with members would come again with every
    piece, so those are another part.
    """
    if stage.kind != LINEAR:
        return [(stage, view)]
    stages = [stage]
    match = next((op for op in stage.plan.walk() if isinstance(op, StreamMatch)), None)
    if match is not None and view.members is not None:
        in_files = [form for form in match.forms if view.members.tables[form.name].path is not None]
        others = [form for form in match.forms if form not in in_files]
        if in_files and others:
            stages = [replace(stage, plan=with_forms(stage.plan, tuple(forms))) for forms in (in_files, others)]
    return [(one, part) for one in stages for part in _by_segments(view)]


def _by_segments(view: Batch) -> list[Batch]:
    ((name, log),) = view.logs.items()
    if len(log.fresh) < 2 or any(segment.minus for segment in log.fresh):
        return [view]
    groups: list[list[int]] = [[]]
    rows = 0
    for position, segment in enumerate(log.fresh):
        if rows >= _WORTH_A_TASK:
            groups.append([])
            rows = 0
        groups[-1].append(position)
        rows += segment.rows
    return [replace(view, logs={name: _only(log, group)}) for group in groups]


def _only(log: Log, positions: Sequence[int]) -> Log:
    return replace(log, fresh=[log.fresh[position] for position in positions])


def run(spark: SparkSession, works: Sequence[Work]) -> list[Reference]:
    """Let Spark's tasks do the works: one job without a plan, so that a small batch costs little more than its data."""
    return _in_tasks(spark, works, done)


def run_and_measure(spark: SparkSession, works: Sequence[Work]) -> list[Profile]:
    """The same, to see what the kernel does."""
    return _in_tasks(spark, works, profiled)


def _in_tasks(spark: SparkSession, works: Sequence[Work], do: Callable[[Iterable[Work]], Iterable[T]]) -> list[T]:
    context = spark.sparkContext
    each = 2 if all(work.few for work in works) else 4  # small ones are done sooner than a task is started
    slices = min(len(works), each * context.defaultParallelism)
    return context.parallelize(works, slices).mapPartitions(do).collect()
