"""Where settings, kinds of queries and ways of answering meet that are each tested by themselves."""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

import pytest

import eddyline
from laws.without_spark import kernels_alone

STREAM = "CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t"
#: it has a condition with a constant inside, and withholds
WITHHOLDS = (
    "CREATE QUERY w WITH (revise_if = 'abs(new - old) > 5') AS "
    "RSTREAM(SELECT a, SUM(b) AS b FROM s [FROM NOW-1 TO NOW SLIDE 2 SEC] WHERE a > 0 GROUP BY a)"
)
LOOP = "SELECT a, SUM(b) AS x FROM s GROUP BY a for (t = ST; t < ST + 30; t += 3) { WindowIs(s, t - 4, t); }"


def opened() -> Any:
    db = eddyline.connect(heartbeat=None, clock=lambda: 0)
    db.sql(STREAM)
    return db


@pytest.mark.parametrize("share_from", ["1", "2", "1000000"])
def test_readers_of_a_query_that_withholds(share_from: str) -> None:
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM=share_from), kernels_alone():
        db = opened()
        db.sql(WITHHOLDS)
        db.sql("; ".join(f"CREATE QUERY v{i} AS SELECT a, b FROM w WHERE b > {i}" for i in range(4)))
        db.stream("s").push([(1, 100, 1), (2, 50, 1), (1, 1, 9)])
        db.flush()
        db.stream("s").update(2, a=2, b=90, t=1)
        db.stream("s").update(1, a=1, b=102, t=1)
        db.flush()
        for number in range(4):
            said = [(answer.op, answer.row) for answer in db.query(f"v{number}").fetch()]
            assert said == [("+", (1, 100)), ("+", (2, 50)), ("=", (2, 90))]
        db.close()


@pytest.mark.parametrize("way", ["upstream", "downstream", "auto"])
def test_a_loop_that_looks_back(way: str) -> None:
    with kernels_alone():
        db = opened()
        db.stream("s").push([(1, 1, 5), (2, 2, 6), (1, 3, 8), (2, 4, 10), (1, 5, 12)])
        db.flush()
        db.sql(f"CREATE QUERY q WITH (revisions = '{way}') FROM HISTORY AS {LOOP}")
        db.flush()
        assert [sorted(answer.rows) for answer in db.query("q").fetch()] == [
            [(1, 1)],
            [(1, 4), (2, 2)],
            [(1, 3), (2, 4)],
        ]
        db.stream("s").update(2, a=2, b=5, t=6)
        db.flush()
        assert [sorted(answer.rows) for answer in db.query("q").fetch()][3:] == [[(1, 4), (2, 5)]]
        db.close()


def test_what_is_withheld_stays_so_as_far_back_as_a_connection_point_goes() -> None:
    with kernels_alone():
        db = eddyline.connect(heartbeat=None, clock=lambda: 0)
        db.sql(STREAM + " RETAIN 30 SEC")
        db.sql("CREATE CONNECTION POINT p ON s RETAIN 1000 SEC")
        db.sql(
            "CREATE QUERY q WITH (revise_if = 'abs(new - old) > 5') AS "
            "SELECT SUM(b) AS x FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC]"
        )
        db.stream("s").push([(1, 10, 5), (1, 1, 25)])
        db.flush()
        db.stream("s").update(1, a=1, b=12, t=5)
        db.flush()
        db.stream("s").push([(1, 1, tick) for tick in range(30, 200, 10)])
        db.flush()
        said = [(answer.tick, answer.op) for answer in db.query("q").fetch()]
        assert (10, "+") in said and (10, "=") not in said
        db.sql("DROP CONNECTION POINT p")
        db.stream("s").push([(1, 1, 210)])
        db.flush()
        assert (10, "=") in [(answer.tick, answer.op) for answer in db.query("q").fetch()]
        db.close()
