"""EXPLAIN and SHOW QUERIES tell who is answered together with whom, how, and what else is shared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import eddyline
from eddyline import testing

WINDOW = "CREATE QUERY {name} AS SELECT COUNT(*) AS n FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC] WHERE x > {low}"


@pytest.fixture(scope="module")
def db(spark: object) -> Iterator[eddyline.Database]:
    with testing.database() as opened:
        opened.sql("CREATE STREAM s (x INTEGER, d DOUBLE, st STRING, t INTEGER) TIMESTAMP BY t")
        for n in range(1, 21):
            opened.sql(f"CREATE QUERY q{n} AS SELECT x FROM s WHERE x > {n} AND st LIKE 'a{n}%'")
        opened.sql("CREATE QUERY other AS SELECT x FROM s WHERE d < 5 OR d IS NULL")
        opened.sql(";".join(WINDOW.format(name=f"w{n}", low=n) for n in range(3)))
        opened.queries("SELECT st FROM s WHERE d > :low AND x = :x", {"low": [0.5, 1.5, 2.5], "x": [1, 2, 3]}, name="m")
        opened.stream("s").push([(n, float(n), f"a{n}", n) for n in range(1, 31)])
        opened.flush()
        yield opened


def test_a_member_tells_of_its_class_and_of_itself(db: eddyline.Database) -> None:
    text = db.sql("EXPLAIN q7")
    for part in (
        "answered together with 19 others, as a member of ~class1",
        "class ~class1: 20 members in 2 forms",
        "form f1, 19 members: s.x > p0 AND s.st LIKE p1\n"
        "    a row finds those who want it by an index on s.x; the rest of the condition is checked on those it finds",
        "\n  and 1 other form, 1 member\n",
        "reads the same segments of s as q1, w0, ~class2 (2 members), ~class3 (3 members)",
        "StreamMatch (Forms 1): each row once for every member that wants it",
        "by itself it would be:",
        "s.x>7 and s.st LIKE 'a7%'",
    ):
        assert part in text
    assert "s.d < p0" not in text  # what others ask for


def test_who_shares_a_filter_is_told(spark: object) -> None:
    constants = {"low": [float(n) for n in range(10)]}
    window = "s [FROM NOW-9 TO NOW SLIDE 5 SEC]"
    with testing.database() as db:
        db.sql("CREATE STREAM s (x INTEGER, d DOUBLE, t INTEGER) TIMESTAMP BY t")
        db.queries("SELECT x FROM s WHERE d > :low", constants, name="one")
        db.queries("SELECT x + 1 AS y, t FROM s WHERE d < :low", constants, name="two")
        db.queries(f"SELECT COUNT(*) AS n FROM {window} WHERE d > :low", constants, name="many")
        db.queries("SELECT x FROM s WHERE d > :low", {"low": [1.0]}, name="more")
        db.queries("SELECT t FROM s WHERE d > :low", {"low": [1.0]}, name="few")
        db.stream("s").push([(n, float(n), n) for n in range(1, 31)])
        db.flush()
        assert "shares its filter with ~class2 (10 members), over segments that both read" in db.sql("EXPLAIN `one.3`")
        assert "shares its filter" not in db.sql("EXPLAIN `many.3`") + db.sql("EXPLAIN `few.1`")
        shown = {row["name"]: row["shares"] for row in db.sql("SHOW QUERIES").to_arrow().to_pylist()}
    assert (shown["one.1"], shown["two.1"]) == ("its filter with ~class2", "its filter with ~class1")
    assert shown["more.1"] == shown["one.1"] and shown["many.1"] is None and shown["few.1"] is None


def test_a_class_of_many_forms_is_told_in_few_lines(spark: object) -> None:
    with testing.database() as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
        for n in range(40):
            db.sql(f"CREATE QUERY q{n} AS SELECT x FROM s WHERE " + " AND ".join(["x <> 3"] * (n + 1)))
        db.stream("s").push([(1, 1)])
        db.flush()
        text = db.sql("EXPLAIN q3")
        assert "39 members in 39 forms" in text and "s.x <> p3\n" in text and "and 38 other forms, 38 members" in text
        assert len(text.splitlines()) < 60


def test_analyze_of_a_class_whose_rows_are_found_and_not_computed(spark: object) -> None:
    """With a column that nobody asks for, which is not read, and more members than are joined with a table."""
    with testing.database() as db:
        db.sql("CREATE STREAM s (x INTEGER, other STRING, y INTEGER, t INTEGER) TIMESTAMP BY t")
        db.queries("SELECT y, x FROM s WHERE x >= :low", {"low": list(range(12))}, name="m")
        db.stream("s").push([(n, "a", n, n) for n in range(20)])
        db.flush()
        (found,) = (line for line in db.sql("EXPLAIN ANALYZE `m.3`").splitlines() if "GROUPED_FILTER" in line)
        assert found.split()[0] == str(sum(20 - low for low in range(12))) and found.endswith("who wants them, by _x0")


def test_members_that_began_together_say_so(spark: object) -> None:
    with testing.database() as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
        db.queries("SELECT x FROM s [FROM NOW-2 TO NOW SLIDE 2 ROWS] WHERE x > :low", {"low": [1, 2]}, name="q")
        db.stream("s").push([(n, n) for n in range(5)])
        db.flush()
        text = db.sql("EXPLAIN `q.2`")
        assert "members began at the same moment, and see the same because of that: nobody comes later" in text
        assert "WindowMatch (Forms 1)" in text and "RowWindow" in text
        assert "class ~class1: 2 members in 1 form" in db.sql("EXPLAIN ANALYZE `q.2`")


def test_windows_that_others_have_too_are_told(db: eddyline.Database) -> None:
    text = db.sql("EXPLAIN w2")
    assert "has the same windows as w0" in text and "WindowMatch (Forms 1)" in text


def test_members_that_count_for_themselves_are_told(db: eddyline.Database) -> None:
    db.sql("CREATE TABLE names (k INTEGER, n STRING)")
    for low in range(3):
        grouped = f"SELECT x, COUNT(*) AS n FROM s [RANGE 2 SEC] WHERE d > {low} GROUP BY x"
        db.sql(f"CREATE QUERY i{low} AS ISTREAM({grouped})")
        db.sql(f"CREATE QUERY l{low} AS SELECT x, n FROM s, names WHERE x = k AND d > {low}")
    text = db.sql("EXPLAIN i2")
    assert "IStream: what enters at each tick; each member has its own indexes" in text
    assert "anew at every tick where its input for a member changes" in text
    assert "each row once for every member that wants it, with its own indexes" in db.sql("EXPLAIN l2")
    for name in ("i0", "i1", "i2", "l0", "l1", "l2"):
        db.sql(f"DROP QUERY {name}")


def test_a_query_of_a_template_is_explained_with_its_constants(db: eddyline.Database) -> None:
    text = db.sql("EXPLAIN `M.2`")
    assert "class ~class3: 3 members in 1 form" in text and "s.d > p0 AND s.x = p1" in text
    assert 'Predicate "s.d>1.5D and s.x=2L"' in text
    assert "s.d>1.5D" in db.sql("EXPLAIN ALGEBRA `m.2`")
    with pytest.raises(eddyline.EddylineError, match=r"m\.4"):
        db.sql("EXPLAIN `m.4`")


def test_a_text_of_a_shape_that_is_known_tells_so(db: eddyline.Database) -> None:
    text = db.sql("EXPLAIN SELECT x FROM s WHERE x > 99")
    assert "queries of this shape are answered together:\n\nclass ~class1: 20 members" in text
    assert "answered together" not in db.sql("EXPLAIN SELECT t FROM s WHERE x > 99")


@pytest.mark.parametrize(("name", "wrote"), [("q7", "wrote "), ("`m.2`", "wrote 3 rows in"), ("w1", "wrote ")])
def test_what_the_class_costs_is_measured(db: eddyline.Database, name: str, wrote: str) -> None:
    before = len(db.query(name.strip("`")).fetch())
    text = db.sql(f"EXPLAIN ANALYZE {name}")
    assert "read 30 rows of 1 segment" in text and wrote in text and "by itself" not in text
    assert len(db.query(name.strip("`")).fetch()) == before


def test_show_queries_tells_what_is_read_and_asked(db: eddyline.Database) -> None:
    shown = {row["name"]: row for row in db.sql("SHOW QUERIES").to_arrow().to_pylist()}
    assert shown["q9"] == {
        "name": "q9",
        "kind": "stream",
        "class": "~class1",
        "members": 20,
        "reads": "s",
        "form": "s.x > p0 AND s.st LIKE p1",
        "shares": None,
        "priority": 1,
        "state": "live",
        "revise_if": None,
        "withheld": None,
    }
    assert (shown["m.3"]["members"], shown["m.3"]["form"]) == (3, "s.d > p0 AND s.x = p1")
    assert (shown["q1"]["class"], shown["q1"]["form"], shown["q1"]["reads"]) == (None, None, "s")
    assert len(db.sql("SHOW QUERIES LIKE 'M%'").to_arrow()) == 3
