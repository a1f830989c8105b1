"""What Spark does for an UPDATE, by hand: tuples are looked up, one task writes, and what it wrote is taken in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.log.ingest import Ingest
from eddyline.log.journal import Journal
from eddyline.log.lookup import last_rows
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.log.statements import Statement, made_by_task
from eddyline.log.storage import Storage
from sources.extents import SECOND


def updated(storage: Storage, journal: Journal, ingest: Ingest, extent: Extent, new: pa.Table) -> int:
    """`new` has `_index` and the values that the tuples are to have."""
    schema, state = arrow_schema(extent.schema), journal.state(extent.name)
    horizon = extent.horizon(state.top)
    old = last_rows(storage, state.segments, np.sort(new.column(INDEX).to_numpy()), schema)
    reach = pc.and_(pc.greater(old.column(DIFF), 0), pc.greater_equal(old.column(TICK), horizon or -(2**62)))
    old = old.filter(reach).select([INDEX, TICK, *schema.names])
    names = [f"n{i}" for i in range(len(schema))]
    both = old.join(new.select([INDEX, *schema.names]).rename_columns([INDEX, *names]), INDEX).sort_by(INDEX)
    base = ingest.reserve(extent.name, 2 * state.last_index) - 2
    statement = Statement(extent, storage.root, journal.number + 1, horizon, base, SECOND)
    return ingest.take_revisions(extent, list(made_by_task(both.to_batches(), statement)), changes_keys=True)
