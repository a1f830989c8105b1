"""What it costs to ask a table key by key, and to scan it: the two ways compete by what was seen of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: bytes of a file that are read in a second, until a scan was seen; and what a scan costs beside that
_PACE, _LEAST = 20_000_000, 0.2
#: what was seen last counts for so much
_LATEST = 0.3
#: of what a scan costs, so much is owed when one has become too old: it has paid before
_OWED = 0.5


@dataclass
class Costs:
    """The costs of one table. What was spent on look-ups is a debt, which fades within the time that a scan holds.

    So it is what look-ups cost in that time, at the rate at which they are made now; when it is more than a scan
    costs, the scan is the cheaper way.

    >>> costs = Costs(fresh=10.0)
    >>> costs.estimate_scan(0)
    >>> costs.asked(10, 0.05, now=0.0)
    >>> costs.scan_pays(0, now=0.0), costs.scan_pays(1000, now=0.0)
    (False, True)
    """

    fresh: float
    scan_seconds: float | None = None  # None: nobody knows
    call_seconds: float | None = None  # for one call of the function
    key_seconds: float | None = None  # for each of its keys
    keys: int = 0  # that were asked for
    calls: int = 0
    scans: int = 0
    failures: int = 0
    _debt: float = 0.0
    _as_of: float = 0.0

    def asked(self, keys: int, seconds: float, now: float) -> None:
        self.calls += 1
        self.keys += keys
        self.call_seconds = _smoothed(self.call_seconds, seconds)
        self.key_seconds = _smoothed(self.key_seconds, seconds / max(1, keys))
        self._debt, self._as_of = self.debt(now) + seconds, now

    def failed(self, seconds: float, now: float) -> None:
        self.failures += 1
        self._debt, self._as_of = self.debt(now) + seconds, now

    def debt(self, now: float) -> float:
        """Seconds that were spent on look-ups, as far as they count now."""
        return self._debt * math.exp(-max(0.0, now - self._as_of) / max(self.fresh, 1e-9))

    def estimate_scan(self, size: int) -> None:
        """Say how large the file is, if no scan was seen yet."""
        if not self.scans:
            self.scan_seconds = _LEAST + size / _PACE

    def scanned(self, seconds: float, now: float) -> None:
        """From now on a look-up has to cost more than before: half of a scan is owed already when this one is old."""
        self.scan_seconds = seconds if not self.scans else _smoothed(self.scan_seconds, seconds)
        self.scans += 1
        assert self.scan_seconds is not None
        self._debt, self._as_of = _OWED * self.scan_seconds, now + self.fresh

    def scan_pays(self, waited_for: int, now: float) -> bool:
        """Whether a scan is cheaper than to go on; `waited_for`: so many keys would be asked for now."""
        if self.scan_seconds is None:
            return False
        return self.debt(now) + waited_for * (self.key_seconds or 0.0) >= self.scan_seconds


def _smoothed(before: float | None, seen: float) -> float:
    return seen if before is None else (1 - _LATEST) * before + _LATEST * seen
