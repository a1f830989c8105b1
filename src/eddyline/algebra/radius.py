"""The radius of a query: how much history one correction can need, derived from its windows.

A correction at a tick touches the windows that hold the tick, and these reach back from it by as much as they are wide.
Where windows are over a stream that was made of windows, their widths add up. Ticks and tuples cannot be compared:
where windows of time stand beside windows of rows, it is as many of the ones and of the others as any of them needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from eddyline.algebra.node import Operator, StreamOp
from eddyline.algebra.relational import WindowCrossProduct, WindowJoin
from eddyline.algebra.stream import DStream, IStream
from eddyline.algebra.window import HopWindow, LatestRowsWindow, LoopWindow, RangeWindow, RowWindow, Scan, TimeWindow


@dataclass(frozen=True)
class Radius:
    """In ticks and, for windows of rows, in tuples."""

    unbounded: bool = False
    ticks: int = 0
    rows: int = 0

    def __add__(self, other: Radius) -> Radius:
        return Radius(self.unbounded or other.unbounded, self.ticks + other.ticks, self.rows + other.rows)

    def __or__(self, other: Radius) -> Radius:
        """The least that covers both.

        >>> print(Radius(ticks=9) | Radius(ticks=4, rows=3))
        9 ticks and 3 tuples
        """
        return Radius(self.unbounded or other.unbounded, max(self.ticks, other.ticks), max(self.rows, other.rows))

    def __str__(self) -> str:
        """
        >>> print(Radius(ticks=9), Radius(rows=3), Radius(ticks=1, rows=1), Radius(unbounded=True), sep="; ")
        9 ticks; 3 tuples; 1 tick and 1 tuple; unbounded
        """
        if self.unbounded:
            return "unbounded"
        parts = [
            f"{n:,} {word}{'' if n == 1 else 's'}" for n, word in ((self.ticks, "tick"), (self.rows, "tuple")) if n
        ]
        return " and ".join(parts) or "0 ticks"


UNBOUNDED = Radius(unbounded=True)


def radius_of(plan: Operator) -> Radius:
    """How much history a correction of any of its streams can need."""
    below = all_of(map(radius_of, plan.inputs))
    if isinstance(plan, WindowJoin | WindowCrossProduct):
        # a window meets the latest one of the other side, which is older by what lies between two of those
        return below + all_of(map(_slide, plan.walk()))
    if isinstance(plan, IStream | DStream):  # what has come or gone shows beside the window before
        return below + _step(plan.input)
    return below + _width(plan)


def all_of(several: Iterable[Radius]) -> Radius:
    """The least that covers them all."""
    return reduce(or_, several, Radius())


def _width(node: Operator) -> Radius:
    if isinstance(node, TimeWindow):
        return Radius(ticks=node.scope.end - node.scope.start)
    if isinstance(node, HopWindow):
        return Radius(ticks=node.range - 1)
    if isinstance(node, RangeWindow):
        return UNBOUNDED if node.range is None else Radius(ticks=node.range + (node.slide or 1) - 1)
    if isinstance(node, RowWindow):
        return Radius(rows=node.scope.end - node.scope.start)
    if isinstance(node, LatestRowsWindow):
        # the latest of a partition may be as old as it likes
        return UNBOUNDED if node.partition else Radius(rows=node.rows)
    return UNBOUNDED if isinstance(node, LoopWindow) else Radius()


def _slide(node: Operator) -> Radius:
    if isinstance(node, TimeWindow | HopWindow):
        return Radius(ticks=node.slide)
    if isinstance(node, RowWindow):
        return Radius(rows=node.slide)
    return Radius(ticks=node.interval or 0) if isinstance(node, Scan) else Radius()


def _step(window: Operator) -> Radius:
    """What lies between a window, or a state of a relation, and the one before."""
    if isinstance(window, StreamOp):
        return Radius()
    if isinstance(window, RangeWindow):
        return Radius(ticks=window.slide or 1)
    if isinstance(window, LatestRowsWindow):
        return Radius(rows=1)
    return _slide(window) | all_of(map(_step, window.inputs))


__all__ = ["UNBOUNDED", "Radius", "all_of", "radius_of"]
