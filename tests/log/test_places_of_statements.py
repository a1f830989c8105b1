"""Where in the log the rows of an UPDATE stand: two places for each tuple, whichever tasks have written them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import INTEGER
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.log.segment import INDEX, SEQ
from eddyline.log.statements import Statement, made_by_task
from eddyline.log.storage import Storage
from sources.extents import SECOND

STREAM = Extent("s", PUSHED, Schema((Field("v", INTEGER),)))
FIRST, BASE = 1_001, 5_000


@pytest.mark.parametrize("tasks", [[range(100)], [range(3), range(3, 3), range(3, 100)], [range(0, 100, 7), range(2)]])
@pytest.mark.parametrize("replaces", [False, True])
def test_they_follow_from_the_tuple(tasks: list[range], replaces: bool, tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    statement = Statement(STREAM, storage.root, 1, None, BASE - 2 * FIRST, SECOND)
    for rows in tasks:
        index = FIRST + np.array(rows, np.int64)
        columns = {"_index": index, "_tick": index, "c0": index.astype(np.int32)}
        new = {"n0": index.astype(np.int32) + 1} if replaces else {}
        for made in made_by_task(pa.table({**columns, **new}).to_batches(), statement):
            assert made.segment is not None
            written = storage.read_table(made.segment.path, [SEQ, INDEX])
            places = 2 * (np.repeat(index, 1 + replaces) - FIRST) + np.tile([0, 1][: 1 + replaces], len(index))
            assert written.column(SEQ).to_pylist() == (BASE + places).tolist()
