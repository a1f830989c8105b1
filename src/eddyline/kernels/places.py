"""Some rows of a table, by their places in ascending order: neighbours are a slice, which is not copied."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]


def index(rows: Ints) -> Ints | slice:
    """What an array by row is indexed with."""
    if not rows.size or rows[-1] - rows[0] >= rows.size:
        return rows
    return slice(int(rows[0]), int(rows[-1]) + 1)


def picked(column: pa.ChunkedArray, rows: Ints) -> pa.Array | pa.ChunkedArray:
    """The values of a column for these rows."""
    whole = column.chunk(0) if column.num_chunks == 1 else column  # less is done for an array than for its chunks
    at = index(rows)
    return whole.slice(at.start, at.stop - at.start) if isinstance(at, slice) else whole.take(pa.array(rows))
