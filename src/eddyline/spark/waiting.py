"""Waiting for Spark without standing still."""

from __future__ import annotations

import threading
from collections.abc import Callable

_SECONDS = 0.1


def waited(call: Callable[[], object], meanwhile: Callable[[], None], seconds: float = _SECONDS) -> None:
    """Make a call that blocks in a thread of its own; `meanwhile` is called here every few moments until it is done.

    The thread is a daemon: whoever is interrupted while waiting need not wait for Spark.
    """
    problem: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as raised:
            problem.append(raised)

    thread = threading.Thread(target=run, name="eddyline-flush", daemon=True)
    thread.start()
    while True:
        thread.join(seconds)
        if not thread.is_alive():
            break
        meanwhile()
    if problem:
        raise problem[0]
