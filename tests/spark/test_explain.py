"""EXPLAIN on Spark: how each stage is computed, Spark's own plan, and what running it costs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from eddyline import testing
from eddyline.algebra.answer import TextAnswer
from eddyline.session.script_run import Progress
from eddyline.session.spark_run import SparkRun
from eddyline.spark.waiting import waited

STREAMS = """
CREATE STREAM s (v INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE STREAM r (v INTEGER, t INTEGER) TIMESTAMP BY t;
CREATE TABLE d (v INTEGER, name STRING);
"""
ROWS = """
INSERT INTO d VALUES (1, 'one');
INSERT INTO s VALUES (1, 0), (2, 5), (30, 12);
INSERT INTO r VALUES (1, 0), (2, 5);
"""

#: a query and what is said of it
SAID = {
    "SELECT MAX(v) FROM s [FROM NOW-10 TO NOW SLIDE 5 SEC] WHERE v < 9": (
        "(windows): reads s, writes results/explain",
        "runs in the kernel",
        ": SELECT GREATEST(_tick",
        "sliced, so",
        "grid of ticks, a tuple is in up to 3 windows; reaches back 10 ticks",
        "a log of 1 segment, 3 rows, ticks 0 to 12",
        "push-selections",
    ),
    "SELECT COUNT(DISTINCT v) AS n FROM s [FROM NOW-10 TO NOW SLIDE 5 SEC]": (
        "not sliced: n cannot be put together from parts",
    ),
    "SELECT SKEWNESS(v) FROM s [FROM NOW-4 TO NOW SLIDE 5 SEC]": ("runs on Spark's own plan: skewness is Spark's",),
    "SELECT SUM(v) FROM s [FROM NOW-4 TO NOW SLIDE 5 SEC]": ("not sliced: its windows do not overlap",),
    "SELECT s.v FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC], r [FROM NOW TO NOW SLIDE 5 SEC] WHERE s.v = r.v": (
        "same windows",
    ),
    "SELECT s.v FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC], r [FROM NOW TO NOW SLIDE 2 SEC] WHERE s.v = r.v": (
        "latest-window pairs, reckoned from both grids",
    ),
    "SELECT s.v FROM s [RANGE 5 SEC], r [ROWS 2] WHERE s.v = r.v": (
        "(relation): reads s, r",
        "lifetimes that overlap",
        "lifetimes of tuples; reaches back 5 ticks",
        "lifetimes of tuples; reaches back 2 rows",
    ),
    "SELECT v FROM (SELECT v FROM s WHERE v > 1) [FROM NOW-1 TO NOW SLIDE 1 ROWS]": (
        "/1 (linear): reads s",
        "rows, by their index; reaches back 1 row",
        "/1 (below",
    ),
    "SELECT v FROM s for (t = ST; t < 50; t += 2) { WindowIs(s, t - 4, t); }": ("loop, run on the driver",),
    "SELECT s.v, name FROM s, d WHERE s.v = d.v": ("(lookup): reads s, d",),
    "SELECT name FROM d ORDER BY v": ("gives its rows at once",),
}


def texts(sql: str) -> list[str]:
    return [answer.text for answer in SparkRun(sql, Path(), 100).answers() if isinstance(answer, TextAnswer)]


def test_the_physical_plan_and_sparks_own(spark: object) -> None:
    shown = texts(STREAMS + ROWS + "".join(f"EXPLAIN {query};" for query in SAID))
    assert len(shown) == len(SAID)
    for text, (query, parts) in zip(shown, SAID.items(), strict=True):
        assert all(part in text for part in (*parts, "engine: spark", "FileScan parquet")), f"{query}\n{text}"


def test_there_is_a_plan_before_there_is_data(spark: object) -> None:
    query = "SELECT MAX(v) FROM s [FROM NOW-600 TO NOW SLIDE 7 SEC]"
    text, algebra = texts(f"{STREAMS} CREATE QUERY Q AS {query}; EXPLAIN q; EXPLAIN ALGEBRA q;")
    assert "stage Q (windows)" in text and "a log without rows so far" in text and "FileScan parquet" in text
    assert algebra.startswith("evaluateWindow (") and "engine" not in algebra


def test_analyze_runs_where_it_stands(spark: object, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("v,t\n1,0\n2,5\n30,12\n")
    sql = """
        CREATE STREAM s (v INTEGER, t INTEGER) TIMESTAMP BY t USING csv OPTIONS (path 's.csv');
        EXPLAIN ANALYZE SELECT COUNT(*) AS n FROM RSTREAM(SELECT v FROM s [FROM NOW-10 TO NOW SLIDE 5 SEC] WHERE v < 9)
          [FROM NOW-3 TO NOW SLIDE 4 SEC];
    """
    (answer,) = SparkRun(sql, tmp_path, 100).answers()
    assert isinstance(answer, TextAnswer)
    first, second = answer.text.split("stage explain1 (")
    assert "read 3 rows of 1 segment, wrote 5 rows in 1 segment" in first
    assert "read 5 rows of 1 segment" in second
    scan = next(line for line in first.splitlines() if "TABLE_SCAN" in line)
    assert scan.split()[0] == "3"  # so few are read at once, for whoever wants them
    assert "runs in the kernel" in first and "the kernel held" in first
    assert any("ms" in line and "GROUP_BY" in line for line in second.splitlines())


def test_analyze_of_sparks_own_plan(spark: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDYLINE_KERNELS", "off")
    (text,) = texts(STREAMS + ROWS + "EXPLAIN ANALYZE SELECT SUM(v) FROM s [FROM NOW-4 TO NOW SLIDE 5 SEC];")
    assert "runs on Spark's own plan: kernels are switched off" in text
    assert "read 3 rows of 1 segment, wrote 6 rows" in text
    scan = next(line for line in text.splitlines() if "FileScan" in line)
    assert scan.split()[0] == "3" and "KiB" in scan
    assert any("ms" in line and "HashAggregate" in line for line in text.splitlines())


def test_a_database_explains_and_stays_as_it_is(spark: object) -> None:
    with testing.database(master="local[2]") as db:
        db.sql(STREAMS)
        query = db.sql("CREATE QUERY big AS SELECT v FROM s WHERE v > 1")
        db.stream("s").push([(1, 0), (2, 5), (30, 12)])
        db.flush()
        assert 'StreamReceive "s": a log of 1 segment, 3 rows' in db.sql("EXPLAIN big")
        text = db.sql("EXPLAIN ANALYZE BIG")
        assert "read 3 rows of 1 segment, wrote 2 rows in 1 segment" in text and "its log so far: 2 +, 0 -" in text
        assert len(query.fetch()) == 2
        root = Path(db.status().path)
        assert not list((root / "explain").iterdir()) and db.status().queries[0].name == "big"


def test_what_passes_a_stream_on_shares_its_files(spark: object) -> None:
    with testing.database(master="local[2]") as db:
        db.sql("CREATE STREAM s (a INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql("CREATE QUERY q AS ATTACH TAG 'hot' CONTINUOUSLY TO s WHERE a > 5")
        db.stream("s").push([(n, n) for n in range(100)])
        db.flush()
        assert "shares the files of its stream" in db.sql("EXPLAIN SELECT * FROM s")
        assert "shares the files of its stream" not in db.sql("EXPLAIN SELECT a FROM s")
        # of these, the tags alone are computed
        for query, computed in (("SELECT * FROM s", []), ("SELECT * FROM s WITH TAGS", ["94"])):
            text = db.sql(f"EXPLAIN ANALYZE {query}")
            assert "shares 100 rows in 1 segment with its stream" in text and "wrote" not in text
            assert [line.split()[0] for line in text.splitlines() if " PROJECTION " in line][:1] == computed


def test_the_radius_is_told_in_ticks_and_tuples(spark: object) -> None:
    both = "SELECT a.v FROM s [FROM NOW-19 TO NOW SLIDE 1 SEC] a, s [FROM NOW-9 TO NOW SLIDE 5 ROWS] b"
    (text,) = texts(f"{STREAMS} CREATE QUERY q AS {both}; EXPLAIN q;")
    assert "a correction can need 20 ticks and 14 tuples of history" in text


def test_analyze_measures_corrections_the_way_they_are_made(spark: object) -> None:
    sums = "SELECT SUM(v) AS x FROM s [FROM NOW-99 TO NOW SLIDE 100 SEC]"
    with testing.database(master="local[2]") as db:
        db.sql(STREAMS)
        for way in ("upstream", "downstream"):
            db.sql(f"CREATE QUERY {way} WITH (revisions = '{way}') AS {sums}")
        db.stream("s").push([(1, tick) for tick in range(1, 250)])
        db.flush()
        assert "corrected downstream: all of it" not in db.sql("EXPLAIN ANALYZE upstream")
        text = db.sql("EXPLAIN ANALYZE downstream")
        (line,) = [line for line in text.splitlines() if "corrected downstream: all of it" in line]
        assert "takes 3 rows of 1 segment, of slices, and gives 4 rows" in line  # a slice for each window, and one more
        scan = next(line for line in text.split(line)[1].splitlines() if "SCAN" in line)
        assert int(scan.split()[0]) <= 3  # not 249 tuples
        assert len(db.query("downstream").fetch()) == 2


def test_progress_is_told_while_spark_works(spark: object) -> None:
    told: list[Progress] = []
    sql = f"{STREAMS} SELECT v FROM s; INSERT INTO s VALUES (1, 7); UPDATE s SET v = 2;"
    list(SparkRun(sql, Path(), on_progress=told.append).answers())
    assert any(progress.answers == 0 and progress.queries == 1 for progress in told)  # before the first answer
    assert told[-1] == Progress(0, 0, 0, 7, 2, 1, 1)


def test_waiting_calls_back_and_passes_errors_on() -> None:
    calls: list[float] = []
    waited(lambda: time.sleep(0.05), lambda: calls.append(time.monotonic()), seconds=0.01)
    assert calls

    def fail() -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        waited(fail, lambda: None)


def test_it_tells_which_corrections_are_shown_and_what_is_withheld(spark: object, tmp_path: Path) -> None:
    query = "SELECT SUM(v) AS x FROM s [FROM NOW-4 TO NOW SLIDE 5 SEC]"
    sql = f"{STREAMS} CREATE QUERY q WITH (revise_if = 'abs(new - old) > 1.5') AS {query};"
    explained = f"{sql}{ROWS} UPDATE s SET v = 3 WHERE t = 5; EXPLAIN q; FLUSH REVISIONS; EXPLAIN q;"
    texts = [a.text for a in SparkRun(explained, tmp_path).answers() if isinstance(a, TextAnswer)]
    condition = "shows a correction if abs(new - old) > 1.5"
    assert f"{condition}; withheld now: corrections of about 1 result at 5 to 5" in texts[0]
    assert f"{condition}; nothing is withheld now" in texts[1]
