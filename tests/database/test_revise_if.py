"""Corrections that do not matter: withheld, added up, shown when they matter or when somebody asks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.errors import EddylineError
from laws.restless import Restless
from laws.test_sharing import BUSY
from laws.without_spark import kernels_alone, one_batch

SUMS = "SELECT k, SUM(v) AS x FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC] GROUP BY k"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Any]:
    with kernels_alone():
        db = eddyline.connect(str(tmp_path), heartbeat=None, clock=lambda: 0)
        db.sql("CREATE STREAM s (t INTEGER, k STRING, v DOUBLE) TIMESTAMP BY t")
        yield db
        db.close()


def created(db: Any, query: str, condition: str = "abs(new - old) > 0.5", name: str = "q", more: str = "") -> Any:
    return db.sql(f"CREATE QUERY {name} WITH (revise_if = '{condition}'{more}) AS {query}")


def begin(db: Any) -> None:
    db.stream("s").push([(1, "a", 1.0), (2, "b", 2.0), (25, "a", 3.0)])
    db.flush()


def correct(db: Any, index: int, tick: int, key: str, value: float | None) -> None:
    db.stream("s").push([{"_op": "=", "_ref": index, "t": tick, "k": key, "v": value}])
    db.flush()


def said(handle: Any) -> list[Any]:
    return [(answer.tick, answer.op, sorted(answer.rows)) for answer in handle.fetch()]


@pytest.mark.parametrize("way", ["upstream", "downstream"])
def test_small_corrections_add_up(db: Any, way: str) -> None:
    q = created(db, SUMS, more=f", revisions = '{way}'")
    begin(db)
    assert said(q) == [(10, "+", [("a", 1.0), ("b", 2.0)]), (20, "+", [])]
    correct(db, 1, 1, "a", 1.3)
    correct(db, 1, 1, "a", 1.5)
    assert said(q) == []
    correct(db, 1, 1, "a", 1.6)  # 0.1 more than what was withheld, 0.6 more than what is shown
    assert said(q) == [(10, "=", [("a", 1.6), ("b", 2.0)])]


def test_only_the_rows_that_matter_change(db: Any) -> None:
    q = created(db, SUMS)
    begin(db)
    said(q)
    correct(db, 1, 1, "a", 1.4)
    correct(db, 2, 2, "b", 3.0)
    assert said(q) == [(10, "=", [("a", 1.0), ("b", 3.0)])]


def test_what_appears_vanishes_or_has_no_bound_is_shown(db: Any) -> None:
    q = created(db, SUMS)
    begin(db)
    said(q)
    correct(db, 1, 1, "c", 1.0)
    assert said(q) == [(10, "=", [("b", 2.0), ("c", 1.0)])]
    correct(db, 1, 1, "c", None)
    assert said(q) == [(10, "=", [("b", 2.0), ("c", None)])]
    correct(db, 1, 1, "c", 0.0)
    assert said(q) == [(10, "=", [("b", 2.0), ("c", 0.0)])]


def test_flushing_shows_what_is_withheld_once(db: Any) -> None:
    q = created(db, SUMS)
    begin(db)
    said(q)
    correct(db, 1, 1, "a", 1.3)
    q.flush_revisions()
    db.flush()
    assert said(q) == [(10, "=", [("a", 1.3), ("b", 2.0)])]
    db.sql("FLUSH REVISIONS OF q")
    db.sql("FLUSH REVISIONS")
    db.flush()
    assert said(q) == []


def test_a_flush_outlives_whoever_asked_for_it(tmp_path: Path) -> None:
    """What was withheld is in the record and the flush in the journal: a process that ends in between loses neither."""
    with kernels_alone():
        db = eddyline.connect(str(tmp_path), heartbeat=None, clock=lambda: 0)
        db.sql("CREATE STREAM s (t INTEGER, k STRING, v DOUBLE) TIMESTAMP BY t")
        created(db, SUMS)
        begin(db)
        correct(db, 1, 1, "a", 1.3)
        cursor = db.query("q").cursor
        db.query("q").flush_revisions()  # nobody waits
        db.close()
        db = eddyline.connect(str(tmp_path), heartbeat=None, clock=lambda: 0)
        q = db.query("q", since=cursor)
        said(q)
        assert db.sql("SHOW QUERIES").to_arrow().column("withheld").to_pylist() == [1]
        db.flush()
        assert said(q) == [(10, "=", [("a", 1.3), ("b", 2.0)])]
        db.close()
        db = eddyline.connect(str(tmp_path), heartbeat=None, clock=lambda: 0)
        assert db.sql("SHOW QUERIES").to_arrow().column("withheld").to_pylist() == [0]
        db.flush()
        assert said(db.query("q", since=q.cursor)) == []
        db.close()


def test_a_batch_that_is_run_again_flushes_once(db: Any) -> None:
    q = created(db, SUMS)
    begin(db)
    correct(db, 1, 1, "a", 1.3)
    said(q)
    q.flush_revisions()
    engine = db._core.engine
    one_batch(engine)
    last = engine.executor.results.last.batch
    engine.storage.delete(f"checkpoint/commits/{last}")  # killed before Spark had committed it
    engine.executor.forget_attempt()
    db.flush()
    assert said(q) == [(10, "=", [("a", 1.3), ("b", 2.0)])]


def test_tuples_of_a_stream_are_paired_by_index(db: Any) -> None:
    q = created(db, "SELECT k, v * 2 AS w FROM s WHERE v < 10")
    begin(db)
    q.fetch()
    correct(db, 1, 1, "a", 1.2)
    assert q.fetch() == []
    correct(db, 2, 2, "b", 20.0)
    assert [(a.index, a.op, a.row) for a in q.fetch()] == [(2, "-", ("b", 4.0))]
    correct(db, 2, 3, "b", 2.0)
    assert [(a.index, a.op, a.row) for a in q.fetch()] == [(2, "+", ("b", 4.0))]
    correct(db, 1, 1, "a", 1.25)
    correct(db, 2, 3, "b", 2.01)
    assert q.fetch() == []
    q.flush_revisions()
    db.flush()
    assert [(a.index, a.op, a.row) for a in q.fetch()] == [(1, "=", ("a", 2.5)), (2, "=", ("b", 4.02))]


@pytest.mark.parametrize("condition, shown", [("abs(new - old) > 0.1 * abs(old)", False), ("new > old", True)])
def test_other_conditions(db: Any, condition: str, shown: bool) -> None:
    q = created(db, SUMS, condition)
    begin(db)
    said(q)
    correct(db, 2, 2, "b", 2.15)
    assert bool(said(q)) is shown


def test_who_reads_it_sees_what_is_shown(db: Any) -> None:
    created(db, f"RSTREAM({SUMS})")
    reader = db.sql("CREATE QUERY r AS SELECT k, x FROM q WHERE x > 0")
    begin(db)
    reader.fetch()
    correct(db, 1, 1, "a", 1.4)
    assert reader.fetch() == []
    db.sql("FLUSH REVISIONS OF q")
    db.flush()
    assert [(a.op, a.row) for a in reader.fetch()] == [("=", ("a", 1.4))]


def test_members_of_a_class_withhold_each_for_itself(db: Any) -> None:
    template = "SELECT k, SUM(v) AS x FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC] WHERE v > :low GROUP BY k"
    many = db.queries(template, {"name": ["m1", "m2"], "low": [0.0, -1.0]}, revise_if="abs(new - old) > 0.5")
    begin(db)
    first, second = many["m1"], many["m2"]
    said(first), said(second)
    correct(db, 1, 1, "a", 1.4)
    assert said(first) == said(second) == []
    first.flush_revisions()
    db.flush()
    assert said(first) == [(10, "=", [("a", 1.4), ("b", 2.0)])]
    assert said(second) == []
    assert db.sql("SHOW QUERIES").to_arrow().column("withheld").to_pylist() == [1, 1]
    correct(db, 1, 1, "a", 1.6)  # 0.2 for the one, 0.6 for the other
    assert said(first) == []
    assert said(second) == [(10, "=", [("a", 1.6), ("b", 2.0)])]
    db.sql("FLUSH REVISIONS")
    db.flush()
    assert said(first) == [(10, "=", [("a", 1.6), ("b", 2.0)])]


def test_a_flush_of_a_member_shows_nothing_to_others_who_read_the_same(db: Any) -> None:
    """What they read is one stream with one log: it shows what it withholds to all of them or to none."""
    created(db, "SELECT t, k, v FROM s", name="rough")
    template = "SELECT k, SUM(v) AS x FROM rough [FROM NOW-9 TO NOW SLIDE 10 SEC] WHERE v > :low GROUP BY k"
    many = db.queries(template, {"name": ["m1", "m2"], "low": [0.0, -1.0]}, revise_if="abs(new - old) > 0.5")
    begin(db)
    first, second = many["m1"], many["m2"]
    said(first), said(second)
    correct(db, 1, 1, "a", 1.4)
    first.flush_revisions()
    db.flush()
    assert said(first) == said(second) == []
    db.sql("FLUSH REVISIONS OF rough")  # now they read 1.4, and withhold it each for itself
    db.flush()
    assert said(first) == said(second) == []
    first.flush_revisions()
    db.flush()
    assert said(first) == [(10, "=", [("a", 1.4), ("b", 2.0)])]
    assert said(second) == []


def test_a_setting_is_a_part_of_the_class(db: Any) -> None:
    limits = {"a1": 1, "a2": 1, "a3": 1, "b1": 2}
    for name, limit in limits.items():
        created(db, SUMS.replace("GROUP", "WHERE v > 0 GROUP"), f"abs(new - old) > {limit}", name)
    shared = db.sql("SHOW QUERIES").to_arrow().select(["name", "members", "revise_if"]).to_pylist()
    assert [(row["name"], row["members"]) for row in shared] == [("a1", 1), ("a2", 2), ("a3", 2), ("b1", 1)]
    assert [row["revise_if"][-1] for row in shared] == ["1", "1", "1", "2"]


@pytest.mark.parametrize(
    "query, condition, message",
    [
        (SUMS, "abs(new - olt) > 1", "there is no olt in revise_if"),
        (SUMS, "new.z > old.z", "the query has no column z"),
        (SUMS, "new - old", "a condition must be BOOLEAN"),
        (SUMS, "sum(new) > 1", "sum is an aggregate"),
        (SUMS, "new > (SELECT 1)", "a query cannot stand inside an expression"),
        (SUMS, "abs(new - old) > old.x", "so no other can be named beside them"),
        ("SELECT k FROM s", "abs(new - old) > 1", "there is none"),
        ("SELECT k, v FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC]", "abs(new - old) > 1", "cannot be paired"),
        ("SELECT SUM(v) FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC] GROUP BY k", "abs(new - old) > 1", "without k"),
        ("SELECT k, SUM(v) FROM s [RANGE 9 SEC] GROUP BY k", "abs(new - old) > 1", "enters and leaves a relation"),
    ],
)
def test_what_is_wrong_is_told(db: Any, query: str, condition: str, message: str) -> None:
    with pytest.raises(EddylineError, match=message.replace(".", r"\.")) as problem:
        created(db, query, condition)
    assert problem.value.position is not None


def test_errors_point_into_the_condition(db: Any) -> None:
    text = f"CREATE QUERY q WITH (revise_if = 'abs(new - olt) > 1') AS {SUMS}"
    with pytest.raises(EddylineError) as problem:
        db.sql(text)
    position = problem.value.position
    assert position is not None and text[position.start : position.end] == "olt"


def test_windows_as_they_are_shown_are_for_their_reader(db: Any) -> None:
    created(db, SUMS)
    with pytest.raises(EddylineError, match="no query can read windows as they are shown"):
        db.sql("CREATE QUERY r AS SELECT MAX(x) FROM q")


def test_what_can_never_change_again_is_shown_before_it_is_cut_off(tmp_path: Path) -> None:
    """The tuples that a correction is computed from may be gone when somebody asks for it."""
    with kernels_alone():
        db = eddyline.connect(str(tmp_path), heartbeat=None, clock=lambda: 0, pace=BUSY)
        db.sql("CREATE STREAM s (t INTEGER, k STRING, v DOUBLE) TIMESTAMP BY t RETAIN 30")
        q, r = created(db, SUMS), created(db, "SELECT k, v FROM s", name="r")
        begin(db)
        correct(db, 1, 1, "a", 1.3)
        said(q), r.fetch()
        db.stream("s").push([(39, "c", 1.0)])  # what lies before tick 9 is out of reach, the window at 10 is not
        db.flush()
        assert [answer.op for answer in q.fetch()] == ["+"]
        assert [(answer.op, answer.row) for answer in r.fetch()] == [("=", ("a", 1.3)), ("+", ("c", 1.0))]
        db.stream("s").push([(60, "c", 1.0)])
        db.flush()
        assert (10, "=", [("a", 1.3), ("b", 2.0)]) in said(q)
        for tick in range(65, 140, 5):
            db.stream("s").push([(tick, "c", 1.0)])
            db.flush()
        assert min(segment.tick[1] for segment in db._core.engine.journal.state("s").segments) > 10
        q.fetch(), r.fetch()
        db.sql("FLUSH REVISIONS")
        db.flush()
        assert q.fetch() == r.fetch() == []
        db.close()


def test_one_that_looks_back_begins_with_the_truth(tmp_path: Path) -> None:
    """First answers are never withheld, also if the past has corrections and is answered in many steps."""
    with kernels_alone(lambda: Restless(random.Random(7))):
        db = eddyline.connect(str(tmp_path), heartbeat=None, clock=lambda: 0)
        db.sql("CREATE STREAM s (t INTEGER, k STRING, v DOUBLE) TIMESTAMP BY t")
        begin(db)
        correct(db, 1, 1, "a", 1.3)
        q, r = (
            db.sql(f"CREATE QUERY {name} WITH (revise_if = 'abs(new - old) > 0.5') FROM HISTORY AS {query}")
            for name, query in (("q", SUMS), ("r", "SELECT k, v FROM s"))
        )
        db.flush()
        assert said(q) == [(10, "+", [("a", 1.3), ("b", 2.0)]), (20, "+", [])]
        assert [(answer.op, answer.row) for answer in r.fetch()] == [
            ("+", ("a", 1.3)),
            ("+", ("b", 2.0)),
            ("+", ("a", 3.0)),
        ]
        correct(db, 1, 1, "a", 1.7)
        assert said(q) == r.fetch() == []
        correct(db, 1, 1, "a", 1.9)
        assert said(q) == [(10, "=", [("a", 1.9), ("b", 2.0)])]
        assert [(answer.op, answer.old, answer.row) for answer in r.fetch()] == [("=", ("a", 1.3), ("a", 1.9))]
        db.close()
