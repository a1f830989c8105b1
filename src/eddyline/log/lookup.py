"""Finding the last versions of single tuples in the log, by index or by place."""

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
    rows = _rows(storage, [s for s in segments if _meets(s.index, indexes)], INDEX, indexes, schema)
    rows = rows.sort_by([(INDEX, "ascending"), (SEQ, "ascending")])
    index = rows.column(INDEX).to_numpy()
    last = np.ones(len(index), dtype=bool)
    last[:-1] = index[1:] != index[:-1]
    # a log ends each tuple's story with what is there (+1) or with its end (-1)
    return rows.filter(pa.array(last)).select([INDEX, TICK, DIFF, *schema.names])


def rows_at(storage: Storage, segments: Sequence[Segment], places: Any, schema: pa.Schema) -> pa.Table:
    """What the log has at some places (`_seq`), as `last_rows` gives it.

    Of tuples that are revised all the time the log has many versions; this reads only the segments with those wanted.
    """
    rows = _rows(storage, [s for s in segments if _meets(s.seq, places)], SEQ, places, schema)
    return rows.sort_by([(INDEX, "ascending")]).select([INDEX, TICK, DIFF, *schema.names])


def _meets(bounds: tuple[int, int], wanted: Any) -> bool:
    """Whether one of some numbers, given in order, lies within the bounds."""
    first = int(np.searchsorted(wanted, bounds[0]))
    return first < len(wanted) and bool(wanted[first] <= bounds[1])


def _rows(storage: Storage, segments: Sequence[Segment], by: str, wanted: Any, schema: pa.Schema) -> pa.Table:
    """The rows of tuples that have one of the wanted numbers in a column."""
    fields = [SYSTEM.field(name) for name in (SEQ, INDEX, TICK, DIFF)]
    found = [pa.schema([*fields, *schema]).empty_table()]
    numbers = pa.array(wanted, pa.int64())
    for segment in (each for each in segments if not each.only_tags):
        table = storage.read_table(segment.path, found[0].column_names)
        tuples = pc.and_(pc.is_in(table.column(by), value_set=numbers), pc.not_equal(table.column(DIFF), 0))
        found.append(table.filter(tuples))
    return pa.concat_tables(found)
