"""What an UPDATE cannot revise may be all of a stream: it goes by way of files, and waits nowhere in full."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT, INTEGER
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.database.rejects import Rejects
from eddyline.log.ingest import Ingest
from eddyline.log.journal import Journal
from eddyline.log.statements import Statement, late_rows, made_by_task
from eddyline.log.storage import Storage
from eddyline.sources import Reject
from sources.extents import SECOND

STREAM = Extent("s", PUSHED, Schema((Field("v", INTEGER), Field("t", BIGINT))), timestamp="t", retain=10)
COUNT = 30_000


def moved_too_far() -> list[pa.RecordBatch]:
    """Tuples, and versions of them at tick 5."""
    index = np.arange(1, COUNT + 1)
    old = {"_index": index, "_tick": np.full(COUNT, 100), "c0": index.astype(np.int32), "c1": np.full(COUNT, 100)}
    return pa.table({**old, "n0": index.astype(np.int32), "n1": np.full(COUNT, 5)}).to_batches(1_000)


def test_the_driver_hears_of_a_file_and_reads_it_bit_by_bit(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    statement = Statement(STREAM, storage.root, 1, 90, -1, SECOND)
    made = list(made_by_task(moved_too_far(), statement))
    assert len(pickle.dumps(made)) < 1_000
    assert len(storage.names("streams/s")) == 1
    rows = list(late_rows(storage, made))
    assert [index for index, _, _ in rows] == list(range(1, COUNT + 1))
    assert rows[6] == (7, 5, '{"v": 7, "t": 5}')
    told: list[Reject] = []
    assert Ingest(storage, Journal(storage), told.append).take_revisions(STREAM, made, False) == 0
    assert [reject.line for reject in told] == list(range(1, COUNT + 1))


def test_those_that_are_to_be_written_down_do_not_wait_for_all(tmp_path: Path) -> None:
    rejects = Rejects(Storage(str(tmp_path)))
    most = 0
    for number in range(COUNT + 1):
        rejects.add(Reject("s", "UPDATE", number, "", "it does not fit"))
        most = max(most, len(rejects._waiting))
    rejects.save()
    assert most <= 10_000 and len(list(rejects)) == 1_000 and len(rejects) == COUNT + 1
    written = (tmp_path / "rejects" / "s.csv").read_text().splitlines()
    assert written[1:] == [f"UPDATE,{number},it does not fit," for number in range(COUNT + 1)]
