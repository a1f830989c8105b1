"""FROM TAGS OF on Spark is that of the reference engine, whatever is said, when, and in whichever batches."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddyline
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.without_spark import kernels_alone
from tags.test_spark_laws import LAW, lines, run

HISTORY = [
    "SELECT content, sign, type, tagger, lifespan, mode, time, by_value, pattern FROM TAGS OF s",
    "SELECT content, time FROM TAGS OF s AS h WHERE h.sign = '+' AND NOT by_value",
    "SELECT content, COUNT(*) AS n FROM TAGS OF s [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY content",
    "SELECT content, COUNT(*) AS n, MAX(lifespan) AS l FROM TAGS OF s [FROM NOW-5 TO NOW SLIDE 2 SEC] "
    "GROUP BY content ORDER BY n DESC, content LIMIT 2",
    "SELECT content, tagger FROM TAGS OF s [RANGE 3 SEC]",
    "SELECT h.content, COUNT(*) AS n FROM TAGS OF s [FROM NOW-4 TO NOW SLIDE 3 SEC] AS h, "
    "s [FROM NOW-4 TO NOW SLIDE 3 SEC] AS x WHERE h.time <= x.t GROUP BY h.content",
]
ATTACHED = [
    "",
    "ATTACH TAG 'First' TO s.a WHERE a > 1 WITH TAG_LIFESPAN = 4 SEC TAG_MODE = COMBINE;",
    "ATTACH TAG 'Now' TO s.b.value WITH TAG_SIGN = '-' TAG_LIFESPAN = 6 SEC;",
]


@pytest.mark.parametrize("query", HISTORY)
@pytest.mark.parametrize("others", [[], ['{"id": 1, "a": 1, "b": "x", "t": 0}', '{"id": 2, "a": 1, "b": "x", "t": 4}']])
def test_what_is_said_of_a_stream_without_tuples(query: str, others: list[str]) -> None:
    """Its windows have not begun; that the time of others goes on begins none."""
    sql = f"CREATE QUERY q AS {query}; CREATE QUERY others AS SELECT id FROM r;"
    files = {"s.jsonl": ['{"_op": "#", "_tag": {"content": "Sad"}}'], "r.jsonl": others}
    with kernels_alone():
        got = run(SparkRun, sql, files, 100)
    assert got == run(Session, sql, files, 1)


def test_windows_of_what_is_said_are_those_of_the_stream(tmp_path: Path) -> None:
    """Those before the first tag are there, and the first is number 1."""
    tag = {"_op": "#", "t": 5, "_tag": {"content": "Sad"}}
    rows = [{"id": 1, "t": 0}, {"id": 2, "t": 3}, tag, {"id": 3, "t": 5}, {"id": 4, "t": 9}]
    with kernels_alone(), eddyline.connect(str(tmp_path), heartbeat=None) as db:
        db.sql("CREATE STREAM s (id INTEGER, t INTEGER) TIMESTAMP BY t")
        said = db.sql("SELECT content, COUNT(*) AS n FROM TAGS OF s [FROM NOW-1 TO NOW SLIDE 2 SEC] GROUP BY content")
        for row in rows:
            db.stream("s").push([row])
        db.flush()
        assert [(a.tick, a.window, a.rows) for a in said.fetch()] == [
            (0, 1, ()),
            (2, 2, ()),
            (4, 3, ()),
            (6, 4, (("Sad", 1),)),
            (8, 5, ()),
        ]


@LAW
@given(lines(), st.sampled_from(HISTORY), st.sampled_from(ATTACHED), st.sampled_from([1, 3, 1000]))
def test_what_was_said(rows: list[str], query: str, attached: str, batch_rows: int) -> None:
    sql = f"CREATE QUERY q AS {query}; {attached}"
    files = {"s.jsonl": rows, "r.jsonl": []}
    with kernels_alone():
        got = run(SparkRun, sql, files, batch_rows)
    assert got == run(Session, sql, files, 1)
