"""Record batches put together to tables of a bounded size, so that a task's memory stays bounded too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa


def tables_of(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """All rows in order, in tables of about so many of them; empty batches make no table.

    >>> three = pa.record_batch({"x": [1, 2, 3]})
    >>> [table.num_rows for table in tables_of([three, three.slice(3), three, three], 5)]
    [6, 3]
    """
    waiting: list[pa.RecordBatch] = []
    gathered = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            gathered += batch.num_rows
        if gathered >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, gathered = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
