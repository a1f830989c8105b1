"""A progress bar on stderr for those who wait until queries that look back have answered the past."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from eddyline.output.progress import QUIET_SECONDS

_REFRESH_SECONDS = 0.1
#: queries that have a bar of their own; more would fill the terminal
_MOST = 8


class BackfillBar:
    """Shows itself only on a terminal, after a while, and leaves no trace. It is redrawn when somebody reports."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream)
        self._wanted = self._console.is_terminal and not self._console.is_dumb_terminal
        self._start, self._drawn = time.monotonic(), 0.0
        self._bar: Progress | None = None

    def report(self, fractions: Mapping[str, float]) -> None:
        """By query, how much of the past it has answered."""
        now = time.monotonic()
        if not self._wanted or now - self._start < QUIET_SECONDS or now - self._drawn < _REFRESH_SECONDS:
            return
        self._drawn = now
        shown = dict(list(fractions.items())[:_MOST])
        if len(fractions) > _MOST:
            shown[f"{len(fractions)} queries"] = sum(fractions.values()) / len(fractions)
        if self._bar is None:
            self._bar = _new_bar(self._console)
            self._bar.start()
        known = {task.description: task.id for task in self._bar.tasks}
        for name in [name for name in known if name not in shown]:
            self._bar.remove_task(known[name])
        for name, fraction in shown.items():
            task = known.get(name)
            if task is None:
                task = self._bar.add_task(name, total=1.0)
            self._bar.update(task, completed=fraction)
        self._bar.refresh()

    def clear(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _new_bar(console: Console) -> Progress:
    return Progress(
        TextColumn("backfill of {task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:>3.0f}%"),
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
