"""Continuous taggers come and go while rows come and are corrected: Spark shows what the reference engine shows.

A tuple's tags are those of the taggers that stood when it came, whoever looks at it, in whichever batches, and also
if the database was closed in between.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.without_spark import kernels_alone
from tags.test_history_laws import HISTORY
from tags.test_spark_laws import GROUPED, LAW, QUERIES, Folded, tags_in_any_order

STREAMS = """CREATE STREAM s (id INTEGER, a INTEGER, b STRING, t INTEGER) TIMESTAMP BY t KEY (id);
CREATE STREAM r (id INTEGER, a INTEGER, b STRING, t INTEGER) TIMESTAMP BY t KEY (id);"""
#: of a tuple that a batch revises twice, what was made for the version in between is not told
SHOWN = [query for query in QUERIES if "SELECT TAGS " not in query]
TOLD = ["SELECT TAGS FROM s", "SELECT TAGS FROM s WHERE TAG = 'Odd' AND TAG_SIGN = '+'", "SELECT TAGS FROM r"]
#: tags that come before the first tuple of their stream are told with it
FIRST = """INSERT INTO s VALUES (9, 0, NULL, 0);
INSERT INTO r VALUES (9, 0, NULL, 0);"""
BY_TAG = [
    "SELECT TAG, COUNT(*) AS n FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY TAG WITH UNTAGGED",
    "SELECT a, TAG_SCORE() AS score, TAG_COUNT('-') AS n FROM s [RANGE 4 SEC] GROUP BY a",
]
#: members of one query class, with and without tags
ALIKE = [
    *(f"SELECT id, b FROM s WHERE a >= {least} WITH TAGS" for least in range(3)),
    "SELECT id, b FROM s WHERE a >= 1",
]
CONDITIONS = [
    "",
    " WHERE a >= 2",
    " WHERE b = 'x' AND a < 3",
    " WHERE a + id > 4",
    " WHERE b IS NULL",
    " WHERE index % 2 = 0 AND tick > 6",
]
OPTIONS = ["", " WITH TAG_SIGN = '+'", " WITH TAG_LIFESPAN = 3 SEC TAG_MODE = COMBINE", " WITH TAG_LIFESPAN = 9 SEC"]
OBJECTS = ["s", "s.a", "s.a, s.b", "s.b.value", "s.a.value", "r", "r.a"]


@st.composite
def statements(draw: st.DrawFn) -> list[str]:
    """Rows come, or replace others by their keys; queries that tag are created and dropped, and other tags attached."""
    found, tick = [], 5
    standing: list[str] = []
    for kind in draw(st.lists(st.sampled_from("iiiiiiccda"), min_size=3, max_size=16)):
        on, where = draw(st.sampled_from(OBJECTS)), draw(st.sampled_from(CONDITIONS))
        word = draw(st.sampled_from(["Odd", "Sad", "High"]))
        if kind == "c" and len(standing) < 3:
            name = draw(st.sampled_from(["one", "two", "three"]))
            if name not in standing:
                standing.append(name)
                options = draw(st.sampled_from(OPTIONS))
                found.append(f"CREATE QUERY {name} AS ATTACH TAG '{word}' CONTINUOUSLY TO {on}{where}{options};")
        elif kind == "d" and standing:
            found.append(f"DROP QUERY {standing.pop(draw(st.integers(0, len(standing) - 1)))};")
        elif kind == "a":
            found.append(f"ATTACH TAG '{word}' TO {on}{where} WITH TAG_LIFESPAN = 4 SEC TAG_MODE = COMBINE;")
        else:
            rows = []
            for _ in range(draw(st.integers(1, 3))):
                tick += draw(st.integers(-2, 2))
                b = draw(st.sampled_from(["'x'", "'y'", "NULL"]))
                rows.append(f"({draw(st.integers(1, 6))}, {draw(st.integers(0, 3))}, {b}, {max(0, tick)})")
            found.append(f"INSERT INTO {draw(st.sampled_from('sssr'))} VALUES {', '.join(rows)};")
    return found


def folded(answers: Any) -> dict[str, Any]:
    found: dict[str, Folded] = {}
    for answer in answers:
        found.setdefault(answer.query, Folded()).add(answer)
    return {name: each.left() for name, each in found.items()}


def by_the_reference(sql: str, batch_rows: int) -> dict[str, Any]:
    return folded(Session(sql, Path(), batch_rows=batch_rows).answers())


@settings(LAW)
@given(statements(), st.sampled_from(SHOWN), st.sampled_from([1, 2, 100]))
def test_taggers_that_come_and_go(said: list[str], query: str, batch_rows: int) -> None:
    sql = f"{STREAMS} CREATE QUERY q AS {query}; {' '.join(said)}"
    with kernels_alone():
        found = folded(SparkRun(sql, Path(), batch_rows=batch_rows).answers())
    assert found.get("q") == by_the_reference(sql, 1).get("q")


@settings(LAW)
@given(statements(), st.sampled_from([*GROUPED, *BY_TAG]), st.sampled_from([1, 2, 100]))
def test_groups(said: list[str], query: str, batch_rows: int) -> None:
    sql = f"{STREAMS} CREATE QUERY q AS {query}; {' '.join(said)}"
    with kernels_alone():
        found = folded(SparkRun(sql, Path(), batch_rows=batch_rows).answers())
    assert tags_in_any_order(found.get("q")) == tags_in_any_order(by_the_reference(sql, 1).get("q"))


@settings(LAW)
@given(statements(), st.sampled_from(HISTORY), st.sampled_from([1, 2, 100]))
def test_the_history_of_tags(said: list[str], query: str, batch_rows: int) -> None:
    sql = f"{STREAMS} CREATE QUERY q AS {query}; {' '.join(said)}"
    with kernels_alone():
        found = folded(SparkRun(sql, Path(), batch_rows=batch_rows).answers())
    assert found.get("q") == by_the_reference(sql, 1).get("q")


@settings(LAW)
@given(statements(), st.sampled_from(TOLD))
def test_tags_that_are_told(said: list[str], query: str) -> None:
    sql = f"{STREAMS} CREATE QUERY q AS {query}; {FIRST} {' '.join(said)}"
    with kernels_alone():
        found = folded(SparkRun(sql, Path(), batch_rows=1).answers())
    assert found.get("q") == by_the_reference(sql, 1).get("q")


@settings(LAW)
@given(statements())
def test_what_show_tags_lists(said: list[str]) -> None:
    sql = f"{STREAMS} {' '.join(said)} SHOW TAGS;"
    with kernels_alone():
        found = folded(SparkRun(sql, Path(), batch_rows=3).answers())
    assert found.get("tags1") == by_the_reference(sql, 1).get("tags1")


@settings(LAW)
@given(statements(), st.lists(st.sampled_from(SHOWN), min_size=1, max_size=2, unique=True), st.sets(st.integers(0, 15)))
def test_in_a_database_that_is_closed_now_and_then(said: list[str], queries: list[str], closed: set[int]) -> None:
    said = [*FIRST.splitlines(), *said]  # windows stand from 0 on, in a script as in a database
    queries = [*queries, *ALIKE]
    created = [f"CREATE QUERY q{number} AS {query};" for number, query in enumerate(queries)]
    found: list[Any] = []
    with kernels_alone(), tempfile.TemporaryDirectory() as folder:
        db = eddyline.connect(folder, heartbeat=None, clock=lambda: 0)
        for statement in (STREAMS, *created):
            db.sql(statement)
        for number, statement in enumerate(said):
            db.sql(statement)
            if number in closed:
                db.close()
                db = eddyline.connect(folder, heartbeat=None, clock=lambda: 0)
            elif number % 2:
                db.flush()
        db._core.engine.advance(None, ended=True)
        db.flush()
        for number in range(len(queries)):
            found += db.query(f"q{number}").fetch()
        db.close()
    expected = by_the_reference(" ".join((STREAMS, *created, *said)), 1)
    # what comes and goes between two batches is not told
    shown = {name: each for name, each in expected.items() if name.startswith("q") and any(each)}
    assert {name: each for name, each in folded(found).items() if any(each)} == shown
