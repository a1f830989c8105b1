"""Lanes take turns, so that together they leave a core to the common batch whenever there are two."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """One lane works at a time, with as many tasks as `width` says.

    Of those who wait, the one goes next that has had the least time for its weight. One that comes late does not get
    all the time that it was not there.

    >>> turns = Turns(1)
    >>> with turns.taken("a", weight=2):
    ...     pass
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._had: dict[str, float] = {}  # by lane, seconds divided by weight
        self._waiting: set[str] = set()
        self._busy: str | None = None
        self._news = threading.Condition()

    @contextmanager
    def taken(self, lane: str, weight: int) -> Iterator[None]:
        with self._news:
            others = [self._had[name] for name in (*self._waiting, self._busy) if name in self._had]
            self._had[lane] = max(self._had.get(lane, 0.0), min(others, default=0.0))
            self._waiting.add(lane)
            self._news.wait_for(lambda: self._busy is None and self._next() == lane)
            self._waiting.discard(lane)
            self._busy = lane
        began = time.monotonic()
        try:
            yield
        finally:
            with self._news:
                self._busy = None
                if lane in self._had:
                    self._had[lane] += (time.monotonic() - began) / weight
                self._news.notify_all()

    def forget(self, lane: str) -> None:
        with self._news:
            if lane not in self._waiting and lane != self._busy:
                self._had.pop(lane, None)

    def _next(self) -> str:
        return min(self._waiting, key=lambda lane: (self._had[lane], lane))


__all__ = ["Turns"]
