"""FROM TAGS OF on Spark is that of the reference engine, whatever is said, when, and in whichever batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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


@LAW
@given(lines(), st.sampled_from(HISTORY), st.sampled_from(ATTACHED), st.sampled_from([1, 3, 1000]))
def test_what_was_said(rows: list[str], query: str, attached: str, batch_rows: int) -> None:
    sql = f"CREATE QUERY q AS {query}; {attached}"
    files = {"s.jsonl": rows, "r.jsonl": []}
    with kernels_alone():
        got = run(SparkRun, sql, files, batch_rows)
    assert got == run(Session, sql, files, 1)
