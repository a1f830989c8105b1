"""TelegraphCQ's for-loops: one window for each value of t, in the order of the loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from eddyline.algebra.expression import Literal
from eddyline.algebra.loop import Loop, evaluate
from eddyline.algebra.types import BIGINT
from eddyline.algebra.window import LoopWindow
from eddyline.errors import InvalidLoop
from eddyline.log.answers import PLACE
from eddyline.log.segment import TICK
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.frames import Frame, few, joined
from eddyline.spark.evaluate.loop_arrays import computed
from eddyline.spark.evaluate.tuples import tuples
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.spans import LOW, Spans

_AT_ONCE = 1024


@dataclass
class Iterations:
    """The values that t takes and the ends of the windows, as far as the clock has let the loop come."""

    t: Any = field(default_factory=lambda: np.empty(0, np.int64))
    left: Any = field(default_factory=lambda: np.empty(0, np.int64))
    right: Any = field(default_factory=lambda: np.empty(0, np.int64))
    due: Any = field(default_factory=lambda: np.empty(0, np.int64))  # never decreases: the loop keeps its order

    def visible(self, closed: int) -> int:
        """How many iterations are answered when the clock has closed a tick."""
        return int(np.searchsorted(self.due, closed, side="right"))


def iterations(node: LoopWindow, batch: Batch) -> Iterations:
    """The iterations due by now; the loop is run on from where the batch before left it."""
    kept = batch.memory.get(node)
    if kept is None:
        kept = batch.memory[node] = (Iterations(), _stretches(node.loop, batch.start))
    known, stretches = kept
    while not len(known.due) or known.due[-1] <= batch.now.closed:
        some = next(stretches, None)
        if some is None:
            break
        _extend(known, node, some, batch.start)
    return known


def _stretches(loop: Loop, start: int) -> Iterator[Any]:
    """The values of t, some at a time. Only a loop whose steps differ must be run to know them."""
    first, going = evaluate(loop.initial, 0, start), bool(loop.step)
    while going:
        some = first + (loop.step or 0) * np.arange(_AT_ONCE, dtype=np.int64)
        if loop.condition is not None:
            try:
                holds = computed(loop.condition, some, start) != 0
            except InvalidLoop:  # perhaps only behind the end of the loop
                break
            going = bool(holds.all())
            some = some if going else some[: int(np.argmin(holds))]
        first += (loop.step or 0) * _AT_ONCE
        yield some
    else:
        if loop.step:
            return
    values = replace(loop, initial=Literal(first, BIGINT)).values(start)
    while found := list(islice(values, _AT_ONCE)):
        yield np.array(found, dtype=np.int64)


def _extend(known: Iterations, node: LoopWindow, t: Any, start: int) -> None:
    left, right = (computed(end, t, start) for end in (node.left, node.right))
    due = np.maximum.accumulate(np.concatenate([known.due[-1:], np.maximum(t, right)]))[len(known.due[-1:]) :]
    known.t, known.left = np.concatenate([known.t, t]), np.concatenate([known.left, left])
    known.right, known.due = np.concatenate([known.right, right]), np.concatenate([known.due, due])


def touched(node: LoopWindow, batch: Batch, ticks: Spans) -> Spans:
    """The iterations answered by now into whose windows some of the ticks fall."""
    known = iterations(node, batch)
    count = known.visible(batch.now.closed)
    hit = np.zeros(count, dtype=bool)
    for low, high in ticks:
        hit |= (known.left[:count] <= high) & (known.right[:count] >= low)
    return runs(np.flatnonzero(hit))


def at_ticks(node: LoopWindow, batch: Batch, ticks: Spans) -> Spans:
    """The iterations answered by now whose t is among the ticks."""
    known = iterations(node, batch)
    t = known.t[: known.visible(batch.now.closed)]
    hit = np.zeros(len(t), dtype=bool)
    for low, high in ticks:
        hit |= (low <= t) & (t <= high)
    return runs(np.flatnonzero(hit))


def loop_windows(node: LoopWindow, batch: Batch, numbers: Spans) -> Windows:
    """The windows of these iterations, as far as they are due."""
    known, chosen = iterations(node, batch), due(node, batch, numbers)
    windows = listed(node, batch, chosen)
    width = len(node.schema)
    frame = tuples(node.input, batch, covered(known.left[chosen], known.right[chosen]))
    made = joined(frame, few(windows), f"{TICK} BETWEEN _left AND _right")
    rows = made.selectExpr(PLACE, T, *(f"c{i}" for i in range(width)))
    return Windows(rows, windows.select(PLACE, T), (PLACE,), width)


def due(node: LoopWindow, batch: Batch, numbers: Spans) -> Any:
    """Those of some iterations that are answered by now."""
    count = iterations(node, batch).visible(batch.now.closed)
    found = [np.arange(max(0, a), min(b, count - 1) + 1, dtype=np.int64) for a, b in numbers]
    return np.concatenate(found or [np.empty(0, np.int64)])


def listed(node: LoopWindow, batch: Batch, chosen: Any) -> Frame:
    """The windows of some iterations, with their first and last ticks."""
    known = iterations(node, batch)
    return batch.frames.table(
        pa.table({PLACE: chosen, T: known.t[chosen], "_left": known.left[chosen], "_right": known.right[chosen]})
    )


def covered(left: Any, right: Any) -> Spans:
    """The ticks in any of the windows."""
    order = np.argsort(left, kind="stable")
    left, right = left[order], np.maximum.accumulate(right[order]) if len(right) else right
    real = right >= left
    left, right = left[real], right[real]
    starts = np.flatnonzero(np.concatenate([[True], left[1:] > right[:-1] + 1])) if len(left) else np.empty(0, np.int64)
    ends = np.concatenate([starts[1:], [len(left)]]) - 1
    return Spans.of(zip(left[starts].tolist(), right[ends].tolist(), strict=True)).coarser() if len(left) else Spans()


def runs(numbers: Any) -> Spans:
    """Ascending numbers as stretches."""
    if not len(numbers):
        return Spans()
    cuts = np.flatnonzero(np.diff(numbers) > 1)
    starts = numbers[np.concatenate([[0], cuts + 1])].tolist()
    ends = numbers[np.concatenate([cuts, [len(numbers) - 1]])].tolist()
    return Spans.of(zip(starts, ends, strict=True))


def visible_before(node: LoopWindow, batch: Batch) -> int:
    return iterations(node, batch).visible(batch.before.closed) if batch.before.closed > LOW else 0
