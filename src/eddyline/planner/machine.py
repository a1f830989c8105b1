"""What this machine has, for joins of which nobody has said what they may take."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

#: the part of all memory that the states of a join may take: Spark, the page cache and others want the rest
PART_OF_MEMORY = 0.5
#: where nobody can tell, as much as the smallest machine that one would run this on
LEAST_MEMORY = 4 * 1024.0**3
#: where Linux tells what containers and services may take of the machine, and to which of them a process belongs
_GROUPS, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def processors() -> float:
    """Those that this process may use; a container may have half of one."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(float(found), *(_share_of_time(group) for group in _groups("cpu")), math.inf)


def memory_for_joins() -> float:
    """In bytes."""
    try:
        memory = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not every system knows these names
        memory = LEAST_MEMORY
    names = ("memory.max", "memory.limit_in_bytes")
    limits = (_numbers(group / name) for group in _groups("memory") for name in names)
    return min(memory, *(limit[0] for limit in limits if limit), math.inf) * PART_OF_MEMORY


def _share_of_time(group: Path) -> float:
    found = _numbers(group / "cpu.max")
    if not found:  # the first version of such groups
        found = [*_numbers(group / "cpu.cfs_quota_us"), *_numbers(group / "cpu.cfs_period_us")]
    return found[0] / found[1] if len(found) == 2 and found[1] else math.inf


def _groups(controller: str) -> Iterator[Path]:
    """The folders of the groups of this process, and of those around them, whose limits hold as well.

    In a container its own group is mostly the root, whatever the process is told.
    """
    try:
        lines = [line.split(":", 2) for line in _OWN_GROUPS.read_text().splitlines()]
    except OSError:
        return
    for number, controllers, path in (line for line in lines if len(line) == 3):
        if number != "0" and controller not in controllers.split(","):
            continue
        root = _GROUPS if number == "0" else _GROUPS / controller
        own = root / path.strip("/")
        yield own
        if own != root:
            yield from (around for around in own.parents if around.is_relative_to(root))


def _numbers(file: Path) -> list[float]:
    """What a file says: nothing if it is not there, and infinity for 'max' or below 0, which is no limit."""
    try:
        words = file.read_text().split()
        return [math.inf if word == "max" or float(word) <= 0 else float(word) for word in words]
    except (OSError, ValueError):
        return []
