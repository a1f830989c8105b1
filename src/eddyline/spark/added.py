"""What work adds to the logs of queries, as the record of a batch is to say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eddyline.log.journal import Spans
from eddyline.log.results import StageResult
from eddyline.log.segment import Segment
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.stages import SLICES, STATE, WAITING, Stage


@dataclass
class Added:
    """What some queries have added, and what they have cost, by name."""

    stages: dict[str, StageResult] = field(default_factory=dict)
    scans: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    rows_read: dict[str, int] = field(default_factory=dict)
    from_slices: set[str] = field(default_factory=set)  # who was answered from slices that were kept
    by_differences: set[str] = field(default_factory=set)  # whose join was corrected by what had changed alone
    asked_again: set[str] = field(default_factory=set)  # who was to show what was withheld before
    learned: list[Callable[[], None]] = field(default_factory=list)  # what was seen of joins, costs and look-ups

    def learn(self) -> None:
        """To be called once, when the work is not going to be tried again: what was seen twice would count twice."""
        learned, self.learned = self.learned, []
        for take in learned:
            take()

    def as_of(self, batch: int) -> dict[str, StageResult]:
        """The same as what one batch commits."""
        return {name: _as_of(stage, batch) for name, stage in self.stages.items()}


def result_of(had: StageResult, segments: Sequence[Segment], touched: Spans, start: int) -> StageResult:
    highest = max((segment.index[1] for segment in segments), default=0)
    minus = sum(segment.minus for segment in segments)
    plus = sum(segment.rows for segment in segments) - minus
    return StageResult(tuple(segments), max(had.count, highest), touched, start, plus, minus)


def of_kind(stage: Stage, view: Batch, result: StageResult) -> StageResult:
    """The result with what is particular to stages that keep something for others."""
    if stage.kind == STATE and view.begins:
        return replace(result, anew=True)
    if stage.kind == WAITING and view.waiting is not None:  # counts which version of the answers it has looked at
        return replace(result, anew=view.waiting.is_scattered, count=view.waiting.known.version)
    return result


def beginning(stage: Stage, view: Batch) -> int:
    """From which tick on a stage has something to say, or to keep."""
    if stage.kind == SLICES and view.slices is not None:
        return view.slices.first
    if stage.kind == STATE:
        return view.whole_from
    return view.start


def _as_of(stage: StageResult, batch: int) -> StageResult:
    segments, numbers = (
        tuple(replace(segment, seq=(batch, batch)) for segment in found) for found in (stage.segments, stage.numbers)
    )
    return replace(stage, segments=segments, numbers=numbers)
