"""Following what Spark has committed: which segments hold the answers of which query, batch by batch."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from eddyline.algebra.answer import Answer
from eddyline.log.answers import Shape, answers, read_segments
from eddyline.log.results import Record, ResultLog
from eddyline.log.segment import Segment
from eddyline.log.storage import Storage


class ResultReader:
    """The result log as far as it was read. A cursor is the number of a batch; -1 is before the first."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._log = ResultLog(storage)
        self._guard = threading.Lock()
        self._last = -1
        self._segments: dict[str, list[Segment]] = {}  # by result log, in the order of batches

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
            if self._last < self._log.committed():
                self._load()  # records in between were folded into the snapshot while we did not look
            return self._last

    def segments(self, log: str, since: int = -1) -> list[Segment]:
        """The committed segments of a result log that are newer than a cursor."""
        with self._guard:
            return [segment for segment in self._segments.get(log, ()) if segment.seq[0] > since]

    def forget(self, log: str) -> None:
        with self._guard:
            self._segments.pop(log, None)

    def answers(self, log: str, shape: Shape, since: int = -1) -> Iterator[Answer]:
        """What was answered after a cursor, batch by batch."""
        by_batch: dict[int, list[Segment]] = {}
        for segment in self.segments(log, since):
            by_batch.setdefault(segment.seq[0], []).append(segment)
        for batch in sorted(by_batch):
            table = read_segments(self.storage, by_batch[batch])
            if table is not None:
                yield from answers(shape, table)

    def _load(self) -> None:
        while True:
            folded = self._log.folded()
            results = self._log.load()
            if folded == self._log.folded():  # else records may have gone into the snapshot just after it was read
                break
        self._last = results.last.batch
        self._segments = {name: list(stage.segments) for name, stage in results.stages.items()}

    def _take(self, record: Record) -> None:
        for name, stage in record.stages.items():
            if stage.segments:
                self._segments.setdefault(name, []).extend(stage.segments)
        self._last = record.batch
