"""A progress bar on stderr for inputs that take a while."""

from __future__ import annotations

import time
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

#: a run, or a pause in its output, that is shorter than this gets no bar
QUIET_SECONDS = 1.0
_REFRESH_SECONDS = 0.1
#: columns of a terminal on which the words leave room for a bar of full length
_WIDE = 120


class Reached(Protocol):
    """How far a run has come."""

    @property
    def rows(self) -> int: ...
    @property
    def bytes_read(self) -> int: ...
    @property
    def total_bytes(self) -> int | None: ...
    @property
    def clock(self) -> int | None: ...
    @property
    def answers(self) -> int: ...
    @property
    def queries(self) -> int: ...
    @property
    def revisions(self) -> int: ...


class ProgressBar:
    """Shows itself only on a terminal, after a while, and leaves no trace.

    It has no thread of its own: it is redrawn when the run reports, so it never writes into the middle of an answer.
    """

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream)
        self._wanted = self._console.is_terminal and not self._console.is_dumb_terminal
        self._start = time.monotonic()
        self._quiet_since = self._start
        self._drawn = 0.0
        self._bar: Progress | None = None

    def report(self, reached: Reached) -> None:
        if not self._wanted:
            return
        now = time.monotonic()
        if now - self._quiet_since < QUIET_SECONDS or now - self._drawn < _REFRESH_SECONDS:
            return
        self._drawn = now
        total = reached.total_bytes
        shown: dict[str, Any] = {
            "share": f"{min(100, 100 * reached.bytes_read // total)}%" if total else "",
            "rows": _counted(reached.rows, "row", "rows"),
            "rate": f"{reached.rows / (now - self._start):,.0f}/s",
            "clock": "" if reached.clock is None else f"tick {reached.clock}",
            "queries": _counted(reached.queries, "query", "queries"),
            "answers": _counted(reached.answers, "answer", "answers"),
            "revisions": _counted(reached.revisions, "revision", "revisions"),
        }
        if self._bar is None:
            self._bar = _new_bar(self._console)
            self._bar.add_task("", **shown)
            self._bar.start()
        done = min(reached.bytes_read, total) if total else 0
        self._bar.update(self._bar.task_ids[0], total=total or None, completed=done, refresh=True, **shown)

    def clear(self) -> None:
        """Takes the bar away, because something else is to be written to the terminal."""
        self._quiet_since = time.monotonic()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _new_bar(console: Console) -> Progress:
    return Progress(
        BarColumn(bar_width=20 if console.width >= _WIDE else 5),
        TextColumn("{task.fields[share]:>4}"),
        TextColumn("{task.fields[rows]}"),
        TextColumn("[dim]{task.fields[rate]}"),
        TextColumn("[cyan]{task.fields[clock]}"),
        TextColumn("{task.fields[queries]}"),
        TextColumn("{task.fields[answers]}"),
        TextColumn("[yellow]{task.fields[revisions]}"),
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
