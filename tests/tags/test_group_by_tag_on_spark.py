"""GROUP BY TAG on Spark is that of the reference engine, whatever comes, is revised, and is cut into batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddyline.algebra.marks import mark_of, written
from eddyline.algebra.tag import TagFunction
from eddyline.kernels.tag_closeness import Comparison
from eddyline.kernels.tag_groups import divided
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.without_spark import kernels_alone
from tags.busy_streams import busy
from tags.tag_streams import tag
from tags.test_spark_laws import ATTACHED, LAW, Folded, folded_by_query, lines, run, tags_in_any_order

WINDOWS = [
    "s [FROM NOW-3 TO NOW SLIDE 2 SEC]",
    "s [FROM NOW-5 TO NOW-1 SLIDE 3 SEC]",
    "s [FROM NOW-3 TO NOW SLIDE 1 ROWS]",
    "s [RANGE 3 SEC]",
    "s [ROWS 3]",
    "s [UNBOUNDED]",
    "s [4 SEC]",
    "s [RANGE BY '4 seconds' SLIDE BY '2 seconds' START AT 0]",
    "(SELECT id, a + 1 AS a, b FROM s WHERE a > 0) AS v [FROM NOW-4 TO NOW SLIDE 2 SEC]",
]
#: whose tuples another query has made, so that they did not come one by one
MADE = [
    "(SELECT x.a, y.b FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] AS x, r [FROM NOW-3 TO NOW SLIDE 2 SEC] AS y "
    "WHERE x.id < y.id) AS v",
    "(SELECT x.a, y.b FROM s [RANGE 3 SEC] AS x LEFT JOIN r [RANGE 3 SEC] AS y ON x.a = y.a) AS v",
    "(SELECT MAX(a) AS a, b FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] GROUP BY b) AS v",
    "(SELECT SUM(a) AS a, MAX(b) AS b FROM s [RANGE 4 SEC] GROUP BY id % 2) AS v",
    "(SELECT DISTINCT a, b FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC]) AS v",
    "(SELECT TAG AS b, COUNT(*) AS a FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] GROUP BY TAG) AS v",
    "(RSTREAM(SELECT a, b FROM s [FROM NOW-2 TO NOW SLIDE 2 SEC])) AS v [FROM NOW-4 TO NOW SLIDE 3 SEC]",
]
#: streams of such tuples
STREAMED = [
    "(RSTREAM(SELECT a, b FROM s [FROM NOW-2 TO NOW SLIDE 2 SEC])) AS v",
    "(ISTREAM(SELECT a, MAX(b) AS b FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC] GROUP BY a)) AS v",
    "(RSTREAM(SELECT x.a, y.b FROM s [FROM NOW-2 TO NOW SLIDE 2 SEC] AS x, "
    "r [FROM NOW-2 TO NOW SLIDE 2 SEC] AS y)) AS v",
]
COUNTED = st.sampled_from(["", ", TAG_COUNT() AS tags, TAG_COUNT('+', b) AS plus, TAG_SCORE(a) AS score"])
FUNCTIONS = ["EQUALITY", "DICTIONARY", "COOCCURRENCE(2)", "JACCARD(0.4)", "JACCARD(0.9)", "begins", "likeness(0.3)"]
OWN = """
CREATE TAG FUNCTION begins(a STRING, b STRING) RETURNS BOOLEAN USING python OPTIONS (path 'own.py');
CREATE TAG FUNCTION likeness(a STRING, b STRING) RETURNS DOUBLE USING python OPTIONS (path 'own.py');
"""
CODE = """
def begins(a, b):
    return [x.strip()[0].lower() <= y.strip()[0].lower() for x, y in zip(a.to_pylist(), b.to_pylist())]

def likeness(a, b):
    return [len({*x} & {*y}) / len({*x} | {*y}) for x, y in zip(a.to_pylist(), b.to_pylist())]
"""


@settings(LAW)
@given(
    lines(),
    lines(),
    st.sampled_from([*WINDOWS, *MADE]),
    st.sampled_from(FUNCTIONS),
    st.booleans(),
    st.sampled_from(["", " WHERE a < 3"]),
    COUNTED,
    st.sampled_from(ATTACHED),
    st.sampled_from([1, 2, 3, 5, 100]),
)
def test_windows(
    s: list[str],
    r: list[str],
    window: str,
    function: str,
    untagged: bool,
    where: str,
    counted: str,
    attached: str,
    batch_rows: int,
) -> None:
    grouped = f"{where} GROUP BY TAG {function}{' WITH UNTAGGED' if untagged else ''} WITH TAGS"
    query = f"SELECT TAG, COUNT(*) AS n, SUM(a) AS m, MAX(b) AS last{counted} FROM {window}{grouped}"
    sql = f"{OWN} {attached} CREATE QUERY q AS {query};"
    files = {"s.jsonl": s, "r.jsonl": r, "own.py": [CODE]}
    expected, rejects = run(Session, sql, files, batch_rows)
    with kernels_alone():
        found, set_aside = run(SparkRun, sql, files, batch_rows)
    assert set_aside == rejects
    assert _shown(found.get("q")) == _shown(expected.get("q"))


@settings(LAW)
@given(
    lines(),
    lines(),
    st.sampled_from(["s", "(SELECT id, a + 1 AS a, b FROM s WHERE a > 0) AS v", *STREAMED]),
    st.sampled_from(FUNCTIONS),
    st.booleans(),
    COUNTED,
    st.sampled_from(ATTACHED),
    st.sampled_from([1, 2, 3, 5, 100]),
)
def test_running(
    s: list[str],
    r: list[str],
    source: str,
    function: str,
    untagged: bool,
    counted: str,
    attached: str,
    batch_rows: int,
) -> None:
    grouped = f"GROUP BY TAG {function}{' WITH UNTAGGED' if untagged else ''} WITH TAGS"
    sql = f"{OWN} {attached} CREATE QUERY q AS SELECT TAG, COUNT(*) AS n, SUM(a) AS m{counted} FROM {source} {grouped};"
    files = {"s.jsonl": s, "r.jsonl": r, "own.py": [CODE]}
    expected, rejects = run(Session, sql, files, batch_rows)
    with kernels_alone():
        found, set_aside = run(SparkRun, sql, files, batch_rows)
    assert set_aside == rejects
    assert _shown(found.get("q")) == _shown(expected.get("q"))


@settings(LAW)
@given(lines(), st.sampled_from(FUNCTIONS), st.booleans(), st.sampled_from([1, 2, 5, 100]))
def test_groups_are_numbered_as_they_were_founded(s: list[str], function: str, untagged: bool, batch_rows: int) -> None:
    query = f"SELECT TAG, COUNT(*) AS n FROM s GROUP BY TAG {function}{' WITH UNTAGGED' if untagged else ''}"
    sql = f"{OWN} CREATE QUERY q AS {query};"
    files = {"s.jsonl": s, "r.jsonl": [], "own.py": [CODE]}
    expected, _ = folded_by_query(Session, sql, files, batch_rows)
    with kernels_alone():
        found, _ = folded_by_query(SparkRun, sql, files, batch_rows)
    assert _tuples_of(found) == _tuples_of(expected)


def _tuples_of(folded: dict[str, Folded]) -> dict[int, Any]:
    return folded["q"].tuples if "q" in folded else {}


def _shown(found: Any) -> Any:
    """Windows, relations, and the tuples of streams; the tags of a group are in no order. Who has said nothing and who
    has taken back all that was said come to the same."""
    if found is None:
        return {}, ({}, {})
    tuples = {(tick, row, tuple(sorted(tags or (), key=repr))): n for (tick, row, tags, _), n in found[0].items()}
    return tuples, tags_in_any_order(found)


def test_a_window_of_many_tuples_takes_steps_by_groups_not_by_tuples() -> None:
    """A hundred thousand tuples of few marks: the first run of each founds its group, and all others follow it."""
    texts = [written([mark_of(tag(word), None)]) for word in ("Storm", "Rain", "storm")]
    which = np.random.default_rng(7).integers(0, 3, 100_000)
    runs = "\n".join(f"{number} 1 {texts[code]}" for number, code in enumerate(which.tolist(), 1))
    for name, threshold in (("equality", 0.0), ("cooccurrence", 1.0), ("jaccard", 0.5)):
        (parts,) = divided(Comparison(TagFunction(name, threshold)), False, pa.array([runs])).to_pylist()
        groups = {line.split("\t")[4] for line in parts.split("\n")}
        assert len(parts.split("\n")) == 100_000
        assert {group.lower() for group in groups} == {'"storm"', '"rain"'}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("source", ["s", WINDOWS[0], WINDOWS[2], WINDOWS[3]])
def test_busy_streams(function: str, source: str) -> None:
    query = f"SELECT TAG, COUNT(*) AS n, SUM(a) AS m FROM {source} GROUP BY TAG {function} WITH TAGS"
    sql = f"{OWN} CREATE QUERY q AS {query};"
    files = {"s.jsonl": busy(5, 60), "r.jsonl": [], "own.py": [CODE]}
    expected, _ = run(Session, sql, files, 7)
    with kernels_alone():
        found, _ = run(SparkRun, sql, files, 7)
    assert _shown(found["q"]) == _shown(expected["q"])
