"""Windows of rows that go and come again are looked for where they may have been said, and only when some may come."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import eddyline
from eddyline.spark.evaluate import desired
from laws.without_spark import kernels_alone


def test_windows_of_rows_do_not_come_again_when_only_the_clock_moves(tmp_path: Path) -> None:
    """What was deleted once does not have every later batch compare all that was ever said."""
    told: list[bool] = []
    ask = desired._may_come_again

    def asked(*given: Any) -> bool:
        told.append(ask(*given))
        return told[-1]

    with kernels_alone(), eddyline.connect(str(tmp_path / "db"), heartbeat=None, clock=lambda: 0) as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t; CREATE STREAM o (t INTEGER) TIMESTAMP BY t")
        db.sql("CREATE TABLE d (x INTEGER); INSERT INTO d VALUES (1)")
        db.sql("CREATE QUERY q AS SELECT s.x FROM s [FROM NOW-1 TO NOW SLIDE 2 ROWS], d WHERE s.x = d.x")
        db.stream("s").push([(1, t) for t in range(1, 9)])
        db.stream("s").push([{"_op": "-", "_ref": 3}])
        db.flush()
        for tick, again in ((9, True), (20, False), (30, False)):  # the first closes the tick of the last tuple
            with patch.object(desired, "_may_come_again", asked):
                db.stream("o").push([(tick,)])
                db.flush()
            assert told[-1] is again
        with patch.object(desired, "_may_come_again", asked):
            db.stream("s").push([(1, 31)])
            db.flush()
        assert told[-1]
