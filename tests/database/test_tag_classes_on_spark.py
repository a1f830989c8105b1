"""Query classes of which some members show tags, on Spark: what EXPLAIN says of them, and what Spark reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import eddyline
from eddyline import testing
from eddyline.algebra.marks import MARKS


@pytest.fixture(scope="module")
def db(spark: object) -> Iterator[eddyline.Database]:
    with testing.database() as opened:
        opened.sql("CREATE STREAM s (x INTEGER, y INTEGER, t INTEGER) TIMESTAMP BY t")
        opened.sql("ATTACH TAG 'A' TO s.x WITH TAG_LIFESPAN = 1000 SEC TAG_MODE = COMBINE")
        opened.stream("s").push([(0, 1, 0)])
        opened.sql("CREATE QUERY alone AS SELECT x FROM s WHERE x > 0")
        opened.sql("CREATE QUERY bare AS SELECT x FROM s WHERE x > 1")
        opened.stream("s").push([(1, 1, 1), (2, 1, 2), (3, 1, 3)])
        opened.flush()
        opened.sql("CREATE QUERY shown AS SELECT x FROM s WHERE x > 2 WITH TAGS")
        opened.queries("SELECT x, y FROM s WHERE x > :low WITH TAGS", {"low": list(range(20))}, name="m")
        opened.stream("s").push([(n, 1, n) for n in range(4, 8)])
        opened.flush()
        yield opened


def test_explain_tells_who_shows_tags(db: eddyline.Database) -> None:
    text = db.sql("EXPLAIN shown")
    assert "class ~class1: 2 members in 2 forms" in text
    assert "1 of 2 members show tags: these are put together once for all" in text
    assert "its own: p0 = 2" in text
    assert "all members show tags" in db.sql("EXPLAIN `m.3`")
    assert "1 of 2 members show tags" in db.sql("EXPLAIN ANALYZE bare")
    assert "queries of this shape are answered together" in db.sql("EXPLAIN SELECT x FROM s WHERE x > 9 WITH TAGS")


def test_explain_tells_what_is_not_shared(db: eddyline.Database) -> None:
    told = "it is answered by itself, however many are like it: what it tells are tags themselves"
    assert told in db.sql("EXPLAIN SELECT TAGS FROM s")


def test_spark_reads_the_log_of_a_class_in_which_some_show_tags(db: eddyline.Database) -> None:
    bare, shown = db.query("bare").to_spark(), db.query("shown").to_spark()
    assert sorted(row.x for row in bare.collect()) == [2, 3, 4, 5, 6, 7]
    assert MARKS not in bare.columns
    assert {(row.x, "A" in row[MARKS]) for row in shown.collect()} == {(x, True) for x in range(4, 8)}


def test_sparks_own_plans_carry_tags_through_a_class(spark: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDYLINE_KERNELS", "off")
    with testing.database() as db:
        db.sql("CREATE STREAM s (x INTEGER, y INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql("ATTACH TAG 'A' TO s.x WITH TAG_LIFESPAN = 1000 SEC TAG_MODE = COMBINE")
        window = "s [FROM NOW-9 TO NOW SLIDE 5 SEC]"
        for number, tags in enumerate(("", "", " WITH TAGS")):
            db.sql(f"CREATE QUERY n{number} AS SELECT x FROM s WHERE x > {number}{tags}")
            db.sql(f"CREATE QUERY g{number} AS SELECT y, SUM(x) AS n FROM {window} WHERE x > {number} GROUP BY y{tags}")
        db.stream("s").push([(n, 1, n) for n in range(1, 8)])
        db.flush()
        first = db.query("n2").fetch()
        assert [(answer.row, [tag.content for tag in answer.tags or ()]) for answer in first] == [
            ((n,), ["A"]) for n in range(3, 8)
        ]
        assert [answer.row for answer in db.query("n1").fetch()] == [(n,) for n in range(2, 8)]
        windows = {answer.tick: (answer.rows, answer.tags) for answer in db.query("g2").fetch()}
        assert {tag.content for _, tags in windows.values() for some in tags or () for tag in some} == {"A"}
        assert all(answer.tags is None for answer in db.query("g1").fetch())
        before = {name: len(db.query(name).fetch()) for name in ("n1", "g1", "n2", "g2")}
        db.sql("DETACH TAG 'A' FROM s.x")
        db.flush()
        again = {name: [answer.op for answer in db.query(name).fetch()[count:]] for name, count in before.items()}
        assert again["n1"] == again["g1"] == []
        assert set(again["n2"]) == set(again["g2"]) == {"="}
