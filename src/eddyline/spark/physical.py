"""How the Spark engine computes each operator of a stage, in words: the physical plan that EXPLAIN shows.

It says what `evaluate` does; whoever changes how something is evaluated changes the words here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eddyline.algebra.node import Operator
from eddyline.algebra.notation import operator_text
from eddyline.algebra.relational import (
    Instants,
    RelationChanges,
    WindowAggregation,
    WindowAlias,
    WindowCrossProduct,
    WindowDistinct,
    WindowJoin,
    WindowSort,
)
from eddyline.algebra.remote import Remote, is_remote
from eddyline.algebra.sharing import MemberWindow, StreamMatch, WindowMatch
from eddyline.algebra.stream import (
    DStream,
    IStream,
    RStream,
    StreamAcquire,
    StreamAlias,
    StreamLookup,
    StreamReceive,
    StreamSelect,
)
from eddyline.algebra.tag_groups import WindowTagGroups
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
from eddyline.spark.evaluate import looped
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.evaluate import INDEXES, domain
from eddyline.spark.evaluate.slices import sliced_or_reason
from eddyline.spark.evaluate.tables import scan_grid
from eddyline.spark.evaluate.timed import grid_of
from eddyline.spark.stages import LOOKUP, RELATION, STREAM, Stage, is_relation

_MATCHED = "each row once for every member that wants it"


def counted(number: int, what: str) -> str:
    """
    >>> counted(1, "tick"), counted(1200, "tick")
    ('1 tick', '1,200 ticks')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def described(stage: Stage, batch: Batch) -> list[str]:
    """The operators of a stage, one a line, each with how it is computed."""
    return _Description(stage, batch).lines(stage.plan, 0)


class _Description:
    def __init__(self, stage: Stage, batch: Batch) -> None:
        self._batch = batch
        self._lifetimes = stage.kind == RELATION or (stage.kind == STREAM and is_relation(stage.plan))
        self._by_index = domain(stage.plan) == INDEXES
        self._lookup = stage.kind == LOOKUP
        self._matched = f"{_MATCHED}, with its own indexes" if self._lookup and stage.counts_for_each else _MATCHED
        self._indexes = "; each member has its own indexes" if stage.counts_for_each else ""

    def lines(self, node: Operator, depth: int) -> list[str]:
        if isinstance(node, StreamAlias | WindowAlias | Instants):
            return self.lines(node.inputs[0], depth)
        say = _REMARKS.get(type(node))
        remark = "" if say is None else f": {say(self, node)}"
        below = [line for operator in node.inputs for line in self.lines(operator, depth + 1)]
        return [f"{'  ' * depth}{operator_text(node)}{remark}", *below]

    # -- logs and tables ----------------------------------------------------------------------------------------------

    def log(self, node: StreamReceive | StreamAcquire) -> str:
        log = self._batch.logs[node.name]
        rows = sum(segment.rows for segment in log.segments)
        if not rows:
            return "a log without rows so far"
        ticks = [tick for segment in log.segments for tick in segment.tick]
        size = f"{counted(len(log.segments), 'segment')}, {counted(rows, 'row')}"
        return f"a log of {size}, ticks {min(ticks)} to {max(ticks)}"

    def scan(self, node: Scan) -> str:
        if self._lookup:
            return "the table as it stands when a tuple comes"
        return "the table as it stands when the query begins" if node.interval is None else "a snapshot for each scan"

    # -- windows ------------------------------------------------------------------------------------------------------

    def time_window(self, node: TimeWindow | HopWindow) -> str:
        grid = grid_of(node, self._batch)
        overlap = grid.overlap()
        share = f", a tuple is in up to {overlap:,} windows" if overlap > 1 else ""
        return f"grid of ticks{share}; reaches back {counted(-grid.left, 'tick')}"

    def row_window(self, node: RowWindow) -> str:
        reach = f"reaches back {counted(-node.scope.start, 'row')}"
        if not self._by_index:
            reach = "reaches back to the first row, because a late one can move every window"
        return f"rows, by their index; {reach}"

    def loop_window(self, node: LoopWindow) -> str:
        known = looped.iterations(node, self._batch)
        reach = int((known.due - known.left).max()) if len(known.due) else 0
        return f"loop, run on the driver; reaches back {counted(max(reach, 0), 'tick')}"

    def range_window(self, node: RangeWindow) -> str:
        ticks = None if node.range is None else node.range + (node.slide or 0)
        return self._living("to the first tuple" if ticks is None else counted(ticks, "tick"))

    def latest_rows(self, node: LatestRowsWindow) -> str:
        if node.partition:
            return self._living("to the first tuple, because a partition's latest may be old")
        if any(isinstance(operator, StreamSelect) for operator in node.walk()):
            return self._living("to the first tuple, because the selected ones may be old")
        return self._living(counted(node.rows, "row"))

    def _living(self, reach: str) -> str:
        shown = "" if self._lifetimes else ", seen as windows where tuples enter or leave"
        return f"lifetimes of tuples{shown}; reaches back {reach}"

    # -- on windows ---------------------------------------------------------------------------------------------------

    def aggregation(self, node: WindowAggregation) -> str:
        if self._lifetimes:
            return _at_changes(node)
        found = sliced_or_reason(node)
        if isinstance(found, str):
            return f"window by window, not sliced: {found}"
        if grid_of(found.leaf, self._batch).overlap() <= 1:
            return "window by window, not sliced: its windows do not overlap"
        return "sliced, so that overlapping windows share what was aggregated once"

    def distinct(self, node: WindowDistinct) -> str:
        return _at_changes(node) if self._lifetimes else "in each window"

    def tag_groups(self, node: WindowTagGroups) -> str:
        return _at_changes(node) if self._lifetimes else "for each window at once, by the marks that it has"

    def sort(self, node: WindowSort) -> str:
        if node.limit is None and not node.offset:
            return "rows get their order when they are written"
        return _at_changes(node) if self._lifetimes else "ranked in each window"

    def product(self, node: WindowCrossProduct | WindowJoin) -> str:
        if self._lifetimes:
            inner = isinstance(node, WindowCrossProduct) or node.kind == "INNER"
            return "lifetimes that overlap" if inner else "at every tick where a side changes"
        always = [_always(side) for side in (node.left, node.right)]
        if all(always):
            return "the tables as they are"
        if any(always):
            return "the table beside every window"
        left, right = (self._grid(side) for side in (node.left, node.right))
        if left is not None and left == right:
            return "same windows: both sides stand at the same ticks"
        how = "reckoned from both grids" if left is not None and right is not None else "found in the lists of windows"
        return f"latest-window pairs, {how}"

    def _grid(self, node: Operator) -> tuple[int, int] | None:
        """The first tick and the step of an operator's windows, if they stand at regular ticks."""
        if isinstance(node, TimeWindow | HopWindow) or (isinstance(node, Scan) and node.interval is not None):
            grid = scan_grid(node, self._batch) if isinstance(node, Scan) else grid_of(node, self._batch)
            return grid.first, grid.step
        if isinstance(node, WindowCrossProduct | WindowJoin):
            grids = {self._grid(side) for side in (node.left, node.right) if not _always(side)}
            return grids.pop() if len(grids) == 1 else None
        if isinstance(node, RowWindow | LoopWindow | RangeWindow | LatestRowsWindow) or not node.inputs:
            return None
        return self._grid(node.inputs[0])

    # -- to streams ---------------------------------------------------------------------------------------------------

    def to_stream(self, node: RStream | IStream | DStream) -> str:
        return f"{self._what_enters(node)}{self._indexes}"

    def _what_enters(self, node: RStream | IStream | DStream) -> str:
        if isinstance(node, RStream):
            return "what stands at every tick" if self._lifetimes else "all rows of every window"
        if self._lifetimes:
            return f"what {'enters' if isinstance(node, IStream) else 'leaves'} at each tick"
        return "each window less the one before" if isinstance(node, IStream) else "the window before less each window"


def _at_changes(node: Operator) -> str:
    shared = any(isinstance(operator, WindowMatch) for operator in node.walk())
    return f"anew at every tick where its input {'for a member ' if shared else ''}changes"


def _always(node: Operator) -> bool:
    """Whether an operator has one window that is always there: it reads nothing but tables that are not rescanned."""
    leaves = [operator for operator in node.walk() if not operator.inputs]
    return all(isinstance(leaf, OneRow) or (isinstance(leaf, Scan) and leaf.interval is None) for leaf in leaves)


_REMARKS: dict[type[Operator], Callable[[_Description, Any], str]] = {
    StreamReceive: _Description.log,
    StreamAcquire: _Description.log,
    Scan: _Description.scan,
    TimeWindow: _Description.time_window,
    HopWindow: _Description.time_window,
    RowWindow: _Description.row_window,
    LoopWindow: _Description.loop_window,
    RangeWindow: _Description.range_window,
    LatestRowsWindow: _Description.latest_rows,
    WindowAggregation: _Description.aggregation,
    WindowDistinct: _Description.distinct,
    WindowTagGroups: _Description.tag_groups,
    WindowSort: _Description.sort,
    WindowCrossProduct: _Description.product,
    WindowJoin: _Description.product,
    RStream: _Description.to_stream,
    IStream: _Description.to_stream,
    DStream: _Description.to_stream,
    StreamLookup: lambda self, node: "who waits lets the others pass" if is_remote(node) else "tuple by tuple",
    Remote: lambda self, node: f"asked by {node.key}, many keys in a call; answers are kept",
    StreamMatch: lambda self, node: self._matched,
    WindowMatch: lambda self, node: _MATCHED,
    MemberWindow: _Description.time_window,
    RelationChanges: lambda self, node: "what enters and leaves at each tick",
}
