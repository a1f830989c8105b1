"""Tags travel with tuples that wait for a table to answer, and are taken back from them meanwhile."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.streams import EXAMPLES
from laws.without_spark import kernels_alone
from lookups.late import late_lookups
from lookups.service import ROWS
from lookups.test_errors import FUNCTION, STREAM, errors
from lookups.test_errors import table as declared
from lookups.test_laws import hasty, tables
from tags.test_detach_laws import statements
from tags.test_sharing_laws import tags_in_any_order
from tags.test_spark_laws import ATTACHED, LAW, lines, run

_VIEW = "CREATE QUERY v AS SELECT id, b, name, size FROM s, people WHERE a = key;"
_WINDOW = "[FROM NOW-3 TO NOW SLIDE 2 SEC]"
_VALUES = ", ".join(f"({', '.join('NULL' if value is None else repr(value) for value in row)})" for row in ROWS)
AT_HAND = f"CREATE TABLE people (key INTEGER, name STRING, size BIGINT); INSERT INTO people VALUES {_VALUES};"
QUERIES = [
    "SELECT id, a, name FROM s, people WHERE a = key WITH TAGS",
    "SELECT id, b, p.name, q.size FROM s, people AS p, people AS q WHERE s.a = p.key AND s.id = q.key WITH TAGS",
    "SELECT id, name FROM v WITH TAGS",
    "SELECT TAGGED OBJECTS FROM v WHERE OBJECT = v.b WITH TAGS",
    f"SELECT name, COUNT(*) AS n, MAX(b) AS m FROM v {_WINDOW} GROUP BY name WITH TAGS",
    f"SELECT b, TAG_COUNT('+') AS p, TAG_COUNT() AS n FROM v {_WINDOW} GROUP BY b",
    f"ISTREAM(SELECT id, size FROM v {_WINDOW} WITH TAGS)",
    f"SELECT TAG, COUNT(*) AS n, MAX(size) AS m FROM v {_WINDOW} GROUP BY TAG",
    "SELECT id, b FROM v [RANGE 3 SEC] WITH TAGS",
]


@settings(LAW, max_examples=15 * EXAMPLES)
@given(
    lines(),
    st.sampled_from(QUERIES),
    st.sampled_from(ATTACHED) | statements(),
    st.sampled_from([1, 3, 100]),
    tables("lookups.service:find_or_fail") | st.just(AT_HAND),
    st.integers(0, 2**32),
)
def test_who_waits_keeps_its_tags(s: list[str], query: str, said: str, batch_rows: int, table: str, seed: int) -> None:
    random.seed(seed)
    sql, files = f"{table} {_VIEW} CREATE QUERY q AS {query}; {said}", {"s.jsonl": s, "r.jsonl": []}
    with hasty():
        expected, rejects = run(Session, sql, files, batch_rows)
        with kernels_alone(lookups=late_lookups(random.Random(seed))):
            found, set_aside = run(SparkRun, sql, files, batch_rows)
    assert set_aside == rejects
    assert tags_in_any_order(found.get("q")) == tags_in_any_order(expected.get("q"))


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        (
            "SELECT TAG, COUNT(*) FROM v [FROM NOW-3 TO NOW SLIDE 1 ROWS] GROUP BY TAG",
            "come in no order",
            "window of time",
        ),
        ("SELECT TAG, COUNT(*) FROM v GROUP BY TAG", "founded by tuples as they come", "a window of time"),
        ("SELECT TAGGED OBJECTS FROM v [3 SEC] JOIN s [3 SEC] ON TAGS EQUALITY", "have none", "before the look-up"),
    ],
)
def test_what_counts_tuples_as_they_come_is_refused(tmp_path: Path, query: str, message: str, hint: str) -> None:
    view = "CREATE QUERY v AS SELECT a, name FROM s, people WHERE a = key;\n"
    ((said, pointed, hinted),) = errors(STREAM + declared(f"{FUNCTION}, key 'key'") + view + query + ";", tmp_path)
    assert message in said and pointed and hint in hinted, (said, pointed, hinted)
