"""The tick at which a query begins that was not told when."""

from __future__ import annotations

from collections.abc import Collection

from eddyline.algebra.relational import Instants
from eddyline.algebra.window import HopWindow, LatestRowsWindow, LoopWindow, RangeWindow, RowWindow, Scan, TimeWindow
from eddyline.log.said import is_history, stream_of
from eddyline.spark.evaluate.batch import Log
from eddyline.spark.stretches import all_fresh
from eddyline.spark.work_means import Way

#: windows that are there from when their query begins, or from the first tuple on
_FROM_START = TimeWindow | RowWindow | RangeWindow | LatestRowsWindow | LoopWindow | Scan | Instants


def first_tick(way: Way, extents: Collection[str]) -> int | None:
    """The smallest tick of the first entry for a query: the same however the entries are cut into batches.

    A query over tables that are read again and again begins when there is a time.
    """
    streams = {name for stage in way.stages for name in stage.streams if name in extents}
    # the history of a stream's tags has those of its taggers, which come with its tuples
    made_of = (way.stretch.logs[name].made_of for name in list(streams))
    streams.update(log.name for log in made_of if log is not None)
    if _counts_from_start(way):
        streams = {stream_of(name) if is_history(name) else name for name in streams}
    for entry in way.stretch.entries:
        lows = [low for name in streams or entry.touched for low, _ in entry.touched.get(name, ())]
        if not lows and not streams and entry.reached is not None:
            lows = [entry.reached]
        if entry.number > way.query.entry and lows:
            return min(lows)
    return None


def whose_tuples(way: Way, log: Log, all_of_it: bool) -> Log:
    """The log with which a query over this one begins. No tag moves the clock, the tuples of its stream do; where
    nothing is counted from the beginning on, that does not matter."""
    if not is_history(log.name) or not _counts_from_start(way):
        return log
    of = way.stretch.logs[stream_of(log.name)]
    return all_fresh(of) if all_of_it else of


def told_start(way: Way) -> int | None:
    """The first tick of windows that hop from one that is told, if a query has no others: there are some as soon as
    there is a time, whether a tuple has come or not."""
    operators = [operator for stage in way.stages for operator in stage.plan.walk()]
    starts = {operator.start for operator in operators if isinstance(operator, HopWindow)}
    if None in starts or any(isinstance(operator, _FROM_START) for operator in operators):
        return None
    return min((start for start in starts if start is not None), default=None)


def _counts_from_start(way: Way) -> bool:
    """Whether a query has windows that are at certain times since it began."""
    of_time = TimeWindow | HopWindow | LoopWindow
    return any(isinstance(operator, of_time) for stage in way.stages for operator in stage.plan.walk())
