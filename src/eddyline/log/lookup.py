"""Finding the last versions of single tuples in the log, by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.log.segment import DIFF, INDEX, SEQ, SYSTEM, TICK, Segment
from eddyline.log.storage import Storage


def last_rows(storage: Storage, segments: Sequence[Segment], indexes: Any, schema: pa.Schema) -> pa.Table:
    """What the log says last of those of the tuples that it knows, in the order of their indexes.

    `_index`, `_tick`, the values, and `_diff`: +1 if the tuple stands, -1 if it was deleted.
    """
    columns = [SEQ, INDEX, TICK, DIFF, *schema.names]
    found: list[pa.Table] = []
    wanted = pa.array(indexes, pa.int64())
    if len(wanted):
        for segment in segments:
            first = int(np.searchsorted(indexes, segment.index[0]))
            if first < len(indexes) and indexes[first] <= segment.index[1]:
                table = storage.read_table(segment.path, columns)
                tuples = pc.and_(pc.is_in(table.column(INDEX), value_set=wanted), pc.not_equal(table.column(DIFF), 0))
                found.append(table.filter(tuples))
    fields = [SYSTEM.field(name) for name in (INDEX, TICK, DIFF)]
    if not found:
        return pa.schema([*fields, *schema]).empty_table()
    rows = pa.concat_tables(found).sort_by([(INDEX, "ascending"), (SEQ, "ascending")])
    index = rows.column(INDEX).to_numpy()
    last = np.ones(len(index), dtype=bool)
    last[:-1] = index[1:] != index[:-1]
    # a log ends each tuple's story with what is there (+1) or with its end (-1)
    return rows.filter(pa.array(last)).select([INDEX, TICK, DIFF, *schema.names])
