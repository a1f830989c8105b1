"""Where kept slices lie in the windows that are made of them: between the ticks where windows begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

from eddyline.algebra.expression import Call, Expr
from eddyline.algebra.loop import T as VARIABLE
from eddyline.algebra.loop import evaluate
from eddyline.algebra.node import Operator
from eddyline.algebra.window import HopWindow, LoopWindow, TimeWindow
from eddyline.log.answers import PLACE
from eddyline.log.segment import TICK
from eddyline.spark.evaluate import looped
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.frames import Frame, few, joined
from eddyline.spark.evaluate.slices import SLICE, assigned, start_of_slice
from eddyline.spark.evaluate.timed import grid_of, needed, window_list
from eddyline.spark.evaluate.windows import T
from eddyline.spark.spans import HIGH, LOW, Spans


class Placing(Protocol):
    """The windows of a leaf, asked for at places: ticks, or iterations of a loop."""

    head: list[str]  # the columns that say which window a row is in
    keys: tuple[str, ...]
    grid: tuple[int, int] | None

    @property
    def start(self) -> str:
        """The first tick of the slice that a tuple is in."""

    def known(self, asked: Spans, first: int) -> tuple[Spans, Spans]:
        """The windows that begin at a tick or later, and the others."""

    def ticks(self, places: Spans) -> Spans:
        """The ticks that windows hold."""

    def assigned(self, slices: Frame, keys: Sequence[str], places: Spans) -> Frame:
        """Each slice once for every window it is in; `keys` are those of its groups."""

    def listed(self, places: Spans) -> Frame:
        """The windows themselves."""


def is_placed(leaf: Operator) -> bool:
    """Whether the windows of a leaf begin and end at regular ticks."""
    if not isinstance(leaf, LoopWindow):
        return isinstance(leaf, TimeWindow | HopWindow)
    factors = [_factor(leaf.left), _factor(leaf.right)]
    return bool(leaf.loop.step) and None not in factors and 1 in factors


def placing(leaf: Operator, batch: Batch) -> Placing:
    if isinstance(leaf, LoopWindow):
        return _InLoop(leaf, batch)
    assert isinstance(leaf, TimeWindow | HopWindow)
    return _OnGrid(leaf, batch)


class _OnGrid:
    """Windows at regular ticks."""

    def __init__(self, leaf: TimeWindow | HopWindow, batch: Batch) -> None:
        self._leaf, self._batch, self._grid = leaf, batch, grid_of(leaf, batch)
        self.head, self.keys = [T], cast(tuple[str, ...], (T,))
        self.grid: tuple[int, int] | None = (self._grid.first, self._grid.step)

    @property
    def start(self) -> str:
        return start_of_slice(self._leaf, self._grid)

    def known(self, asked: Spans, first: int) -> tuple[Spans, Spans]:
        begin = first - self._grid.left if first > LOW else LOW
        return asked.within(begin, HIGH), asked.within(LOW, begin - 1)

    def ticks(self, places: Spans) -> Spans:
        return needed(self._grid, places)

    def assigned(self, slices: Frame, keys: Sequence[str], places: Spans) -> Frame:
        return assigned(self._leaf, slices, keys, self._grid, places)

    def listed(self, places: Spans) -> Frame:
        return window_list(self._grid, places, self._batch)


class _InLoop:
    """The windows of a for-loop whose ends move with t, or stay where they are."""

    def __init__(self, leaf: LoopWindow, batch: Batch) -> None:
        self._leaf, self._batch = leaf, batch
        self.head, self.keys = [PLACE, T], cast(tuple[str, ...], (PLACE,))
        self.grid: tuple[int, int] | None = None

    @property
    def start(self) -> str:
        """The last tick at or before a tuple's at which a window begins, or is over."""
        loop, begun = self._leaf.loop, self._batch.start
        first, step = evaluate(loop.initial, 0, begun), abs(loop.step or 0)
        edges = []
        for end, behind in ((self._leaf.left, 0), (self._leaf.right, 1)):
            edge = evaluate(end, first, begun) + behind
            if _moves(end):
                edges.append(f"{TICK} - pmod({TICK} - ({edge}), {step})")
            else:
                edges.append(f"CASE WHEN {TICK} >= {edge} THEN CAST({edge} AS BIGINT) END")
        return f"greatest({', '.join(edges)})"

    def known(self, asked: Spans, first: int) -> tuple[Spans, Spans]:
        numbers = self._numbers(asked)
        whole = looped.iterations(self._leaf, self._batch).left[numbers] >= first
        return looped.runs(numbers[whole]), looped.runs(numbers[~whole])

    def ticks(self, places: Spans) -> Spans:
        known, numbers = looped.iterations(self._leaf, self._batch), self._numbers(places)
        return looped.covered(known.left[numbers], known.right[numbers])

    def assigned(self, slices: Frame, keys: Sequence[str], places: Spans) -> Frame:
        windows = self._listed(places)
        return joined(slices, few(windows), f"{SLICE} BETWEEN _left AND _right").drop("_left", "_right")

    def listed(self, places: Spans) -> Frame:
        return self._listed(places).select(*self.head)

    def _listed(self, places: Spans) -> Frame:
        return looped.listed(self._leaf, self._batch, self._numbers(places))

    def _numbers(self, places: Spans) -> Any:
        return looped.due(self._leaf, self._batch, places)


def _moves(end: Expr) -> bool:
    return _factor(end) == 1


def _factor(end: Expr) -> int | None:
    """1 if the end of a window moves as t does, 0 if it stays; None for anything else."""
    found = _times(end)
    return found if found in (0, 1) else None


def _times(expr: Expr) -> int | None:
    """How often t is in an expression that adds and subtracts."""
    if expr == VARIABLE:
        return 1
    if all(part != VARIABLE for part in expr.walk()):
        return 0
    if not isinstance(expr, Call) or expr.function not in ("+", "-", "neg"):
        return None
    parts = [_times(argument) for argument in expr.arguments]
    if None in parts:
        return None
    whole = [part for part in parts if part is not None]
    if expr.function == "neg":
        return -whole[0]
    return whole[0] + whole[1] if expr.function == "+" else whole[0] - whole[1]
