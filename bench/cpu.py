"""Seconds of processor time of this process and everything below it: Spark's JVM and its Python workers.

On a machine that others use too it says more than the clock on the wall.
"""

from __future__ import annotations

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """0 where there is no /proc."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        pid = int(folder.name)
        parents[pid] = int(fields[1])
        spent[pid] = sum(int(ticks) for ticks in fields[11:15])  # its own and that of its ended children
    mine = {os.getpid()}
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in mine} - mine
        mine |= more
        grown = bool(more)
    return sum(spent.get(pid, 0) for pid in mine) / _TICK
