"""Stages that pass a stream on: what they answer is every tuple that comes, as it is, maybe with tags."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from eddyline.algebra.expression import Column
from eddyline.algebra.marks import KIND, MARKS
from eddyline.algebra.node import WINDOW, Operator
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamProject, StreamReceive
from eddyline.algebra.user_function import functions_in
from eddyline.kernels.passing import PassedOn
from eddyline.kernels.sheet import Frame
from eddyline.log.answers import is_inner, is_shared
from eddyline.log.linked import SHAPES
from eddyline.log.referred import referred
from eddyline.log.segment import INDEX, Segment
from eddyline.log.sweeping import STREAMS
from eddyline.spark.evaluate.batch import Batch, Log
from eddyline.spark.evaluate.tuples import log_of
from eddyline.spark.literal import back_quoted
from eddyline.spark.spans import EVERYTHING
from eddyline.spark.stages import LINEAR, Stage
from eddyline.spark.tags.made import at_work, satisfied, text_of


def passed_on(stage: Stage, view: Batch, answers: Frame) -> PassedOn | None:
    """The segments whose rows are all that a batch adds to a stage's log; None if it adds others, or only some.

    `answers`: what it adds. Who reads the log of an inner stage or of a class looks for single rows, or for those of a
    member: these logs are written as before.
    """
    if stage.kind != LINEAR or is_inner(stage.name) or is_shared(stage.name) or view.members is not None:
        return None
    width = _width(stage.plan)
    if width is None or view.indexes != EVERYTHING:
        return None
    log = log_of(stage.plan, view)
    behind = stage.columns[len(log.columns) :]
    shape = next((name for name, columns in SHAPES.items() if columns == behind), None)
    if shape is None or width < len(log.columns) or stage.columns != (*log.columns, *behind) or log.made_of is not None:
        return None
    # tags are rows where they are shown; elsewhere nobody looks at segments of tags
    fresh = [segment for segment in log.fresh if KIND in behind or not segment.only_tags]
    since = view.since.get(log.name, 0)
    if not fresh or not all(_is_plain(segment, since, KIND in behind) for segment in fresh) or _meet(fresh):
        return None
    if MARKS not in behind:
        return PassedOn(tuple(fresh), shape)
    return PassedOn(tuple(fresh), shape, _told(stage, log, fresh, answers))


def _told(stage: Stage, log: Log, fresh: Sequence[Segment], answers: Frame) -> str:
    """A statement that gives the marks of the tuples that have some; none if no tuple has.

    Where all tags are those of taggers, only the tuples are asked for that get some: the kernel would else make a row
    for each of the others too, and read all of the file. A user's function would be called twice for that.
    """
    marks = f"c{len(log.columns)}"
    (leaf,) = (each for each in stage.plan.walk() if isinstance(each, StreamReceive | StreamAcquire))
    if not any(segment.marked for segment in fresh):
        low, high = min(segment.index[0] for segment in fresh), max(segment.index[1] for segment in fresh)
        taggers = at_work(leaf, log.taggers, low, high)
        if not taggers:
            return ""
        conditions = [satisfied(tagger) for tagger in taggers]
        if not functions_in(conditions):
            texts = [text_of(each, tagger, marks) for each, tagger in zip(conditions, taggers, strict=True)]
            answers = answers.where(" OR ".join(f"({text})" for text in texts))
    return answers.selectExpr(INDEX, f"{marks} AS {back_quoted(MARKS)}").statement()


def _is_plain(segment: Segment, since: int, shows_tags: bool) -> bool:
    """Whether each row is a tuple that is new to the query, in a file of its stream's log that is ours; and none has
    brought a tag to show."""
    brought = segment.tags or (shows_tags and segment.marked)
    is_ours = segment.path.startswith(f"{STREAMS}/") and referred(segment.path) is None
    return is_ours and not (segment.minus or brought) and segment.index[0] > since


def _meet(segments: Sequence[Segment]) -> bool:
    """Whether stretches of indexes overlap."""
    ordered = sorted(segment.index for segment in segments)
    return any(low <= before for (_, before), (low, _) in pairwise(ordered))


@lru_cache(maxsize=10_000)
def _width(plan: Operator) -> int | None:
    """How many of the first columns of a plan are those of its stream, as they are and in their order; None if it does
    anything else than to give names to tuples, or to put columns behind theirs."""
    if isinstance(plan, StreamReceive | StreamAcquire):
        return len(plan.declared)
    if isinstance(plan, StreamAlias):
        return _width(plan.input)
    if not isinstance(plan, StreamProject):
        return None
    below, schema = _width(plan.input), plan.input.schema
    columns = [named.expr if isinstance(named.expr, Column) else None for named in plan.columns]
    places = [None if c is None or c.relation == WINDOW else schema.position(c.name, c.relation) for c in columns]
    same = next((at for at, place in enumerate(places) if place != at), len(places))
    return None if below is None else min(below, same)
