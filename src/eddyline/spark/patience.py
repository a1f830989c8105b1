"""Trying again until somebody has mended what cannot be written."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TypeVar

from eddyline.spark.trouble import storage_problem

Result = TypeVar("Result")
_LONGEST = 10.0


def retried(action: Callable[[], Result], stopping: threading.Event, on_trouble: Callable[[str], None]) -> Result:
    """A folder that is full or read-only is said once and tried again until somebody has mended it."""
    waiting, said = 0.5, None
    while True:
        try:
            return action()
        except Exception as problem:
            found = storage_problem(problem)
            if found is None or not found.retryable or stopping.is_set():
                raise
            told = re.sub(r"-[0-9a-f]{32}", "", found.message)  # every attempt has file names of its own
            if told != said:
                on_trouble(f"{told}; trying again until it can be written")
                said = told
            if stopping.wait(waiting):
                raise found from None
            waiting = min(waiting * 2, _LONGEST)


__all__ = ["retried"]
