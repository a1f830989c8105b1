"""Starting the programs of this folder, and finding what they have started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import eddyline


def start(module: str, *arguments: str, before: str = "") -> subprocess.Popen[str]:
    """`before` is a folder that Python looks into first."""
    folders = [before, str(Path(__file__).parents[1]), str(Path(eddyline.__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folder for folder in folders if folder)}
    return subprocess.Popen(
        [sys.executable, "-m", f"faults.{module}", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        process_group=0,
    )


def below(ancestor: int, words: str) -> Iterator[int]:
    """The processes that a process has started, directly or not, whose command has some words in it."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _is_below(int(folder.name), ancestor):
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # it has just gone
                continue
            if words in command:
                yield int(folder.name)


def _is_below(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False
