"""Answers that are corrected from what was added up before are those that the tuples themselves give."""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import fields, replace
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.spark.evaluate.kept import windows_of_slices
from laws.restless import Fickle
from laws.streams import EXAMPLES, Data, all_queries, data, folded, hop_windows, one_input, time_windows
from laws.test_sharing import BUSY
from laws.test_spark import agree
from laws.without_spark import kernels_alone

aggregations = one_input(st.one_of(time_windows, hop_windows)).filter(
    lambda query: "GROUP BY" in query or "AS x" in query
)
several = st.lists(
    st.one_of(
        aggregations,
        aggregations,
        aggregations,
        st.builds("{}({})".format, st.sampled_from(["RSTREAM", "ISTREAM", "DSTREAM"]), aggregations),
        all_queries,
    ),
    min_size=4,
    max_size=4,
)


def downstream(examples: int) -> Any:
    allowed = settings(
        max_examples=examples * EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    return lambda test: allowed(given(several, data(), st.sampled_from([1, 3, 7, 1000]))(test))


def test_these_are_corrected_from_slices() -> None:
    """What is corrected upstream would agree with itself."""
    given_data = Data([{"a": 1, "b": 2, "t": tick} for tick in range(20)] + [{"_op": "-", "_ref": 3}])
    query = "SELECT a, SUM(b) AS x FROM s [FROM NOW-5 TO NOW SLIDE 2 SEC] GROUP BY a"
    with (
        kernels_alone(),
        patch("eddyline.spark.evaluate.evaluate.windows_of_slices", wraps=windows_of_slices) as from_slices,
    ):
        agree([query, f"ISTREAM({query})"], given_data, 7, revisions="downstream")
    assert from_slices.call_count > 2


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
    "RSTREAM(SELECT a, MAX(b) AS x, BOOL_OR(b > 1) AS y FROM s {} GROUP BY a HAVING COUNT(*) > 1)",
)


@settings(max_examples=60 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
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
        return {name: folded(_plain(answers), name) for name in names}


def _plain(answers: list[Any]) -> list[Any]:
    """NaN, which is not equal to itself, as a text, so that a row that goes is the one that came."""

    def row(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple("NaN" if value != value else value for value in values)

    made = []
    for answer in answers:
        changes = {
            field.name: row(value) if field.name in ("row", "old") else tuple(map(row, value))
            for field in fields(answer)
            if field.name in ("row", "old", "rows", "old_rows") and (value := getattr(answer, field.name)) is not None
        }
        made.append(replace(answer, **changes))
    return made


@downstream(150)
def test_kernels_alone_correct_downstream(several: list[str], given_data: Data, batch_rows: int) -> None:
    with kernels_alone():
        agree(several, given_data, batch_rows, revisions="downstream")


@settings(
    max_examples=150 * EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(several, data(), st.sampled_from([1, 3, 7, 1000]), st.randoms(use_true_random=False))
def test_kernels_alone_change_their_minds(several: list[str], given_data: Data, batch_rows: int, dice: Random) -> None:
    with kernels_alone(corrections=lambda: Fickle(dice)):
        agree(several, given_data, batch_rows, revisions="auto")


def test_minds_are_changed() -> None:
    """In the law above slices are begun, asked and given up."""
    given_data = Data([{"a": 1, "b": 2, "t": tick} for tick in range(20)] + [{"_op": "-", "_ref": 3}] * 20)
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
    agree(several, given_data, batch_rows, revisions="downstream")


@downstream(4)
def test_sparks_own_plans_correct_downstream(
    spark: object, several: list[str], given_data: Data, batch_rows: int
) -> None:
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        agree(several, given_data, batch_rows, revisions="downstream")
