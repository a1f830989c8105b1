"""Tags that are taken back on Spark are those of the reference engine, whatever is said, comes and goes when."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.without_spark import kernels_alone
from tags.test_history_laws import HISTORY
from tags.test_spark_laws import GROUPED, LAW, QUERIES, lines, run, tags_in_any_order

OBJECTS = ["s", "s.a", "s.b", "s.a, s.b", "s.a.value", "s.b.value"]
CONDITIONS = ["", "", " WHERE a > 1", " WHERE index <= 2", " WHERE tick > 3", " WHERE b = 'x'"]
#: tags of a source called user are the user's as well, for the engines
WORDS = ["Sad", "joyful", "SAD", "Late"]


@st.composite
def statements(draw: st.DrawFn) -> str:
    """Tags are attached and taken back while rows come."""
    found, tick = [], 10
    for kind in draw(st.lists(st.sampled_from("aaddi"), min_size=2, max_size=8)):
        on, word = draw(st.sampled_from(OBJECTS)), draw(st.sampled_from(WORDS))
        where = draw(st.sampled_from(CONDITIONS))
        if kind == "a":
            lifespan = draw(st.sampled_from(["", " TAG_LIFESPAN = 3 SEC", " TAG_LIFESPAN = 30 SEC"]))
            options = f" WITH TAG_MODE = {draw(st.sampled_from(['COMBINE', 'OVERWRITE']))}{lifespan}"
            found.append(f"ATTACH TAG '{word}' TO {on}{where}{options};")
        elif kind == "d":
            found.append(f"DETACH TAG '{word}' FROM {on}{where};")
        else:
            tick += draw(st.integers(-2, 3))
            a, b = draw(st.integers(0, 3)), draw(st.sampled_from(["'x'", "'y'", "NULL"]))
            found.append(f"INSERT INTO s VALUES ({50 + len(found)}, {a}, {b}, {tick});")
    return " ".join(found)


def both(sql: str, s: list[str], r: list[str], batch_rows: int, name: str = "q") -> tuple[Any, Any]:
    files = {"s.jsonl": s, "r.jsonl": r}
    expected, rejects = run(Session, sql, files, batch_rows)
    with kernels_alone():
        found, set_aside = run(SparkRun, sql, files, batch_rows)
    assert set_aside == rejects
    return found.get(name), expected.get(name)


#: what was told is not called back, and it is told once, by whoever tells it first
SHOWN = [query for query in QUERIES if "SELECT TAGS " not in query]


@settings(LAW)
@given(lines(), lines(), st.sampled_from(SHOWN), statements(), st.sampled_from([1, 3, 100]))
def test_results_are_revised(s: list[str], r: list[str], query: str, said: str, batch_rows: int) -> None:
    found, expected = both(f"CREATE QUERY q AS {query}; {said}", s, r, batch_rows)
    assert found == expected


def test_tags_are_no_rows_that_push_tuples_out() -> None:
    """Whoever looks for the latest two tuples at a tick goes on behind two tags."""
    tag = '{"_op": "#", "_tag": {"content": "Late"}, "t": 8}'
    rows = ['{"id": 1, "a": 0, "t": 2}', '{"id": 2, "a": 1, "t": 8}', tag, tag, '{"id": 3, "a": 2, "t": 10}']
    sql = "CREATE QUERY q AS SELECT id, a FROM s [ROWS 2] WITH TAGS; INSERT INTO s VALUES (4, 3, NULL, 9);"
    found, expected = both(sql, rows, [], 1)
    assert found == expected
    assert (9, (1, 0), ()) in found[2], "the tuple that comes late pushes the first one out"


@settings(LAW)
@given(lines(), lines(), st.sampled_from(GROUPED), statements(), st.sampled_from([1, 3, 100]))
def test_groups_are_revised(s: list[str], r: list[str], query: str, said: str, batch_rows: int) -> None:
    found, expected = both(f"CREATE QUERY q AS {query}; {said}", s, r, batch_rows)
    assert tags_in_any_order(found) == tags_in_any_order(expected)


@settings(LAW)
@given(lines(), st.sampled_from(HISTORY), statements(), st.sampled_from([1, 3, 100]))
def test_what_was_said_is_taken_back(s: list[str], query: str, said: str, batch_rows: int) -> None:
    found, expected = both(f"CREATE QUERY q AS {query}; {said}", s, [], batch_rows)
    assert found == expected


@settings(LAW)
@given(lines(), statements(), st.sampled_from([1, 100]))
def test_the_tags_that_there_are(s: list[str], said: str, batch_rows: int) -> None:
    found, expected = both(f"{said} SHOW TAGS OF s;", s, [], batch_rows, "tags1")
    assert found == expected
