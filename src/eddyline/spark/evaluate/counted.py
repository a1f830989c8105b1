"""Windows of rows (SNEEql's Figure 6): at index slide, 2·slide, …, a function of the tuples that stand."""

from __future__ import annotations

from eddyline.algebra.window import RowWindow
from eddyline.log.answers import PLACE
from eddyline.log.segment import INDEX, TICK
from eddyline.spark.evaluate.batch import Batch, Log
from eddyline.spark.evaluate.frames import Frame
from eddyline.spark.evaluate.tuples import log_of, tuples
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.spans import EVERYTHING, HIGH, LOW, Spans


def row_windows(node: RowWindow, batch: Batch, positions: Spans = EVERYTHING) -> Windows:
    """The windows at these indexes. The highest position asked for must be HIGH: the list ends with the last tuple."""
    assert positions.high >= HIGH
    log = log_of(node.input, batch)
    low = max(1, positions.low)
    reach = Spans.of([(standing_before(log, low + min(0, node.scope.start)), HIGH)])
    frame = tuples(node.input, batch, indexes=reach)
    width = len(node.schema)
    columns = [f"c{i}" for i in range(width)]
    slide = node.slide
    soonest, latest = f"({INDEX} - {node.scope.end})", f"({INDEX} - {node.scope.start})"
    first = f"greatest({soonest} + pmod(-{soonest}, {slide}), {-(-low // slide) * slide}L)"
    last = f"({latest} - pmod({latest}, {slide}))"
    placed = (
        frame.where(f"{first} <= {last}")
        .selectExpr(f"explode(sequence({first}, {last}, {slide}L)) AS {PLACE}", *columns)
        .where(positions.condition(PLACE))
    )
    listed = _listed(frame, slide, low, positions, batch)
    rows = placed.join(listed, PLACE).selectExpr(PLACE, T, *columns)  # behind the last tuple there are no windows
    return Windows(rows, listed, (PLACE,), width)


def row_windows_at(node: RowWindow, batch: Batch, ticks: Spans) -> Windows:
    """The windows that stand at these ticks. Late tuples put them in any order, so all are looked at."""
    made = row_windows(node, batch)
    assert made.listed is not None
    listed = made.listed.where(ticks.condition(T))
    return Windows(made.rows.where(ticks.condition(T)), listed, made.keys, made.width)


def _listed(frame: Frame, slide: int, low: int, positions: Spans, batch: Batch) -> Frame:
    """The windows, each with the tick of the last tuple that stands at or before its index."""
    # a tuple places the windows from its own index up to the next tuple's
    spans = frame.selectExpr(INDEX, TICK, f"lead({INDEX}) OVER (ORDER BY {INDEX}) AS _next")
    first = f"greatest({INDEX} + pmod(-{INDEX}, {slide}), {-(-low // slide) * slide}L)"
    last = f"coalesce(_next - 1, {INDEX})"
    return (
        spans.where(f"{first} <= {last}")
        .selectExpr(f"explode(sequence({first}, {last}, {slide}L)) AS {PLACE}", f"{TICK} AS {T}")
        .where(positions.condition(PLACE))
    )


def standing_before(log: Log, index: int) -> int:
    """An index at or below the given one from which on reading is sure to find a standing tuple, if there is one.

    A segment without deletions, whose tuples no other segment revises, starts with a tuple that stands.
    """
    revised = [segment for segment in log.segments if segment.minus]
    candidates = [
        segment.index[0]
        for segment in log.segments
        if not segment.minus
        and not segment.only_tags
        and segment.index[0] <= index
        and segment.index[0] <= segment.index[1]
        and not any(r.index[0] <= segment.index[1] and segment.index[0] <= r.index[1] for r in revised)
    ]
    return max(candidates, default=LOW)
