"""When corrections that are withheld are shown although they do not matter."""

from __future__ import annotations

from collections.abc import Iterable

from eddyline.log.journal import Flush
from eddyline.log.results import StageResult
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.spans import LOW, Spans
from eddyline.spark.stages import Stage
from eddyline.spark.standing import Standing


def ask_again(
    view: Batch, query: Standing, stage: Stage, had: StageResult, flushes: Iterable[Flush], settled: int
) -> None:
    """Have a stage look again at what it withholds: all of it, if somebody has asked for it, or what is the last of it.

    Before the tick `settled` nothing can change any more. What corrections are computed from may then be cut off as
    soon as no window reaches it, and they could never be shown.
    """
    withheld = Spans.of((low, high) for low, high, _ in had.withheld)
    view.asked_again = view.settled = withheld.within(LOW, settled - 1)
    asked = [flush for flush in flushes if _concerns(flush, query, stage)]
    if asked:
        everybody = any(flush.number is None or flush.log != query.name for flush in asked)
        view.flushed = frozenset() if everybody else frozenset(flush.number or 0 for flush in asked)
        view.asked_again = withheld


def _concerns(flush: Flush, query: Standing, stage: Stage) -> bool:
    """Whether a stage is to show what it withholds.

    What a query inside withholds is shown if that one is named, for all who read it: members of a class share it, so
    none of them could be shown it alone.
    """
    if not flush.name:
        return True
    return flush.log == query.name if stage.of is None else flush.name.lower() == stage.of
