"""Slices that were made anew because they could not be trusted: what is kept of that, and for how long."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import eddyline
from eddyline.log import remade
from eddyline.log.upkeep import Pace
from laws.without_spark import kernels_alone
from spark.test_kept import STREAM, TUPLES, WINDOW, fill, replaced, rows_of, rows_opened, works_of

#: everything as often as possible, and never
BUSY = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)
IDLE = Pace(batches=10**9, entries=10**9)


def test_slices_that_were_made_anew_are_so_after_merging_and_a_restart(tmp_path: Path) -> None:
    with kernels_alone():
        db = eddyline.connect(str(tmp_path / "db"), pace=BUSY)
        db.sql(STREAM)
        fill(db, f"SELECT max(x) AS m, sum(x) AS total FROM {WINDOW}")
        total = sum(range(1, TUPLES + 1))
        for index in range(TUPLES, TUPLES - 10, -1):  # the largest goes, and the largest of those that are left, …
            works_of(db, {"_op": "-", "_ref": index + 1})
            total -= index
            assert rows_of(db)[-1] == {"_diff": 1, "m": index - 1, "total": total}
        db.close()
        db = eddyline.connect(str(tmp_path / "db"), pace=BUSY)
        kept = db._core.engine.executor.results.stages["q/slices"]
        assert len(kept.segments) < 10 and len(kept.remade) < 10, "nothing was merged"
        assert rows_opened(db, replaced(7, 0)) == 2
        assert rows_of(db)[-1] == {"_diff": 1, "m": TUPLES - 10, "total": total - 7}
        db.close()


WINDOWS = 6
ROOM = 3


def largest_goes(window: int) -> dict[str, Any]:
    """Windows end at ticks 10, 20, …; larger ticks have larger values. Tuples of tick t have the index t + 1."""
    return {"_op": "-", "_ref": 10 * window + 11}


def state_of(db: Any) -> tuple[int, int]:
    """How many batches have made slices anew that still matter, and how many rows of slices there are."""
    kept = db._core.engine.executor.results.stages["q/slices"]
    return len({batch for _, _, batch in kept.remade}), kept.plus


def test_when_there_is_no_room_doubt_stays_and_answers_are_right(tmp_path: Path) -> None:
    """Windows are in doubt one after the other, and nobody merges: what is kept does not grow with them."""
    path = str(tmp_path / "db")
    with kernels_alone(), patch.object(remade, "MOST", ROOM):
        with eddyline.connect(path, heartbeat=None, clock=lambda: 0, pace=IDLE) as db:
            db.sql(STREAM)
            asked = "SELECT max(x) AS m, sum(x) AS total FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC]"
            db.sql(f"CREATE QUERY q WITH (revisions = 'downstream') AS {asked}")
            for first in range(0, 10 * WINDOWS + 1, 10):
                ticks = range(first, first + 10)
                db.stream("s").push(pa.table({"t": ticks, "k": ["a"] * 10, "x": ticks, "y": [0.0] * 10}))
                db.flush()
            states = []
            for window in range(WINDOWS):
                works_of(db, largest_goes(window))
                most = 10 * window + 9
                assert rows_of(db)[-1] == {"_diff": 1, "m": most, "total": sum(range(most - 8, most + 1))}
                states.append(state_of(db))
            assert [batches for batches, _ in states] == [1, 2, 3, *[ROOM] * (WINDOWS - ROOM)]
            grown = [after - before for (_, before), (_, after) in pairwise(states)]
            assert set(grown[ROOM:]) == {1}, "the change of a slice, as of any correction that is not in doubt"
            # of what was made anew nothing is in doubt; of what found no room everything is, however often it is asked
            assert rows_opened(db, replaced(3, 0)) == 2
            for x in (0, 5):
                assert rows_opened(db, replaced(55, x)) > 2
                assert state_of(db)[0] == ROOM
            total = sum(range(51, 60)) - 55 + 5
            assert rows_of(db)[-1] == {"_diff": 1, "m": 59, "total": total}
        with eddyline.connect(path, heartbeat=None, clock=lambda: 0, pace=BUSY) as db:
            for tick in range(100, 106):  # upkeep merges slices, which is as if they had never been made anew
                db.stream("s").push([(tick, "a", 0, 0.0)])
                db.flush()
            assert state_of(db)[0] < ROOM
            assert rows_opened(db, replaced(56, 0)) > 2
            assert rows_of(db)[-1] == {"_diff": 1, "m": 59, "total": total - 56}
            assert rows_opened(db, replaced(57, 0)) == 2
            assert rows_of(db)[-1] == {"_diff": 1, "m": 59, "total": total - 56 - 57}
