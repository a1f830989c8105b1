"""Stages that run in the kernel: which they are, what their tasks do, and the one Spark job that runs them all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.marks import MARKS
from eddyline.algebra.tag import Tagger
from eddyline.algebra.user_function import UserFunction, functions_in, functions_of
from eddyline.kernels.dialect import Untranslatable
from eddyline.kernels.eddy.knowledge import Knowledge
from eddyline.kernels.fits import why_not, why_not_expression
from eddyline.kernels.matching import Match
from eddyline.kernels.profile import Profile, profiled
from eddyline.kernels.selecting import Selection
from eddyline.kernels.sheet import Frame, Sheet, Sources
from eddyline.kernels.task import Reference, Work, done
from eddyline.kernels.together import in_bundles
from eddyline.log.results import StageResult
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.frames import Frames
from eddyline.spark.passing import passed_on
from eddyline.spark.spreading import MOST_ROWS, by_segments, by_windows, most_rows
from eddyline.spark.stages import LINEAR, Stage
from eddyline.spark.tags.made import made_in, satisfied
from eddyline.spark.work import corrects_tuples, stage_frame
from eddyline.spark.writer import place_of_withheld, segment_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
#: what so few rows give fits into memory, also if each of them meets each, or stands in a thousand windows
_FEW_ROWS = 1_000
#: a task may have so many times as many rows as all have on average
_UNEVEN = 1.2


def use_kernels(wanted: bool | None) -> bool:
    """They are used unless somebody says no: in the call, or for a whole process by its environment."""
    return os.environ.get("EDDYLINE_KERNELS", "on").lower() not in ("off", "0", "no") if wanted is None else wanted


@lru_cache(maxsize=10_000)
def reason_for_spark(stage: Stage) -> str | None:
    """Why a stage cannot run in the kernel; None if it can."""
    conditions = () if stage.revise is None else stage.revise.conditions
    reasons = (why_not(stage.plan), *map(why_not_expression, conditions))
    return next((reason for reason in reasons if reason is not None), None)


def reason_of_taggers(stage: Stage, view: Batch) -> str | None:
    """Why what continuous taggers make cannot be computed in the kernel; None if it can, or nothing is made."""
    reasons = map(why_not_expression, _made(stage, view))
    return next((reason for reason in reasons if reason is not None), None)


def _made(stage: Stage, view: Batch) -> tuple[TypedExpr, ...]:
    taggers = tuple((name, log.taggers) for name, log in view.logs.items() if log.taggers)
    said = [map(satisfied, log.made_of.taggers) for log in view.logs.values() if log.made_of is not None]
    return (*(_made_by(stage, taggers) if taggers else ()), *chain.from_iterable(said))


@lru_cache(maxsize=10_000)
def _made_by(stage: Stage, taggers: tuple[tuple[str, tuple[Tagger, ...]], ...]) -> tuple[TypedExpr, ...]:
    return tuple(made_in(stage.plan, dict(taggers)))


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
    works: list[Work] = []
    try:
        outline = Work(stage.name, number, root, folder=folder, known=dict(known), holds=place_of_withheld(stage))
        for one, part in by_segments(stage, view, had):
            works += _works(one, part, had, outline)
    except (Untranslatable, _TooMuch):
        return None
    return works


class _TooMuch(Exception):
    """There is more to read than one task should."""


def _works(stage: Stage, view: Batch, had: StageResult | None, outline: Work) -> list[Work]:
    whole = _work(stage, view, had, outline)
    if whole is None:
        return []
    parts = by_windows(stage, view, whole.reads)
    found = [whole]
    if len(parts) > 1:
        works = ((part.stretch, _work(stage, part, had, outline)) for part in parts)
        found = [_of_stretch(work, stretch) for stretch, work in works if work is not None]
    corrects = stage.kind == LINEAR and corrects_tuples(stage, view, had)
    most = most_rows(stage, corrects, by_differences=view.differences is not None)
    if any(work.reads > most for work in found):
        raise _TooMuch
    return found


def _of_stretch(work: Work, stretch: tuple[int, int]) -> Work:
    """One of the works among which a stage is spread: it shares slices only with those about the same windows."""
    grouping = work.grouping
    if grouping is None:
        return work
    table = f"{grouping.table}_of_{'_'.join(str(end).replace('-', 'm') for end in stretch)}"
    return replace(
        work, grouping=replace(grouping, table=table, statement=grouping.statement.replace(grouping.table, table))
    )


def _work(stage: Stage, view: Batch, had: StageResult | None, outline: Work) -> Work | None:
    """What a task is to do; None if there is nothing to do."""
    sheet = Sheet()
    reads = 0
    # who is asked again knows what was in doubt
    doubts: list[Any] | None = None if view.slices is None or view.doubted else []

    def count(rows: int) -> None:
        nonlocal reads
        reads += rows

    seen = replace(view, frames=cast(Frames, sheet), on_read=count, doubts=doubts)
    frame = stage_frame(stage, seen, had, outline.batch)
    if frame is None:
        return None
    made = cast(Frame, frame)
    statement = made.statement()
    few = _opened_rows(sheet, view, had) <= _FEW_ROWS and not stage.tables and not sheet.found
    grouping = None if few else sheet.grouping(made)
    corrects = stage.kind == LINEAR and corrects_tuples(stage, view, had)
    by_row = stage.kind == LINEAR and not corrects and _only_found(statement, sheet, view)
    schema = segment_schema(made.columns, stage)
    functions = tuple(dict.fromkeys((*_functions(stage), *functions_in(_made(stage, view)))))
    late = made.with_late(schema.names.index(MARKS), functions) if grouping is None and MARKS in schema.names else None
    return replace(
        outline,
        statement=statement if late is None else late[0],
        late=None if late is None else late[1],
        files=sheet.files,
        tables=sheet.tables,
        schema=schema,
        found=_needed(sheet.found, made.plain) if by_row else sheet.found,
        by_row=by_row,
        plain=made.plain,
        functions=functions,
        few=few,
        ordered=view.probing is not None,
        reads=reads,
        doubts=" UNION ".join(f"({doubt.statement()})" for doubt in doubts or ()),
        grouping=None if grouping is None else replace(grouping, reads=reads),
        passed=None if corrects else passed_on(stage, view, made),
    )


def _needed(found: Sequence[Match | Selection], plain: Mapping[str, Sources] | None) -> Sequence[Match | Selection]:
    """What is found without columns that nobody wants, where those that are wanted go into the segments as they are."""
    if plain is None:
        return found
    wanted = {source for sources in plain.values() for source in sources if isinstance(source, str)}
    return [each.keeping(wanted) if isinstance(each, Match) else each for each in found]


def _opened_rows(sheet: Sheet, view: Batch, had: StageResult | None) -> int:
    """How many rows there are in all that a statement could read; of files that nobody has counted, too many."""
    counted = [segment for log in view.logs.values() for segment in (*log.segments, *log.fresh)]
    counted += [] if had is None else [*had.segments, *had.numbers]
    counted += [] if view.slices is None else view.slices.segments
    counted += [segment for state in view.states.values() for segment in state.log.segments]
    counted += [] if view.waiting is None else view.waiting.had.segments
    rows = {segment.path: segment.rows for segment in counted}
    rows |= {} if view.waiting is None else {piece.path: piece.rows for piece in view.waiting.known.pieces}
    in_files: int = sum(rows.get(path, MOST_ROWS) for paths in sheet.files.values() for path in paths)
    return in_files + sum(int(table.num_rows) for table in sheet.tables.values())


def _only_found(statement: str, sheet: Sheet, view: Batch) -> bool:
    """Whether a statement sees new tuples only as rows that were found for it before, and each once."""
    fresh = {segment.path for log in view.logs.values() for segment in log.fresh}
    seen = {path for leaf in re.findall(r"\bleaf\d+\b", statement) for path in sheet.files.get(leaf, ())}
    return not fresh & seen and not any(segment.minus for log in view.logs.values() for segment in log.fresh)


def run(spark: SparkSession, works: Sequence[Work]) -> list[Reference]:
    """Let Spark's tasks do the works: one job without a plan, so that a small batch costs little more than its data."""
    return _in_tasks(spark, works, done)


def run_and_measure(spark: SparkSession, works: Sequence[Work]) -> list[Profile]:
    """The same, to see what the kernel does."""
    return _in_tasks(spark, works, profiled)


def _in_tasks(spark: SparkSession, works: Sequence[Work], do: Callable[[Iterable[Work]], Iterable[T]]) -> list[T]:
    if not works:
        return []
    context = spark.sparkContext
    tasks = _dealt(in_bundles(works), context.defaultParallelism)

    def done_in_task(some: Iterable[list[list[Work]]]) -> Iterable[T]:
        return do(work for task in some for bundle in task for work in bundle)

    return context.parallelize(tasks, len(tasks)).mapPartitions(done_in_task).collect()


def _dealt(bundles: Sequence[list[Work]], cores: int) -> list[list[list[Work]]]:
    """What each task has to do. To start one takes as long as to look at some hundred thousand rows, so there are no
    more than cores where all will be busy equally long: with parts of one stage, done in one way, of as many rows each.
    Where that is not known there are some more, and who is done first takes the next."""
    if len({(work.stage, bool(work.found)) for bundle in bundles for work in bundle}) == 1:
        equal = _equal_shares(bundles, min(cores, len(bundles)))
        if equal is not None:
            return equal
    small = all(work.few for bundle in bundles for work in bundle)  # they are done sooner than a task is started
    count = min(len(bundles), (2 if small else 4) * cores)
    cuts = [number * len(bundles) // count for number in range(count + 1)]
    return [list(bundles[first:last]) for first, last in pairwise(cuts)]


def _equal_shares(bundles: Sequence[list[Work]], count: int) -> list[list[list[Work]]] | None:
    """The largest first, each to who has the least so far; None if that leaves some with much more than others."""
    rows = [max(1, sum(work.reads for work in bundle)) for bundle in bundles]
    shares: list[list[list[Work]]] = [[] for _ in range(count)]
    total = [0] * count
    for at in sorted(range(len(bundles)), key=lambda at: -rows[at]):
        least = min(range(count), key=total.__getitem__)
        shares[least].append(bundles[at])
        total[least] += rows[at]
    return shares if max(total) <= _UNEVEN * sum(total) / count else None
