"""Lanes take turns, so that together they leave a core to the common batch whenever there are two."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from eddyline.spark.trouble import Cancelled

#: seconds that a turn is kept for the lane which has just had one, if it has a claim to the next one too
_KEPT = 0.02
#: seconds that one which had nothing to do may be ahead of the others for that
_CREDIT = 1.0


@dataclass(eq=False)
class Place:
    """The place of one lane among those who take turns: two lanes of one name, of which one is ending, have two."""

    weight: int = 1
    had: float | None = None  # seconds divided by weight; None: it has not come yet
    seconds: float = 0.0  # in turns, without the time that it has waited for them
    closed: bool = False


class Turns:
    """One lane works at a time, with as many tasks as `width` says.

    Of those who wait, the one goes next that has had the least time for its weight. One that comes late does not get
    all the time that it was not there.

    >>> turns = Turns(1)
    >>> with turns.taken(Place(weight=2)):
    ...     pass
    """

    def __init__(self, width: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.width = width
        self._clock = clock
        self._waiting: list[Place] = []  # as they have come
        self._busy: Place | None = None
        self._kept_for: Place | None = None  # the last one, as long as it may come again at once
        self._kept_until = 0.0
        self._news = threading.Condition()

    @contextmanager
    def taken(self, place: Place) -> Iterator[None]:
        """Raises `Cancelled` if the place is closed before its turn comes."""
        with self._news:
            self._come(place)
            while not self._is_next(place):
                self._news.wait(_KEPT if self._kept_for else None)
            self._waiting.remove(place)
            self._busy, self._kept_for = place, None
        began = self._clock()
        try:
            yield
        finally:
            with self._news:
                spent = self._clock() - began
                self._busy = None
                place.seconds += spent
                place.had = _had(place) + spent / place.weight
                if not place.closed and all(place.had < _had(other) for other in self._waiting):
                    self._kept_for, self._kept_until = place, self._clock() + _KEPT
                self._news.notify_all()

    def close(self, place: Place) -> None:
        """It gets no turn any more; if it waits for one, it waits no longer."""
        with self._news:
            place.closed = True
            if place in self._waiting:
                self._waiting.remove(place)
            if self._kept_for is place:
                self._kept_for = None
            self._news.notify_all()

    def _come(self, place: Place) -> None:
        if place.closed:
            raise Cancelled
        others = [*self._waiting, *([] if self._busy is None else [self._busy])]
        least = min((_had(other) for other in others), default=0.0)
        place.had = max(least if place.had is None else place.had, least - _CREDIT)
        self._waiting.append(place)
        if self._kept_for is place:
            self._kept_for = None
            self._news.notify_all()

    def _is_next(self, place: Place) -> bool:
        if place.closed:
            raise Cancelled
        if self._busy is not None:
            return False
        if self._kept_for is not None and self._clock() < self._kept_until:
            return False
        self._kept_for = None
        return place is min(self._waiting, key=_had)


def _had(place: Place) -> float:
    return place.had or 0.0


__all__ = ["Place", "Turns"]
