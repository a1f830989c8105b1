"""How many rows a batch will read for an aggregation, from tuples and from slices: found from zone maps alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddyline.algebra.node import Operator
from eddyline.algebra.stream import DStream, IStream, RStream
from eddyline.algebra.window import HopWindow, LoopWindow, TimeWindow
from eddyline.log.results import StageResult
from eddyline.log.segment import Segment
from eddyline.spark.correcting import Outlook
from eddyline.spark.evaluate.batch import Batch, KeptSlices
from eddyline.spark.evaluate.desired import scope_of
from eddyline.spark.evaluate.kept import Correctable, correctable_or_reason
from eddyline.spark.evaluate.placing import placing
from eddyline.spark.evaluate.timed import grid_of
from eddyline.spark.evaluate.tuples import log_of
from eddyline.spark.spans import HIGH, LOW, Spans
from eddyline.spark.stages import Stage

#: what it costs to pass over a row of a file that is opened, in terms of one that is wanted
_PASSED_OVER = 1 / 16


def outlook_of(
    stage: Stage, batch: Batch, kept: KeptSlices | None, had: StageResult, point: int | None, back: int = 0
) -> Outlook | None:
    """What a batch is about for a stage that can be corrected downstream; None if there is nothing to decide about.

    `kept` are the slices before the batch, `had` is what the stage has said, `point` how far back a connection point
    wants slices, `back` how far corrections have gone lately.
    """
    below = stage.plan.input if isinstance(stage.plan, RStream | IStream | DStream) else stage.plan
    scope = scope_of(below, batch, with_next=isinstance(stage.plan, IStream | DStream))
    if not scope.again and kept is None and point is None:
        return None  # which is so in most batches: until here it must cost next to nothing
    plan = correctable_or_reason(stage.plan)
    assert isinstance(plan, Correctable)
    (source,) = plan.sliced.leaf.inputs
    log, windows = log_of(source, batch), placing(plan.sliced.leaf, batch)
    closed = max(batch.now.closed, batch.now.reached)
    touched = windows.ticks(scope.again)
    reach = closed - touched.low if touched else 0
    bottom = min((segment.tick[0] for segment in log.segments), default=LOW)
    asked = windows.ticks(scope.places)
    first = None if kept is None else kept.first
    whole, partly = (scope.places, Spans()) if first is None else windows.known(scope.places, first)
    known, unknown = (windows.ticks(places) if places else Spans() for places in (whole, partly))
    since = closed - max(reach, back, point or 0)
    tuples = rows_within(log.segments, asked)
    imagined = min(tuples, _length(asked) * _slices_a_tick(plan.sliced.leaf, batch, had))
    return Outlook(
        tuples=tuples,
        fresh=sum(segment.rows for segment in log.fresh),
        reach=reach,
        closed=closed,
        bottom=bottom,
        passed=rows_within(log.segments, Spans.of([(since if first is None else min(first, since), HIGH)])),
        slices=imagined if kept is None else rows_within(kept.segments, known),
        imagined=imagined,
        before=rows_within(log.segments, unknown) if unknown else 0.0,
        first=first,
        point=point,
    )


def _slices_a_tick(leaf: Operator, batch: Batch, had: StageResult) -> float:
    """There are about as many groups in a slice as rows that the stage has said of a window, on average."""
    if isinstance(leaf, LoopWindow):
        windows, step = had.count, abs(leaf.loop.step or 1)
    else:
        assert isinstance(leaf, TimeWindow | HopWindow)
        grid = grid_of(leaf, batch)
        windows, step = (grid.before - grid.first) // grid.step + 1, grid.step
    return max(1.0, (had.plus - had.minus) / max(1, windows)) / step


def _length(spans: Spans) -> float:
    return float(sum(high - low + 1 for low, high in spans))


def rows_within(segments: Sequence[Segment], ticks: Spans) -> float:
    """About how many rows of some segments have these ticks, and a little for those that must be passed over."""
    segments = [segment for segment in segments if not segment.only_tags]
    if not segments or not ticks:
        return 0.0
    known = np.array([(*segment.tick, segment.rows) for segment in segments], np.float64)
    lows, highs, rows = known[:, 0], known[:, 1], known[:, 2]
    common = np.zeros(len(segments))
    for low, high in ticks:
        common += np.maximum(0.0, np.minimum(highs, float(high)) - np.maximum(lows, float(low)) + 1)
    share = np.minimum(1.0, common / np.maximum(1.0, highs - lows + 1))
    return float((rows * (share + _PASSED_OVER * ((share > 0) & (share < 1)))).sum())
