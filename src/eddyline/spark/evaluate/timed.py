"""Windows of time at regular ticks: SNEEql's time windows and the released TelegraphCQ's hopping ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eddyline.algebra.node import Operator
from eddyline.algebra.window import HopWindow, TimeWindow
from eddyline.log.segment import TICK
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.frames import Frame
from eddyline.spark.evaluate.tuples import tuples
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.spans import Spans


@dataclass(frozen=True)
class Grid:
    """Windows at first, first + step, … up to `last`; the one at T holds the ticks T + left … T + right."""

    first: int
    step: int
    left: int
    right: int
    last: int  # the last tick that may have a window by now
    before: int  # the same at the end of the batch before

    def at_or_before(self, tick: int) -> int:
        """The latest window's tick at or before a tick (it may lie before the first)."""
        return self.first + (tick - self.first) // self.step * self.step

    def overlap(self) -> int:
        """How many windows a tuple can be in."""
        return (self.right - self.left) // self.step + 1


def grid_of(node: Operator, batch: Batch) -> Grid:
    if isinstance(node, TimeWindow):
        first = -(-batch.start // node.slide) * node.slide
        return Grid(first, node.slide, node.scope.start, node.scope.end, batch.now.closed, batch.before.closed)
    assert isinstance(node, HopWindow)
    begin = batch.start if node.start is None else node.start
    # a hopping window is over when a tuple at or past its end has come, so the tick need not be closed
    return Grid(node.first_end(begin, batch.over), node.slide, -node.range, -1, batch.now.reached, batch.before.reached)


def window_list(grid: Grid, ticks: Spans, batch: Batch) -> Frame:
    """The windows that stand at some of the ticks by now."""
    within = ticks.within(grid.first, grid.last)
    if not within:
        return batch.frames.range(0, 0).selectExpr(f"id AS {T}")
    low = -(-(within.low - grid.first) // grid.step) * grid.step + grid.first
    listed = batch.frames.range(low, within.high + 1, grid.step).selectExpr(f"id AS {T}")
    return listed if len(within.parts) == 1 else listed.where(within.condition(T))


def needed(grid: Grid, ticks: Spans) -> Spans:
    """The ticks of the tuples that are in windows at these ticks, from the first such window to the last."""
    within = ticks.within(grid.first, grid.last)
    windows = Spans.of((grid.at_or_before(a + grid.step - 1), grid.at_or_before(b)) for a, b in within)
    return windows.mapped(lambda a, b: (a + grid.left, b + grid.right))


def assign(frame: Frame, grid: Grid, ticks: Spans, tick: str = TICK) -> Frame:
    """Each row once for every window it is in, with the window's tick as `_t`."""
    within = ticks.within(grid.first, grid.last)
    soonest, latest = f"({tick} - {grid.right})", f"({tick} - {grid.left})"
    first = f"({soonest} + pmod({grid.first} - {soonest}, {grid.step}))"
    last = f"({latest} - pmod({latest} - {grid.first}, {grid.step}))"
    if grid.overlap() <= 1 and grid.right - grid.left < grid.step:
        placed = frame.selectExpr("*", f"{first} AS {T}").where(f"{T} <= {last}")
    else:
        placed = frame.where(f"{first} <= {last}").selectExpr(
            "*", f"explode(sequence({first}, {last}, {grid.step}L)) AS {T}"
        )
    return placed.where(within.condition(T))


def assign_own(frame: Frame, columns: Sequence[str], ticks: Spans, tick: str = TICK) -> Frame:
    """The same where the first tick, the last tick and the slide of a row's windows are columns of the row."""
    left, right, step = columns
    soonest, latest = f"({tick} - {right})", f"({tick} - {left})"
    first, last = f"({soonest} + pmod(- {soonest}, {step}))", f"({latest} - pmod({latest}, {step}))"
    placed = frame.where(f"{first} <= {last}").selectExpr("*", f"explode(sequence({first}, {last}, {step})) AS {T}")
    return placed.where(ticks.condition(T))


def time_windows(node: TimeWindow | HopWindow, batch: Batch, ticks: Spans) -> Windows:
    grid = grid_of(node, batch)
    frame = tuples(node.input, batch, needed(grid, ticks))
    width = len(node.schema)
    rows = assign(frame, grid, ticks).selectExpr(T, *(f"c{i}" for i in range(width)))
    return Windows(rows, window_list(grid, ticks, batch), (T,), width, (grid.first, grid.step))
