"""A batch whose record cannot be written is tried again as a whole: what was seen in it counts once."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import eddyline
from eddyline.errors import StorageUnusable
from eddyline.log.results import ResultLog
from eddyline.spark import patience
from laws.test_sharing import BUSY
from laws.without_spark import kernels_alone


@pytest.mark.parametrize("fails", [False, True])
def test_what_was_seen_in_a_batch_counts_once(tmp_path: Path, fails: bool) -> None:
    write, failed = ResultLog.write, list[int]()

    def written(log: ResultLog, record: Any) -> None:
        if fails and record.batch in (2, 3) and record.batch not in failed:
            failed.append(record.batch)
            raise StorageUnusable("no space left on the device")
        write(log, record)

    with kernels_alone(), patch.object(ResultLog, "write", written):
        db = eddyline.connect(tmp_path / "db", heartbeat=None, clock=lambda: 0, pace=BUSY)
        for name in "abc":
            db.sql(f"CREATE STREAM {name} (k INTEGER, t INTEGER) TIMESTAMP BY t")
        froms = ", ".join(f"{name} [RANGE 5 SEC]" for name in "abc")
        db.sql(f"CREATE QUERY q AS SELECT a.k AS x FROM {froms} WHERE a.k = b.k AND b.k = c.k")
        with patch.object(patience, "_LONGEST", 0.0):
            for tick in range(1, 6):
                for name in "abc":
                    db.stream(name).push([(at, tick) for at in range(10)])
                db.flush()
        (query,) = (query for query in db._core.engine.executor.queries() if query.join is not None)
        assert query.join is not None
        observed = query.join.observed
        db.close()
    assert observed.batches == 4
    assert {round(rate) for rate in observed.rates().values()} == {10}
    assert observed.batch.amount == pytest.approx(observed.batch.seconds)
    assert bool(failed) == fails
