"""What the logs tell of streams: how many tuples have come in a second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eddyline.spark.evaluate.batch import Log


def observed_rates(logs: Mapping[str, Log], tick_micros: int) -> dict[str, float]:
    """By stream, over all ticks of its log; of a stream with a single tick nobody can say how fast it is."""
    found = {}
    for name, log in logs.items():
        ticks = [tick for segment in log.segments for tick in segment.tick]
        if ticks and max(ticks) > min(ticks):
            rows = sum(segment.rows - segment.tags for segment in log.segments)
            found[name] = rows / ((max(ticks) - min(ticks) + 1) * tick_micros / 1_000_000)
    return found
