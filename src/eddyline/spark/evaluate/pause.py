"""Stretches of time without a tuple in which a stage would have windows."""

from __future__ import annotations

from itertools import pairwise

from eddyline.algebra import pause
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import Instants
from eddyline.algebra.window import HopWindow, LoopWindow, Scan, TimeWindow
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.spans import LOW


def reason_to_stop(plan: Operator, view: Batch) -> str | None:
    """Why a stage cannot go through what comes: it would say without end that there is nothing. None if it can."""
    steps = [step for operator in plan.walk() if (step := _step(operator)) is not None]
    if not steps:
        return None
    began = view.before.closed if view.before.closed > LOW else view.start
    spans = [span for log in view.logs.values() for span in log.touched.within(began, view.now.closed)]
    quiet = pairwise(sorted([(began, began), *spans, (view.now.closed, view.now.closed)]))
    latest = began
    for before, following in quiet:
        latest = max(latest, before[1])
        if following[0] - latest > pause.MOST_EMPTY * min(steps):
            return pause.too_long_a_pause(latest, following[0], pause.MOST_EMPTY)
    return None


def _step(operator: Operator) -> int | None:
    """From one window to the next, if there is one after the other for as long as time goes on."""
    if isinstance(operator, TimeWindow | HopWindow):
        return operator.slide
    if isinstance(operator, LoopWindow) and operator.loop.condition is None:
        return abs(operator.loop.step or 1)
    if isinstance(operator, Scan):
        return operator.interval
    return 1 if isinstance(operator, Instants) else None
