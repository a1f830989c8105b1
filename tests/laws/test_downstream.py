"""Answers that are corrected from what was added up before are those that the tuples themselves give."""

from __future__ import annotations

import math
import os
import tempfile
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.spark.evaluate.kept import windows_of_slices
from laws.restless import Fickle
from laws.streams import (
    EXAMPLES,
    WHOLE,
    Data,
    aggregates,
    all_queries,
    backward_loops,
    data,
    folded,
    hop_windows,
    landmarks,
    loops,
    one_input,
    time_windows,
)
from laws.test_sharing import BUSY
from laws.test_spark import agree
from laws.values import rounded
from laws.without_spark import kernels_alone

_kinds = st.one_of(
    aggregates,
    st.sampled_from(
        [
            "STDDEV(b)",
            "STDDEV_POP(a + 1000) FILTER (WHERE b > 0)",
            "VARIANCE(b)",
            "VAR_POP(b)",
            "CORR(a, b)",
            "COVAR_POP(b, t)",
            "COVAR_SAMP(a, b) FILTER (WHERE t > 5)",
            "COUNT(DISTINCT b) FILTER (WHERE a > 0)",
        ]
    ),
)
#: those that the kernel leaves to Spark
_on_spark = st.sampled_from(
    [
        "SKEWNESS(b)",
        "KURTOSIS(b)",
        "SUM(DISTINCT b)",
        "AVG(DISTINCT b)",
        "AVG(CAST(b AS DECIMAL(9, 2)))",
        "SUM(CAST(b AS DECIMAL(9, 2)))",
    ]
)


def _aggregations(kinds: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    looped = one_input(st.just(""), kinds).filter(lambda query: "AS s" not in query)
    whole = st.one_of(
        one_input(st.one_of(time_windows, hop_windows), kinds),
        st.builds("{} {}".format, looped, st.one_of(loops, backward_loops, landmarks)),
    ).filter(lambda query: "GROUP BY" in query or "AS x" in query)
    nested = st.builds(
        "SELECT MAX(n) AS m, COUNT(*) AS k FROM (SELECT a, {} AS n FROM s {} GROUP BY a)".format,
        kinds,
        st.one_of(time_windows, hop_windows),
    )
    streams = st.builds("{}({})".format, st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]), whole)
    return st.one_of(whole, whole, whole, whole, nested, streams)


several = st.lists(st.one_of(*[_aggregations(_kinds)] * 4, all_queries), min_size=4, max_size=4)
several_on_spark = st.lists(_aggregations(st.one_of(_kinds, _on_spark, _on_spark)), min_size=4, max_size=4)


def downstream(examples: int, several: st.SearchStrategy[list[str]] = several, given_data: Any = None) -> Any:
    allowed = settings(
        max_examples=examples * EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    return lambda test: allowed(
        given(several, data() if given_data is None else given_data, st.sampled_from([1, 3, 7, 1000]))(test)
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, SUM(b) AS x FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY a",
        "SELECT STDDEV(b) AS x, COUNT(DISTINCT a) AS y FROM s [RANGE BY '5 seconds' SLIDE BY '2 seconds' START AT 3]",
        "SELECT CORR(a, b) AS x FROM s for (t = ST; t < ST + 15; t += 3) { WindowIs(s, t - 5, t); }",
        "SELECT SUM(b) AS x FROM s for (t = 15; t > 0; t -= 2) { WindowIs(s, t - 5, t); }",
        "SELECT SUM(b) AS x FROM s for (t = ST; t < ST + 15; t += 3) { WindowIs(s, ST, t); }",
        "SELECT MAX(n) AS m FROM (SELECT a, COUNT(*) AS n FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY a)",
    ],
)
def test_these_are_corrected_from_slices(query: str) -> None:
    """What is corrected upstream would agree with itself."""
    given_data = Data([{"a": 1, "b": 2, "t": tick} for tick in range(20)] + [{"_op": "-", "_ref": 3}])
    with (
        kernels_alone(),
        patch("eddyline.spark.evaluate.evaluate.windows_of_slices", wraps=windows_of_slices) as from_slices,
    ):
        agree([query, f"ISTREAM({query})"], given_data, 7, "downstream", rounded)
    assert from_slices.call_count >= 2


_odd = st.sampled_from([None, 0.5, -0.0, 1.25, -3.0, 1e300, math.inf, -math.inf, math.nan])
_pushed = st.lists(st.tuples(st.integers(0, 2), _odd, st.integers(-8, 3)), min_size=1, max_size=5)
_events = st.lists(
    st.one_of(
        st.tuples(st.just("push"), _pushed),
        st.tuples(st.just("push"), _pushed),
        st.tuples(st.just("replace"), st.tuples(st.integers(1, 20), _odd, st.integers(-8, 0))),
        st.tuples(st.just("delete"), st.integers(1, 20)),
        st.tuples(st.sampled_from(["flush", "flush", "restart", "late query"]), st.none()),
    ),
    min_size=6,
    max_size=16,
)
_OF_DOUBLES = (
    "SELECT a, SUM(b) AS x, AVG(b) AS y, COUNT(b) AS n FROM s {} GROUP BY a",
    "SELECT MIN(b) AS x, MAX(b) AS y, SUM(b) FILTER (WHERE a > 0) AS z FROM s {}",
    "SELECT a, STDDEV(b) AS x, VAR_POP(b) AS y, COUNT(DISTINCT b) AS n FROM s {} GROUP BY a",
    "SELECT CORR(b, a) AS x, COVAR_POP(a, b) AS y, STDDEV_POP(b) FILTER (WHERE b < 1000) AS z FROM s {}",
    "RSTREAM(SELECT a, MAX(b) AS x, BOOL_OR(b > 1) AS y FROM s {} GROUP BY a HAVING COUNT(*) > 1)",
)


@settings(max_examples=25 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    _events,
    st.sampled_from(["[FROM NOW-5 TO NOW SLIDE 2 SEC]", "[FROM NOW-3 TO NOW SLIDE 4 SEC]"]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_odd_numbers_restarts_and_retention(events: list[Any], window: str, retained: bool, dice: Random) -> None:
    """All ways to correct, over databases that are tidied up as often as can be."""
    with kernels_alone(corrections=lambda: Fickle(dice)):
        told = [_told(events, window, retained, way) for way in ("upstream", "downstream", "auto")]
    assert told[0] == told[1] == told[2]


def _told(events: list[Any], window: str, retained: bool, revisions: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:

        def opened() -> Any:
            return eddyline.connect(folder, heartbeat=None, clock=lambda: 0, pace=BUSY)

        db, names, now = opened(), [], 10
        db.sql(f"CREATE STREAM s (a INTEGER, b DOUBLE, t INTEGER) TIMESTAMP BY t{' RETAIN 12' if retained else ''}")

        def stand() -> None:
            for query in _OF_DOUBLES:
                names.append(f"n{len(names)}")
                db.sql(f"CREATE QUERY {names[-1]} WITH (revisions = '{revisions}') AS {query.format(window)}")

        stand()
        for kind, what in events:
            if kind == "push":
                db.stream("s").push([(a, b, max(0, now + late)) for a, b, late in what])
                now += 2
            elif kind == "replace":
                row = {"_op": "=", "_ref": what[0], "a": 1, "b": what[1], "t": max(0, now + what[2])}
                db.stream("s").push([row])
            elif kind == "delete":
                db.stream("s").push([{"_op": "-", "_ref": what}])
            elif kind == "flush":
                db.flush()
            elif kind == "restart":
                db.close()
                db = opened()
            elif len(names) == len(_OF_DOUBLES):
                stand()
        db.flush()
        answers = [answer for name in names for answer in db.query(name).fetch()]
        db.close()
        return {name: folded(rounded(answers), name) for name in names}


@downstream(60)
def test_kernels_alone_correct_downstream(several: list[str], given_data: Data, batch_rows: int) -> None:
    with kernels_alone():
        agree(several, given_data, batch_rows, "downstream", rounded)


@settings(
    max_examples=60 * EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(several, data(), st.sampled_from([1, 3, 7, 1000]), st.randoms(use_true_random=False))
def test_kernels_alone_change_their_minds(several: list[str], given_data: Data, batch_rows: int, dice: Random) -> None:
    with kernels_alone(corrections=lambda: Fickle(dice)):
        agree(several, given_data, batch_rows, "auto", rounded)


def test_minds_are_changed() -> None:
    """In the law above slices are begun, asked and given up."""
    fickle: list[Fickle] = []

    def made() -> Fickle:
        fickle.append(Fickle(Random(4)))
        return fickle[-1]

    with kernels_alone(corrections=made):
        rows = [{"_op": "=", "_ref": n % 9 + 1, "a": 1, "b": n, "t": n % 9} for n in range(20)]
        given_data = Data([{"a": 1, "b": 2, "t": tick} for tick in range(20)] + rows)
        query = "SELECT a, SUM(b) AS x FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY a"
        agree([query], given_data, 1, revisions="auto")
    choices = [choice for one in fickle for choice in one.made]
    kinds = {(choice.keeps, choice.anew is not None, choice.from_slices) for choice in choices}
    assert kinds == {(False, False, False), (True, True, False), (True, False, True), (True, False, False)}


@downstream(10)
def test_kernels_correct_downstream(spark: object, several: list[str], given_data: Data, batch_rows: int) -> None:
    agree(several, given_data, batch_rows, "downstream", rounded)


@downstream(4, several_on_spark, data(numbers=WHOLE))
def test_sparks_own_plans_correct_downstream(
    spark: object, several: list[str], given_data: Data, batch_rows: int
) -> None:
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        agree(several, given_data, batch_rows, "downstream", rounded)


def test_all_kinds_on_sparks_own_plans(spark: object) -> None:
    """Chance may leave some of them out above."""
    window = "[FROM NOW-5 TO NOW SLIDE 2 SEC]"
    queries = [
        "SELECT a, STDDEV(b) AS x, CORR(a, b) AS z, COVAR_SAMP(b, t) AS u, SKEWNESS(b) AS v, KURTOSIS(b) AS w "
        f"FROM s {window} GROUP BY a",
        "SELECT COUNT(DISTINCT b) AS x, SUM(DISTINCT b) AS y, AVG(DISTINCT b) AS z, AVG(CAST(b AS DECIMAL(9, 2))) AS d "
        f"FROM s {window}",
        "SELECT STDDEV_POP(b) FILTER (WHERE a > 0) AS x, MAX(b) AS m FROM s "
        "for (t = ST; t < ST + 15; t += 3) { WindowIs(s, t - 5, t); }",
        f"SELECT MAX(n) AS m FROM (SELECT a, SUM(b) AS n FROM s {window} GROUP BY a)",
    ]
    rows: list[dict[str, Any]] = [{"a": i % 2, "b": (1, 2, None, 5, 3, 2)[i % 6], "t": i} for i in range(14)]
    rows += [{"_op": "-", "_ref": 3}, {"_op": "=", "_ref": 5, "a": 1, "b": 7, "t": 4}, {"a": 1, "b": 4, "t": 6}]
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        agree(queries, Data(rows, [{"a": 0, "c": "x", "t": 0}]), 7, "downstream", rounded)
