"""Printing and parsing are inverse: what is printed parses to the same tree, laid out or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from eddyline.language import format_script, parse_script, to_sql
from golden.script_file import read_script
from laws.streams import EXAMPLES, queries

SCRIPTS = sorted((Path(__file__).parent.parent / "scripts").rglob("*.script"))

STATEMENTS = [
    "CREATE SENSED STREAM road (site INTEGER, time INTEGER) SITES (1, 2) EVERY 1 MIN TIMESTAMP BY time USING csv "
    "OPTIONS (path 'road.csv', sep ';', header 'false')",
    "CREATE STREAM IF NOT EXISTS network.tcpdump (ts TIMESTAMP, len BIGINT, d DECIMAL(10, 2), f FLOAT, x CHAR(4))",
    "CREATE STREAM s (v INTEGER, t INTEGER) RETAIN 100 TIMESTAMP BY t USING csv OPTIONS (path 's.csv')",
    "CREATE STREAM s (v INTEGER) USING http RETAIN '1 hour 30 minutes'",
    "CREATE STREAM s (v INTEGER) RETAIN 10 MIN",
    "CREATE STREAM s (v INTEGER, `key` STRING) RETAIN 10 MIN KEY (`key`, v) TIMESTAMP BY v",
    "r: pushed (v:integer, key:integer) KEY (key) s: pushed (v:integer)",
    "CREATE STREAM s (v INTEGER) RETAIN INTERVAL '1' HOUR USING http",
    "CREATE STREAM s (v INTEGER) RETAIN INTERVAL '1 day 2 hours' USING http",
    "CREATE STREAM s (v INTEGER) RETAIN INTERVAL '1 02:03' DAY TO MINUTE TIMESTAMP BY v",
    "r: pushed (v:integer) RETAIN 5 s: pushed (v:integer) RETAIN 5 S t: stored (v:integer)",
    "CREATE TABLE t (a STRING COMMENT 'a name', b ARRAY<DOUBLE>)",
    "road: sensed (site:integer, time:integer)",
    "Prices( long timestamp; char(4) symbol; float price; )",
    "CREATE QUERY a.b AS SELECT * FROM s",
    "CREATE QUERY a WITH (priority = 3) AS SELECT * FROM s",
    "CREATE QUERY a WITH (priority = 10, other = 'x') FROM HISTORY SINCE 5 AS SELECT * FROM s",
    "CREATE QUERY a FROM HISTORY SINCE -5 AS SELECT * FROM s",
    "CREATE QUERY a WITH (revise_if = 'abs(new.c - old.c) > 0.5 OR new.s <> \\'x\\'') AS SELECT * FROM s",
    "FLUSH REVISIONS",
    "FLUSH REVISIONS OF a.b",
    "DROP QUERY IF EXISTS q",
    "SHOW REVISIONS",
    "SHOW REVISIONS OF network.tcpdump SINCE '2020-01-01 00:00:00' LIMIT 3",
    "SHOW REVISIONS OF q SINCE -5",
    "SET TICK '1 millisecond'",
    "SET cpu_limit = 0.5",
    "SET memory_limit = '512 MB'",
    "SET memory_limit = DEFAULT",
    "CREATE QUERY q WITH (cpu_limit = 2, memory_limit = '1 GB') AS SELECT a FROM s",
    "EXPLAIN SELECT a FROM s",
    "EXPLAIN ALGEBRA q1",
    "EXPLAIN ALGEBRA ATTACH TAG 'x' CONTINUOUSLY TO s",
    "INSERT INTO s VALUES (1, 'it''s', NULL, -2.5), (2, '\\\\', TRUE, 1e3)",
    "INSERT INTO s (a, `b c`) VALUES (1, DATE '2020-01-01')",
    "UPDATE s SET a = a + 1, b = CASE WHEN a > 1 THEN 'x' END WHERE a IN (1, 2) AND NOT b LIKE 'x%'",
    "DELETE FROM s",
    "DELETE FROM s WHERE index = 3 OR tick BETWEEN 1 AND 5",
    "ATTACH TAG 'Running' TO s.a, s.b WITH TAG_SIGN = '+' AND TAG_LIFESPAN = I AND TAG_MODE = COMBINE",
    "ATTACH TAG 'x' TO s WHERE (SELECT a FROM s WHERE a > 80) WITH TAG_LIFESPAN = '30 minutes'",
    "DETACH TAG 'Running' FROM s.a.value, s.b.value",
    "DETACH TAG 'it''s' FROM s WHERE a > 1 AND index < 3",
    "CREATE TAG GROUP happy ('joy', 'so happy')",
    "CREATE TAG GROUP IF NOT EXISTS `my group` ('joy')",
    "CREATE TAG SYNONYMS ('car', 'auto')",
    "CREATE TAG ACRONYM 'GFC' AS 'going for coffee', 'good for children'",
    "DROP TAG GROUP happy",
    "DROP TAG SYNONYMS IF EXISTS 'car'",
    "DROP TAG ACRONYM 'GFC'",
    "CREATE TAG FUNCTION alike(a STRING, b STRING) RETURNS DOUBLE USING python OPTIONS (path 'alike.py', name 'f')",
    "DROP TAG FUNCTION IF EXISTS alike",
    "SHOW TAGS",
    "SHOW TAGS OF network.tcpdump LIKE 'x%'",
    "SELECT content, COUNT(*) AS n FROM TAGS OF a.s [RANGE 1 MIN] AS t GROUP BY content ORDER BY n DESC LIMIT 3",
    "SELECT TAG, COUNT(*) FROM s GROUP BY TAG alike(0.5) WITH UNTAGGED",
    "SELECT TAGGED OBJECTS FROM a [1 SEC] JOIN b [1 SEC] ON TAGS alike",
    "SELECT TAGS FROM s WHERE OBJECT = s.a AND TAGSIGN = '-' OR TAG LIKE 'x%'",
    "SELECT TAGGED OBJECTS FROM s WITH TAGS",
    "SELECT TAGGED OBJECTS FROM a [10 SEC] JOIN b AS c [RANGE 1 MIN] ON TAGS COOCCURRENCE(3)",
    "SELECT TAG, AVG(x) AS m FROM s [ROWS 3] GROUP BY TAG JACCARD(0.25) WITH UNTAGGED",
    "SELECT DISTINCT a.x, b.* FROM a [NOW] LEFT JOIN b [UNBOUNDED] USING (x, y) NATURAL JOIN c, d [SCAN 5 MIN]",
    "SELECT a FROM s [PARTITION BY a, s.b ROWS 3] ORDER BY a DESC, b NULLS LAST, 3 LIMIT 5 OFFSET 2",
    "SELECT wtime(*), COUNT(*) FROM s [RANGE BY '1 hour' START AT 5] GROUP BY a, 2 HAVING COUNT(*) > 1",
    "WITH x AS (SELECT a FROM s), y AS (SELECT b FROM x) RSTREAM(SELECT * FROM y [ROWS 1])",
    "SELECT a FROM (ISTREAM(SELECT a FROM (SELECT a FROM s WHERE a > 1) [NOW] AS k)) [FROM NOW-3 TO NOW SLIDE 2 ROWS]",
    "SELECT * FROM s for (t = ST; t < ST + 50; t += 5) { WindowIs(s, t - 4, t); }",
    "SELECT * FROM s CROSS JOIN r for (; t == 0; t = -1) { WindowIs(s, 1, 5); } "
    "for (u = 9; u > 0; u--) { WindowIs(r, u, u + 2); }",
    "SELECT a::STRING, TRY_CAST(a AS INT), EXTRACT(YEAR FROM t), INTERVAL '5' MINUTE, a <=> b, x || 'y', -a FROM s",
    "SELECT SUM(DISTINCT a) FILTER (WHERE b > 0), a IS NOT DISTINCT FROM b, a RLIKE 'x.*', `select` FROM `from`",
]


def assert_round_trip(sql: str) -> None:
    for statement in parse_script(sql):
        for pretty in (False, True):
            printed = to_sql(statement.tree, pretty)
            again = parse_script(printed)
            assert [s.tree for s in again] == [statement.tree], printed


@pytest.mark.parametrize("sql", STATEMENTS)
def test_every_form_prints_back(sql: str) -> None:
    assert_round_trip(sql)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_golden_script_prints_back(path: Path) -> None:
    script = read_script(path)
    if script.error is not None and script.error.code == "SYNTAX_ERROR":
        pytest.skip("does not parse, by intention")
    assert_round_trip(script.sql)
    once = format_script(script.sql)
    assert [s.tree for s in parse_script(once)] == [s.tree for s in parse_script(script.sql)]
    assert format_script(once) == once, "the layout of a laid-out script is itself"


@settings(max_examples=150 * EXAMPLES, deadline=None)
@given(queries)
def test_random_queries_print_back(sql: str) -> None:
    assert_round_trip(sql)


@pytest.mark.parametrize("outer", ["RSTREAM({})", "ISTREAM(({}))", "({})", "WITH v AS (SELECT a FROM s) ({})"])
def test_tags_may_be_asked_for_behind_the_parentheses(outer: str) -> None:
    query = "SELECT a FROM s [NOW]"
    (behind,) = parse_script(f"{outer.format(query)} WITH TAGS")
    (inside,) = parse_script(outer.format(f"{query} WITH TAGS"))
    assert to_sql(behind.tree) == to_sql(inside.tree) and "WITH TAGS" in to_sql(behind.tree)


def test_comments_survive_formatting() -> None:
    text = "-- first\nselect a from s; -- behind\n\n/* block */\nselect b -- inside\nfrom s;\n-- last\n"
    formatted = format_script(text)
    for comment in ("-- first", "-- behind", "/* block */", "-- inside", "-- last"):
        assert comment in formatted
    assert format_script(formatted) == formatted
    assert "SELECT a\nFROM s;" in formatted
