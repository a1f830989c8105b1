"""Errors: what they say, where they point, and that they are found before anything runs."""

from __future__ import annotations

import pytest

from behaviour.running import D, R, S, error, marked
from eddyline.errors import Position, UnknownColumn

CASES = {
    # statement → code, marked text, part of the message or hint
    "UPDATE s SET a = 1, a = 2": ("DUPLICATE_NAME", "a = 2", "set twice"),
    "SET TICK '1 minute'": ("INVALID_DEFINITION", "SET TICK '1 minute'", "first statement"),
    "SELECT SUM(a) FROM s [NOW] HAVING b > 1": ("INVALID_GROUPING", "b > 1", "neither in GROUP BY"),
    "SELECT a FROM s [NOW] HAVING a > 1": ("INVALID_DEFINITION", "a > 1", "use WHERE"),
    "SELECT a FROM s [NOW] GROUP BY 2": ("INVALID_DEFINITION", "2", "columns 1 to 1"),
    "SELECT COUNT(*) FROM s [NOW] GROUP BY 1": ("INVALID_DEFINITION", "1", "aggregate"),
    "SELECT a FROM s [NOW] ORDER BY 3": ("INVALID_DEFINITION", "3", "columns 1 to 1"),
    "SELECT a, COUNT(*) FROM s [NOW] GROUP BY a ORDER BY b": ("INVALID_GROUPING", "b", "ORDER BY"),
    "SELECT DISTINCT a FROM s [NOW] ORDER BY b": ("INVALID_DEFINITION", "b", "selected columns only"),
    "SELECT a FROM s, s": ("DUPLICATE_NAME", "s", "stands twice"),
    "SELECT x.a FROM s": ("UNKNOWN_COLUMN", "x.a", "there is no x in FROM"),
    "SELECT a FROM s [NOW], r [NOW]": ("AMBIGUOUS_COLUMN", "a", "write s.a or r.a"),
    "SELECT wtime(*) FROM s": ("UNBOUNDED_STREAM", "wtime(*)", "no window here"),
    "SELECT wtime(*), a FROM s [RANGE 5 SEC]": ("INVALID_WINDOW", "wtime(*)", "at every tick"),
    "SELECT b FROM s LEFT JOIN d ON s.a = d.a": ("NOT_SUPPORTED", "d", "needs windows"),
    "SELECT a FROM s, d [SCAN 5 SEC] WHERE s.a = d.a": ("UNBOUNDED_STREAM", "s", "leave SCAN out"),
    "RSTREAM(SELECT a FROM s)": ("UNBOUNDED_STREAM", "RSTREAM(SELECT a FROM s)", "a stream already"),
    "SELECT a FROM (SELECT a FROM s [NOW]) [ROWS 2]": ("INVALID_WINDOW", "[ROWS 2]", "RSTREAM"),
    "SELECT a FROM s [RANGE 5 ROWS]": ("INVALID_WINDOW", "[RANGE 5 ROWS]", "[ROWS 5]"),
    "SELECT a FROM s [RANGE 5 MS]": ("INVALID_WINDOW", "[RANGE 5 MS]", "SET TICK"),
    "SELECT a FROM s [RANGE BY 'soon']": ("INVALID_WINDOW", "'soon'", "length of time"),
    "SELECT a FROM s [RANGE BY '1 second' START AT 'soon']": ("INVALID_WINDOW", "'soon'", "not a time"),
    "SELECT a FROM s [ROWS 0]": ("INVALID_WINDOW", "[ROWS 0]", "more than 0"),
    "SELECT a FROM d [SCAN 0 SEC]": ("INVALID_WINDOW", "[SCAN 0 SEC]", "more than 0"),
    "SELECT a FROM s for (t = 1; t < 5; t++) { WindowIs(d, t, t); }": ("INVALID_LOOP", "d", "not in FROM"),
    "SELECT a FROM s, d for (t = 1; t < 5; t++) { WindowIs(d, t, t); }": (
        "INVALID_WINDOW",
        "d",
        "leave its WindowIs out",
    ),
    "SELECT a FROM s for (t = 1; t < 5; t = 1 - t) { WindowIs(s, t, t); }": (
        "INVALID_LOOP",
        "for (t = 1",
        "comes back",
    ),
    "SELECT a FROM s for (t = 1; t < 5; t *= 1) { WindowIs(s, t, t); }": ("INVALID_LOOP", "for (t = 1", "never ends"),
    "SELECT a FROM s for (t = 1; t < x; t++) { WindowIs(s, t, t); }": ("INVALID_LOOP", "x", "whole numbers"),
    "SELECT TAGGED OBJECTS FROM s [5 SEC] JOIN r [5 SEC] ON TAGS JACCARD(2)": (
        "INVALID_TAG",
        "JACCARD(2)",
        "at most 1",
    ),
    "SELECT TAGGED OBJECTS FROM s [5 SEC] JOIN r [5 SEC] ON TAGS COOCCURRENCE(1.5)": ("INVALID_TAG", "COOC", "whole"),
    "SELECT TAGGED OBJECTS FROM s [5 SEC] JOIN r [5 SEC] ON TAGS EQUALITY(1)": ("INVALID_TAG", "EQUA", "no threshold"),
    "SELECT TAGGED OBJECTS FROM s [5 SEC] LEFT JOIN r [5 SEC] ON TAGS EQUALITY": ("NOT_SUPPORTED", "r", "no LEFT JOIN"),
    "SELECT TAGGED OBJECTS FROM s JOIN r [5 SEC] ON TAGS EQUALITY": ("UNBOUNDED_STREAM", "s", "s [1 MIN]"),
    "SELECT x FROM (SELECT TAGS FROM s)": ("NOT_SUPPORTED", "SELECT TAGS FROM s", "TAGGED OBJECTS"),
    "ATTACH TAG 'x' TO s WHERE (SELECT a FROM r WHERE a > 1)": ("INVALID_TAG", "r", "for s"),
    "ATTACH TAG 'x' TO s WHERE (SELECT TAGGED OBJECTS FROM s)": (
        "NOT_SUPPORTED",
        "SELECT TAGGED OBJECTS FROM s",
        "from the tagged stream alone",
    ),
    "ATTACH TAG '' TO s": ("INVALID_TAG", "''", "content"),
    "ATTACH TAG 'x' TO s.a, r.a": ("INVALID_TAG", "r.a", "one stream"),
    "ATTACH TAG 'x' TO s.a.b": ("INVALID_TAG", "s.a.b", "attribute.value"),
    "ATTACH TAG 'x' TO s WITH TAG_MODE = MAYBE": ("INVALID_TAG", "MAYBE", "OVERWRITE or COMBINE"),
    "ATTACH TAG 'x' TO s WITH TAG_LIFESPAN = 5 ROWS": ("INVALID_TAG", "5 ROWS", "length of time"),
    "CREATE QUERY k AS ATTACH TAG 'x' TO s": ("INVALID_DEFINITION", "ATTACH TAG 'x' TO s", "CONTINUOUSLY"),
    "SELECT a FROM s WHERE OBJECT = 5": ("UNKNOWN_COLUMN", "OBJECT", "no column OBJECT"),
    "SELECT TAGS FROM s WHERE OBJECT = 5": ("INVALID_TAG", "5", "OBJECT = s.a"),
    "SELECT TAGS FROM s WHERE OBJECT = s.a OR OBJECT = s.b": ("NOT_SUPPORTED", "OBJECT", "compared by = alone"),
    "SELECT TAGS FROM s WHERE a > 1 AND NOT (OBJECT = s.a)": ("NOT_SUPPORTED", "OBJECT", "joined to other"),
    "SELECT TAGS FROM s WHERE OBJECT IN (s.a, s.b)": ("NOT_SUPPORTED", "OBJECT", "write OBJECT = s.a AND"),
    "SELECT TAG, a FROM s [NOW] GROUP BY TAG, a": ("NOT_SUPPORTED", "TAG", "group by TAG alone"),
    "SELECT a, COUNT(*) FROM s GROUP BY a, TAG": ("NOT_SUPPORTED", "TAG", "group by TAG alone"),
    "SELECT TAG, COUNT(*) FROM s GROUP BY TAG HAVING COUNT(*) > 1": ("NOT_SUPPORTED", "COUNT(*) > 1", "no HAVING"),
    "SELECT TAG, COUNT(*) FROM s GROUP BY TAG ORDER BY TAG": ("NOT_SUPPORTED", "TAG", "no ORDER"),
    "SELECT TAGS FROM s ORDER BY a": ("NOT_SUPPORTED", "a", "no ORDER"),
    "ATTACH TAG 'x' TO s WITH TAG_LIFESPAN = 7": ("SYNTAX_ERROR", "", "SEC, MIN, HOUR, DAY or MS"),
    "ATTACH TAG 'x' TO s WITH TAG_LIFESPAN = 0 AND TAG_MODE = O": ("SYNTAX_ERROR", "AND", "or I for an instant tag"),
    "ATTACH TAG 'x' TO s WITH TAG_LIFESPAN = 1.5 SEC": ("SYNTAX_ERROR", "1.5", "1500 MS"),
    "ATTACH TAG 'x' CONTINUOUSLY TO s CONTINUOUSLY": ("SYNTAX_ERROR", "CONTINUOUSLY", "given twice"),
    "SELECT TAGS FROM s WHERE TAG = 'x' OR a > 1": ("NOT_SUPPORTED", "TAG", "join the two by AND"),
    "SELECT TAGS FROM s WHERE TAG_SING = '+'": ("UNKNOWN_COLUMN", "TAG_SING", "did you mean TAG_SIGN?"),
    "SELECT TAGS FROM s WHERE colour = '+'": ("UNKNOWN_COLUMN", "colour", "of a tag there are TAG, TAG_SIGN"),
    "SELECT a FROM s WITH TAG": ("SYNTAX_ERROR", "WITH", "write WITH TAGS"),
    "ATTACH TAG 'x' TO somewhere": ("UNKNOWN_EXTENT", "somewhere", "CREATE STREAM"),
    "ATTACH TAG 'x' TO s WITH TAG_LIFESPAN = 0 SEC": ("INVALID_TAG", "0 SEC", "cannot live for 0 ticks"),
    "SELECT TAG_COUNT('?') FROM s [NOW]": ("TYPE_MISMATCH", "'?'", "sign"),
    "SELECT TAG_COUNT('+') FILTER (WHERE a > 1) FROM s [NOW]": ("NOT_SUPPORTED", "TAG_COUNT(", "no FILTER"),
    "SELECT TAG_COUNT(DISTINCT '+') FROM s [NOW]": ("NOT_SUPPORTED", "TAG_COUNT(DISTINCT '+')", "no DISTINCT"),
    "SELECT a FROM s WHERE TAG_COUNT('+') > 1": ("INVALID_GROUPING", "TAG_COUNT('+')", "aggregate"),
    "SELECT TAG, b FROM s GROUP BY TAG": ("NOT_SUPPORTED", "b", "neither TAG"),
    "INSERT INTO s VALUES (1, 2)": ("INVALID_DEFINITION", "(1, 2)", "3 values are needed"),
    "INSERT INTO s (a, a, t) VALUES (1, 2, 3)": ("DUPLICATE_NAME", "a", "listed twice"),
    "INSERT INTO s VALUES (1, 'x', 3)": ("TYPE_MISMATCH", "'x'", "INTEGER"),
    "DELETE FROM d": ("NOT_SUPPORTED", "d", "table"),
    "DROP STREAM s": ("NOT_SUPPORTED", "DROP STREAM s", "there is no DROP STREAM"),
    "EXPLAIN ANALYZE SELECT a FROM s": ("NOT_SUPPORTED", "EXPLAIN ANALYZE", "write EXPLAIN"),
    "CREATE STREAM z (_op INTEGER)": ("INVALID_DEFINITION", "_op", "reserved"),
    "CREATE STREAM z (a INTEGER) SITES (1)": ("INVALID_DEFINITION", "CREATE STREAM", "SENSED"),
    "CREATE SENSED STREAM z (a INTEGER) SITES (1, 1) EVERY 1 SEC": ("INVALID_DEFINITION", "CREATE", "listed twice"),
    "CREATE TABLE z (a INTEGER) TIMESTAMP BY a": ("INVALID_DEFINITION", "a", "no TIMESTAMP BY"),
    "SELECT a FROM s UNION SELECT a FROM s": ("SYNTAX_ERROR", "UNION", "not part of the language"),
    "SELECT a FROM s SELECT b FROM s": ("SYNTAX_ERROR", "SELECT", "; missing"),
    "SELECT a FORM s": ("SYNTAX_ERROR", "s", "FROM instead of FORM"),
}


@pytest.mark.parametrize("statement", CASES)
def test_what_is_said_and_where(statement: str) -> None:
    sql = f"{S}\n{R}\n{D}\n{statement};"
    code, place, part = CASES[statement]
    problem = error(sql)
    rendered = problem.render(sql)
    assert problem.code == code, rendered
    assert marked(sql, problem).startswith(place), rendered
    assert problem.position is not None and problem.position.line_and_column(sql)[0] == 4, rendered
    assert part in f"{problem.message} {problem.hint or ''}", rendered
    assert len(problem.sqlstate) == 5


def test_the_caret_stands_under_the_place_in_wide_text() -> None:
    text = "SELECT '日本語', nope FROM s"
    start = text.index("nope")
    lines = UnknownColumn("x", Position(start, start + 4)).render(text).splitlines()
    assert lines[-1].index("^") == lines[-2].index("nope") + 3  # three characters take two columns each
    assert lines[-1].count("^") == 4


def test_a_long_line_is_cut_around_the_place() -> None:
    text = "SELECT " + "a, " * 50_000 + "nope FROM s"
    start = text.index("nope")
    rendered = UnknownColumn("x", Position(start, start + 4)).render(text)
    assert "nope" in rendered and len(rendered) < 1_000
    lines = rendered.splitlines()
    assert lines[-1].index("^") == lines[-2].index("nope")


def test_tabs_and_line_ends_do_not_move_the_caret() -> None:
    text = "SELECT a\r\n\tFROM\tnope\r\n"
    start = text.index("nope")
    lines = UnknownColumn("x", Position(start, start + 4)).render(text, "f.sql").splitlines()
    assert "f.sql: line 2, column 7" in lines[1]
    assert lines[-1].index("^") == lines[-2].index("nope")
