"""What this machine has, for joins of which nobody has said what they may take."""

from __future__ import annotations

import os

#: the part of all memory that the states of a join may take: Spark, the page cache and others want the rest
PART_OF_MEMORY = 0.5
#: where nobody can tell, as much as the smallest machine that one would run this on
LEAST_MEMORY = 4 * 1024.0**3


def processors() -> float:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return float(len(os.sched_getaffinity(0)))
    return float(os.cpu_count() or 1)


def memory_for_joins() -> float:
    """In bytes."""
    try:
        memory = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not every system knows these names
        memory = LEAST_MEMORY
    return memory * PART_OF_MEMORY
