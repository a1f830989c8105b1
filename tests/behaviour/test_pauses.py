"""A row with a wrong time: who would have windows without end stops, the others go on."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

import eddyline
from eddyline.errors import TooManyWindows
from eddyline.session import Session
from laws.without_spark import kernels_alone

STREAM = "CREATE STREAM s (v INTEGER, t BIGINT) TIMESTAMP BY t"
#: milliseconds that were taken for seconds
WRONG = 1_700_000_000_000


@pytest.mark.parametrize(
    "query, stops",
    [
        ("SELECT count(*) AS n FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC]", True),
        ("SELECT count(*) AS n FROM s [RANGE BY '3 seconds' SLIDE BY '2 seconds']", True),
        ("RSTREAM(SELECT v FROM s [RANGE 3 SEC])", True),
        ("SELECT v FROM s [RANGE 3 SEC]", False),
        ("SELECT count(*) AS n FROM s [FROM NOW-3 TO NOW SLIDE 30000 DAY]", False),
        ("SELECT count(*) AS n FROM s for (t = ST; t < ST + 50; t += 5) { WindowIs(s, t - 4, t); }", False),
    ],
)
def test_only_who_would_have_windows_without_end_stops(tmp_path: Path, query: str, stops: bool) -> None:
    with kernels_alone():
        db = eddyline.connect(str(tmp_path / "db"))
        db.sql(STREAM)
        db.sql(f"CREATE QUERY plain AS SELECT v FROM s; CREATE QUERY other AS {query}")
        db.stream("s").push([(1, 5), (2, 9)])
        db.flush()
        db.stream("s").push([(3, WRONG)])
        db.flush()
        stopped = db._core.engine.stopped()
        assert db.query("plain").to_arrow().column("v").to_pylist() == [1, 2, 3]
        assert set(stopped) == ({"other"} if stops else set())
        if stops:
            assert f"time has gone from tick 8 to tick {WRONG - 1} without a tuple" in stopped["other"]
        db.close()


def test_a_wrong_time_beside_right_ones_in_one_push(tmp_path: Path) -> None:
    with kernels_alone():
        db = eddyline.connect(str(tmp_path / "db"))
        db.sql(STREAM)
        db.sql("CREATE QUERY q AS SELECT count(*) AS n FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC]")
        db.stream("s").push([(1, 5), (2, WRONG), (3, 9)])
        db.flush()
        assert "without a tuple" in db._core.engine.stopped()["q"]
        db.close()


def test_the_reference_engine_says_the_same() -> None:
    script = (
        f"{STREAM}; SELECT count(*) AS n FROM s [FROM NOW-1 TO NOW SLIDE 2 SEC]; INSERT INTO s VALUES (1, 5), (2, 900);"
    )
    with patch("eddyline.algebra.pause.MOST_EMPTY", 100), pytest.raises(TooManyWindows, match="more than 100 empty"):
        list(Session(script, Path(".")).answers())
