"""Whatever tree a join runs by, and however often that changes, its answers are those of the reference engine."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, cast
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddyline
from eddyline.planner.cost import Costs
from eddyline.planner.probing import Probing
from eddyline.planner.tree import JTree
from eddyline.planner.written import tree_written, written
from eddyline.spark.evaluate import joining
from eddyline.spark.evaluate.joining import cut_lives, joined_lives, state_changes
from eddyline.spark.join_at_work import JoinAtWork
from eddyline.spark.join_costs import JoinCosts
from eddyline.spark.joins_together import JoinsTogether
from laws.join_queries import joins, overlapping, random_tree
from laws.kept_states import watched_states
from laws.restless import Restless
from laws.streams import EXAMPLES, Data, data, folded, run, unnumbered
from laws.test_sharing import BUSY, NOBODY
from laws.test_spark import spark_answers
from laws.without_spark import kernels_alone

_dice = st.randoms(use_true_random=False)
_batches = st.sampled_from([1, 3, 7, 1000])


@pytest.fixture(autouse=True)
def _few_are_many() -> Iterator[None]:
    """What is done for many rows is done for few, too."""
    with patch.object(joining, "_MANY_ROWS", 0):
        yield


def _allowed(examples: int) -> Any:
    return settings(max_examples=examples * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def _by(tree: str) -> str:
    return f"WITH (join_tree = '{tree}')"


def _inputs(query: str) -> int:
    return max(int(at) for at in re.findall(r"\bx(\d+)\b", query))


@contextmanager
def restless_trees(dice: Random, seen: list[str] | None = None) -> Iterator[None]:
    """Any join changes over to any tree before any batch, and its parts probe each other in any order."""

    def settle(join: JoinAtWork) -> None:
        if dice.random() < 0.5:
            join.change(tree_written(random_tree(len(join.of.inputs), dice), join.of.names))
            if seen is not None:
                seen.append(written(join.tree, join.of.names))

    def reorder(join: JoinAtWork) -> None:
        join.probing = cast(Probing, AnyOrder(dice)) if dice.random() < 0.7 else None

    with (
        patch.object(JoinAtWork, "settle", settle),
        patch.object(JoinAtWork, "reorder", reorder),
        patch.object(JoinsTogether, "settle", lambda joins, common, aside: None),
    ):
        yield


class AnyOrder:
    """In place of the orders that the planner would choose."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice

    def order(self, masks: tuple[int, ...], first: int) -> list[int]:
        others = [at for at in range(len(masks)) if at != first]
        return self._dice.sample(others, len(others))

    def is_anew(self, masks: tuple[int, ...]) -> bool:
        return self._dice.random() < 0.3

    def beginning(self, masks: tuple[int, ...]) -> int:
        return self._dice.randrange(len(masks))


def agree(several: list[str], given_data: Data, batch_rows: int, trees: Sequence[str | None]) -> None:
    """Without a tree, as it is chosen."""
    sql = "".join(
        f"CREATE QUERY q{at} {'' if tree is None else _by(tree)} AS {query};\n"
        for at, (query, tree) in enumerate(zip(several, trees, strict=True), 1)
    )
    expected = run(sql, given_data, batch_rows).collected
    answers, _ = spark_answers(sql, given_data, batch_rows)
    for at, (query, tree) in enumerate(zip(several, trees, strict=True), 1):
        wanted, got = folded(expected, f"q{at}"), folded(answers, f"q{at}")
        where = f"{query}\nby {tree} in batches of {batch_rows}"
        assert got["tuples"] == wanted["tuples"], where
        assert got["relation"] == wanted["relation"], where
        assert unnumbered(got) == unnumbered(wanted), where


@_allowed(25)
@given(st.lists(joins(), min_size=2, max_size=2), data(), _batches, _dice)
def test_kernels_alone_join_by_any_tree(several: list[str], given_data: Data, batch_rows: int, dice: Random) -> None:
    with kernels_alone():
        agree(several, given_data, batch_rows, [random_tree(_inputs(query), dice) for query in several])


@_allowed(30)
@given(st.lists(joins(5), min_size=2, max_size=2), data(), _batches, _dice)
def test_kernels_alone_change_their_trees(several: list[str], given_data: Data, batch_rows: int, dice: Random) -> None:
    with kernels_alone(), restless_trees(dice), patch.dict(os.environ, NOBODY):
        agree(several, given_data, batch_rows, [None, None])


@contextmanager
def prices_that_change(dice: Random) -> Iterator[list[str]]:
    """The product decides by which tree a join runs, and when it changes, at prices that nobody has measured."""
    changed: list[str] = []
    change = JoinAtWork.change

    def costs(of: JoinCosts, seconds: float) -> Costs:
        upkeep = dice.choice([1e-9, 1e-3])
        return Costs(upkeep, upkeep, dice.choice([1e-9, 1e-3]), 1e-9)

    def noted(join: JoinAtWork, tree: JTree) -> None:
        change(join, tree)
        changed.append(written(tree, join.of.names))

    with patch.object(JoinCosts, "costs", costs), patch.object(JoinAtWork, "change", noted):
        yield changed


def test_joins_that_decide_for_themselves_agree() -> None:
    """Nothing but prices is given: what was seen, the planner, debts and sharing are those of the product."""
    changes: list[str] = []

    @_allowed(15)
    @given(st.lists(joins(5), min_size=2, max_size=2), data(), st.sampled_from([1, 2]), _dice)
    def law(several: list[str], given_data: Data, batch_rows: int, dice: Random) -> None:
        with kernels_alone(), prices_that_change(dice) as changed, patch.dict(os.environ, NOBODY):
            agree(several, given_data, batch_rows, [None, None])
        changes.extend(changed)

    law()
    window = "[RANGE 6 SEC]"
    query = (
        f"SELECT x1.t AS p FROM s {window} AS x1, r {window} AS x2, s {window} AS x3 WHERE x1.a = x2.a AND x2.a = x3.a"
    )
    rows: list[dict[str, Any]] = [{"a": at % 5, "b": at, "t": at // 3} for at in range(90)]
    others = [{"a": at % 7, "c": "x", "t": at // 3} for at in range(90)]
    with kernels_alone(), prices_that_change(Random(5)) as changed:
        agree([query, f"ISTREAM({query})"], Data(rows, others), 3, [None, None])
    assert len(set(changed)) > 1, (changed, changes)


def test_trees_are_changed() -> None:
    """In the law above states begin and are given up."""
    window = "[FROM NOW-4 TO NOW SLIDE 2 SEC]"
    query = f"SELECT x1.t AS p FROM s {window} AS x1, r {window} AS x2, s {window} AS x3 WHERE x1.a = x2.a"
    rows: list[dict[str, Any]] = [{"a": at % 3, "b": at, "t": at} for at in range(15)]
    seen: list[str] = []
    begun: list[bool] = []

    def stored(node: Any, batch: Any) -> Any:
        begun.append(batch.begins)
        return state_changes(node, batch)

    with kernels_alone(), restless_trees(Random(3), seen), patch("eddyline.spark.work.state_changes", stored):
        agree([query], Data(rows, [{"a": at % 3, "c": "x", "t": at} for at in range(15)]), 1, [None])
    assert len(set(seen)) > 2 and True in begun and False in begun


@_allowed(5)
@given(st.lists(joins(4), min_size=4, max_size=4), data(), _batches, _dice)
def test_spark_joins_by_any_tree(
    spark: object, several: list[str], given_data: Data, batch_rows: int, dice: Random
) -> None:
    agree(several, given_data, batch_rows, [random_tree(_inputs(query), dice) for query in several])


@_allowed(3)
@given(st.lists(joins(4), min_size=3, max_size=3), data(), _batches, _dice)
def test_sparks_own_plans_join_by_any_tree(
    spark: object, several: list[str], given_data: Data, batch_rows: int, dice: Random
) -> None:
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        agree(several, given_data, batch_rows, [random_tree(_inputs(query), dice) for query in several])


def test_trees_are_run_by() -> None:
    """A join that is made of its tuples as ever would agree, too."""
    window = "[FROM NOW-4 TO NOW SLIDE 2 SEC]"
    by_windows = f"SELECT x1.t AS p FROM s {window} AS x1, r {window} AS x2, s {window} AS x3, d AS x4"
    by_range = "ISTREAM(SELECT x1.t AS p FROM s [RANGE 3 SEC] AS x1, r [RANGE 4 SEC] AS x2, s [ROWS 2] AS x3, d AS x4"
    equal = "WHERE x1.a = x2.a AND x2.a = x3.a AND x3.a = x4.a"
    rows: list[dict[str, Any]] = [{"a": at % 3, "b": at, "t": at} for at in range(15)]
    rows += [{"_op": "-", "_ref": 14}, {"_op": "=", "_ref": 13, "a": 1, "b": 7, "t": 12}, {"a": 2, "b": 4, "t": 11}]
    others = [{"a": at % 3, "c": "x", "t": at} for at in range(0, 20, 2)]
    with (
        kernels_alone(),
        patch("eddyline.spark.work.state_changes", wraps=state_changes) as stored,
        patch("eddyline.spark.evaluate.relation.cut_lives", wraps=cut_lives) as of_relations,
        patch("eddyline.spark.evaluate.joining.joined_lives", wraps=joined_lives) as of_windows,
    ):
        trees = ["(((x1 x2) x4) x3)", "((x1 (x2 x4)) x3)"]
        agree([f"{by_windows} {equal}", f"{by_range} {equal})"], Data(rows, others), 3, trees)
    assert stored.call_count > 10 and of_relations.call_count > 3 and of_windows.call_count > 3


def test_kernels_alone_share_their_states() -> None:
    """Whatever trees they have: what is the same joined set is one state, made once in a batch and read by all."""
    shared = 0

    @_allowed(20)
    @given(overlapping(), data(), _batches, _dice)
    def law(several: list[str], given_data: Data, batch_rows: int, dice: Random) -> None:
        nonlocal shared
        with kernels_alone(), restless_trees(dice), patch.dict(os.environ, NOBODY), watched_states(several) as seen:
            agree(several, given_data, batch_rows, [None] * len(several))
        shared += len(seen.read_by_several())

    law()
    assert shared > 0, "random trees seldom have something in common"


def test_a_state_that_two_queries_want_is_read_by_both() -> None:
    """In each batch, whatever they call its inputs and show of them."""
    one = "ISTREAM(SELECT x1.t AS p FROM s [RANGE 3 SEC] AS x1, r [RANGE 4 SEC] AS x2, s [RANGE 1 SEC] AS x3"
    other = (
        "ISTREAM(SELECT x3.a AS p, x2.t AS q FROM r [RANGE 2 SEC] AS x1, r [RANGE 4 SEC] AS x2, s [RANGE 3 SEC] AS x3"
    )
    several = [f"{one} WHERE x1.a = x2.a AND x2.a = x3.a)", f"{other} WHERE x2.a = x3.a AND x1.a = x3.a)"]
    rows: list[dict[str, Any]] = [{"a": at % 3, "b": at, "t": at} for at in range(15)]
    others: list[dict[str, Any]] = [{"a": at % 3, "c": "x", "t": at} for at in range(15)]
    with kernels_alone(), watched_states(several) as seen:
        agree(several, Data(rows, others), 3, ["((x1 x2) x3)", "(x1 (x2 x3))"])
    assert len(seen.read_by_several()) > 5 and len({state for _, state in seen.made}) == 1


_keys = st.sampled_from([0, 1, 2, None])
_pushed = st.lists(st.tuples(_keys, st.integers(0, 5), st.integers(-8, 3)), min_size=1, max_size=5)
_stream = st.sampled_from(["s", "r"])
_events = st.lists(
    st.one_of(
        st.tuples(st.just("push"), _stream, _pushed),
        st.tuples(st.just("push"), _stream, _pushed),
        st.tuples(st.just("push"), _stream, _pushed),
        st.tuples(st.just("replace"), _stream, st.tuples(st.integers(1, 20), st.integers(0, 5), st.integers(-8, 0))),
        st.tuples(st.just("delete"), _stream, st.integers(1, 20)),
        st.tuples(st.sampled_from(["flush", "flush", "restart", "late", "drop"]), st.none(), st.none()),
    ),
    min_size=6,
    max_size=20,
)


@_allowed(25)
@given(_events, joins(4), joins(4), st.booleans(), _dice)
def test_restarts_retention_and_upkeep(events: list[Any], one: str, other: str, retained: bool, dice: Random) -> None:
    """By a tree, by several or by none, over databases that are tidied up as often as can be."""
    trees = [random_tree(_inputs(query), dice) for query in (one, other)]
    with kernels_alone(), patch.dict(os.environ, NOBODY):
        plain = _told(events, [one, other], retained, [None, None])
        by_trees = _told(events, [one, other], retained, trees)
        with restless_trees(dice):
            by_any = _told(events, [one, other], retained, [None, None])
    assert plain == by_trees, f"{one}\n{other}\nby {trees}"
    assert plain == by_any, f"{one}\n{other}\nby many"


@_allowed(10)
@given(_events, overlapping(), st.booleans(), st.booleans(), _dice)
def test_queries_that_share_states_say_what_each_says_alone(
    events: list[Any], several: list[str], retained: bool, lanes: bool, dice: Random
) -> None:
    """With restarts, queries that come later and queries that go, over databases that are tidied up all the time.

    With `lanes`, any query falls behind the others and comes back to them at any time.
    """
    with patch.dict(os.environ, NOBODY):
        with kernels_alone():
            plain = _told(events, several, retained, [None] * len(several))
        policy = (lambda: Restless(dice)) if lanes else (lambda: None)
        with kernels_alone(policy), restless_trees(dice):
            together = _told(events, several, retained, [None] * len(several))
    assert plain == together, "\n".join(several)


def _told(events: list[Any], queries: list[str], retained: bool, trees: list[Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:

        def opened() -> Any:
            return eddyline.connect(folder, heartbeat=None, clock=lambda: 0, pace=BUSY)

        db, names, now = opened(), [], 10
        gone: dict[str, Any] = {}
        for name, second in (("s", "b INTEGER"), ("r", "c INTEGER")):
            kept = "RETAIN 12" if retained else ""
            db.sql(f"CREATE STREAM {name} (a INTEGER, {second}, t INTEGER) TIMESTAMP BY t {kept}")
        db.sql("CREATE TABLE d (a INTEGER, name STRING)")
        db.sql("INSERT INTO d VALUES (0, 'zero'), (1, 'one'), (1, 'uno')")

        def stand() -> None:
            for query, tree in zip(queries, trees, strict=True):
                names.append(f"n{len(names)}")
                how = "" if tree is None else _by(tree)
                db.sql(f"CREATE QUERY {names[-1]} {how} AS {query}")

        stand()
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
                stand()
            elif kind == "drop" and len(names) > len(queries) and "n0" not in gone:
                db.flush()
                gone["n0"] = folded(db.query("n0").fetch(), "n0")
                db.sql("DROP QUERY n0")
        db.flush()
        answers = [answer for name in names if name not in gone for answer in db.query(name).fetch()]
        db.close()
        return {name: folded(answers, name) for name in names if name not in gone} | gone
