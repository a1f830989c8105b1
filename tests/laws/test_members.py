"""Which kinds of queries are answered together: what stands for itself would agree with itself in every law."""

from __future__ import annotations

import os
from unittest.mock import patch

import pytest

from eddyline import testing
from laws.without_spark import kernels_alone

EVERYONE = {"EDDYLINE_SHARE_FROM": "1"}


def test_all_of_these_are_members(spark: object) -> None:
    """What stands for itself would agree with itself."""
    with kernels_alone(), patch.dict(os.environ, EVERYONE), testing.database() as db:
        db.sql("CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql("CREATE STREAM r (a INTEGER, c STRING, t INTEGER) TIMESTAMP BY t")
        db.sql("CREATE TABLE d (a INTEGER, name STRING)")
        window = "[FROM NOW-5 TO NOW SLIDE 2 SEC]"
        for text in (
            f"SELECT a, b FROM s {window} WHERE a > 1 ORDER BY b DESC, a LIMIT 2",
            f"SELECT a, COUNT(*) AS n FROM s {window} WHERE a > 1 GROUP BY a ORDER BY n LIMIT 1 OFFSET 1",
            "SELECT a, b FROM s [RANGE 3 SEC] WHERE a > 1",
            "SELECT a, b FROM s [RANGE 4 SEC SLIDE 2 SEC] WHERE a > 1",
            "SELECT a, b FROM s [RANGE UNBOUNDED] WHERE a > 1",
            "SELECT a, b FROM s [ROWS 2] WHERE a > 1",
            "ISTREAM(SELECT a, b FROM s [RANGE 3 SEC] WHERE a > 1)",
            "DSTREAM(SELECT a, b FROM s [ROWS 2] WHERE a > 1)",
            "RSTREAM(SELECT a, b FROM s [RANGE 4 SEC SLIDE 2 SEC] WHERE a > 1)",
            f"RSTREAM(SELECT a, b FROM s {window} WHERE a > 1 ORDER BY b DESC, a LIMIT 2)",
            f"ISTREAM(SELECT a, COUNT(*) AS n FROM s {window} WHERE a > 1 GROUP BY a HAVING COUNT(*) > 2)",
            f"DSTREAM(SELECT COUNT(*) AS n FROM s {window} WHERE a > 1)",
            "SELECT b, name FROM s, d WHERE s.a = d.a AND s.a > 1",
            "SELECT DISTINCT a FROM s [RANGE 3 SEC] WHERE a > 1",
            "SELECT COUNT(*) AS n FROM s [NOW] WHERE a > 1",
            "RSTREAM(SELECT a, COUNT(*) AS n FROM s [ROWS 2] WHERE a > 1 GROUP BY a HAVING COUNT(*) > 1)",
            "SELECT a, b FROM s [RANGE 3 SEC] WHERE a > 1 ORDER BY b LIMIT 1",
            f"SELECT s.a, c FROM s {window} LEFT JOIN r {window} ON s.a = r.a WHERE b > 1",
            "SELECT s.a, c FROM s [RANGE 3 SEC] FULL JOIN r [NOW] ON s.a = r.a WHERE b > 1",
        ):
            db.sql(text)
        assert None not in db.sql("SHOW QUERIES").to_arrow().column("class").to_pylist()


_SLIDING, _OF_ROWS = "[FROM NOW-5 TO NOW SLIDE 2 SEC]", "[FROM NOW-3 TO NOW SLIDE 2 ROWS]"
#: kinds of queries whose members may come at any time
AT_ANY_TIME = [
    f"SELECT b FROM (SELECT a, b FROM s WHERE a > {{}}) {_SLIDING}",
    f"SELECT b FROM (SELECT b FROM s WHERE a > {{}}) {_SLIDING}",
    "SELECT b FROM (SELECT b FROM s WHERE a > {}) [RANGE 3 SEC]",
    "SELECT b FROM (SELECT a, b FROM s WHERE a > {}) [ROWS 2]",
    f"SELECT b, c FROM (SELECT a, b FROM s WHERE a > {{}}) {_SLIDING} AS s, r {_SLIDING} WHERE s.a = r.a",
    "SELECT b, c FROM s [NOW] LEFT JOIN r [NOW] ON s.a = r.a WHERE s.a > {}",
    "SELECT b, name FROM s, d WHERE s.a = d.a AND s.a > {}",
    "SELECT b, e.name FROM s, d, d AS e WHERE s.a = d.a AND d.a = e.a AND s.a > {}",
    "SELECT x FROM (SELECT s.a AS x, name FROM s, d WHERE s.a = d.a AND s.a > {}) WHERE x > 3",
    "SELECT COUNT(*) AS n FROM s [RANGE BY '4 seconds' SLIDE BY '3 seconds' START AT 1] WHERE a > {}",
]
#: kinds of which only those are members of one class that began together
TOGETHER = [
    f"SELECT a, b FROM s {_OF_ROWS} WHERE a > {{}}",
    f"SELECT COUNT(*) AS n FROM s {_OF_ROWS} WHERE a > {{}}",
    f"ISTREAM(SELECT a, b FROM s {_OF_ROWS} WHERE a > {{}})",
    f"SELECT b, name FROM s {_SLIDING}, d WHERE s.a = d.a AND s.a > {{}}",
    f"SELECT b, name FROM s {_SLIDING}, d [SCAN 3 SEC] WHERE s.a = d.a AND s.a > {{}}",
    f"SELECT b, name FROM s {_OF_ROWS}, d [SCAN 3 SEC] WHERE s.a = d.a AND s.a > {{}}",
    "SELECT b, name FROM s [RANGE 3 SEC], d WHERE s.a = d.a AND s.a > {}",
    "SELECT a, name FROM d [SCAN 3 SEC] WHERE a > {}",
    "SELECT x FROM (SELECT s.a AS x, name FROM s, d WHERE s.a = d.a) WHERE x > {}",
    "SELECT a, b FROM s [RANGE BY '4 seconds' SLIDE BY '2 seconds'] WHERE a > {}",
    "SELECT a FROM s WHERE a > {} for (t = ST; t < ST + 50; t += 5) {{ WindowIs(s, t - 4, t); }}",
    "SELECT s.a, c FROM s, r WHERE s.a = r.a AND b > {} "
    "for (t = 5; t < 50; t++) {{ WindowIs(s, t - 4, t); WindowIs(r, t, t); }}",
    f"SELECT s.a, c FROM s {_SLIDING}, r [FROM NOW-5 TO NOW SLIDE 3 SEC] WHERE s.a = r.a AND b > {{}}",
    f"SELECT s.a, c FROM s {_SLIDING}, r {_OF_ROWS} WHERE s.a = r.a AND b > {{}}",
    f"SELECT s.a, c FROM s {_SLIDING}, r [RANGE 5 SEC] WHERE s.a = r.a AND b > {{}}",
    f"SELECT a + 1 AS x FROM (RSTREAM(SELECT a FROM s {_SLIDING})) WHERE a > {{}}",
    f"SELECT a + 1 AS x FROM (RSTREAM(SELECT a FROM s {_SLIDING} WHERE a > {{}}))",
    f"SELECT COUNT(*) AS n FROM (RSTREAM(SELECT a FROM s {_SLIDING})) {_OF_ROWS} AS k WHERE a > {{}}",
    f"SELECT COUNT(*) AS n FROM (ISTREAM(SELECT a FROM s {_OF_ROWS} WHERE a > {{}})) {_SLIDING} AS k",
    f"DSTREAM(SELECT DISTINCT a FROM (RSTREAM(SELECT a FROM s {_SLIDING} WHERE a > {{}})) [ROWS 2] AS k)",
]


@pytest.mark.parametrize("history", [False, True])
def test_queries_that_differ_in_constants_are_members_of_one_class(spark: object, history: bool) -> None:
    """Also those that look back, if one text creates them. Who comes when they have begun is with them, or not."""
    looks_back = " FROM HISTORY" if history else ""
    with kernels_alone(), patch.dict(os.environ, EVERYONE), testing.database() as db:
        db.sql("CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql("CREATE STREAM r (a INTEGER, c STRING, t INTEGER) TIMESTAMP BY t")
        db.sql("CREATE TABLE d (a INTEGER, name STRING)")
        db.stream("s").push([(1, 2, 3), (3, 3, 4)])
        # a table has no past
        texts = [text for text in (*AT_ANY_TIME, *TOGETHER) if not history or "FROM d [" not in text]

        def text_of(name: str, constant: int) -> str:
            made = (f"CREATE QUERY {name}{n}{looks_back} AS {text.format(constant)}" for n, text in enumerate(texts))
            return "; ".join(made)

        def classes(name: str) -> list[str]:
            found = db.sql("SHOW QUERIES").to_arrow().to_pylist()
            by_name = {row["name"]: row["class"] for row in found}
            return [by_name[f"{name}{n}"] for n in range(len(texts))]

        db.sql(f"{text_of('a', 1)}; {text_of('b', 2)}")
        assert classes("a") == classes("b") and None not in classes("a") and len(set(classes("a"))) == len(texts)
        db.stream("s").push([(1, 2, 5), (3, 3, 6)])
        db.stream("r").push([(1, "x", 5), (3, "y", 6)])
        db.flush()
        db.sql(text_of("c", 0))
        with_them = [c == a for c, a in zip(classes("c"), classes("a"), strict=True)]
        assert with_them == [text in AT_ANY_TIME and not history for text in texts]
