"""Overlapping windows share slices: tuples are aggregated once per slice, slices are put together per window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eddyline.algebra.expression import Aggregate
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import WindowAggregation, WindowAlias, WindowProject, WindowSelect
from eddyline.algebra.sharing import MemberWindow, WindowMatch, predicates_of
from eddyline.algebra.window import HopWindow, TimeWindow
from eddyline.kernels.together import Cuts
from eddyline.log.segment import TICK
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.frames import Frame, Frames, SparkFrames, grouped
from eddyline.spark.evaluate.frames import sliced as grouped_slices
from eddyline.spark.evaluate.matching import matched
from eddyline.spark.evaluate.relational import in_every_window, names_in, projected, uses_window_time
from eddyline.spark.evaluate.selecting import selected
from eddyline.spark.evaluate.timed import Grid, assign, assign_own, grid_of, needed, window_list
from eddyline.spark.evaluate.tuples import tuples
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.expression import spark_sql
from eddyline.spark.partials import Partial, decompose
from eddyline.spark.spans import EVERYTHING, Spans

#: the first tick of a slice
SLICE = "_slice"
_TIME_MATTERS = "it depends on the window's own time"


@dataclass(frozen=True)
class Below:
    """What is below an aggregation that could be cut into slices: windows, and the chain between both."""

    chain: tuple[Operator, ...]  # from the windows upwards
    leaf: Operator


@dataclass(frozen=True)
class Sliced(Below):
    """An aggregation that slices can compute, and the parts of its aggregates."""

    leaf: TimeWindow | HopWindow
    parts: tuple[Partial, ...]


def sliceable(node: WindowAggregation) -> Sliced | None:
    """None if the aggregates cannot be put together from parts, or if something below depends on the window."""
    found = sliced_or_reason(node)
    return found if isinstance(found, Sliced) else None


def sliced_or_reason(node: WindowAggregation) -> Sliced | str:
    """How slices compute the aggregation, or why they cannot."""
    below = below_or_reason(node)
    if isinstance(below, str):
        return below
    if not isinstance(below.leaf, TimeWindow | HopWindow):
        return "its windows are not on a grid of ticks"
    names = names_in(node.input.schema)
    parts = [decompose(a.expr, names) if isinstance(a.expr, Aggregate) else None for a in node.aggregates]
    for aggregate, part in zip(node.aggregates, parts, strict=True):
        if part is None:
            return f"{aggregate.name} cannot be put together from parts"
    return Sliced(below.chain, below.leaf, tuple(part for part in parts if part is not None))


def can_merge(frames: Frames, parts: Sequence[Partial]) -> bool:
    """The kernel does not fold lists."""
    return isinstance(frames, SparkFrames) or not any(part.folds for part in parts)


def below_or_reason(node: WindowAggregation) -> Below | str:
    """What would be cut into slices, or why there can be none."""
    chain: list[Operator] = []
    below: Operator = node.input
    while isinstance(below, WindowSelect | WindowProject | WindowAlias | WindowMatch):
        if isinstance(below, WindowMatch) and uses_window_time(*predicates_of(below)):  # type: ignore[arg-type]
            return _TIME_MATTERS
        if isinstance(below, WindowSelect) and uses_window_time(below.predicate):  # type: ignore[arg-type]
            return _TIME_MATTERS
        if isinstance(below, WindowProject) and uses_window_time(*below.columns):
            return _TIME_MATTERS
        chain.append(below)
        below = below.input
    if uses_window_time(*node.keys, *node.aggregates):
        return _TIME_MATTERS
    return Below(tuple(reversed(chain)), below)


def chained(sliced: Below, frame: Frame, batch: Batch, more: tuple[str, ...] = ()) -> Frame:
    """Tuples after the operators below the aggregation: `_tick`, the columns of `more`, and c0, c1, …"""
    for operator in sliced.chain:
        names = names_in(operator.inputs[0].schema)
        if isinstance(operator, WindowSelect):
            frame = selected(frame, operator.predicate, names)
        elif isinstance(operator, WindowProject):
            frame = frame.selectExpr(TICK, *more, *projected(operator.columns, names))
        elif isinstance(operator, WindowMatch):
            assert batch.members is not None
            frame = matched(operator, frame, [TICK, *more], names, batch.members, batch.frames)
    return frame


def keys_of(node: WindowAggregation) -> list[str]:
    """What an aggregation groups by, as k0, k1, …"""
    return [f"{spark_sql(key.expr, names_in(node.input.schema))} AS k{i}" for i, key in enumerate(node.keys)]


def aggregate_slices(node: WindowAggregation, sliced: Sliced, batch: Batch, ticks: Spans) -> Windows:
    grid = grid_of(sliced.leaf, batch)
    of_windows = needed(grid, ticks)
    cuts = None if isinstance(sliced.leaf, MemberWindow) else cuts_of(grid, of_windows)
    frame = chained(sliced, tuples(sliced.leaf.input, batch, of_windows), batch)
    keys = [f"c{i}" for i in range(len(node.keys))]
    inputs = [f"c{i}" for i in range(len(node.input.schema))]
    start = start_of_slice(sliced.leaf, grid)
    keyed = frame.selectExpr(f"{start} AS {SLICE}", *keys_of(node), *inputs)
    names_of_parts = [[f"p{a}_{i}" for i in range(len(part.partials))] for a, part in enumerate(sliced.parts)]
    partials = [
        f"{text} AS {name}"
        for part, names in zip(sliced.parts, names_of_parts, strict=True)
        for text, name in zip(part.partials, names, strict=True)
    ]
    group_keys = [f"k{i}" for i in range(len(node.keys))]
    slices = grouped_slices(keyed, [SLICE, *group_keys], partials, cuts)
    placed = assigned(sliced.leaf, slices, group_keys, grid, ticks)
    merges = [
        f"{text} AS {name}"
        for part, names in zip(sliced.parts, names_of_parts, strict=True)
        for text, name in zip(part.merges(names), names, strict=True)
    ]
    merged = grouped(placed, [T, *group_keys], merges)
    listed = window_list(grid, ticks, batch)
    if not node.keys or node.members:  # an empty window has a row too
        merged = in_every_window(node, listed, batch, "k").join(merged, [T, *group_keys], "left")
    final = [
        f"{part.final(names)} AS c{i}"
        for i, (part, names) in enumerate(zip(sliced.parts, names_of_parts, strict=True), len(keys))
    ]
    rows = merged.selectExpr(T, *(f"k{i} AS c{i}" for i in range(len(keys))), *final)
    return Windows(rows, listed, (T,), len(keys) + len(final), (grid.first, grid.step))


def cuts_of(grid: Grid, ticks: Spans) -> Cuts:
    """Windows begin at first + left + k·step and end before first + right + 1 + k·step; slices lie between these."""
    ends = (grid.first + grid.left, grid.first + grid.right + 1)
    return Cuts(frozenset((end % grid.step, grid.step) for end in ends), ticks.condition(TICK))


def start_of_slice(leaf: TimeWindow | HopWindow, grid: Grid) -> str:
    """The first tick of the slice that a tuple is in."""
    if isinstance(leaf, MemberWindow):
        return f"({TICK} - pmod({TICK}, {leaf.unit}))"
    return cuts_of(grid, EVERYTHING).slice(TICK)


def assigned(leaf: TimeWindow | HopWindow, slices: Frame, keys: Sequence[str], grid: Grid, ticks: Spans) -> Frame:
    """Slices once for each window they are in: one lies wholly inside or outside, so its first tick stands for it.

    The last keys of the members of a class tell their own windows, if they have any.
    """
    if isinstance(leaf, MemberWindow):
        return assign_own(slices, keys[-3:], ticks.within(grid.first, grid.last), SLICE)
    return assign(slices, grid, ticks, SLICE)
