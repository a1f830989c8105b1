"""How many tuples the windows of a join hold, by what logs say of their segments: no row is read for it."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.log.segment import Segment
from eddyline.planner.graph import members
from eddyline.spark.evaluate.batch import Batch, Log
from eddyline.spark.evaluate.lives import window_ticks
from eddyline.spark.evaluate.sampling import is_sampled
from eddyline.spark.evaluate.tuples import log_of
from eddyline.spark.join_inputs import JoinInputs, window_of
from eddyline.spark.spans import LOW

#: at so many ticks of a batch windows are looked at; a batch may bring many windows
_LOOKS = 4


@dataclass(frozen=True)
class Held:
    """Tuples of the stream below an input, before the input's own conditions; `is_full`: tuples have left the window.

    Until then it is going to hold more than it does.
    """

    tuples: float
    is_full: bool


def held(join: JoinInputs, batch: Batch) -> dict[int, Held]:
    """By input, on the average over the ticks of a batch; none if ticks do not tell what is in a window."""
    found: dict[int, Held] = {}
    known: dict[tuple[str, int, int], float] = {}  # windows alike are counted once
    for at in members((1 << len(join.inputs)) - 1):
        window = window_of(join.inputs[at])
        if not is_sampled(window) or not window.inputs:
            continue
        log = log_of(window.inputs[0], batch)
        spans = [span for tick in _ticks(batch) if (span := window_ticks(window, batch, tick)) is not None]
        if not spans:
            continue
        for low, high in spans:
            if (log.name, low, high) not in known:
                known[log.name, low, high] = _standing(log, low, high)
        tuples = sum(known[log.name, low, high] for low, high in spans) / len(spans)
        first = min((segment.tick[0] for segment in log.segments), default=spans[-1][0])
        found[at] = Held(max(0.0, tuples), first < spans[-1][0])
    return found


def _ticks(batch: Batch) -> list[int]:
    """Some ticks that are new, the last one among them."""
    last = batch.now.reached
    new = last - max(batch.before.reached, LOW) if batch.before.reached > LOW else 1
    looks = max(1, min(_LOOKS, new))
    return [last - new * look // looks for look in range(looks)]


def _standing(log: Log, low: int, high: int) -> float:
    """About how many tuples with ticks from `low` to `high` stand."""
    meeting = (one for one in log.segments if one.tick[0] <= high and one.tick[1] >= low)
    return sum(added_by(one) * part_within(one, low, high) for one in meeting)


def added_by(segment: Segment) -> int:
    """How many tuples more there are by a segment."""
    return segment.rows - segment.tags - 2 * segment.minus


def part_within(segment: Segment, low: int, high: int) -> float:
    """About which part of a segment's rows has one of some ticks."""
    first, last = segment.tick
    return max(0, min(last, high) - max(first, low) + 1) / (last - first + 1)
