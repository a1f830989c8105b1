"""A clock that stands still while others have the processor.

What an operator costs is what it computes and what it waits for, a server for instance. If other work is on the
machine, a thread also waits for a processor: who is interrupted is chance, and would look like a change of costs.
"""

from __future__ import annotations

import os
import time

#: of this thread: nanoseconds on a processor, nanoseconds of waiting for one, turns
_SCHEDULED = "/proc/thread-self/schedstat"


class OwnTime:
    """Seconds of the thread that makes the clock; where the system does not tell, others' time counts too."""

    def __init__(self) -> None:
        self._file: int | None = None
        self._latest = float("-inf")
        if os.path.exists(_SCHEDULED):
            self._file = os.open(_SCHEDULED, os.O_RDONLY)

    def __call__(self) -> float:
        """It never runs backwards: who is interrupted between the two readings waits in the second one only."""
        now = time.perf_counter()
        if self._file is not None:
            now -= int(os.pread(self._file, 64, 0).split()[1]) * 1e-9
        self._latest = max(self._latest, now)
        return self._latest

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)
