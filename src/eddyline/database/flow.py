"""Files that feed streams. How far each was read is written down with the rows, so nothing is lost or taken twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from eddyline.sources.batches import BatchInput
from eddyline.sources.chunk import Chunk
from eddyline.sources.merged_batches import merged_batches


def flowing(
    sources: Sequence[BatchInput], origin: Mapping[str, int], batch_rows: int
) -> Iterator[tuple[list[Chunk], dict[str, int]]]:
    """What the files hold beyond `origin`, merged; each batch with how far it comes."""
    rest = [cast(BatchInput, _Rest(source, origin)) for source in sources]
    for chunks in merged_batches(rest, batch_rows):
        reached: dict[str, int] = {}
        for chunk in chunks:
            place = place_of(chunk)
            reached[place] = max(reached.get(place, 0), chunk.last_line)
        yield chunks, reached


def place_of(chunk: Chunk) -> str:
    """The name under which the journal remembers how many lines of a file a stream has read."""
    return f"{chunk.extent}\n{chunk.file}"


class _Rest:
    """A source from where reading stopped. It is read from its beginning: sensors count their turns from there."""

    def __init__(self, source: BatchInput, origin: Mapping[str, int]) -> None:
        self._source = source
        self._origin = origin

    def chunks(self) -> Iterator[Chunk]:
        for chunk in self._source.chunks():
            done = self._origin.get(place_of(chunk), 0)
            if not done:
                yield chunk
            elif chunk.last_line > done:
                yield chunk.after(done)
