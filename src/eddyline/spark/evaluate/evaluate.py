"""The windows of a plan, at some of the places where it has windows."""

from __future__ import annotations

from dataclasses import replace

from eddyline.algebra.node import Operator
from eddyline.algebra.relational import (
    Instants,
    WindowAggregation,
    WindowAlias,
    WindowCrossProduct,
    WindowDistinct,
    WindowJoin,
    WindowProject,
    WindowSelect,
    WindowSort,
)
from eddyline.algebra.sharing import MemberWindow, WindowMatch, predicates_of
from eddyline.algebra.tag_groups import Everything, WindowTagGroups
from eddyline.algebra.window import (
    HopWindow,
    LatestRowsWindow,
    LoopWindow,
    OneRow,
    RangeWindow,
    RowWindow,
    Scan,
    TimeWindow,
)
from eddyline.errors import InvalidAlgebra
from eddyline.kernels.dialect import Untranslatable
from eddyline.spark.evaluate import looped, relational
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.counted import row_windows, row_windows_at
from eddyline.spark.evaluate.frames import Frame
from eddyline.spark.evaluate.joining import joined_windows
from eddyline.spark.evaluate.kept import Correctable, correctable_or_reason, windows_of_slices
from eddyline.spark.evaluate.lives import FROM, UNTIL
from eddyline.spark.evaluate.product import product
from eddyline.spark.evaluate.reach import lookback
from eddyline.spark.evaluate.relation import Asked, relation, windows_at
from eddyline.spark.evaluate.slices import aggregate_slices, can_merge, sliceable
from eddyline.spark.evaluate.tables import one_row, scans
from eddyline.spark.evaluate.tag_groups import everything, tag_groups
from eddyline.spark.evaluate.timed import grid_of, time_windows
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.spans import Spans

#: where the windows of a plan without a product are: at ticks, at indexes of a stream, at iterations of a loop
TICKS, INDEXES, ITERATIONS = "ticks", "indexes", "iterations"
#: in as many windows the kernel looks at a tuple if it cannot put them together from slices
_MOST_OVERLAP = 64


def domain(node: Operator) -> str:
    """In what terms the windows of a plan are asked for. A product goes by ticks."""
    while len(node.inputs) == 1 and not isinstance(node, RowWindow | LoopWindow):
        node = node.inputs[0]
    if isinstance(node, RowWindow):
        return INDEXES
    return ITERATIONS if isinstance(node, LoopWindow) else TICKS


def windows(node: Operator, batch: Batch, asked: Spans, by: str = TICKS) -> Windows:
    """The windows of an operator that stand at the places asked for, created by now."""
    if batch.join is not None and node is batch.join.of.node:
        return joined_windows(batch.join, batch, asked, lambda b, some: windows(node, replace(b, join=None), some, by))
    if isinstance(node, TimeWindow | HopWindow):
        return time_windows(node, batch, asked)
    if isinstance(node, RowWindow):
        return row_windows(node, batch, asked) if by == INDEXES else row_windows_at(node, batch, asked)
    if isinstance(node, LoopWindow):
        return looped.loop_windows(node, batch, asked if by == ITERATIONS else looped.at_ticks(node, batch, asked))
    if isinstance(node, Scan):
        return scans(node, batch, asked)
    if isinstance(node, OneRow):
        return one_row(node, batch)
    if isinstance(node, RangeWindow | LatestRowsWindow):
        return _relation_windows(node, batch, asked)
    if isinstance(node, WindowCrossProduct | WindowJoin):
        left, right = (windows(side, batch, _reaching_back(side, batch, asked)) for side in (node.left, node.right))
        return product(node, left, right, asked)
    if isinstance(node, WindowAggregation):
        return _aggregation(node, batch, asked, by)
    if isinstance(node, WindowMatch) and isinstance(node.input, TimeWindow) and not _asks_for_windows(node):
        return relational.match_and_assign(node, batch, asked)
    if isinstance(node, WindowMatch):
        return relational.match(node, windows(node.input, batch, asked, by), batch)
    if isinstance(node, WindowAlias | Instants):
        return windows(node.input, batch, asked, by)
    if isinstance(node, WindowSelect):
        return relational.select(node, windows(node.input, batch, asked, by))
    if isinstance(node, WindowProject):
        return relational.project(node, windows(node.input, batch, asked, by))
    if isinstance(node, WindowDistinct):
        return relational.distinct(windows(node.input, batch, asked, by))
    if isinstance(node, Everything):
        return everything(node, batch)
    if isinstance(node, WindowTagGroups):
        return tag_groups(node, windows(node.input, batch, asked, by))
    if isinstance(node, WindowSort):
        return relational.sort(node, windows(node.input, batch, asked, by))
    raise InvalidAlgebra(f"the Spark engine has no {type(node).__name__}")


def _aggregation(node: WindowAggregation, batch: Batch, asked: Spans, by: str) -> Windows:
    def from_tuples(batch: Batch, some: Spans) -> Windows:
        sliced = sliceable(node)
        overlap = 1 if sliced is None else grid_of(sliced.leaf, batch).overlap()
        if sliced is not None and overlap > 1 and can_merge(batch.frames, sliced.parts):
            return aggregate_slices(node, sliced, batch, some)
        if sliced is not None and overlap > _MOST_OVERLAP:
            raise Untranslatable("each tuple would have to be looked at once for every window")
        return relational.aggregate(node, windows(node.input, batch, some, by), batch)

    if batch.slices is None:
        return from_tuples(batch, asked)
    plan = correctable_or_reason(node)
    assert isinstance(plan, Correctable)
    if plan.node is not node:  # slices are kept of the one inside
        return from_tuples(batch, asked)
    return windows_of_slices(plan, batch.slices, batch, asked, from_tuples)


def _asks_for_windows(node: WindowMatch) -> bool:
    """Whether members look at the time of the window that a tuple is in; of their own windows they cannot."""
    if isinstance(node.input, MemberWindow):
        return False
    return relational.uses_window_time(*predicates_of(node))  # type: ignore[arg-type]


def _reaching_back(side: Operator, batch: Batch, asked: Spans) -> Spans:
    """The same ticks and, for each stretch, the latest window before it."""
    return asked.mapped(lambda low, high: (lookback(side, batch, low), high))


def _relation_windows(node: RangeWindow | LatestRowsWindow, batch: Batch, asked: Spans) -> Windows:
    """A CQL relation beside windows of other kinds: it has windows where tuples enter or leave.

    One more is made up at the beginning of each stretch, for those who look back to it.
    """
    parts = asked.within(batch.start, batch.now.closed)
    if not parts:
        parts = Spans.of([(batch.start, batch.start)])
    frame = relation(node, batch, Asked(parts))
    edges = ", ".join(f"{low}L" for low, _ in parts)
    stops: Frame = batch.frames.range(0, 1).selectExpr(f"explode(array({edges})) AS {T}")
    stops = stops.unionAll(frame.selectExpr(f"{FROM} AS {T}"))
    if isinstance(node, RangeWindow):
        stops = stops.unionAll(frame.selectExpr(f"{UNTIL} + 1 AS {T}"))
    stops = stops.distinct().where(parts.condition(T))
    return windows_at(frame, stops, len(node.schema))
