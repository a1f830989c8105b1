"""How long tuples live: from which tick to which they are in the latest window of their input.

A tuple of tick x is in the windows of `[FROM NOW-a TO NOW-b]` at the ticks x + b to x + a; each window stands until the
next, which is at the next multiple of the slide. A tuple of `[RANGE n]` lives for n ticks. What is in a table that does
not change lives always. A joined tuple lives while all of its parts do.
"""

from __future__ import annotations

from collections.abc import Sequence

from eddyline.algebra.node import Operator
from eddyline.algebra.relational import WindowAlias, WindowProject, WindowSelect
from eddyline.algebra.window import HopWindow, RangeWindow, Scan, TimeWindow
from eddyline.errors import InvalidAlgebra
from eddyline.log.segment import DIFF, TICK, Segment
from eddyline.spark.evaluate import relational
from eddyline.spark.evaluate.batch import Batch, Log, columns_of
from eddyline.spark.evaluate.frames import Frame
from eddyline.spark.evaluate.selecting import selected
from eddyline.spark.evaluate.timed import grid_of
from eddyline.spark.evaluate.tuples import apply_chain, log_of, tuples
from eddyline.spark.join_inputs import Condition, window_of
from eddyline.spark.spans import HIGH, LOW, NOTHING, Spans

FROM, UNTIL = "_from", "_until"
LIFE = [FROM, UNTIL]
#: how often a joined tuple comes (above 0) or goes (below 0)
WEIGHT = "_w"
#: of a log, what the batch brings, what there was before, or both
FRESH, OLD, ALL = "fresh", "old", "all"


def range_lifetime(node: RangeWindow) -> tuple[str, str]:
    """When a tuple enters and when it is last seen, as SQL over its tick."""
    slide = node.slide or 1
    enters = TICK if slide == 1 else f"({TICK} + pmod(-{TICK}, {slide}))"
    if node.range is None:
        return enters, f"{HIGH}L"
    last = f"({TICK} + {node.range})"
    return enters, last if slide == 1 else f"({last} - pmod({last}, {slide}) + {slide - 1})"


def _lifetime(window: Operator, batch: Batch) -> tuple[str, str]:
    if isinstance(window, RangeWindow):
        return range_lifetime(window)
    grid = grid_of(window, batch)
    soonest, latest = f"({TICK} - {grid.right})", f"({TICK} - {grid.left})"
    enters = f"greatest({soonest} + pmod({grid.first} - {soonest}, {grid.step}), {grid.first}L)"
    return enters, f"({latest} - pmod({latest} - {grid.first}, {grid.step}) + {grid.step - 1})"


def longest_life(window: Operator, batch: Batch) -> int:
    """No tuple of a window lives for more ticks; 0 for a table, which stays."""
    if isinstance(window, Scan):
        return 0
    if isinstance(window, RangeWindow):
        return HIGH if window.range is None else window.range + 2 * (window.slide or 1)
    grid = grid_of(window, batch)
    return grid.right - grid.left + 2 * grid.step


def lived(window: Operator, batch: Batch, ticks: Spans) -> Spans:
    """The ticks at which tuples of some ticks live, or more."""
    if isinstance(window, RangeWindow):
        return ticks.grown(after=longest_life(window, batch))
    grid = grid_of(window, batch)
    return ticks.mapped(lambda low, high: (low - grid.right, high - grid.left + grid.step - 1))


def living(window: Operator, batch: Batch, life: Spans) -> Spans:
    """The ticks of the tuples that live at some ticks, or more."""
    if isinstance(window, RangeWindow):
        return life.grown(before=longest_life(window, batch))
    grid = grid_of(window, batch)
    return life.mapped(lambda low, high: (max(LOW, low + grid.left - grid.step + 1), min(HIGH, high + grid.right)))


def window_ticks(window: Operator, batch: Batch, tick: int) -> tuple[int, int] | None:
    """The ticks of the tuples that live at one tick: of the latest window by then; None before the first."""
    if isinstance(window, RangeWindow):
        at = tick - tick % (window.slide or 1)
        return (LOW if window.range is None else at - window.range), at
    grid = grid_of(window, batch)
    at = grid.at_or_before(min(tick, grid.last))
    return None if at < grid.first else (at + grid.left, at + grid.right)


def changed_life(operator: Operator, batch: Batch) -> Spans:
    """The ticks at which what the batch brings to an input lives."""
    window = window_of(operator)
    if isinstance(window, Scan):
        return NOTHING
    log = log_of(window.inputs[0], batch)
    return lived(window, batch, log.touched) if log.fresh else NOTHING


def together(asked: Sequence[Condition]) -> str:
    """That two rows with lives `_lf` to `_lu` and `_rf` to `_ru` live at one time, beside what else is asked of them.

    Where no index finds who satisfies that, the kernel would sort by lives, which most pairs in the windows of a batch
    have in common: four times as slow as to compare all pairs.
    """
    if not asked or any(one.by_key for one in asked):
        return "_lf <= _ru AND _rf <= _lu"
    return "greatest(_lf, _rf) <= least(_lu, _ru)"


def segments_of(log: Log, which: str) -> list[Segment]:
    if which == FRESH:
        return list(log.fresh)
    fresh = {segment.path for segment in log.fresh}
    return [segment for segment in log.segments if which == ALL or segment.path not in fresh]


def standing_lives(operator: Operator, batch: Batch, life: Spans) -> Frame:
    """The tuples of an input that stand and live at some of the ticks: their lives, and c0, c1, …"""
    window = window_of(operator)
    if isinstance(window, Scan):
        return _above(operator, _of_table(window, batch), [*LIFE])
    rows = tuples(window.inputs[0], batch, living(window, batch, life))
    return _above(operator, _with_life(window, rows, batch, []), [*LIFE])


def weighted_lives(operator: Operator, batch: Batch, which: str, life: Spans) -> tuple[Frame, bool]:
    """The same as weighted rows of the log, and whether some may take tuples away."""
    window = window_of(operator)
    if isinstance(window, Scan):
        table = _of_table(window, batch).selectExpr(*LIFE, f"1L AS {WEIGHT}", *columns_of(len(window.schema)))
        return _above(operator, table, [*LIFE, WEIGHT]), False
    stream = window.inputs[0]
    log, ticks = log_of(stream, batch), living(window, batch, life)
    segments = [segment for segment in segments_of(log, which) if ticks.meets(*segment.tick)]
    rows = batch.read(log, segments).where(f"{DIFF} <> 0 AND {ticks.condition(TICK)}")
    first = min((segment.index[0] for segment in segments), default=0)
    frame = _with_life(window, apply_chain(stream, rows, batch, (DIFF,), first), batch, [_WEIGHED])
    return _above(operator, frame, [*LIFE, WEIGHT]), any(segment.minus for segment in segments)


_WEIGHED = f"CAST({DIFF} AS BIGINT) AS {WEIGHT}"


def _with_life(window: Operator, rows: Frame, batch: Batch, more: list[str]) -> Frame:
    enters, last = _lifetime(window, batch)
    columns = columns_of(len(window.schema))
    made = rows.selectExpr(f"{enters} AS {FROM}", f"{last} AS {UNTIL}", *more, *columns)
    return made.where(f"{FROM} <= {UNTIL}")


def _of_table(scan: Scan, batch: Batch) -> Frame:
    (snapshot,) = batch.snapshots(scan.table, None)
    columns = columns_of(len(scan.schema))
    return snapshot.rows(batch.frames).selectExpr(f"{LOW}L AS {FROM}", f"{HIGH}L AS {UNTIL}", *columns)


def _above(operator: Operator, rows: Frame, head: list[str]) -> Frame:
    """Selections and projections over the windows of an input."""
    if isinstance(operator, WindowAlias):
        return _above(operator.input, rows, head)
    if isinstance(operator, WindowSelect):
        below = _above(operator.input, rows, head)
        return selected(below, operator.predicate, relational.names_in(operator.input.schema))
    if isinstance(operator, WindowProject):
        below = _above(operator.input, rows, head)
        return below.selectExpr(
            *head, *relational.projected(operator.columns, relational.names_in(operator.input.schema))
        )
    if isinstance(operator, RangeWindow | TimeWindow | HopWindow | Scan):
        return rows
    raise InvalidAlgebra(f"the tuples of {type(operator).__name__} have no lifetimes")
