"""Which windows a batch can change, and what they need, found from the plan and the zone maps without touching data.

All answers are safe, not sharp: a window that is looked at although nothing in it changed costs time and says nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from eddyline.algebra.node import Operator
from eddyline.algebra.sharing import MemberWindow
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
from eddyline.spark.evaluate.tables import scan_grid
from eddyline.spark.evaluate.timed import Grid, grid_of
from eddyline.spark.evaluate.tuples import log_of
from eddyline.spark.spans import EVERYTHING, HIGH, LOW, NOTHING, Spans


def changed(node: Operator, batch: Batch, by_closed: bool = False) -> Spans:
    """The ticks at which windows of an operator are new or may differ from what they were before the batch.

    `by_closed`: windows are looked at when their tick is closed, also those that are over sooner: they have partners.
    """
    if isinstance(node, TimeWindow | HopWindow):
        grid = grid_of(node, batch)
        if by_closed:
            grid = replace(grid, before=min(grid.before, batch.before.closed))
        return _changed_on_grid(grid, log_of(node.input, batch).touched)
    if isinstance(node, Scan):
        if node.interval is None:
            return NOTHING
        return _changed_on_grid(scan_grid(node, batch), NOTHING)
    if isinstance(node, LoopWindow):
        return _changed_in_loop(node, batch)
    if isinstance(node, RowWindow):
        if log_of(node.input, batch).fresh:
            return EVERYTHING  # a late tuple or a deletion can move any of them
        return Spans.of(
            [(batch.before.closed + 1, batch.now.closed)]
        )  # made before, but paired when the tick is closed
    if isinstance(node, RangeWindow | LatestRowsWindow):
        return changed_relation(node, batch)
    if isinstance(node, OneRow):
        return NOTHING
    if len(node.inputs) == 1:
        return changed(node.inputs[0], batch, by_closed)
    spans = [changed(operator, batch, by_closed=True) for operator in node.inputs]
    # a window is paired until its side has a later one
    lasting = [
        part.mapped(lambda low, high, side=side: (low, holds(side, batch, high)))  # type: ignore[misc]
        for part, side in zip(spans, node.inputs, strict=True)
    ]
    return lasting[0] | lasting[1]


def _changed_on_grid(grid: Grid, touched: Spans) -> Spans:
    again = touched.mapped(lambda low, high: (low - grid.right, high - grid.left))
    due = Spans.of([(max(grid.before + 1, grid.first), grid.last)])
    return (again | due).within(grid.first, grid.last)


def _changed_in_loop(node: LoopWindow, batch: Batch) -> Spans:
    known = looped.iterations(node, batch)
    first, count = looped.visible_before(node, batch), known.visible(batch.now.closed)
    numbers = looped.touched(node, batch, log_of(node.input, batch).touched) | Spans.of([(first, count - 1)])
    values = np.concatenate([known.t[low : high + 1] for low, high in numbers] or [np.empty(0, np.int64)])
    return looped.runs(np.unique(values)).coarser()


def changed_relation(node: Operator, batch: Batch) -> Spans:
    """The ticks at which a CQL relation may differ: newly closed ones, and those that a touched tuple lives through."""
    parts = Spans.of([(batch.before.closed + 1, batch.now.closed)])
    for leaf in node.walk():
        if isinstance(leaf, RangeWindow):
            lives = HIGH if leaf.range is None else leaf.range + 2 * (leaf.slide or 1)
            parts |= log_of(leaf.input, batch).touched.grown(after=lives)
        elif isinstance(leaf, LatestRowsWindow):
            parts |= log_of(leaf.input, batch).touched.grown(after=HIGH)
    return parts.within(batch.start, batch.now.closed)


def holds(node: Operator, batch: Batch, tick: int) -> int:
    """The last tick at which a window that stands at or before the given tick is still the latest."""
    if isinstance(node, MemberWindow):
        return tick + node.pace - 1
    if isinstance(node, TimeWindow | HopWindow):
        grid = grid_of(node, batch)
        return grid.at_or_before(tick) + grid.step - 1
    if isinstance(node, Scan) and node.interval is not None:
        grid = scan_grid(node, batch)
        return grid.at_or_before(tick) + grid.step - 1
    if isinstance(node, LoopWindow):
        t = looped.iterations(node, batch).t
        return int(t[t > tick].min(initial=HIGH + 1)) - 1
    if isinstance(node, RangeWindow | LatestRowsWindow):
        return tick  # asked for at any tick
    if isinstance(node, RowWindow | OneRow | Scan):
        return HIGH
    return max(holds(operator, batch, tick) for operator in node.inputs)


def lookback(node: Operator, batch: Batch, tick: int) -> int:
    """A tick from which on the windows include the latest ones at or before the given tick."""
    if isinstance(node, MemberWindow):
        return tick - node.pace + 1  # the latest of each member
    if isinstance(node, TimeWindow | HopWindow):
        return grid_of(node, batch).at_or_before(tick)
    if isinstance(node, Scan) and node.interval is not None:
        return scan_grid(node, batch).at_or_before(tick)
    if isinstance(node, LoopWindow):
        t = looped.iterations(node, batch).t
        return int(t[t <= tick].max(initial=LOW))
    if isinstance(node, RangeWindow | LatestRowsWindow):
        return tick - 1  # a window is made up there
    if isinstance(node, RowWindow):
        return LOW
    if isinstance(node, OneRow | Scan):
        return tick
    return min(lookback(operator, batch, tick) for operator in node.inputs)
