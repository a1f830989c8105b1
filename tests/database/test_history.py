"""CREATE QUERY … FROM HISTORY: first the retained past, then what comes, without gap or overlap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline import testing
from eddyline.errors import EddylineError

STREAM = "CREATE STREAM s (k STRING, x INTEGER, t INTEGER) TIMESTAMP BY t"
PAST = [("a", 1, 1), ("b", 5, 4), ("a", 7, 8)]
COMING = [("a", 9, 12), ("b", 2, 3)]  # the second is late


@pytest.fixture
def db(spark: object) -> Any:
    with testing.database() as opened:
        opened.sql(STREAM)
        yield opened


def tuples(handle: Any) -> list[Any]:
    return [(answer.tick, answer.index, answer.row) for answer in handle.fetch()]


def test_a_stream_query_looks_back_and_goes_on(db: eddyline.Database) -> None:
    live = db.sql("CREATE QUERY live AS SELECT x FROM s")
    db.stream("s").push(PAST)
    db.flush()
    back = db.sql("CREATE QUERY back FROM HISTORY AS SELECT x FROM s WHERE x > 1")
    db.flush()
    assert tuples(back) == [(4, 2, (5,)), (8, 3, (7,))]
    db.stream("s").push(COMING)
    db.flush()
    assert tuples(back) == [(12, 4, (9,)), (3, 5, (2,))]
    assert [row for _, _, row in tuples(live)] == [(1,), (5,), (7,), (9,), (2,)]
    db.sql("DELETE FROM s WHERE x = 5")  # of the past, which it has answered
    db.flush()
    assert [(answer.op, answer.row) for answer in back.fetch()] == [("-", (5,))]


def test_since_leaves_older_tuples_out_for_good(db: eddyline.Database) -> None:
    db.stream("s").push(PAST)
    back = db.sql("CREATE QUERY back AS SELECT x FROM s WHERE x > 1 FROM HISTORY SINCE 5")
    db.stream("s").push(COMING)
    db.flush()
    assert tuples(back) == [(8, 3, (7,)), (12, 4, (9,))]


def test_since_a_tick_before_zero(db: eddyline.Database) -> None:
    db.stream("s").push([("a", 1, -9), ("b", 2, -5), ("a", 3, 4)])
    back = db.sql("CREATE QUERY back AS SELECT x FROM s FROM HISTORY SINCE -5")
    db.flush()
    assert [(tick, row) for tick, _, row in tuples(back)] == [(-5, (2,)), (4, (3,))]


def test_windows_stand_from_the_beginning_or_from_since(db: eddyline.Database) -> None:
    db.stream("s").push(PAST)
    query = "SELECT SUM(x) AS total FROM s [FROM NOW-9 TO NOW SLIDE 2 SEC]"
    whole = db.sql(f"CREATE QUERY whole FROM HISTORY AS {query}")
    part = db.sql(f"CREATE QUERY part FROM HISTORY SINCE 5 AS {query}")
    db.flush()
    assert [(a.tick, a.window, a.rows) for a in whole.fetch()] == [(2, 1, ((1,),)), (4, 2, ((6,),)), (6, 3, ((6,),))]
    assert [(a.tick, a.window, a.rows) for a in part.fetch()] == [(6, 1, ((6,),))]
    db.stream("s").push(COMING)
    db.flush()
    told = [(a.op, a.tick, a.window, a.rows) for a in part.fetch()]
    assert told == [("=", 6, 1, ((8,),)), ("+", 8, 2, ((15,),)), ("+", 10, 3, ((15,),))]


def test_without_a_past_it_begins_with_the_first_tuple(db: eddyline.Database) -> None:
    back = db.sql("CREATE QUERY back FROM HISTORY AS SELECT x FROM s")
    db.stream("s").push(PAST)
    db.flush()
    assert len(back.fetch()) == 3


def test_many_look_back_together_and_live_ones_are_not_disturbed(db: eddyline.Database) -> None:
    template, limits = "SELECT x FROM s WHERE x > :low", {"low": list(range(20))}
    live = db.queries(template, limits, name="live")
    db.stream("s").push(PAST)
    db.flush()
    back = db.queries(template, limits, name="back", history=True)
    later = db.queries(template, limits, name="later", since=5)
    db.stream("s").push(COMING)
    db.flush()
    assert [tuples(back[f"back.{n}"]) for n in (1, 6, 20)] == [tuples(live[f"live.{n}"]) for n in (1, 6, 20)]
    assert [row for _, _, row in tuples(later["later.1"])] == [(7,), (9,)]
    db.sql("DROP QUERIES LIKE 'back%'")
    assert len(db.queries) == 40


def test_a_restart_answers_nothing_twice(spark: object, tmp_path: Path) -> None:
    with eddyline.connect(str(tmp_path)) as db:
        db.sql(STREAM)
        db.stream("s").push(PAST)
        db.sql("CREATE QUERY back FROM HISTORY SINCE 2 AS SELECT x FROM s")
        db.queries("SELECT x FROM s WHERE x > :low", {"low": [0, 6]}, name="m", history=True)
        db.flush()
    with eddyline.connect(str(tmp_path)) as db:
        db.stream("s").push(COMING)
        db.flush()
        assert [row for _, _, row in tuples(db.query("back"))] == [(5,), (7,), (9,), (2,)]
        assert [row for _, _, row in tuples(db.query("m.2"))] == [(7,), (9,)]


def test_mistakes_are_told(db: eddyline.Database) -> None:
    for wrong in ("FROM HISTORY SINCE AS SELECT x FROM s", "FROM HISTORY SINCE 'soon' AS SELECT x FROM s"):
        with pytest.raises(EddylineError, match=r"time|tick"):
            db.sql(f"CREATE QUERY q {wrong}")
    assert len(db.queries) == 0
