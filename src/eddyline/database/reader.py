"""Following what Spark has committed: which segments hold the answers of which query, batch by batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from eddyline.algebra.answer import Answer
from eddyline.errors import StorageUnusable
from eddyline.log.answers import Reading, answers, batch_by_batch
from eddyline.log.results import Record, ResultLog
from eddyline.log.segment import Segment
from eddyline.log.storage import Storage

#: after so many batches the snapshot is read again: small segments have been merged since, and need not be remembered
_ANEW = 128
Read = TypeVar("Read")


class ResultReader:
    """The result log as far as it was read. A cursor is the number of a batch; -1 is before the first."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._log = ResultLog(storage)
        self._guard = threading.Lock()
        self._last = -1
        self._loaded = -1  # the last batch when the snapshot was read
        self._segments: dict[str, list[Segment]] = {}  # by result log, in the order of batches
        self._stopped: dict[str, str] = {}  # by result log, why

    @property
    def last(self) -> int:
        return self._last

    def refresh(self) -> int:
        """Read what was committed since; gives the last batch."""
        with self._guard:
            for record in self._log.after(self._last):
                if record.batch != self._last + 1:
                    break
                self._take(record)
            if self._last < self._log.committed() or self._last >= self._loaded + _ANEW:
                self._load()  # records in between were folded into the snapshot while we did not look
            return self._last

    def segments(self, log: str, since: int = -1) -> list[Segment]:
        """The committed segments of a result log in which something is newer than a cursor."""
        with self._guard:
            return [segment for segment in self._segments.get(log, ()) if segment.seq[1] > since]

    def stopped(self, log: str) -> str | None:
        """Why the query of a result log has stopped for good; None if it has not."""
        with self._guard:
            return self._stopped.get(log)

    def read(self, log: str, since: int, action: Callable[[list[Segment]], Read]) -> Read:
        """Do something with the segments; once more with those that they were merged into if they went meanwhile."""
        while True:
            segments = self.segments(log, since)
            try:
                return action(segments)
            except StorageUnusable:
                if not self._exchanged(log, segments):
                    raise

    def forget(self, log: str) -> None:
        with self._guard:
            self._segments.pop(log, None)
            self._stopped.pop(log, None)

    def answers(self, log: str, reading: Reading, since: int = -1, upto: int | None = None) -> Iterator[Answer]:
        """What was answered after a cursor; up to another one, although more may be known by now."""
        for _, found in self.batches(log, reading, since, upto):
            yield from found

    def batches(
        self, log: str, reading: Reading, since: int = -1, upto: int | None = None
    ) -> Iterator[tuple[int, Iterator[Answer]]]:
        """The same, batch by batch."""
        while True:
            segments = self.segments(log, since)
            try:
                for batch, table in batch_by_batch(self.storage, segments, since, reading.seat):
                    if upto is not None and batch > upto:
                        return
                    yield batch, answers(reading, table, batch)
                    since = batch
                return
            except StorageUnusable:
                if not self._exchanged(log, segments):
                    raise

    def _exchanged(self, log: str, segments: list[Segment]) -> bool:
        """Whether a segment is gone from the log by now; then what is there instead is known."""
        with self._guard:
            self._load()
            known = {segment.path for segment in self._segments.get(log, ())}
            return any(segment.path not in known for segment in segments)

    def _load(self) -> None:
        results = self._log.load()
        self._last = self._loaded = results.last.batch
        self._segments = {name: list(stage.segments) for name, stage in results.stages.items()}
        self._stopped = {name: stage.failed for name, stage in results.stages.items() if stage.failed}

    def _take(self, record: Record) -> None:
        for name, stage in record.stages.items():
            if stage.segments:
                self._segments.setdefault(name, []).extend(stage.segments)
            if stage.failed:
                self._stopped[name] = stage.failed
        self._last = record.batch
