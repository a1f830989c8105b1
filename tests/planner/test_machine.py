"""What a process may take of a machine, if it is in a container."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

import pytest

from eddyline.planner import machine

_GIB = 1024.0**3


def _within(tmp_path: Path, own: str, files: dict[str, str]) -> tuple[float, float]:
    """Processors and memory, on a machine with many of both."""
    groups, said = tmp_path / "groups", tmp_path / "own"
    groups.mkdir()
    said.write_text(own)
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    with (
        patch.object(machine, "_GROUPS", groups),
        patch.object(machine, "_OWN_GROUPS", said),
        patch.object(os, "sched_getaffinity", lambda pid: range(64), create=True),
        patch.object(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**26}[name]),
    ):
        return machine.processors(), machine.memory_for_joins() / machine.PART_OF_MEMORY / _GIB


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {}, (64, 256)),
        ("0::/\n", {"cpu.max": "max 100000\n", "memory.max": "max\n"}, (64, 256)),
        ("0::/\n", {"cpu.max": "150000 100000\n", "memory.max": "2147483648\n"}, (1.5, 2)),
        ("0::/a/b\n", {"a/cpu.max": "50000 100000\n", "a/b/memory.max": "1073741824\n"}, (0.5, 1)),
        ("0::/not/here\n", {"memory.max": "2147483648\n"}, (64, 2)),
        (
            "5:cpu,cpuacct:/c\n4:memory:/m\n0::/\n",
            {
                "cpu/c/cpu.cfs_quota_us": "200000\n",
                "cpu/c/cpu.cfs_period_us": "100000\n",
                "memory/m/memory.limit_in_bytes": "3221225472\n",
            },
            (2, 3),
        ),
        ("5:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, (64, 256)),
    ],
)
def test_what_a_container_may_take(
    tmp_path: Path, own: str, files: dict[str, str], expected: tuple[float, float]
) -> None:
    assert _within(tmp_path, own, files) == expected
