"""Queries whose meaning depends on when they began: those that began together share, and nobody notices."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import eddyline
from eddyline import testing
from eddyline.algebra.answer import WindowAnswer
from eddyline.log.upkeep import Pace
from laws.without_spark import kernels_alone

ROWS = "[FROM NOW-2 TO NOW SLIDE 2 ROWS]"
KINDS = {
    "rows": f"SELECT SUM(x) AS n FROM s {ROWS} WHERE x > :low",
    "table": "SELECT x, word FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC], words WHERE s.x = words.n AND x > :low",
    "scan": "SELECT x, word FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC], words [SCAN 3 SEC] "
    "WHERE s.x = words.n AND x > :low",
    "look-ups": "SELECT x, w.word FROM s, words, words AS w WHERE s.x = words.n AND words.n = w.n AND x > :low",
    "hops": "SELECT SUM(x) AS n FROM s [RANGE BY '4 seconds' SLIDE BY '2 seconds'] WHERE x > :low",
    "loop": "SELECT SUM(x) AS n FROM s WHERE x > :low for (t = ST; t < ST + 40; t += 2) { WindowIs(s, t - 3, t); }",
    "inside": "SELECT SUM(x) AS n FROM (RSTREAM(SELECT x FROM s [RANGE 1 SEC] WHERE x > :low)) "
    "[FROM NOW-3 TO NOW SLIDE 2 SEC] AS k",
    "above": f"SELECT SUM(x) AS n FROM (RSTREAM(SELECT x FROM s {ROWS})) [FROM NOW-3 TO NOW SLIDE 2 SEC] AS k "
    "WHERE x > :low",
    "sub-query": "SELECT x FROM (SELECT x FROM s WHERE d > :low) [ROWS 2]",
}
LOWS = [0, 1, 2, 3]
BUSY = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)


def _opened(folder: Path) -> Any:
    return eddyline.connect(str(folder), heartbeat=None, clock=lambda: 0, pace=BUSY)


def _define(db: Any) -> None:
    db.sql("CREATE STREAM s (x INTEGER, d DOUBLE, t INTEGER) TIMESTAMP BY t")
    db.sql("CREATE TABLE words (n INTEGER, word STRING)")
    db.sql("INSERT INTO words VALUES (1, 'one'), (2, 'two'), (3, 'three'), (3, 'drei')")


def _push(db: Any, first: int, last: int) -> None:
    for tick in range(first, last):
        db.stream("s").push([(tick % 5, float(tick % 3), tick), ((tick + 3) % 4, float(tick % 4), tick)])
        db.flush()


def _story(folder: Path, template: str, shared: bool, history: bool = False) -> tuple[dict[str, list[Any]], int]:
    """What four queries say of one template, created at once or one by one, and how many classes they are in.

    Those that look back are created by one text, shared or not.
    """
    everyone = {"EDDYLINE_SHARE_FROM": "1" if shared else "1000000"}
    told: dict[str, list[Any]] = {}
    with kernels_alone(), patch.dict(os.environ, everyone):
        with _opened(folder) as db:
            _define(db)
            _push(db, 10, 14)
            if history:
                one = "CREATE QUERY `q.{}` FROM HISTORY AS {}"
                db.sql("; ".join(one.format(n, template.replace(":low", str(low))) for n, low in enumerate(LOWS, 1)))
            elif shared:
                db.queries(template, {"low": LOWS}, name="q")
            else:
                for n, low in enumerate(LOWS, 1):
                    db.sql(f"CREATE QUERY `q.{n}` AS {template.replace(':low', str(low))}")
            _push(db, 14, 20)
            db.stream("s").update(9, x=3, d=2.0, t=14)
            db.stream("s").delete(12)
            db.sql("INSERT INTO words VALUES (2, 'zwei')")
            db.flush()
            told["q.2"] = db.query("q.2").fetch()
            db.sql("DROP QUERY `q.2`")
        with _opened(folder) as db:  # it goes on where it was
            classes = set(db.sql("SHOW QUERIES").to_arrow().column("class").to_pylist())
            _push(db, 20, 24)
            db.stream("s").update(14, x=1, d=3.0, t=17)  # the window of rows at it moves
            db.stream("s").delete(len(range(10, 24)) * 2)
            db.flush()
            _push(db, 24, 28)
            for name in db.queries:
                told[name] = db.query(name).fetch()
    return {name: [_in_order(answer) for answer in answers] for name, answers in told.items()}, len(classes)


def _in_order(answer: Any) -> Any:
    """A window is a bag of rows."""
    if not isinstance(answer, WindowAnswer):
        return answer
    old = None if answer.old_rows is None else tuple(sorted(answer.old_rows))
    return replace(answer, rows=tuple(sorted(answer.rows)), old_rows=old)


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_queries_of_any_kind_are_one_class_and_say_what_each_would_say(
    spark: object, tmp_path: Path, kind: str, history: bool
) -> None:
    alone, _ = _story(tmp_path / "alone", KINDS[kind], False, history)
    together, classes = _story(tmp_path / "together", KINDS[kind], True, history)
    assert classes == 1
    assert together == alone
    assert any(answer.op != "+" for answers in alone.values() for answer in answers) or kind in ("look-ups", "table")


def test_who_comes_later_is_not_with_the_others(spark: object) -> None:
    with kernels_alone(), patch.dict(os.environ, EDDYLINE_SHARE_FROM="1"), testing.database() as db:
        _define(db)
        db.queries(KINDS["rows"], {"low": LOWS}, name="q")
        _push(db, 10, 12)
        db.sql("CREATE QUERY late AS " + KINDS["rows"].replace(":low", "1"))
        found = {row["name"]: row["class"] for row in db.sql("SHOW QUERIES").to_arrow().to_pylist()}
        assert found["late"] not in (None, found["q.2"])
        db.queries.drop("q.%")
        _push(db, 12, 14)
        assert [answer.window for answer in db.query("late").fetch()] == [1, 2]


def test_a_script_that_looks_back_is_answered_in_one_pass(spark: object, tmp_path: Path) -> None:
    """Queries that follow each other are created at the same moment; what stands between them is seen by the later."""
    script = "CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t; INSERT INTO s VALUES (1, 1), (5, 2), (7, 3);"
    text = "CREATE QUERY q{} AS SELECT SUM(x) AS n FROM s [FROM NOW-1 TO NOW SLIDE 1 SEC] WHERE x > {};"
    script += text.format(1, 0) + text.format(2, 4) + "INSERT INTO s VALUES (9, 4);" + text.format(3, 6)
    from eddyline.session.spark_run import SparkRun

    with kernels_alone(), patch.dict(os.environ, EDDYLINE_SHARE_FROM="1"):
        run = SparkRun(script, tmp_path)
        answers = [(a.query, a.tick, a.rows[0][0]) for a in run.answers()]
        logs = [reading.seat.log for reading in run._readings.values() if reading.seat is not None]
    assert logs == ["~class1", "~class1", "~class2"]
    assert [a for a in answers if a[0] == "q2"] == [("q2", 1, None), ("q2", 2, 5), ("q2", 3, 12), ("q2", 4, 16)]
    assert [a for a in answers if a[0] == "q3"] == [("q3", 1, None), ("q3", 2, None), ("q3", 3, 7), ("q3", 4, 16)]
