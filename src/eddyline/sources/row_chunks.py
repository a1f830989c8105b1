"""The rows of a row-wise reader as columns, for what only that reader can read."""

from __future__ import annotations

from collections.abc import Iterator

from eddyline.sources.arrival import Arrival, Reject
from eddyline.sources.batch_intake import BatchIntake
from eddyline.sources.chunk import Chunk, chunk_of_arrivals
from eddyline.sources.files import ByteMeter


def rows_as_chunks(
    rows: Iterator[Arrival | Reject], intake: BatchIntake, meter: ByteMeter, chunk_rows: int
) -> Iterator[Chunk]:
    """`rows` must come from this intake: its latest tag is asked for after each."""
    arrivals: list[Arrival] = []
    tags: list[str | None] = []
    rejects: list[Reject] = []

    def chunk() -> Chunk:
        whole = chunk_of_arrivals(intake.extent, intake.file, arrivals, tags, rejects, meter.count)
        for collected in (arrivals, tags, rejects):
            collected.clear()
        return whole

    for row in rows:
        if isinstance(row, Reject):
            rejects.append(row)
        else:
            arrivals.append(row)
            tags.append(intake.tag_text(row))
        if len(arrivals) >= chunk_rows or len(rejects) >= chunk_rows:
            yield chunk()
    if arrivals or rejects:
        yield chunk()
