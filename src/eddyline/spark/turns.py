"""Lanes take turns, so that together they leave a core to the common batch whenever there are two."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: seconds that a turn is kept for the lane which has just had one, if it has a claim to the next one too
_KEPT = 0.02
#: seconds that one which had nothing to do may be ahead of the others for that
_CREDIT = 1.0


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
        self._kept_for: str | None = None  # the last one, as long as it may come again at once
        self._kept_until = 0.0
        self._news = threading.Condition()

    @contextmanager
    def taken(self, lane: str, weight: int) -> Iterator[None]:
        with self._news:
            self._come(lane)
            while not self._is_next(lane):
                self._news.wait(_KEPT if self._kept_for else None)
            self._waiting.discard(lane)
            self._busy, self._kept_for = lane, None
        began = time.monotonic()
        try:
            yield
        finally:
            with self._news:
                self._busy = None
                self._had[lane] = self._had.get(lane, 0.0) + (time.monotonic() - began) / weight
                if all(self._had[lane] < self._had[other] for other in self._waiting):
                    self._kept_for, self._kept_until = lane, time.monotonic() + _KEPT
                self._news.notify_all()

    def forget(self, lane: str) -> None:
        with self._news:
            if lane not in self._waiting and lane != self._busy:
                self._had.pop(lane, None)

    def _come(self, lane: str) -> None:
        others = [self._had[name] for name in (*self._waiting, self._busy) if name in self._had]
        least = min(others, default=0.0)
        self._had[lane] = max(self._had.get(lane, least), least - _CREDIT)
        self._waiting.add(lane)
        if self._kept_for == lane:
            self._kept_for = None
            self._news.notify_all()

    def _is_next(self, lane: str) -> bool:
        if self._busy is not None:
            return False
        if self._kept_for is not None and time.monotonic() < self._kept_until:
            return False
        self._kept_for = None
        return lane == min(self._waiting, key=lambda name: (self._had[name], name))


__all__ = ["Turns"]
