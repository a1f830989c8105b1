"""Rows that did not fit: the latest in memory, all of them in files of the database, and counted."""

from __future__ import annotations

import csv
import io
import re
import threading
import uuid
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from eddyline.errors import EddylineError
from eddyline.log.storage import Storage
from eddyline.sources import Reject

FOLDER = "rejects"
HEADER = ("file", "line", "reason", "text")
#: how many are kept in memory
KEPT = 1_000
#: how many wait at most for being written down
_AT_ONCE = 10_000


class Rejects:
    """Iterates over the latest rejects; `counts` has how many there were by stream since the database was opened."""

    def __init__(self, storage: Storage, kept: int = KEPT) -> None:
        self._storage = storage
        self._latest: deque[Reject] = deque(maxlen=kept)
        self._waiting: list[Reject] = []
        self._guard = threading.Lock()
        self.counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Reject]:
        with self._guard:
            return iter(list(self._latest))

    def __len__(self) -> int:
        return self.counts.total()

    def add(self, reject: Reject) -> None:
        with self._guard:
            self.counts[reject.extent] += 1
            self._latest.append(reject)
            self._waiting.append(reject)
            if len(self._waiting) % _AT_ONCE == 0:  # a statement may set millions aside
                with suppress(OSError, EddylineError):  # `save` tries again, and tells
                    self._write_waiting()

    def save(self) -> None:
        """Write those down that came since: `rejects/<stream>.csv`, or a file for each time on an object store."""
        with self._guard:
            self._write_waiting()

    def _write_waiting(self) -> None:
        for extent in dict.fromkeys(reject.extent for reject in self._waiting):
            self._write(extent, [reject for reject in self._waiting if reject.extent == extent])
            self._waiting = [reject for reject in self._waiting if reject.extent != extent]

    def _write(self, extent: str, rejects: list[Reject]) -> None:
        name = f"{FOLDER}/" + re.sub(r"[^\w.-]", "_", extent)
        path = Path(self._storage.path(f"{name}.csv"))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self._storage.local or not path.exists():
            writer.writerow(HEADER)
        writer.writerows((reject.file, reject.line, reject.reason, reject.text) for reject in rejects)
        content = text.getvalue().encode("utf-8", "backslashreplace")
        if not self._storage.local:  # nobody can append there
            self._storage.write(f"{name}/{uuid.uuid4().hex}.csv", content)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            file.write(content)
