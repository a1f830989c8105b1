"""Joins that are corrected by differences say what they would say if all pairs were made again."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.algebra.answer import WindowAnswer
from eddyline.spark import spreading
from eddyline.spark.evaluate import joining
from eddyline.spark.evaluate.changed_rows import changed_lives
from eddyline.spark.explain import Question, corrections_of
from eddyline.spark.pair_costs import PairCosts
from laws.join_queries import linear_joins
from laws.restless import Restless
from laws.streams import EXAMPLES, WHOLE, Data, data, folded
from laws.test_join_trees import restless_trees
from laws.test_sharing import BUSY, EVERYONE, NOBODY
from laws.test_spark import agree, spark_answers
from laws.without_spark import kernels_alone

_WAYS = ("upstream", "downstream")
_batches = st.sampled_from([1, 2, 3, 7, 1000])
_dice = st.randoms(use_true_random=False)
_several = st.lists(linear_joins(), min_size=3, max_size=3)


@pytest.fixture(autouse=True)
def _few_are_many() -> Iterator[None]:
    """What is done for many rows is done for few, too."""
    with patch.object(joining, "_MANY_ROWS", 0):
        yield


def _allowed(examples: int) -> Any:
    return settings(max_examples=examples * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def _counted() -> Any:
    """How often changes are made; what is made again would agree with itself."""
    return patch("eddyline.spark.evaluate.changed_rows.changed_lives", wraps=changed_lives)


def _said(answers: list[Any]) -> list[str]:
    """All that was said, each correction with what it takes back; windows are bags of rows, relations of changes."""
    return sorted(repr((answer.batch, _as_bag(answer))) for answer in answers)


def _as_bag(answer: Any) -> Any:
    if not isinstance(answer, WindowAnswer):
        return answer
    about = answer.query, answer.tick, answer.window, answer.op, answer.old_tick
    return *about, sorted(map(repr, answer.rows)), sorted(map(repr, answer.old_rows or ()))


def _both_ways(several: list[str], given_data: Data, batch_rows: int) -> None:
    said = []
    for way in _WAYS:
        texts = (f"CREATE QUERY q{at} WITH (revisions = '{way}') AS {query};\n" for at, query in enumerate(several))
        said.append(_said(spark_answers("".join(texts), given_data, batch_rows)[0]))
    assert said[0] == said[1], "\n".join(several)


@_allowed(20)
@given(_several, data(), _batches)
def test_kernels_alone_say_what_the_reference_says(several: list[str], given_data: Data, batch_rows: int) -> None:
    with kernels_alone():
        agree(several, given_data, batch_rows, "downstream")


@_allowed(15)
@given(_several, data(numbers=WHOLE), _batches)
def test_nothing_is_said_that_would_not_be_said_upstream(several: list[str], given_data: Data, batch_rows: int) -> None:
    """To the last number: what goes, what comes in its place, and in which batch."""
    with kernels_alone():
        _both_ways(several, given_data, batch_rows)


@_allowed(10)
@given(linear_joins(), st.lists(st.integers(0, 2), min_size=2, max_size=4), data(numbers=WHOLE), _batches)
def test_members_of_a_class_say_what_they_would_say_upstream(
    query: str, constants: list[int], given_data: Data, batch_rows: int
) -> None:
    several = [re.sub(r"WHERE ", f"WHERE x1.a >= {constant} AND ", query, count=1) for constant in constants]
    with kernels_alone(), patch.dict(os.environ, EVERYONE):
        _both_ways(several, given_data, batch_rows)


def test_members_of_a_class_are_corrected_by_differences() -> None:
    several = [f"RSTREAM(SELECT s.a, b, c FROM s {_WINDOW}, r {_WINDOW} WHERE s.a = r.a AND b > {n})" for n in (1, 4)]
    with kernels_alone(), patch.dict(os.environ, EVERYONE), _counted() as told:
        agree(several, Data(_ROWS, _OTHERS), 3, "downstream")
    assert told.call_count >= 2


_WINDOW = "[FROM NOW-4 TO NOW SLIDE 2 SEC]"
_LINEAR = [
    f"RSTREAM(SELECT s.a, b, c FROM s {_WINDOW}, r {_WINDOW} WHERE s.a = r.a)",
    f"RSTREAM(SELECT b, c FROM s {_WINDOW}, r [FROM NOW-5 TO NOW SLIDE 3 SEC] WHERE s.t < r.t ORDER BY b)",
    f"RSTREAM(SELECT b + 1 AS b, name FROM s {_WINDOW}, d WHERE s.a = d.a AND b > 2)",
    "SELECT s.a, b, c FROM s [RANGE 5 SEC], r [RANGE 3 SEC SLIDE 2 SEC] WHERE s.a = r.a",
    "RSTREAM(SELECT s.a, b, c FROM s [RANGE 2 SEC], r [RANGE 3 SEC] WHERE s.a = r.a)",
    f"RSTREAM(SELECT x.a FROM s {_WINDOW} AS x, s {_WINDOW} AS y, r {_WINDOW} AS z WHERE x.a = y.a AND y.a = z.a)",
]
_ROWS: list[dict[str, Any]] = [
    *({"a": at % 3, "b": at, "t": at, "w": "x"} for at in range(15)),
    {"_op": "-", "_ref": 12},
    {"_op": "=", "_ref": 13, "a": 1, "b": 7, "t": 11, "w": None},
    {"_op": "=", "_ref": 10, "a": None, "b": 3, "t": 9, "w": None},
    {"a": 2, "b": 4, "t": 10, "w": "y"},
]
_OTHERS = [{"a": at % 3, "c": "x", "t": at} for at in range(0, 16, 2)]


@pytest.mark.parametrize("query", _LINEAR)
def test_these_are_corrected_by_differences(query: str) -> None:
    with kernels_alone(), _counted() as told:
        agree([query], Data(_ROWS, _OTHERS), 3, "downstream")
        assert told.call_count >= 2
        told.reset_mock()
        agree([query], Data(_ROWS, _OTHERS), 3, "upstream")
        assert not told.call_count


_NOT = [
    f"SELECT s.a, b, c FROM s {_WINDOW}, r {_WINDOW} WHERE s.a = r.a",
    f"ISTREAM(SELECT s.a, b, c FROM s {_WINDOW}, r {_WINDOW} WHERE s.a = r.a)",
    f"SELECT s.a, COUNT(*) AS n FROM s {_WINDOW}, r {_WINDOW} WHERE s.a = r.a GROUP BY s.a",
    f"SELECT DISTINCT s.a FROM s {_WINDOW}, r {_WINDOW} WHERE s.a = r.a",
    f"SELECT b FROM s {_WINDOW}, r {_WINDOW} WHERE s.a = r.a ORDER BY b LIMIT 2",
    f"SELECT b FROM s {_WINDOW} LEFT JOIN r {_WINDOW} ON s.a = r.a",
    "SELECT b FROM s [ROWS 2], r [RANGE 3 SEC] WHERE s.a = r.a",
]


@pytest.mark.parametrize("query", _NOT)
def test_these_are_not(query: str) -> None:
    with kernels_alone(), _counted() as told:
        agree([query], Data(_ROWS, _OTHERS), 3, "downstream")
    assert not told.call_count


def _ways_of_corrections(revisions: str, most: int) -> tuple[list[str], str, list[Any]]:
    """The ways in which a correction, two beside a late tuple, and a batch of many corrections were answered; what
    EXPLAIN says; and the answers. `most`: as many rows may be read to make all pairs."""
    with kernels_alone(), tempfile.TemporaryDirectory() as folder:
        db = eddyline.connect(folder, heartbeat=None, clock=lambda: 0)
        db.sql("CREATE STREAM s (a INTEGER, t INTEGER) TIMESTAMP BY t")
        window = "[FROM NOW-9 TO NOW SLIDE 10 SEC]"
        query = f"RSTREAM(SELECT x.a, y.t FROM s {window} AS x, s {window} AS y WHERE x.a = y.a)"
        db.sql(f"CREATE QUERY q WITH (revisions = '{revisions}') AS {query}")
        db.stream("s").push([(at % 5, at) for at in range(1, 42)])
        db.flush()
        with patch.object(spreading, "MOST_ROWS", most):
            for rows in ([7], [8, 31], range(10, 40)):
                late = [{"a": 3, "t": 5}] if len(rows) == 2 else []
                db.stream("s").push([*({"_op": "=", "_ref": at, "a": 2, "t": at} for at in rows), *late])
                db.flush()
        ways = [row[-1] for row in db.sql("SHOW REVISIONS")]
        (standing,) = db._core.engine.executor.queries()
        (stage,) = standing.stages
        question = Question("q", stage.plan, stage.columns, revisions=revisions)
        told, answers = corrections_of(db._core.engine, question)[0], db.query("q").fetch()
        db.close()
        return ways, told, answers


def test_it_is_done_where_it_is_worth_it() -> None:
    ways, plan, answers = _ways_of_corrections("downstream", most=60)  # Spark would have to make all pairs
    assert ways == ["downstream"] * 3 and "by differences: pairs of revised tuples" in plan
    with patch.object(PairCosts, "by_differences", lambda costs, query, changes: changes.fresh < 20):
        chosen, plan, others = _ways_of_corrections("auto", most=1_000_000)
    assert chosen == ["downstream", "downstream", "upstream"] and "whatever costs less" in plan
    assert _said(answers) == _said(others)


@_allowed(3)
@given(_several, data(numbers=WHOLE), _batches)
def test_sparks_own_plans_say_what_the_reference_says(
    spark: object, several: list[str], given_data: Data, batch_rows: int
) -> None:
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        agree(several, given_data, batch_rows, "downstream")


_pushed = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(-8, 3)), min_size=1, max_size=5)
_stream = st.sampled_from(["s", "r"])
_events = st.lists(
    st.one_of(
        *[st.tuples(st.just("push"), _stream, _pushed)] * 3,
        st.tuples(st.just("replace"), _stream, st.tuples(st.integers(1, 20), st.integers(0, 5), st.integers(-8, 0))),
        st.tuples(st.just("delete"), _stream, st.integers(1, 20)),
        st.tuples(st.sampled_from(["flush", "flush", "restart", "late"]), st.none(), st.none()),
    ),
    min_size=6,
    max_size=20,
)


@_allowed(10)
@given(_events, _several, st.booleans(), st.booleans(), st.booleans(), _dice)
def test_restarts_retention_upkeep_and_lanes(
    events: list[Any], several: list[str], retained: bool, lanes: bool, history: bool, dice: Random
) -> None:
    """Over databases that are tidied up as often as can be, with queries that come later, look back or fall behind, and
    by trees whose states come and go."""
    policy = (lambda: Restless(dice)) if lanes else (lambda: None)
    with patch.dict(os.environ, NOBODY):
        with kernels_alone():
            upstream = _told(events, several, retained, history, "upstream")
        thrown = patch.object(PairCosts, "by_differences", lambda *_: dice.random() < 0.7)
        with kernels_alone(policy), restless_trees(dice), thrown:
            downstream = _told(events, several, retained, history, dice.choice(["downstream", "auto"]))
    assert upstream == downstream, "\n".join(several)


def _told(events: list[Any], queries: list[str], retained: bool, history: bool, way: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:

        def opened() -> Any:
            return eddyline.connect(folder, heartbeat=None, clock=lambda: 0, pace=BUSY)

        db, names, now = opened(), list[str](), 10
        for name, second in (("s", "b INTEGER"), ("r", "c INTEGER")):
            kept = "RETAIN 12" if retained else ""
            db.sql(f"CREATE STREAM {name} (a INTEGER, {second}, t INTEGER) TIMESTAMP BY t {kept}")
        db.sql("CREATE TABLE d (a INTEGER, name STRING)")
        db.sql("INSERT INTO d VALUES (0, 'zero'), (1, 'one'), (1, 'uno')")

        def stand(back: str) -> None:
            for query in queries:
                names.append(f"n{len(names)}")
                db.sql(f"CREATE QUERY {names[-1]} WITH (revisions = '{way}') {back} AS {query}")

        stand("")
        for kind, stream, what in events:
            if kind == "push":
                db.stream(stream).push([(a, b, max(0, now + late)) for a, b, late in what])
                now += 2
            elif kind == "replace":
                second = "b" if stream == "s" else "c"
                row = {"_op": "=", "_ref": what[0], "a": 1, second: what[1], "t": max(0, now + what[2])}
                db.stream(stream).push([row])
            elif kind == "delete":
                db.stream(stream).push([{"_op": "-", "_ref": what}])
            elif kind == "flush":
                db.flush()
            elif kind == "restart":
                db.close()
                db = opened()
            elif kind == "late" and len(names) == len(queries):
                stand("FROM HISTORY" if history else "")
        db.flush()
        answers = [answer for name in names for answer in db.query(name).fetch()]
        db.close()
        return {name: folded(answers, name) for name in names}
