"""Streams of any format that Spark can follow: a small streaming query of Spark's own writes their rows down.

Indexes are given out in the order of arrival, by one writer, so the rows cannot go into the stream log from many tasks
at once. They wait in Parquet pieces that the tasks write, and the driver takes them into the log piece by piece, merged
with all other inputs. Each batch of Spark's has a manifest, written as a whole behind its pieces: a batch that Spark
runs again is known by it. How many rows the log has taken is written down with the rows themselves. So every row
comes once, whatever is killed between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddyline.catalog.extent import Extent
from eddyline.log.storage import UNFINISHED, Storage
from eddyline.sources.batches import CHUNK_ROWS, reach_of_chunks
from eddyline.sources.chunk import Chunk
from eddyline.sources.columns import OP
from eddyline.sources.reach import Reach
from eddyline.sources.staged import chunk_of_piece, limit_of
from eddyline.spark.foreign import FILE_FORMATS, explained, fitted, live_frame
from eddyline.spark.literal import back_quoted
from eddyline.spark.pieces import Piece, write_pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_POLL = 0.1


@dataclass(frozen=True)
class Staged:
    """A batch of Spark's: its pieces, and how many rows of the stream came before it."""

    batch: int
    before: int
    pieces: tuple[Piece, ...]

    @property
    def last(self) -> int:
        return self.before + sum(piece.rows for piece in self.pieces)


class Staging:
    """The rows of one stream that wait to be taken into its log."""

    def __init__(self, spark: SparkSession, storage: Storage, extent: Extent, base: Path) -> None:
        self._spark, self._storage = spark, storage
        self._extent, self._base = extent, base
        self._limit = limit_of(extent)
        self._folder = f"inputs/{extent.name}"
        self._failure: list[BaseException] = []

    def check(self) -> None:
        """Raises if Spark cannot read the stream, or if its columns do not fit."""
        self._frame()

    def run(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Write down what there is; with a limit, wait until so many rows have come."""
        if self._is_full():
            return
        self._remove_orphans()
        self._failure.clear()
        waits = self._limit is not None and self._extent.format not in FILE_FORMATS
        writer = self._frame().writeStream.foreachBatch(self._stage)
        writer = writer.option("checkpointLocation", self._storage.url(f"{self._folder}/checkpoint"))
        try:
            query = writer.start() if waits else writer.trigger(availableNow=True).start()
            try:
                while not query.awaitTermination(_POLL):  # type: ignore[arg-type]
                    meanwhile()
                    if self._is_full():
                        break
            finally:
                query.stop()
        except Exception as problem:
            raise explained(self._extent, self._failure[0] if self._failure else problem) from None

    def source(self, done: int, tick_micros: int) -> StagedSource:
        """What waits behind the first `done` rows."""
        return StagedSource(self._extent, self._storage, self._manifests, done, self._limit, tick_micros)

    def clear(self, done: int) -> None:
        """Delete what the log has taken. The last manifest stays: it knows which batch was the last."""
        manifests = self._manifests()
        for staged in manifests:
            last = staged.before
            for piece in staged.pieces:
                last += piece.rows
                if last <= done or (self._limit is not None and last - piece.rows >= self._limit):
                    self._storage.delete(piece.path)
        for staged in manifests[:-1]:
            if staged.last <= done:
                self._storage.delete(self._manifest(staged.batch))

    # -- batches ------------------------------------------------------------------------------------------------------

    def _frame(self) -> DataFrame:
        return fitted(live_frame(self._spark, self._extent, self._base), self._extent)

    def _stage(self, frame: DataFrame, batch: int) -> None:
        """What Spark calls for each batch, and again for one that it is not sure was finished."""
        try:
            if self._is_full() or self._storage.exists(self._manifest(batch)):
                return
            if self._extent.timestamp is not None and OP not in frame.columns:
                # Spark promises no order among the partitions of a batch, nor among files. Rows that come before
                # their time would make others late, and beyond the retention they would be lost.
                frame = frame.orderBy(back_quoted(self._extent.timestamp))
            pieces = write_pieces(frame, self._folder, self._storage, only_fitting=False)
            named = [{"path": piece.path, "rows": piece.rows} for piece in pieces]
            self._storage.write_json(self._manifest(batch), {"before": self._last(), "pieces": named})
        except Exception as problem:
            self._failure.append(problem)
            raise

    def _is_full(self) -> bool:
        return self._limit is not None and self._last() >= self._limit

    def _last(self) -> int:
        manifests = self._manifests()
        return manifests[-1].last if manifests else 0

    def _manifests(self) -> list[Staged]:
        numbers = sorted(int(name.removesuffix(".json")) for name in self._names() if name.endswith(".json"))
        found = ((number, self._storage.read_json(self._manifest(number))) for number in numbers)
        return [Staged(n, value["before"], _pieces(value["pieces"])) for n, value in found if value is not None]

    def _manifest(self, batch: int) -> str:
        return f"{self._folder}/{batch:012d}.json"

    def _names(self) -> list[str]:
        return self._storage.names(self._folder)

    def _remove_orphans(self) -> None:
        """Pieces that no manifest names: of tasks that failed, and of a batch that was killed."""
        named = {piece.path for staged in self._manifests() for piece in staged.pieces}
        for path, _ in self._storage.files_below(self._folder):
            is_piece = path.endswith((".parquet", UNFINISHED))
            if is_piece and path not in named and "/" not in path.removeprefix(f"{self._folder}/"):
                self._storage.delete(path)


class StagedSource:
    """The rows that wait, as those of a file; one piece is in memory at a time."""

    def __init__(
        self,
        extent: Extent,
        storage: Storage,
        manifests: Callable[[], list[Staged]],
        done: int,
        limit: int | None,
        tick_micros: int,
    ) -> None:
        self.extent = extent
        self.warnings: list[str] = []
        self.bytes_read = 0
        self._storage, self._manifests = storage, manifests
        self._done, self._limit = done, limit
        self._tick_micros = tick_micros

    def chunks(self) -> Iterator[Chunk]:
        for staged in self._manifests():
            first = staged.before + 1
            for piece in staged.pieces:
                if first + piece.rows - 1 > self._done and (self._limit is None or first <= self._limit):
                    yield from self._chunks_of(piece, first)
                first += piece.rows

    def _chunks_of(self, piece: Piece, first: int) -> Iterator[Chunk]:
        table = self._storage.read_table(piece.path)
        if self._limit is not None:
            table = table.slice(0, self._limit - first + 1)
        chunk = chunk_of_piece(self.extent, table, first, self._tick_micros)
        for start in range(0, max(1, chunk.num_rows), CHUNK_ROWS):
            yield chunk.slice(start, start + CHUNK_ROWS)

    def reach(self) -> Reach:
        return reach_of_chunks(self.extent.retain, self.chunks())

    def total_bytes(self) -> int | None:
        return None


def _pieces(values: list[dict[str, Any]]) -> tuple[Piece, ...]:
    return tuple(Piece(value["path"], value["rows"]) for value in values)
