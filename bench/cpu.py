"""Seconds of processor time of this process and everything below it: Spark's JVM and its Python workers.

On a machine that others use too it says more than the clock on the wall.
"""

from __future__ import annotations

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
#: ticks of the threads in which Java compiles, also of those that have ended
_compiling: dict[tuple[int, int], int] = {}


def cpu_seconds() -> float:
    """0 where there is no /proc."""
    return sum(_processes().values()) / _TICK


def steady_seconds() -> float:
    """The same without Java's compiling: it goes on beside whatever runs, for what has run before.

    In a young JVM it is a third of all, in one second ten times as much as in the next: ratios of single batches that
    differ by a tenth are lost in it.
    """
    processes = _processes()
    for pid in processes:
        for folder in Path(f"/proc/{pid}/task").glob("[0-9]*"):
            name, fields = _stat(folder)
            if "CompilerThre" in name:
                _compiling[pid, int(folder.name)] = int(fields[11]) + int(fields[12])
    return (sum(processes.values()) - sum(_compiling.values())) / _TICK


def _stat(folder: Path) -> tuple[str, list[str]]:
    """The name of a process or thread, and what stands behind it; nothing if it has just ended."""
    try:
        text = (folder / "stat").read_text()
    except OSError:
        return "", []
    head, _, rest = text.rpartition(")")
    return head.partition("(")[2], rest.split()


def _processes() -> dict[int, int]:
    """Ticks of this process and those below it, each with those of its children that have ended."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        _, fields = _stat(folder)
        if not fields:
            continue
        pid = int(folder.name)
        parents[pid] = int(fields[1])
        spent[pid] = sum(int(ticks) for ticks in fields[11:15])
    mine = {os.getpid()}
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in mine} - mine
        mine |= more
        grown = bool(more)
    return {pid: spent.get(pid, 0) for pid in mine}
