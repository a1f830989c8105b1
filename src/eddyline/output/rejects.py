"""Rows that were set aside: kept in files if the user wants them, and counted in the end."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import Any, Protocol, TextIO

from eddyline.errors import InvalidDefinition

HEADER = ("file", "line", "reason", "text")

#: how many reasons the summary shows
SHOWN_REASONS = 3


class Rejected(Protocol):
    """What is known of a row that was set aside."""

    @property
    def extent(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def reason(self) -> str: ...


class RejectLog:
    """Counts rejects and, given a folder, writes `<extent>.csv` there for every extent that has any."""

    def __init__(self, folder: Path | None) -> None:
        if folder is not None and folder.exists() and not folder.is_dir():
            raise InvalidDefinition(f"--rejects: {folder} is not a folder")
        self._folder = folder
        self._counts: Counter[str] = Counter()
        self._first: list[Rejected] = []
        self._files: dict[str, tuple[TextIO, Any]] = {}

    def add(self, reject: Rejected) -> None:
        self._counts[reject.extent] += 1
        if len(self._first) < SHOWN_REASONS:
            self._first.append(reject)
        if self._folder is not None:
            self._writer(reject.extent).writerow((reject.file, reject.line, reject.reason, reject.text))

    def close(self) -> None:
        for file, _ in self._files.values():
            file.close()
        self._files.clear()

    def summary(self) -> str | None:
        """What the user is told in the end; None if every row did fit."""
        total = self._counts.total()
        if not total:
            return None
        counts = ", ".join(f"{extent} {count}" for extent, count in self._counts.items())
        lines = [f"{total} row{'s' if total > 1 else ''} set aside: {counts}"]
        lines += [f"  {reject.file}:{reject.line}: {reject.reason}" for reject in self._first]
        if total > len(self._first):
            lines.append(f"  … and {total - len(self._first)} more")
        if self._folder is None:
            lines.append("  --rejects DIR keeps them in files")
        else:
            lines.append(f"  all of them are in {self._folder}")
        return "\n".join(lines)

    def _writer(self, extent: str) -> Any:
        if extent not in self._files:
            assert self._folder is not None
            path = self._folder / (re.sub(r"[^\w.-]", "_", extent) + ".csv")
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                _refuse_foreign(path)
                file = open(path, "w", encoding="utf-8", errors="backslashreplace", newline="")  # noqa: SIM115
            except OSError as problem:
                raise InvalidDefinition(f"--rejects: cannot write {path}: {problem.strerror or problem}") from problem
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEADER)
            self._files[extent] = file, writer
        return self._files[extent][1]


def _refuse_foreign(path: Path) -> None:
    """The data of road is likely to be called road.csv too: only files that we wrote are written again."""
    if not path.exists():
        return
    with open(path, encoding="utf-8", errors="replace") as file:
        first = file.readline().rstrip("\r\n")
    if first not in ("", ",".join(HEADER)):
        raise InvalidDefinition(
            f"--rejects: {path} is there already and holds something else", hint="name a folder of its own"
        )
