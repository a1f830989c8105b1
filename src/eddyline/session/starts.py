"""When a script's queries start: at the smallest tick of their streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from eddyline.binder.statement import Insert, Step
from eddyline.session.inflow import constants, tick_of
from eddyline.sources import Source, reach_of
from eddyline.sources.batches import BatchInput
from eddyline.sources.reach import Reach


class Starts:
    """Finds the smallest tick of a stream by reading its input once; each stream is read at most once."""

    def __init__(
        self,
        steps: Iterable[Step],
        sources: Mapping[str, Source] | Mapping[str, BatchInput],
        tick_micros: int,
        reach_of: Callable[[Any], Reach] = reach_of,
    ) -> None:
        self._inserts = [step for step in steps if isinstance(step, Insert) and step.extent.is_stream]
        self._sources = sources
        self._tick_micros = tick_micros
        self._reach_of = reach_of
        self._known: dict[str, int | None] = {}

    def of(self, streams: Iterable[str]) -> int | None:
        """The start of a query over these streams; None if they have no tuples, 0 for a query over tables alone."""
        names = list(streams)
        if not names:
            return 0
        ticks = [tick for name in names if (tick := self._smallest(name)) is not None]
        return min(ticks, default=None)

    def _smallest(self, name: str) -> int | None:
        if name not in self._known:
            inserts = [step for step in self._inserts if step.extent.name == name]
            reach = self._from_file(name) or Reach(next((step.extent.retain for step in inserts), None))
            for step in inserts:
                for tick in self._inserted(step):
                    reach.take(tick)
            self._known[name] = reach.first
        return self._known[name]

    def _from_file(self, name: str) -> Reach | None:
        source = self._sources.get(name)
        if source is None:
            return None
        if source.extent.timestamp is None and not source.extent.sites:
            # without a time of its own a row gets the clock's tick on arrival, which is 0 at first
            return Reach(None, first=0)
        return self._reach_of(source)

    def _inserted(self, step: Insert) -> Iterable[int]:
        for row in constants(step.rows):
            tick = tick_of(step.extent, row, self._tick_micros)
            yield 0 if tick is None else tick
