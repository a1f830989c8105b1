"""What a run of either side gives."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench.cpu import cpu_seconds


@dataclass(frozen=True)
class Run:
    """One run of a streaming query, from its start to the last answer."""

    wall: float
    cpu: float
    batches: list[dict[str, Any]]  # what Spark says of each micro-batch
    answers: pd.DataFrame | None = None

    @property
    def busy(self) -> float:
        """Seconds in micro-batches: `wall` without starting the query, which a standing query does once."""
        return float(sum(batch["durationMs"]["triggerExecution"] for batch in self.batches)) / 1000

    def to_json(self) -> dict[str, Any]:
        durations = [batch["durationMs"] for batch in self.batches]
        return {"wall": self.wall, "busy": self.busy, "cpu": self.cpu, "batches": durations}


def timed(work: Callable[[], Any], seconds: Callable[[], float] = cpu_seconds) -> tuple[Any, float, float]:
    """What the work gives, the seconds on the wall and those of the processors."""
    cpu, began = seconds(), time.monotonic()
    result = work()
    return result, time.monotonic() - began, seconds() - cpu


def worked(query: Any) -> list[dict[str, Any]]:
    """The progress of the micro-batches that a streaming query has run."""
    reports = [json.loads(p.json) if hasattr(p, "json") else dict(p) for p in query.recentProgress]
    return [report for report in reports if "addBatch" in report["durationMs"]]


def median(runs: Sequence[Run], what: str) -> float:
    return float(statistics.median(getattr(run, what) for run in runs))


def same(left: pd.DataFrame, right: pd.DataFrame) -> bool:
    """Whether both have the same rows, in whatever order."""
    if set(left.columns) != set(right.columns) or len(left) != len(right):
        return False
    names = sorted(left.columns)
    ordered = (frame[names].sort_values(names, ignore_index=True) for frame in (left, right))
    try:
        pd.testing.assert_frame_equal(*ordered, check_dtype=False, check_exact=True)
    except AssertionError:
        return False
    return True
