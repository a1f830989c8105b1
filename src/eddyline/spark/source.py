"""The streaming source that Spark follows: it hands out references to segments, not tuples.

It runs in a process of its own beside the driver and learns what there is from the journal on disk. Nothing is answered
before that process, and others that Spark asks about the source, have loaded this module, so it loads little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from eddyline.errors import StorageUnusable
from eddyline.log.journal import Tail
from eddyline.log.root import Root

FORMAT = "eddyline"
#: the key under which an offset has the number of the journal's entry; the other keys are streams
ENTRY = "_entry"
REFERENCE = "stream STRING, path STRING, rows BIGINT, first BIGINT, last BIGINT"


class Reference(InputPartition):
    """A segment, or none: a batch in which only the clock moved."""

    def __init__(self, row: tuple[str, str, int, int, int]) -> None:
        super().__init__(row)


class LogSource(DataSource):
    """The stream logs of a database; option `root` says where, `batchRows` how many rows a batch may have."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return REFERENCE

    def streamReader(self, schema: Any) -> LogReader:
        return LogReader(self.options)


class LogReader(DataSourceStreamReader):
    """Offsets are `{stream: place in its log}` and the journal's entry that goes with them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._most = int(options.get("batchRows", "0"))
        self._tail = Tail(Root(options["root"]))

    def initialOffset(self) -> dict[str, int]:
        return {ENTRY: 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadMaxRows(self._most) if self._most else ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """As many whole entries as the limit admits, at least one: an entry is never cut."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        offset, rows = dict(start), 0
        try:
            for entry in self._tail.after(start[ENTRY]):
                rows += entry.rows
                if most is not None and rows > most and offset[ENTRY] > start[ENTRY]:
                    break
                offset[ENTRY] = entry.number
                for stream, segments in entry.segments.items():
                    offset[stream] = max(segment.seq[1] for segment in segments)
        except StorageUnusable as problem:
            if not problem.retryable:
                raise
            # a folder that cannot be read for now brings nothing new for now
        return offset

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        entries = self._tail.after(start[ENTRY], end[ENTRY])
        return [
            Reference((stream, segment.path, segment.rows, *segment.seq))
            for entry in entries
            for stream, segments in entry.segments.items()
            for segment in segments
        ]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        yield partition.value
