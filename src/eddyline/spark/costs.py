"""What works cost, learned from the latest of them: so much for a work as such, and so much for each of its rows."""

from __future__ import annotations

import math
import threading
from typing import Generic, Protocol, Self, TypeVar

#: what was learned of costs is worth a batch later
_FADES = 0.9
#: a batch that took so many times as long as it should have was disturbed: what it took beyond that teaches nothing
_DISTURBED, _AT_LEAST = 4.0, 0.02
#: the same of the first of its kind, of which nothing is known but what is believed
_SURPRISING = 16.0
#: a work with many rows
_LARGE = 100_000.0
#: no work takes less
_LEAST = 1e-4
#: after so many works, what a line says changes because works do, not because it is still learning
_SETTLED = 10
#: after so many batches with corrections, what a way has cost that is not taken is old news: it may be tried again
OLD_NEWS = 200


class Line:
    """Seconds as so much for a work and so much for each of its rows, learned from the latest works.

    Works of about one size say how long such a work takes, but not how much of that is for the rows. So what was
    believed of that stays, as a straight line that is as steep as all that has been seen: two points on it, each worth
    half a work. Works of different sizes outweigh them.
    """

    def __init__(self, known: tuple[float, float]) -> None:
        self.beliefs = known
        self.works = 0
        self._n, self._x, self._y, self._xx, self._xy = 0.0, 0.0, 0.0, 0.0, 0.0

    def took(self, rows: float, seconds: float) -> None:
        most = (_DISTURBED if self.works else _SURPRISING) * self.seconds(rows) + _AT_LEAST
        seconds = min(seconds, most)
        self.works += 1
        sums = (1.0, rows, seconds, rows * rows, rows * seconds)
        old = (self._n, self._x, self._y, self._xx, self._xy)
        self._n, self._x, self._y, self._xx, self._xy = (_FADES * a + b for a, b in zip(old, sums, strict=True))

    def slowed(self, times: float) -> None:
        """All works of this kind take so many times as long as they did, or so it seems from others."""
        self._y, self._xy = times * self._y, times * self._xy

    @property
    def pace(self) -> float | None:
        """How many times as long works took as was believed; None: there were none."""
        fixed, slope = self.beliefs
        return self._y / (fixed * self._n + slope * self._x) if self.works else None

    @property
    def known(self) -> tuple[float, float]:
        pace = self.pace
        if pace is None:
            return self.beliefs
        n, x, y, xx, xy = self._n, self._x, self._y, self._xx, self._xy
        for rows in (0.0, max(2 * x / n, _LARGE)):
            seconds = pace * self.believed(rows)
            n, x, y = n + 0.5, x + 0.5 * rows, y + 0.5 * seconds
            xx, xy = xx + 0.5 * rows * rows, xy + 0.5 * rows * seconds
        slope = max((xy - x * y / n) / (xx - x * x / n), self.beliefs[1] / 50)
        return max(_LEAST, (y - slope * x) / n), slope

    def seconds(self, rows: float) -> float:
        fixed, slope = self.known
        return fixed + slope * rows

    def believed(self, rows: float) -> float:
        fixed, slope = self.beliefs
        return fixed + slope * rows


class Lines:
    """What the works of a query cost that may be done in several ways: the fields are lines, one for each."""

    @property
    def each(self) -> tuple[Line, ...]:
        return tuple(vars(self).values())

    def copied(self) -> Self:
        """What others begin with: what was learned is what they believe."""
        return type(self)(*(Line(line.known) for line in self.each))

    def answered(self, line: Line, rows: float, seconds: float) -> None:
        """What answering took; if it takes longer than it did, half of that is believed of the other ways too.

        The machine may have become slower, and then so has the way that is not taken, which nobody measures. Without
        this, a query that had found slices to be no use tried them again whenever the machine was busy.
        """
        settled, before = line.works >= _SETTLED, line.seconds(rows)
        line.took(rows, seconds)
        for other in self.each if settled else ():
            if other is not line and other.pace is not None:
                other.slowed(math.sqrt(line.seconds(rows) / before))

    def seconds(self, line: Line, rows: float) -> float:
        """What a work is going to take; of a kind that was never done, more than is believed if others took more.

        Some of what is slow about a query (its many groups, the answers it is compared with) is slow on either way,
        some on one of them alone: nobody knows how much before it is tried.
        """
        if line.pace is not None:
            return line.seconds(rows)
        paces = [each.pace for each in self.each if each.pace is not None]
        return line.believed(rows) * math.sqrt(max(paces, default=1.0))


class Told(Protocol):
    """What is known about a query."""

    told: str


Known = TypeVar("Known", bound=Told)


class ByQuery(Generic[Known]):
    """What is known about queries, by name; lanes ask from threads of their own."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._queries: dict[str, Known] = {}

    def told(self, name: str) -> str:
        """The costs that have decided, in words; nothing if there was nothing to decide."""
        with self._guard:
            known = self._queries.get(name)
            return "" if known is None else known.told

    def forget(self, name: str) -> None:
        with self._guard:
            self._queries.pop(name, None)


def in_ms(seconds: float) -> str:
    """
    >>> in_ms(0.01234), in_ms(0.0004), in_ms(12.3456)
    ('12 ms', '0.4 ms', '12,346 ms')
    """
    return f"{1_000 * seconds:,.0f} ms" if seconds >= 0.001 else f"{1_000 * seconds:.1f} ms"
