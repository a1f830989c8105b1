"""One order for the rows of several inputs (LANGUAGE.md, "Running a script")."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence

from eddyline.sources.arrival import Arrival, Reject
from eddyline.sources.source import Source


def merged(sources: Sequence[Source]) -> Iterator[Arrival | Reject]:
    """Always the row next in the input whose largest tick, with that row, is smallest; equal: the earlier input.

    So a row that is late in its file does not overtake what came before it, but stays as late as it is there. A row
    without a tick (a tag, a deletion, a row set aside) leaves the largest tick as it is and follows the row before it.
    """
    heap: list[tuple[float, int]] = []
    rows = [source.rows() for source in sources]
    upcoming: list[Arrival | Reject | None] = [next(input_, None) for input_ in rows]
    for position, row in enumerate(upcoming):
        if row is not None:
            heap.append((_reached(-math.inf, row), position))
    heapq.heapify(heap)
    while heap:
        reached, position = heap[0]
        row = upcoming[position]
        assert row is not None
        yield row
        upcoming[position] = following = next(rows[position], None)
        if following is None:
            heapq.heappop(heap)
        else:
            heapq.heapreplace(heap, (_reached(reached, following), position))


def _reached(before: float, row: Arrival | Reject) -> float:
    if isinstance(row, Reject) or row.tick is None or row.tick <= before:
        return before
    return row.tick
