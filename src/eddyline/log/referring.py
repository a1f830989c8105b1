"""Rows that come in and stay in their files: which can, and what the log says of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pyarrow.compute as pc

from eddyline.catalog.extent import Extent
from eddyline.log.journal import Spans, StreamState
from eddyline.log.referred import Referred
from eddyline.log.segment import Segment
from eddyline.log.spans import joined_spans, spans_of
from eddyline.log.storage import Storage
from eddyline.sources.chunk import Chunk
from eddyline.sources.horizon import horizons


def references(extent: Extent, chunks: Sequence[Chunk], state: StreamState, storage: Storage) -> list[Segment] | None:
    """Segments that refer to the rows of some chunks; None if these have to be copied.

    So it is if one of them comes too late, because it is set aside; if the database is where no path of this machine
    leads; and if the files are in its own folder, where they could be taken for its own.
    """
    places = [chunk.stays for chunk in chunks if chunk.stays is not None]
    if len(places) < len(chunks) or not storage.local or any(storage.holds(place.file) for place in places):
        return None
    if extent.retain is not None and _some_too_late(extent, chunks, state.top):
        return None
    segments = []
    seq, index = state.last_seq + 1, state.last_index + 1
    for place, chunk in zip(places, chunks, strict=True):
        _sync(place.file)
        last = place.rows - 1
        path = Referred(extent.name, place, seq, index).path
        # the size is that of the file: what is part of a large one is large enough
        segments.append(Segment(path, place.rows, place.size, (seq, seq + last), (index, index + last), chunk.ticks))
        seq, index = seq + place.rows, index + place.rows
    return segments


def _some_too_late(extent: Extent, chunks: Sequence[Chunk], top: int | None) -> bool:
    bounds = [chunk.ticks for chunk in chunks]
    tops = [high for _, high in bounds] + ([] if top is None else [top])
    horizon = extent.horizon(max(tops))  # where it stands when all have come; before, it was not later
    if horizon is None or min(low for low, _ in bounds) >= horizon:
        return False
    ticks = np.concatenate([chunk.tick.to_numpy() for chunk in chunks])
    brings = np.ones(len(ticks), bool)
    return bool((ticks < horizons(ticks, brings, top, extent.retain, extent.further)).any())


def touched_by(chunks: Sequence[Chunk]) -> Spans:
    """The ticks of rows, or somewhat more."""
    return joined_spans(chunk.spans or spans_of(chunk.tick) for chunk in chunks)


def late_among(chunks: Sequence[Chunk], segments: Sequence[Segment], closed: int | None) -> int:
    """How many rows come when nobody expects them any more."""
    if closed is None:
        return 0
    some = [chunk for chunk, segment in zip(chunks, segments, strict=True) if segment.tick[0] <= closed]
    return sum(int(pc.sum(pc.less_equal(chunk.tick, closed)).as_py() or 0) for chunk in some)


def _sync(file: str) -> None:
    """The journal is about to say that the rows are there, and would outlast a power cut."""
    with suppress(OSError):
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
