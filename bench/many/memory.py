"""Megabytes of this process and everything below it, memory that several of them share counted once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path


def family(root: int) -> list[int]:
    """The process and all below it; nothing where there is no /proc."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
        children.setdefault(parent, []).append(int(folder.name))
    found = [root] if Path(f"/proc/{root}").exists() else []
    for each in found:
        found.extend(children.get(each, ()))
    return found


def megabytes() -> float:
    return megabytes_of(family(os.getpid()))


def megabytes_of(processes: Iterable[int]) -> float:
    total = 0
    for process in processes:
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(kilobytes) for kilobytes in re.findall(r"^Pss: +(\d+)", text, re.MULTILINE))
    return total / 1024
