"""Windows that slices cannot answer: who finds them, and how they are asked for again.

A stage that is answered from slices says first whether it trusts them. Only if it does not, it is planned once more,
with the windows in doubt to be answered from their tuples and all others from slices as before: so what a doubt costs
is what these windows hold, and what there could be to read in case of one bothers nobody. Their slices are made anew in
the same batch, from tuples as they stand: the next correction finds nothing in doubt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from eddyline.kernels.task import Reference
from eddyline.log.remade import has_room
from eddyline.log.results import StageResult
from eddyline.log.spans import spans_of_places
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.frames import Frame
from eddyline.spark.evaluate.kept import Correctable, correctable_or_reason, slices_in_doubt
from eddyline.spark.keeping import Keeper
from eddyline.spark.planning import planned
from eddyline.spark.spans import Spans
from eddyline.spark.stages import Stage
from eddyline.spark.work import stage_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

B = TypeVar("B", bound=Batch)


def doubted_by_stage(references: Iterable[Reference]) -> dict[str, Spans]:
    """The windows that tasks could not answer from slices."""
    found: dict[str, Spans] = {}
    for reference in references:
        if reference.doubted:
            found[reference.stage] = found.get(reference.stage, Spans()) | Spans.of(reference.doubted)
    return {stage: windows.coarser() for stage, windows in found.items()}


def made_anew(keeper: Keeper, view: Batch, doubted: Spans) -> Batch:
    """What the stage that keeps slices sees, which makes those anew that could not answer: so doubt comes to an end."""
    had = keeper.had.get(keeper.stage.name)
    if had is not None and not has_room(had.remade):
        return view
    plan = correctable_or_reason(keeper.stage.plan)
    assert isinstance(plan, Correctable)
    return replace(view, remade=slices_in_doubt(plan, view, doubted))


def asked_again(view: B, doubted: Spans) -> B:
    """What a stage sees when it is asked once more. Nothing is in doubt then: slices are what they were."""
    view.sliced.clear()
    return replace(view, doubted=doubted)


def without_doubt(spark: SparkSession, stage: Stage, view: B, had: StageResult | None, number: int) -> B:
    """What a stage sees on Spark's own plan, which asks for the tuples of windows in doubt and of no others."""
    if view.slices is None or view.doubted:
        return view
    doubts: list[Frame] = []
    rows = 0

    def count(some: int) -> None:
        nonlocal rows
        rows += some
        view.on_read(some)

    stage_frame(stage, replace(view, doubts=doubts, on_read=count, looked=[]), had, number)
    if not doubts:
        return view
    both = cast("DataFrame", reduce(lambda one, other: one.unionAll(other), doubts).distinct())
    places: list[Any] = planned(spark, [both], rows).collect()
    return asked_again(view, Spans(spans_of_places(np.array([place[0] for place in places], np.int64))))
