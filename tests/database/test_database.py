"""Pushing, answering and correcting, while queries come and go."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eddyline
from eddyline.algebra.answer import TupleAnswer, WindowAnswer
from eddyline.database.stream import Pushed
from eddyline.errors import DatabaseClosed, EddylineError, SourceMissing, StreamingFailed, UnknownColumn, UnknownName
from eddyline.log.answers import python_rows
from eddyline.spark import batch_work

ROAD = "CREATE STREAM road (site INTEGER, t INTEGER, temp INTEGER) TIMESTAMP BY t"
HOT = "CREATE QUERY hot AS SELECT site, temp FROM road WHERE temp > 30"
SUMS = "CREATE QUERY sums AS SELECT SUM(temp) AS total FROM road [FROM NOW-9 TO NOW SLIDE 10 SEC]"


def rows_of(handle: Any) -> list[tuple[Any, ...]]:
    return python_rows(handle.columns, handle.current())


def test_what_is_pushed_is_answered_and_corrected(db: eddyline.Database) -> None:
    db.sql(f"{ROAD}; CREATE TABLE names (site INTEGER, name STRING)")
    hot, sums = db.sql(HOT), db.sql(SUMS)
    road = db.stream("ROAD")
    assert road.push([(1, 0, 20), {"site": 2, "t": 3, "temp": 40}]) == Pushed(2, 0)
    assert road.push(pa.table({"site": [1], "t": [11], "temp": [50]})) == Pushed(1, 0)
    assert road.push([(1, "noon", 1), (1, 12, 1)]) == Pushed(1, 1)
    assert [reject.reason for reject in db.rejects] == ['t: "noon" is not an INTEGER']
    db.flush()
    assert hot.fetch() == [TupleAnswer("hot", 3, 2, "+", (2, 40)), TupleAnswer("hot", 11, 3, "+", (1, 50))]
    assert hot.fetch() == []
    assert sums.fetch() == [
        WindowAnswer("sums", 0, 1, "+", ((20,),)),
        WindowAnswer("sums", 10, 2, "+", ((40,),)),
    ]
    cursor = hot.cursor
    assert db.sql("UPDATE road SET temp = 35 WHERE site = 2") == Pushed(1, 0)
    assert road.delete(3) == Pushed(1, 0)
    db.flush()
    assert hot.fetch() == [
        TupleAnswer("hot", 3, 2, "=", (2, 35), (2, 40)),
        TupleAnswer("hot", 11, 3, "-", (1, 50)),
    ]
    assert sums.fetch() == [WindowAnswer("sums", 10, 2, "=", ((35,),), ((40,),))]
    assert rows_of(hot) == [(2, 35)] and rows_of(sums) == [(20,), (35,)]
    assert hot.to_arrow(since=cursor).column("_diff").to_pylist() == [-1, 1, -1]
    assert hot.to_spark().count() == len(hot.to_pandas()) == 5
    db.sql("INSERT INTO names VALUES (2, 'north'), (1, 'south')")
    assert str(db.sql("SELECT site, name FROM names ORDER BY site")) == "site  name\n   1  south\n   2  north"
    assert db.queries == ("hot", "sums")  # a query over tables leaves nothing behind


def test_what_comes_beyond_the_retention_is_set_aside(db: eddyline.Database) -> None:
    db.sql(f"{ROAD} RETAIN 10")
    all_ = db.sql("CREATE QUERY everything AS SELECT t, temp FROM road")
    road = db.stream("road")
    assert road.push([(1, 100, 1), (1, 89, 2), (1, 90, 3), (1, 120, 4)]) == Pushed(3, 1)
    assert road.push(pa.table({"site": [1, 1], "t": [109, 110], "temp": [5, 6]})) == Pushed(1, 1)
    assert db.sql("INSERT INTO road VALUES (1, 109, 7), (1, 111, 8)") == Pushed(1, 1)
    assert road.delete([1, 3]) == Pushed(1, 1)
    assert db.sql("UPDATE road SET temp = 0") == Pushed(2, 0)  # tuples 1 and 2 are beyond, 3 is deleted
    assert db.sql("UPDATE road SET t = t - 1") == Pushed(1, 1)  # 110 may not become 109
    assert db.sql("DELETE FROM road WHERE t < 110") == Pushed(0, 0)
    assert [(r.file, r.line, r.reason) for r in db.rejects] == [
        ("push", 2, "tick 89 is 1 tick beyond the retention of road"),
        ("push", 1, "tick 109 is 1 tick beyond the retention of road"),
        ("INSERT", 1, "tick 109 is 1 tick beyond the retention of road"),
        ("push", 1, "_ref 1: tuple 1 is beyond the retention of road"),
        ("UPDATE", 4, "_ref 4: its new tick 109 is 1 tick beyond the retention of road"),
    ]
    db.flush()
    assert sorted(rows_of(all_)) == [(90, 3), (100, 1), (110, 0), (110, 0)]


def test_queries_come_and_go_while_data_flows(db: eddyline.Database) -> None:
    """One run of the streaming query serves them all; each answers exactly what came after it was created."""
    db.sql(ROAD)
    first = db.sql("CREATE QUERY first AS SELECT temp FROM road")
    stop = threading.Event()
    pushed = 0

    def push() -> None:
        nonlocal pushed
        while not stop.wait(0.02):
            db.stream("road").push([(1, pushed, pushed)])
            pushed += 1

    pusher = threading.Thread(target=push)
    pusher.start()
    try:
        assert len(first.fetch(timeout=60)) > 0
        run = db.run_id
        late = db.sql("CREATE QUERY late AS SELECT temp FROM road")
        before = late._query.record.arrived["road"]
        assert late.fetch(timeout=60)
        db.sql("DROP QUERY first")
        with pytest.raises(DatabaseClosed):
            first.fetch()
        again = db.sql("CREATE QUERY first AS SELECT temp * 2 AS twice FROM road")
        assert again.fetch(timeout=60)
    finally:
        stop.set()
        pusher.join()
    # a tuple that came before a query is none of its business, corrected or not
    db.sql("UPDATE road SET temp = 1000 WHERE temp = 0")
    db.flush()
    assert db.run_id == run
    assert rows_of(late) == [(temp,) for temp in range(before, pushed)]
    assert rows_of(again)[0][0] % 2 == 0 and rows_of(again)[-1] == (2 * (pushed - 1),)
    results = Path(db.status().path, "results")
    assert sorted(folder.name for folder in results.iterdir()) == ["first~5", "late"]


def test_a_bad_statement_changes_nothing(db: eddyline.Database) -> None:
    db.sql(ROAD)
    db.sql(HOT)
    catalog = db._core.definitions.catalog
    known = (dict(catalog.extents), dict(catalog.queries), db.queries)
    text = "SELECT temp FROM road;\nSELECT tmp FROM road"
    with pytest.raises(UnknownColumn) as problem:
        db.sql(text)
    assert "line 2, column 8" in problem.value.render(text)
    db.sql("DROP QUERY q1")  # the statement before it has happened
    for bad, kind in (
        ("CREATE TABLE t (a INTEGER) USING csv OPTIONS (path 'nowhere.csv')", SourceMissing),
        ("CREATE QUERY t AS ATTACH TAG '' TO road", EddylineError),
        ("DROP QUERY cold", UnknownName),
        ("CREATE QUERY hot AS SELECT 1 FROM road", EddylineError),
    ):
        with pytest.raises(kind):
            db.sql(bad)
    assert (dict(catalog.extents), dict(catalog.queries), db.queries) == known
    db.sql("CREATE TABLE t (a INTEGER)")
    db.stream("road").push([(1, 1, 31)])
    db.flush()
    assert rows_of(db.query("hot")) == [(1, 31)]


def test_a_handle_iterates_until_the_database_is_closed(db: eddyline.Database) -> None:
    db.sql(ROAD)
    hot = db.sql(HOT)
    seen: list[Any] = []
    enough = threading.Event()

    def follow() -> None:
        for answer in hot:
            seen.append(answer.row)
            if len(seen) == 2:
                enough.set()

    follower = threading.Thread(target=follow)
    follower.start()
    db.stream("road").push([(1, 1, 31)])
    db.stream("road").push([(1, 2, 32), (1, 3, 3)])
    assert enough.wait(60)
    db.close()
    follower.join(10)
    assert not follower.is_alive()
    assert seen == [(1, 31), (1, 32)]
    with pytest.raises(DatabaseClosed):
        db.stream("road")


def test_a_failure_is_told_and_nothing_is_lost(db: eddyline.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.sql(ROAD)
    hot = db.sql(HOT)
    db.stream("road").push([(1, 1, 31)])
    db.flush()

    def broken(*_: Any) -> None:
        raise RuntimeError("a bug of ours")

    with monkeypatch.context() as patch:
        patch.setattr(batch_work, "works_of", broken)
        db.stream("road").push([(1, 2, 32)])
        with pytest.raises(StreamingFailed, match="a bug of ours"):
            db.flush()
        with pytest.raises(StreamingFailed):
            db.stream("road").push([(1, 3, 33)])
        assert "a bug of ours" in (db.status().problem or "")
    db.restart()
    db.stream("road").push([(1, 3, 33)])
    db.flush()
    assert [answer.row for answer in hot.fetch()] == [(1, 31), (1, 32), (1, 33)]
    assert db.status().problem is None
