"""What the logs tell of streams: how many tuples have come in a second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from eddyline.spark.evaluate.holding import added_by

if TYPE_CHECKING:
    from eddyline.spark.evaluate.batch import Log


def observed_rates(logs: Mapping[str, Log], tick_micros: int) -> dict[str, float]:
    """By stream, over all ticks of its log; of a stream with a single tick nobody can say how fast it is.

    Tuples that stand are counted: when a log has been folded, what revised others is no longer there.
    """
    found = {}
    for name, log in logs.items():
        ticks = [tick for segment in log.segments for tick in segment.tick]
        if ticks and max(ticks) > min(ticks):
            tuples = max(0, sum(map(added_by, log.segments)))
            found[name] = tuples / ((max(ticks) - min(ticks) + 1) * tick_micros / 1_000_000)
    return found
