"""The order of `merging` for inputs in columns: the same rows in the same order, cut into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from eddyline.sources.batches import BatchInput
from eddyline.sources.chunk import Chunk

Ticks = npt.NDArray[np.int64]

#: stands for no tick at all, before every other
_NONE_YET = np.iinfo(np.int64).min


def merged_batches(sources: Sequence[BatchInput], batch_rows: int) -> Iterator[list[Chunk]]:
    """Batches of `batch_rows` arrivals, the last one perhaps of fewer.

    A batch holds the chunks of the first input in their order, then those of the second, and so on. How the rows of
    different inputs stand to each other inside a batch is not told: their ticks do. Rows of a single input that stay in
    their file are not cut where they need not be, and not put together with others that do not stay.
    """
    if len(sources) == 1:
        yield from _one_after_the_other(sources[0], batch_rows)
        return
    inputs = [_Input(source) for source in sources]
    batch = _Batch(len(inputs))
    while _refill(inputs, batch):
        counts = _safe_counts(inputs)
        if batch.rows + sum(counts) <= batch_rows:
            pieces = [counts]
        else:
            pieces = _cut(inputs, counts, batch_rows - batch.rows, batch_rows)
        for piece in pieces:
            for number, count in enumerate(piece):
                batch.add(number, inputs[number].taken(count))
            if batch.rows == batch_rows:
                yield batch.finished()
    if batch.holds_anything:
        yield batch.finished()


def _one_after_the_other(source: BatchInput, batch_rows: int) -> Iterator[list[Chunk]]:
    """A single input needs no merging, and nobody has to look at its ticks."""
    batch: list[Chunk] = []
    rows = 0
    for chunk in source.chunks():
        stays = chunk.stays is not None
        if batch and (stays != (batch[-1].stays is not None) or (stays and rows + chunk.num_rows > batch_rows)):
            yield batch
            batch, rows = [], 0
        first = 0
        while True:
            some = chunk.slice(first, first + batch_rows - rows)
            batch.append(some)
            first, rows = first + some.num_rows, rows + some.num_rows
            if rows == batch_rows:
                yield batch
                batch, rows = [], 0
            if first >= chunk.num_rows:
                break
    if batch:
        yield batch


class _Input:
    """One input: the chunk being merged, and the largest tick reached with each of its rows."""

    def __init__(self, source: BatchInput) -> None:
        self._chunks = source.chunks()
        self._chunk: Chunk | None = None
        self._start = 0
        self._last = _NONE_YET
        self.reached: Ticks = np.empty(0, np.int64)

    @property
    def is_empty(self) -> bool:
        return not len(self.reached)

    def read(self) -> Chunk | None:
        """The next chunk, None at the end."""
        self._chunk = chunk = next(self._chunks, None)
        self._start = 0
        if chunk is not None and chunk.num_rows:
            ticks = chunk.tick.fill_null(_NONE_YET).to_numpy()
            self.reached = np.maximum(np.maximum.accumulate(ticks), self._last)
            self._last = int(self.reached[-1])
        return chunk

    def taken(self, count: int) -> Chunk | None:
        """The next rows, which are done with then."""
        if not count or self._chunk is None:
            return None
        rows = self._chunk.slice(self._start, self._start + count)
        self._start += count
        self.reached = self.reached[count:]
        return rows


class _Batch:
    """The batch being filled."""

    def __init__(self, inputs: int) -> None:
        self._chunks: list[list[Chunk]] = [[] for _ in range(inputs)]
        self.rows = 0

    def add(self, number: int, chunk: Chunk | None) -> None:
        if chunk is not None:
            self._chunks[number].append(chunk)
            self.rows += chunk.num_rows

    @property
    def holds_anything(self) -> bool:
        return any(self._chunks)

    def finished(self) -> list[Chunk]:
        chunks = [chunk for of_input in self._chunks for chunk in of_input]
        for of_input in self._chunks:
            of_input.clear()
        self.rows = 0
        return chunks


def _refill(inputs: list[_Input], batch: _Batch) -> bool:
    """Every input that has not ended gets rows; False if all have ended. Chunks of rejects alone go into the batch."""
    for number, input_ in enumerate(inputs):
        while input_.is_empty:
            chunk = input_.read()
            if chunk is None:
                break
            if not chunk.num_rows:
                batch.add(number, chunk)
    return any(not input_.is_empty for input_ in inputs)


def _safe_counts(inputs: Sequence[_Input]) -> list[int]:
    """How many rows of each input come before all rows that have not been read yet.

    What an input still holds comes at the largest tick it has reached or later. So the input whose rows end earliest
    can give all of them, and the others what comes before its end; at the same tick, what earlier inputs have.
    """
    ends = [(int(input_.reached[-1]), number) for number, input_ in enumerate(inputs) if not input_.is_empty]
    end, first = min(ends)
    return [
        int(np.searchsorted(input_.reached, end, side="right" if number <= first else "left"))
        for number, input_ in enumerate(inputs)
    ]


def _cut(inputs: Sequence[_Input], counts: Sequence[int], first: int, further: int) -> list[list[int]]:
    """The counts cut into pieces in the order of merging: `first` rows, then `further` each, then the rest."""
    reached = np.concatenate([input_.reached[:count] for input_, count in zip(inputs, counts, strict=True)])
    origin = np.repeat(np.arange(len(inputs)), counts)
    # The rows stand in the order of the inputs, so a stable order by tick settles ties as it should.
    origin = origin[np.argsort(reached, kind="stable")]
    borders = np.arange(first, len(origin), further)
    return [np.bincount(piece, minlength=len(inputs)).tolist() for piece in np.split(origin, borders)]
