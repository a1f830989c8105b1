"""A query that looks back answers the past in pieces, each small enough that nobody waits for it.

What had come when it began is final for it, so a piece is a stretch of that: of ticks for windows of time, as if only
the clock moved, and of indexes for what works tuple by tuple, or adds tuples up. Where neither is sound (windows of
rows, loops, relations that last for ever), the whole past of a stage is one piece. A later stage begins when the one
before it is through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.window import HopWindow, OneRow, Scan, TimeWindow
from eddyline.log.results import Past, Position
from eddyline.spark.evaluate.batch import Clock, Log
from eddyline.spark.spans import EVERYTHING, HIGH, LOW, NOTHING, Spans
from eddyline.spark.stages import LINEAR, LOOKUP, SLICES, Stage

TICKS, INDEXES = "ticks", "indexes"
#: rows in the first piece: nobody knows yet what they cost
_FIRST_ROWS = 50_000
#: a piece is at least this part of the past: each costs a micro-batch
_MOST_PIECES = 500


@dataclass(frozen=True)
class Piece:
    """A stretch of the past of one stage: after `low` up to `high`; the last one goes to the end."""

    stage: int
    by: str | None  # ticks, indexes, or None: all of it at once
    low: int
    high: int
    first: bool
    last: bool

    @property
    def size(self) -> int:
        return self.high - self.low

    def clocks(self, now: Clock) -> tuple[Clock, Clock]:
        """The clock before the piece and behind it; `now` is the one of the whole past."""
        if self.by != TICKS:
            return Clock(), now
        before = Clock() if self.first else Clock(self.low, self.low)
        return before, now if self.last else Clock(self.high, self.high)

    def logs(self, whole: Mapping[str, Log]) -> dict[str, Log]:
        """What of its streams is new to the stage."""
        if self.by == TICKS:  # nothing comes, only the clock moves
            return {name: replace(log, fresh=(), touched=NOTHING) for name, log in whole.items()}
        return {name: self._fresh(log) for name, log in whole.items()}

    def _fresh(self, log: Log) -> Log:
        segments = [segment for segment in log.segments if self.indexes.meets(*segment.index)]
        return replace(log, fresh=segments, touched=EVERYTHING if segments else NOTHING)

    @property
    def indexes(self) -> Spans:
        if self.by != INDEXES:
            return EVERYTHING
        return EVERYTHING.within(LOW if self.first else self.low + 1, HIGH if self.last else self.high)

    def behind(self, position: Position, stages: int) -> Position:
        """How far the query has come with the piece."""
        if not self.last:
            return replace(position, past=Past(self.stage, self.high))
        through = self.stage + 1 == stages
        return replace(position, past=None if through else Past(self.stage + 1))


@dataclass(frozen=True)
class Progress:
    """How much of the past is answered: a fraction of all, and of the stage at work how many ticks or indexes."""

    fraction: float = 0.0
    done: int = 0
    total: int = 0
    unit: str = TICKS

    def __str__(self) -> str:
        return f"{self.fraction:.0%}".replace("%", " %")


@dataclass(frozen=True)
class Extent:
    """The whole past of a stage, in ticks or indexes, after `first` and up to `last`."""

    by: str | None
    first: int
    last: int
    rows: int
    least: int  # as much must be in a piece

    def piece(self, past: Past, size: int | None) -> Piece:
        """The next piece, of about a size; the first one goes by the number of rows."""
        begins = past.done is None
        low = self.first if past.done is None else past.done
        if self.by is None:
            return Piece(past.stage, None, self.first, self.last, True, True)
        total = self.last - self.first
        wanted = total * _FIRST_ROWS // max(1, self.rows) if size is None else size
        high = low + max(1, wanted, self.least, total // _MOST_PIECES)
        return Piece(past.stage, self.by, low, min(high, self.last), begins, high >= self.last)

    def progress(self, past: Past, stages: int) -> Progress:
        """How far a query of so many stages has come, of which this is the one at work."""
        done, total = 0 if past.done is None else past.done - self.first, self.last - self.first
        return Progress((past.stage + min(1.0, done / max(1, total))) / stages, done, total, self.by or "steps")


def extent_of(stage: Stage, logs: Mapping[str, Log], start: int | None, closed: int | None) -> Extent:
    """`logs` are the streams of the stage as they stood when its query began to look back."""
    mine = [logs[name] for name in stage.streams if name in logs]
    rows = sum(segment.rows for log in mine for segment in log.segments)
    if stage.kind in (LINEAR, LOOKUP, SLICES) and len(mine) == 1:
        return Extent(INDEXES, 0, mine[0].last_index, rows, 1)
    windows = windows_of_time(stage.plan)
    if windows is None or start is None or closed is None or closed <= start:
        return Extent(None, 0, 1, rows, 1)
    # what is read beside the new windows, because they are wide, is to be no more than half of a piece
    least = max(max(window.slide, width_of(window)) for window in windows)
    return Extent(TICKS, start - 1, closed, rows, least)


def windows_of_time(plan: Operator) -> list[TimeWindow | HopWindow] | None:
    """The windows over streams; None if some of them are not at regular ticks."""
    found = []
    for node in plan.walk():
        if not isinstance(node, WindowOp) or isinstance(node, Scan | OneRow):
            continue
        if isinstance(node, TimeWindow | HopWindow):
            found.append(node)
        elif not node.inputs or any(isinstance(child, StreamOp) for child in node.inputs):
            return None
    return found or None


def width_of(window: TimeWindow | HopWindow) -> int:
    return window.range if isinstance(window, HopWindow) else window.scope.end - window.scope.start + 1


__all__ = ["INDEXES", "TICKS", "Extent", "Piece", "Progress", "extent_of", "width_of", "windows_of_time"]
