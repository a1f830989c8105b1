"""What queries answer, in the corners that the papers' examples do not reach."""

from __future__ import annotations

import pytest

from behaviour.running import D, R, S, answers, rows

NOW = "s [FROM NOW TO NOW SLIDE 1 SEC]"


def test_order_decides_nulls_ties_offset_and_limit() -> None:
    insert = "INSERT INTO s VALUES (2, NULL, 1), (3, 5, 1), (1, 5, 1), (9, 7, 1);"
    cases = {
        "ORDER BY b": [(2,), (1,), (3,), (9,)],  # NULL is the smallest; ties go by the whole tuple
        "ORDER BY b DESC": [(9,), (1,), (3,), (2,)],
        "ORDER BY b NULLS LAST": [(1,), (3,), (9,), (2,)],
        "ORDER BY b DESC NULLS FIRST LIMIT 2": [(2,), (9,)],
        "ORDER BY b LIMIT 2 OFFSET 1": [(1,), (3,)],
        "ORDER BY b DESC, a DESC LIMIT 2": [(9,), (3,)],
        "ORDER BY 1 DESC LIMIT 1": [(9,)],
        "LIMIT 0": [],
    }
    for clause, wanted in cases.items():
        assert rows(f"{S} SELECT a FROM {NOW} {clause}; {insert}") == [(1, "+", wanted)], clause


def test_order_by_may_name_an_output_or_an_aggregate() -> None:
    insert = "INSERT INTO s VALUES (1, 5, 1), (2, 1, 1), (2, 1, 1);"
    grouped = f"{S} SELECT a AS k FROM {NOW} GROUP BY a"
    assert rows(f"{grouped} ORDER BY COUNT(*) DESC; {insert}") == [(1, "+", [(2,), (1,)])]
    assert rows(f"{S} SELECT -a AS k FROM {NOW} ORDER BY k; {insert}") == [(1, "+", [(-2,), (-2,), (-1,)])]


def test_group_by_position_and_by_alias() -> None:
    insert = "INSERT INTO s VALUES (1, 5, 1), (2, 1, 1), (3, 4, 1);"
    for key in ("2", "odd", "a % 2"):
        sql = f"{S} SELECT SUM(b) AS n, a % 2 AS odd FROM {NOW} GROUP BY {key}; {insert}"
        assert sorted(rows(sql)[0][2]) == [(1, 0), (9, 1)], key


def test_a_query_over_a_relation_is_a_relation() -> None:
    sql = f"{S} CREATE QUERY k AS SELECT a FROM s [NOW]; SELECT a FROM k; INSERT INTO s VALUES (1, 0, 1), (2, 0, 2);"
    assert rows(sql) == [(1, "+", (1,)), (2, "-", (1,)), (2, "+", (2,))]


def test_the_tag_papers_window_gives_a_stream() -> None:
    sql = f"{S} SELECT a FROM s [1 SEC]; INSERT INTO s VALUES (1, 0, 1), (2, 0, 5);"
    assert rows(sql) == [(1, "+", (1,)), (5, "+", (2,))]
    assert [answer.index for answer in answers(sql)] == [1, 2]


def test_columns_with_one_name_are_told_apart() -> None:
    columns = {
        "SELECT s.a, r.a FROM s [NOW], r [NOW]": ("s.a", "r.a"),
        "SELECT a, a FROM s": ("a", "a_2"),
        "SELECT a + 1, a + 1 FROM s": ("(a + 1)", "(a + 1)_2"),
        "SELECT a AS x, b AS x FROM s": ("x", "x_2"),
        "SELECT COUNT(*), MIN(a) FROM s [NOW]": ("count(1)", "min(a)"),
        "SELECT A, B FROM s": ("a", "b"),
    }
    from pathlib import Path

    from eddyline.session import Session

    for sql, wanted in columns.items():
        assert Session(f"{S}{R}{sql}", Path()).queries["q1"] == wanted, sql


def test_a_declared_column_wins_over_the_implicit_one() -> None:
    schema = "CREATE STREAM s (tick INTEGER, t INTEGER) TIMESTAMP BY t;"
    sql = f"{schema} SELECT tick, index FROM s; INSERT INTO s VALUES (77, 3);"
    assert rows(sql) == [(3, "+", (77, 1))]


def test_a_declared_column_of_another_input_wins_too() -> None:
    sql = """CREATE STREAM s (a INTEGER, t INTEGER) TIMESTAMP BY t;
      CREATE TABLE k (tick INTEGER); INSERT INTO k VALUES (9);
      SELECT a, tick FROM s, k; INSERT INTO s VALUES (1, 3);"""
    assert rows(sql) == [(3, "+", (1, 9))]


def test_object_may_name_the_value() -> None:
    sql = """CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t; ATTACH TAG 'x' TO s.a.value;
      SELECT TAGS FROM s WHERE OBJECT = s.a.value; SELECT TAGS FROM s WHERE OBJECT = s.b.value;
      INSERT INTO s VALUES (1, 2, 3);"""
    assert [answer.tag.content for answer in answers(sql)] == ["x"]
    assert answers(sql, "q2") == []


def test_object_tells_values_from_attributes() -> None:
    sql = """CREATE STREAM s (a INTEGER, value INTEGER, t INTEGER) TIMESTAMP BY t;
      ATTACH TAG 'on values' TO s.a.value; ATTACH TAG 'on a' TO s.a WITH TAG_MODE = C; ATTACH TAG 'other' TO s.value;
      SELECT TAGS FROM s WHERE OBJECT = s.a.value; SELECT TAGS FROM s WHERE OBJECT = s.a;
      SELECT TAGS FROM s WHERE OBJECT = s.value; SELECT TAGS FROM s WHERE OBJECT = s.value.value;
      SELECT TAGGED OBJECTS FROM s WHERE OBJECT = s.a.value;
      INSERT INTO s VALUES (1, 2, 3);"""
    told = [[answer.tag.content for answer in answers(sql, query)] for query in ("q1", "q2", "q3", "q4")]
    assert told == [["on values"], ["on values", "on a"], ["other"], []]
    assert rows(sql, "q5") == [(3, "+", (1, 2, 3))]
    assert rows(sql.replace("s.a.value; A", "s.value.value; A", 1), "q5") == []


def test_the_sub_query_of_a_tag_may_select_everything() -> None:
    sql = f"""{S} ATTACH TAG 'x' TO s WHERE (SELECT * FROM s WHERE a > 1); SELECT TAGGED OBJECTS FROM s;
      INSERT INTO s VALUES (1, 0, 1), (2, 0, 2), (3, 0, 3);"""
    assert rows(sql) == [(2, "+", (2, 0, 2))]


def test_using_takes_the_preserved_side() -> None:
    insert = "INSERT INTO s VALUES (1, 0, 1); INSERT INTO r VALUES (2, 'x', 1);"
    for join, wanted in (("RIGHT", [(2, None, "x")]), ("LEFT", [(1, 0, None)])):
        sql = f"{S}{R} SELECT a, b, c FROM {NOW} {join} JOIN r [FROM NOW TO NOW SLIDE 1 SEC] USING (a); {insert}"
        assert rows(sql) == [(1, "+", wanted)], join


def test_a_stream_meets_tables_and_is_revised_with_them() -> None:
    sql = f"""{S}{D} SELECT s.a, name FROM s, d WHERE s.a = d.a;
      INSERT INTO s VALUES (1, 0, 1), (2, 0, 2); UPDATE s SET a = 2 WHERE index = 1; DELETE FROM s WHERE index = 2;"""
    found = [(x.index, x.op, x.row, x.old) for x in answers(sql)]
    assert found == [
        (1, "+", (1, "one"), None),
        (2, "+", (1, "uno"), None),
        (3, "+", (2, "two"), None),
        (1, "=", (2, "two"), (1, "one")),
        (2, "-", (1, "uno"), None),
        (3, "-", (2, "two"), None),
    ]


def test_two_tables_are_joined_at_once() -> None:
    sql = f"""{S}{D} CREATE TABLE e (name STRING, n INTEGER); INSERT INTO e VALUES ('uno', 10), ('two', 20);
      SELECT s.a, n FROM s, d, e WHERE s.a = d.a AND d.name = e.name; INSERT INTO s VALUES (1, 0, 1), (2, 0, 2);"""
    assert [(x.index, x.row) for x in answers(sql)] == [(1, (1, 10)), (2, (2, 20))]


def test_insert_by_column_name_and_default_null() -> None:
    sql = f"{S} SELECT a, b FROM s; INSERT INTO s (t, a) VALUES (4, 7);"
    assert rows(sql) == [(4, "+", (7, None))]


def test_queries_start_at_the_smallest_tick_also_of_insertions() -> None:
    insert = "INSERT INTO s VALUES (1, 0, 9), (2, 0, 3);"
    sql = f"{S} SELECT COUNT(*) FROM s [FROM NOW TO NOW SLIDE 3 SEC]; {insert}"
    assert sorted((tick, found) for tick, op, found in rows(sql) if op != "=")[0][0] == 3
    looped = f"{S} SELECT a FROM s for (t = ST; t < ST + 1; t++) {{ WindowIs(s, t, t); }}; {insert}"
    assert [(tick, found) for tick, _, found in rows(looped)][-1] == (3, [(2,)])


def test_streams_without_a_time_take_the_clocks() -> None:
    sql = "CREATE STREAM u (x INTEGER); SELECT x, tick FROM u; INSERT INTO u VALUES (5);"
    assert rows(sql) == [(0, "+", (5, 0))]
    both = f"{S} {sql.replace('INSERT', 'INSERT INTO s VALUES (1, 1, 42); INSERT', 1)}"
    assert rows(both) == [(42, "+", (5, 42))]


def test_a_sensor_without_a_clock_is_read_interval_by_interval() -> None:
    schema = "CREATE SENSED STREAM m (x INTEGER) SITES (1, 2) EVERY 1 MIN;"
    sql = f"{schema} SELECT x FROM m; INSERT INTO m VALUES (1), (2), (3);"
    assert [(tick, row) for tick, _, row in rows(sql)] == [(0, (1,)), (0, (2,)), (60, (3,))]


def test_nan_equals_nan_in_the_difference_of_windows() -> None:
    """Otherwise every window would say again what it cannot compare."""
    sql = """CREATE STREAM f (x DOUBLE, t INTEGER) TIMESTAMP BY t; ISTREAM(SELECT x * 1 AS y FROM f [UNBOUNDED]);
      INSERT INTO f VALUES (CAST('NaN' AS DOUBLE), 1), (2.5, 2), (-0.0, 3), (0.0, 4);"""
    assert [tick for tick, _, _ in rows(sql)] == [1, 2, 3, 4]


TAGGED = "CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t; ATTACH TAG 'Nice' TO s WITH TAG_SIGN = '+'"


def test_a_tag_on_several_tuples_counts_once() -> None:
    sql = f"""{TAGGED} AND TAG_LIFESPAN = 1 MIN; SELECT TAG_COUNT('+') AS n, COUNT(*) AS m FROM {NOW};
      INSERT INTO s VALUES (1, 0, 1), (2, 0, 1), (3, 0, 1);"""
    assert rows(sql) == [(1, "+", [(1, 3)])]


def test_a_distinct_row_has_the_tags_of_all_its_copies() -> None:
    sql = f"""{TAGGED}; ATTACH TAG 'Awful' TO s.b WHERE b = 7 WITH TAG_SIGN = '-';
      SELECT DISTINCT a, b FROM {NOW} WITH TAGS; INSERT INTO s VALUES (1, 7, 1), (1, 7, 1);"""
    (window,) = answers(sql)
    assert window.rows == ((1, 7),)
    assert [(tag.content, tag.attributes) for tag in window.tags[0]] == [("Nice", ()), ("Awful", ("b",))]


def test_a_backward_join_answers_in_the_order_of_the_loop() -> None:
    sql = f"""{S}{R} SELECT s.a, c FROM s, r WHERE s.t = r.t
      for (t = 6; t > 0; t -= 2) {{ WindowIs(s, t - 1, t); WindowIs(r, t - 1, t); }};
      INSERT INTO r VALUES (0, 'x', 2), (0, 'y', 6); INSERT INTO s VALUES (1, 0, 2), (2, 0, 4), (3, 0, 6);"""
    assert rows(sql) == [(6, "+", [(3, "y")]), (4, "+", []), (2, "+", [(1, "x")])]


def test_a_window_query_over_a_window_query() -> None:
    sql = f"""{S} SELECT MAX(n) AS m FROM (SELECT a, COUNT(*) AS n FROM {NOW} GROUP BY a);
      INSERT INTO s VALUES (1, 0, 1), (1, 0, 1), (2, 0, 1);"""
    assert rows(sql) == [(1, "+", [(2,)])]


@pytest.mark.parametrize("form", ["[SCAN 2 SEC]", "[RESCAN 2 SEC]"])
def test_a_table_is_scanned_at_the_start_and_every_interval_after(form: str) -> None:
    sql = f"{S}{D} SELECT COUNT(*) AS n FROM s [UNBOUNDED], d {form}; INSERT INTO s VALUES (1, 0, 3), (1, 0, 8);"
    assert [tick for tick, _, _ in rows(sql.replace("s [UNBOUNDED], ", ""))] == [0, 2, 4, 6, 8]
    assert rows(sql)[0] == (3, "+", (3,))


def test_a_column_that_is_called_tag() -> None:
    """TAG by itself is the group, and inside an aggregate the column."""
    sql = """CREATE STREAM v (tag INTEGER, t INTEGER) TIMESTAMP BY t;
      SELECT TAG AS word, MAX(tag) AS most, MIN(v.tag) AS least FROM v GROUP BY TAG;
      ATTACH TAG 'High' TO v WITH TAG_LIFESPAN = 9 SEC; INSERT INTO v VALUES (3, 1), (5, 2);"""
    assert rows(sql)[-1][-1] == ("High", 5, 3)
    named = "CREATE STREAM v (tag INTEGER, t INTEGER) TIMESTAMP BY t; SELECT tag, t FROM v [NOW] GROUP BY tag, t;"
    assert rows(named + " INSERT INTO v VALUES (3, 1);") != []
