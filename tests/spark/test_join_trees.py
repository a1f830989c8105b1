"""Joins over many inputs at work: their states, the trees that they choose, and when they change over."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import eddyline
from eddyline.errors import InvalidDefinition
from eddyline.planner.drawing import CUT_SHORT
from eddyline.planner.written import tree_written, written
from eddyline.spark.evaluate.frames import joined
from eddyline.spark.join_costs import FILE
from eddyline.spark.joins_together import JoinsTogether
from laws.without_spark import kernels_alone
from spark.joins_at_work import (
    STORING_DOES_NOT,
    STORING_PAYS,
    choose_prices,
    create_streams,
    engine_of,
    explained,
    join_of,
    open_database,
    push_to,
    states_of,
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[eddyline.Database]:
    with kernels_alone():
        opened = open_database(tmp_path)
        yield opened
        opened.close()


def test_twenty_two_inputs_join_by_one_tree_and_by_another(db: eddyline.Database) -> None:
    names = [f"s{at}" for at in range(22)]
    for name in names:
        db.sql(f"CREATE STREAM {name} (k INTEGER, t INTEGER) TIMESTAMP BY t")
    whole = (
        f"SELECT s0.k AS first, s21.t AS last FROM {', '.join(f'{name} [RANGE 3 SEC]' for name in names)} "
        f"WHERE {' AND '.join(f'{one}.k = {other}.k' for one, other in pairwise(names))}"
    )
    halves = f"(({' '.join(names[:5])}) ({' '.join(names[5:12])}) {' '.join(names[12:])})"
    deep = names[0]
    for name in names[1:]:
        deep = f"({deep} {name})"
    for number, tree in enumerate((f"({' '.join(names)})", halves, deep)):
        db.sql(f"CREATE QUERY q{number} WITH (join_tree = '{tree}') AS ISTREAM({whole})")
    for tick in (1, 2):
        for at, name in enumerate(names):
            db.stream(name).push([(key, tick) for key in range(2)] if at % 7 == 0 else [(tick, tick)])
        db.flush()
    db.stream("s3").push([{"_op": "-", "_ref": 1}])
    db.flush()
    folded = [sorted((answer.tick, answer.op, answer.row) for answer in db.query(f"q{n}").fetch()) for n in range(3)]
    assert folded[0] == folded[1] == folded[2]
    assert {op for _, op, _ in folded[0]} == {"+", "-"}
    # the five inputs that two trees store are made once, so that the three states below them are not needed
    assert len(states_of(db)) == 2 + 20 - 1 - 3


@pytest.mark.parametrize("clauses", ["", "RETAIN 20"])
def test_states_stop_growing(db: eddyline.Database, clauses: str) -> None:
    create_streams(db, "abc", clauses)
    window = "[FROM NOW-4 TO NOW SLIDE 1 SEC]"
    db.sql(
        "CREATE QUERY q WITH (join_tree = '((a b) c)') AS "
        f"SELECT a.v AS x, c.v AS y FROM a {window}, b {window}, c {window} WHERE a.k = b.k AND b.k = c.k"
    )
    sizes = []
    for tick in range(1, 61):
        push_to(db, "abc", tick)
        db.flush()
        sizes.append(states_of(db)["a b"])
    assert max(sizes[30:]) <= max(sizes[:30]) < 60 * 8 * 5
    assert min(sizes[30:]) > 0


def test_tuples_count_that_come_while_the_clock_stands_still(db: eddyline.Database) -> None:
    create_streams(db, "abc")
    window = "[RANGE 9 SEC]"
    db.sql(f"CREATE QUERY q AS ISTREAM(SELECT a.v AS x FROM a {window}, b {window}, c {window} WHERE a.k = b.k)")
    for tick in range(1, 8):
        for name in "abc":
            push_to(db, name, tick)
            db.flush()
    rates = join_of(db).observed.rates()
    assert all(rates[name] == pytest.approx(4, rel=0.4) for name in "abc")


def _push_what_is_worth_storing(db: eddyline.Database, ticks: range, dice: random.Random) -> None:
    """Few tuples of a and b, which seldom have the same key, and many of c."""
    for tick in ticks:
        for name, rows in (("a", 3), ("b", 3), ("c", 30)):
            db.stream(name).push([(dice.randrange(100), dice.randrange(9), tick) for _ in range(rows)])
        db.flush()


def test_a_tree_is_chosen_by_what_was_seen_and_given_up_again(db: eddyline.Database, tmp_path: Path) -> None:
    create_streams(db, "abc")
    db.sql(
        "CREATE QUERY q AS ISTREAM(SELECT a.v AS x, c.v AS y FROM a [RANGE 20 SEC], b [RANGE 20 SEC], c [RANGE 20 SEC] "
        "WHERE a.k = b.k AND b.v = c.v)"
    )
    choose_prices(db, STORING_PAYS)
    dice = random.Random(1)
    _push_what_is_worth_storing(db, range(1, 13), dice)
    assert written(join_of(db).tree, ["a", "b", "c"]) == "((a b) c)"
    assert join_of(db).observed.selectivities["a.k = b.k"] < 0.05
    assert join_of(db).observed.selectivities["b.v = c.v"] == pytest.approx(1 / 9, rel=0.5)
    assert join_of(db).observed.rates()["c"] == pytest.approx(30, rel=0.2)
    assert states_of(db)["a b"] > 0
    choose_prices(db, STORING_DOES_NOT)
    _push_what_is_worth_storing(db, range(13, 25), dice)
    assert join_of(db).tree.kind == "mjoin"
    assert states_of(db) == {}


def test_an_input_that_cannot_be_sampled_does_not_keep_a_join_from_its_tree(db: eddyline.Database) -> None:
    """What is in a window of rows is not told by ticks: how often its condition holds is assumed."""
    create_streams(db, "abc")
    db.sql(
        "CREATE QUERY q AS ISTREAM(SELECT a.v AS x, c.v AS y FROM a [RANGE 20 SEC], b [RANGE 20 SEC], c [ROWS 500] "
        "WHERE a.k = b.k AND b.v = c.v)"
    )
    choose_prices(db, STORING_PAYS)
    _push_what_is_worth_storing(db, range(1, 13), random.Random(1))
    assert "a.k = b.k" in join_of(db).observed.selectivities and "b.v = c.v" not in join_of(db).observed.selectivities
    assert written(join_of(db).tree, ["a", "b", "c"]) == "((a b) c)"
    assert "assumed: b.v = c.v holds for 0.01 of the pairs" in explained(db, "q")


def test_a_state_that_does_not_fit_into_a_querys_own_memory_is_not_stored(db: eddyline.Database) -> None:
    """Nor is it read if another query keeps it: limits mean the same whoever else there is."""
    create_streams(db, "abc")
    over = "FROM a [RANGE 20 SEC], b [RANGE 20 SEC], c [RANGE 20 SEC] WHERE a.k = b.k AND b.v = c.v"
    db.sql(f"CREATE QUERY roomy AS ISTREAM(SELECT a.v AS x, c.v AS y {over})")
    choose_prices(db, STORING_PAYS)
    dice = random.Random(1)

    def kinds(ticks: range) -> dict[str, str]:
        _push_what_is_worth_storing(db, ticks, dice)
        return {query.name: query.join.tree.kind for query in engine_of(db).executor.queries()}

    assert kinds(range(1, 13)) == {"roomy": "bjtree"}
    model = join_of(db).model()
    limit = int(model.least.memory + model.graph.state(0b11) / 2)
    db.sql(f"CREATE QUERY tight WITH (memory_limit = {limit}) AS ISTREAM(SELECT b.v AS x {over})")
    assert kinds(range(13, 21)) == {"roomy": "bjtree", "tight": "mjoin"}
    taken = engine_of(db).executor.joins.taken
    assert taken is not None and set(taken.parts) == {"roomy", "tight"} and taken.missing is None
    text = explained(db, "tight")
    assert "; its own memory_limit is '" in text
    assert "  mjoin, by " in text.partition("the planner finds, beside the other joins:")[2], "it would not read it now"
    db.sql("DROP QUERY roomy")
    assert kinds(range(21, 26)) == {"tight": "mjoin"} and join_of(db).observed.is_enough


def test_the_tree_outlives_a_restart(tmp_path: Path) -> None:
    with kernels_alone():
        db = open_database(tmp_path)
        create_streams(db, "abc")
        query = "SELECT a.v AS x, c.v AS y FROM a [RANGE 9 SEC], b [RANGE 9 SEC], c [RANGE 9 SEC]"
        db.sql(f"CREATE QUERY q AS ISTREAM({query} WHERE a.k = b.k AND b.k = c.k)")
        push_to(db, "abc", 1)
        db.flush()
        join = join_of(db)
        with patch.object(JoinsTogether, "settle", lambda self, common, aside: None):
            join.change(join.of.storing(_tree("((b c) a)")))
            push_to(db, "abc", 2)
            db.flush()
        assert list(states_of(db)) == ["b c"]
        db.close()
        db = open_database(tmp_path)
        assert join_of(db).tree == _tree("((b c) a)")
        push_to(db, "abc", 3)
        db.flush()
        assert states_of(db)["b c"] > 0
        db.close()


def _tree(text: str) -> Any:
    return tree_written(text, ["a", "b", "c"])


def test_prices_are_measured_once_and_kept(db: eddyline.Database) -> None:
    engine = engine_of(db)
    assert engine.join_costs.if_known is None, "who only asks does not wait for them"
    costs = engine.join_costs.costs(1.0)
    assert engine.join_costs.if_known == costs
    assert 0 < costs.join < 1e-3 and 0 < costs.insert < 1e-3 and 0 < costs.compare < 1e-3
    kept = engine.storage.read_json(FILE)
    assert kept["join"] == costs.join
    with patch("eddyline.spark.join_costs.measured", side_effect=AssertionError):
        assert engine.join_costs.costs(1.0) == costs


def test_what_explain_says_of_a_join_at_work(db: eddyline.Database) -> None:
    create_streams(db, "abc")
    db.sql(
        "CREATE QUERY q WITH (join_tree = '((a b) c)') AS ISTREAM(SELECT a.v AS x, c.v AS y "
        "FROM a [RANGE 9 SEC], b [RANGE 9 SEC], c [RANGE 9 SEC] WHERE a.k = b.k AND b.k = c.k)"
    )
    for tick in range(1, 5):
        push_to(db, "abc", tick)
        db.flush()
    text = explained(db, "q")
    assert text.startswith("join tree for a, b, c (clique); it runs by this tree, as join_tree says:")
    assert "├─ ⋈ a b" in text
    assert "measured: a b: " in text and "stored in" in text
    assert "measured: the join itself: " in text
    assert "by what was seen, the planner finds:" in text


def test_what_a_relation_takes_back_is_not_taken_from_what_its_join_has_given(db: eddyline.Database) -> None:
    """Most tuples of the windows go in the last batches, and no more come."""
    create_streams(db, "abc")
    db.sql("CREATE QUERY q AS SELECT a.v AS x FROM a [RANGE 3 SEC], b [RANGE 3 SEC], c [RANGE 3 SEC] WHERE a.k = b.k")
    for tick in range(1, 20):
        few = {name: [(at, at, tick) for at in range(4 if tick < 8 else 1)] for name in "abc"}
        db.push(few if tick < 15 else {"a": few["a"]})
        db.flush()
    found = re.search(r"measured: the join itself: (\S+) tuples/s", explained(db, "q"))
    assert found is not None and float(found[1]) >= 0


def test_windows_of_time_without_states_are_said_to_be_joined_as_the_kernel_likes(db: eddyline.Database) -> None:
    create_streams(db, "abc")
    windows = ", ".join(f"{name} [FROM NOW-3 TO NOW SLIDE 2 SEC]" for name in "abc")
    for name, tree in {"plain": "(a b c)", "stored": "((a b) c)"}.items():
        db.sql(
            f"CREATE QUERY {name} WITH (join_tree = '{tree}') AS "
            f"SELECT a.v AS x FROM {windows} WHERE a.k = b.k AND b.k = c.k"
        )
    for tick in range(1, 9):
        push_to(db, "abc", tick)
        db.flush()
    assert "probed as the kernel likes, because windows of time are joined from tuples" in explained(db, "plain")
    assert "probed in the last batch, in orders that" in explained(db, "stored")


def test_probe_orders_follow_what_is_seen(db: eddyline.Database) -> None:
    """An input that finds little in another asks that one first; which one that is changes in the middle."""
    create_streams(db, "abc")
    db.sql(
        "CREATE QUERY q WITH (join_tree = '(a b c)') AS ISTREAM(SELECT a.v AS x "
        "FROM a [RANGE 5 SEC], b [RANGE 5 SEC], c [RANGE 5 SEC] WHERE a.k = b.k AND a.v = c.v)"
    )
    dice = random.Random(1)
    seen = []
    for tick in range(1, 33):
        few, many = (2, 50) if tick <= 16 else (50, 2)
        for name in "abc":
            db.stream(name).push([(dice.randrange(many), dice.randrange(few), tick) for _ in range(20)])
        db.flush()
        seen.append([one for one in join_of(db).probes if one.startswith("a")])
    assert seen[0] == [] and seen[15] == ["a → b → c"]
    assert seen[25] == ["a → c → b"], "within ten batches"
    text = explained(db, "q")
    assert "probed in the last batch, in orders that were changed in " in text and "a → c → b" in text


def test_orders_need_one_batch_to_be_known(db: eddyline.Database) -> None:
    """To wait longer is for trees, which cost to change."""
    create_streams(db, "abc")
    db.sql(
        "CREATE QUERY q WITH (join_tree = '(a b c)') AS ISTREAM(SELECT a.v AS x "
        "FROM a [RANGE 5 SEC], b [RANGE 5 SEC], c [RANGE 5 SEC] WHERE a.k = b.k AND a.v = c.v)"
    )
    ordered = []
    for tick in (1, 2, 3):
        db.push({name: [(at % 5, at, tick) for at in range(20)] for name in "abc"})
        db.flush()
        ordered.append(bool(join_of(db).probes))
    assert ordered == [False, True, True]
    assert not join_of(db).changes and join_of(db).observed.batches == 2


@pytest.mark.parametrize(
    ("condition", "looked_up"),
    [
        ("a.k = b.k", True),
        ("a.k + 1 = b.k * 2", True),
        ("(a.k + b.k) % 2 = 0", False),
        ("a.k < b.k", False),
        ("a.k + b.k = 3", False),
    ],
)
def test_pairs_that_no_key_finds_are_compared_once(db: eddyline.Database, condition: str, looked_up: bool) -> None:
    """They are not sorted by their lives before: nearly all of them live together."""
    create_streams(db, "abc")
    db.sql(
        "CREATE QUERY q WITH (join_tree = '(a b c)') AS ISTREAM(SELECT a.v AS x "
        f"FROM a [RANGE 5 SEC], b [RANGE 5 SEC], c [RANGE 5 SEC] WHERE {condition} AND b.v = c.v)"
    )
    assert [one.by_key for one in join_of(db).of.conditions] == [looked_up, True]
    asked = []

    def noted(left: Any, right: Any, text: str) -> Any:
        asked.append(text)
        return joined(left, right, text)

    with patch("eddyline.spark.evaluate.joining.joined", noted):
        for tick in (1, 2):
            push_to(db, "abc", tick)
            db.flush()
    lives = ["greatest(_lf, _rf) <= least(_lu, _ru)" in text for text in asked if "%" in text or "c0" in text]
    assert lives and set(lives) == {not looked_up}


def test_a_search_that_takes_too_long_is_cut_short(db: eddyline.Database) -> None:
    """There is a tree all the same, by what takes no search; EXPLAIN says so."""
    create_streams(db, "abc")
    db.sql(
        "CREATE QUERY q AS ISTREAM(SELECT a.v AS x, c.v AS y FROM a [RANGE 20 SEC], b [RANGE 20 SEC], c [RANGE 20 SEC] "
        "WHERE a.k = b.k AND b.v = c.v)"
    )
    choose_prices(db, STORING_PAYS)
    dice = random.Random(1)

    def said(steps: int, ticks: range) -> str:
        with patch("eddyline.spark.joins_together.FOR_ALL", steps):
            _push_what_is_worth_storing(db, ticks, dice)
        return explained(db, "q")

    assert CUT_SHORT in said(1, range(1, 9)) and join_of(db).tree.kind == "bjtree"
    assert CUT_SHORT not in said(100_000, range(9, 15))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("((a b) x)", "the join has no input x"),
        ("(a b)", "leaves out c"),
        ("((a b) c", "opens a bracket that is not closed"),
        ("((a) b c)", "joins two inputs or more"),
        ("((a b) b c)", "an input stands in a join tree once"),
    ],
)
def test_a_tree_that_is_none(db: eddyline.Database, tree: str, message: str) -> None:
    create_streams(db, "abc")
    with pytest.raises(InvalidDefinition, match=message):
        db.sql(
            f"CREATE QUERY q WITH (join_tree = '{tree}') AS "
            "SELECT a.v AS x FROM a [RANGE 9 SEC], b [RANGE 9 SEC], c [RANGE 9 SEC] WHERE a.k = b.k AND b.k = c.k"
        )
