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
from eddyline.kernels.calibration import Measured
from eddyline.planner.drawing import CUT_SHORT
from eddyline.planner.explain import Question, explained_at_work
from eddyline.planner.written import tree_written, written
from eddyline.spark.evaluate.frames import joined
from eddyline.spark.evaluate.joining import state_changes
from eddyline.spark.explain import Question as Asked
from eddyline.spark.join_at_work import JoinAtWork
from eddyline.spark.join_costs import FILE
from eddyline.spark.join_report import join_at_work
from eddyline.spark.joins_together import JoinsTogether
from eddyline.spark.shared_states import is_shared
from laws.test_sharing import BUSY
from laws.without_spark import kernels_alone

#: prices at which what is computed again costs much and what is stored little
_STORING_PAYS = Measured(insert=1e-12, purge=1e-12, join=1e-6, compare=1e-12, answer=0, scan=0, statement=-0.01, step=0)
_STORING_DOES_NOT = Measured(insert=1.0, purge=1.0, join=1e-9, compare=1e-9, answer=0, scan=0, statement=10.0, step=0)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[eddyline.Database]:
    with kernels_alone():
        opened = _opened(tmp_path)
        yield opened
        opened.close()


def _opened(folder: Path) -> eddyline.Database:
    return eddyline.connect(str(folder / "db"), heartbeat=None, clock=lambda: 0, pace=BUSY)


def _streams(db: eddyline.Database, names: str, clauses: str = "") -> None:
    for name in names:
        db.sql(f"CREATE STREAM {name} (k INTEGER, v INTEGER, t INTEGER) TIMESTAMP BY t {clauses}")


def _engine(db: eddyline.Database) -> Any:
    return db._core.engine


def _join(db: eddyline.Database) -> JoinAtWork:
    (query,) = (query for query in _engine(db).executor.queries() if query.join is not None)
    return query.join


def _states(db: eddyline.Database) -> dict[str, int]:
    """By the inputs of a state, how many rows it has; those of queries that share it are called by the first one."""
    executor = _engine(db).executor
    names = {
        log.name: " ".join(name for at, name in enumerate(query.join.of.names) if mask >> at & 1)
        for query in reversed(executor.queries())
        if query.join is not None
        for mask, log in query.join.shared
    }
    kept = {name: stage for name, stage in executor.results.stages.items() if stage.start is not None}
    assert not any("/state/" in name for name in kept), "a query keeps one for itself"
    return {names[name]: sum(s.rows for s in stage.segments) for name, stage in kept.items() if is_shared(name)}


def _explained(db: eddyline.Database, name: str) -> str:
    """What EXPLAIN says of the join of a query that stands."""
    work = join_at_work(_engine(db), Asked(name, None, ()))  # type: ignore[arg-type]
    assert not isinstance(work, str)
    return explained_at_work(work, Question(None))  # type: ignore[arg-type]


def _push(db: eddyline.Database, names: str, tick: int, rows: int = 4, keys: int = 2) -> None:
    for name in names:
        db.stream(name).push([(at % keys, at, tick) for at in range(rows)])


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
    assert len(_states(db)) == 2 + 20 - 1 - 3


@pytest.mark.parametrize("clauses", ["", "RETAIN 20"])
def test_states_stop_growing(db: eddyline.Database, clauses: str) -> None:
    _streams(db, "abc", clauses)
    window = "[FROM NOW-4 TO NOW SLIDE 1 SEC]"
    db.sql(
        "CREATE QUERY q WITH (join_tree = '((a b) c)') AS "
        f"SELECT a.v AS x, c.v AS y FROM a {window}, b {window}, c {window} WHERE a.k = b.k AND b.k = c.k"
    )
    sizes = []
    for tick in range(1, 61):
        _push(db, "abc", tick)
        db.flush()
        sizes.append(_states(db)["a b"])
    assert max(sizes[30:]) <= max(sizes[:30]) < 60 * 8 * 5
    assert min(sizes[30:]) > 0


def test_tuples_count_that_come_while_the_clock_stands_still(db: eddyline.Database) -> None:
    _streams(db, "abc")
    window = "[RANGE 9 SEC]"
    db.sql(f"CREATE QUERY q AS ISTREAM(SELECT a.v AS x FROM a {window}, b {window}, c {window} WHERE a.k = b.k)")
    for tick in range(1, 8):
        for name in "abc":
            _push(db, name, tick)
            db.flush()
    rates = _join(db).observed.rates()
    assert all(rates[name] == pytest.approx(4, rel=0.4) for name in "abc")


def _push_what_is_worth_storing(db: eddyline.Database, ticks: range, dice: random.Random) -> None:
    """Few tuples of a and b, which seldom have the same key, and many of c."""
    for tick in ticks:
        for name, rows in (("a", 3), ("b", 3), ("c", 30)):
            db.stream(name).push([(dice.randrange(100), dice.randrange(9), tick) for _ in range(rows)])
        db.flush()


def _chosen_prices(db: eddyline.Database, prices: Measured) -> None:
    _engine(db).join_costs._known = prices


def test_a_tree_is_chosen_by_what_was_seen_and_given_up_again(db: eddyline.Database, tmp_path: Path) -> None:
    _streams(db, "abc")
    db.sql(
        "CREATE QUERY q AS ISTREAM(SELECT a.v AS x, c.v AS y FROM a [RANGE 20 SEC], b [RANGE 20 SEC], c [RANGE 20 SEC] "
        "WHERE a.k = b.k AND b.v = c.v)"
    )
    _chosen_prices(db, _STORING_PAYS)
    dice = random.Random(1)
    _push_what_is_worth_storing(db, range(1, 13), dice)
    assert written(_join(db).tree, ["a", "b", "c"]) == "((a b) c)"
    assert _join(db).observed.selectivities["a.k = b.k"] < 0.05
    assert _join(db).observed.selectivities["b.v = c.v"] == pytest.approx(1 / 9, rel=0.5)
    assert _join(db).observed.rates()["c"] == pytest.approx(30, rel=0.2)
    assert _states(db)["a b"] > 0
    _chosen_prices(db, _STORING_DOES_NOT)
    _push_what_is_worth_storing(db, range(13, 25), dice)
    assert _join(db).tree.kind == "mjoin"
    assert _states(db) == {}


def test_an_input_that_cannot_be_sampled_does_not_keep_a_join_from_its_tree(db: eddyline.Database) -> None:
    """What is in a window of rows is not told by ticks: how often its condition holds is assumed."""
    _streams(db, "abc")
    db.sql(
        "CREATE QUERY q AS ISTREAM(SELECT a.v AS x, c.v AS y FROM a [RANGE 20 SEC], b [RANGE 20 SEC], c [ROWS 500] "
        "WHERE a.k = b.k AND b.v = c.v)"
    )
    _chosen_prices(db, _STORING_PAYS)
    _push_what_is_worth_storing(db, range(1, 13), random.Random(1))
    assert "a.k = b.k" in _join(db).observed.selectivities and "b.v = c.v" not in _join(db).observed.selectivities
    assert written(_join(db).tree, ["a", "b", "c"]) == "((a b) c)"
    assert "assumed: b.v = c.v holds for 0.01 of the pairs" in _explained(db, "q")


def test_a_state_that_does_not_fit_into_a_querys_own_memory_is_not_stored(db: eddyline.Database) -> None:
    """Nor is it read if another query keeps it: limits mean the same whoever else there is."""
    _streams(db, "abc")
    over = "FROM a [RANGE 20 SEC], b [RANGE 20 SEC], c [RANGE 20 SEC] WHERE a.k = b.k AND b.v = c.v"
    db.sql(f"CREATE QUERY roomy AS ISTREAM(SELECT a.v AS x, c.v AS y {over})")
    _chosen_prices(db, _STORING_PAYS)
    dice = random.Random(1)

    def kinds(ticks: range) -> dict[str, str]:
        _push_what_is_worth_storing(db, ticks, dice)
        return {query.name: query.join.tree.kind for query in _engine(db).executor.queries()}

    assert kinds(range(1, 13)) == {"roomy": "bjtree"}
    model = _join(db).model()
    limit = int(model.least.memory + model.graph.state(0b11) / 2)
    db.sql(f"CREATE QUERY tight WITH (memory_limit = {limit}) AS ISTREAM(SELECT b.v AS x {over})")
    assert kinds(range(13, 21)) == {"roomy": "bjtree", "tight": "mjoin"}
    taken = _engine(db).executor.joins.taken
    assert taken is not None and set(taken.parts) == {"roomy", "tight"} and taken.missing is None
    text = _explained(db, "tight")
    assert "; its own memory_limit is '" in text
    assert "  mjoin, by " in text.partition("the planner finds, beside the other joins:")[2], "it would not read it now"
    db.sql("DROP QUERY roomy")
    assert kinds(range(21, 26)) == {"tight": "mjoin"} and _join(db).observed.is_enough


def test_the_tree_outlives_a_restart(tmp_path: Path) -> None:
    with kernels_alone():
        db = _opened(tmp_path)
        _streams(db, "abc")
        query = "SELECT a.v AS x, c.v AS y FROM a [RANGE 9 SEC], b [RANGE 9 SEC], c [RANGE 9 SEC]"
        db.sql(f"CREATE QUERY q AS ISTREAM({query} WHERE a.k = b.k AND b.k = c.k)")
        _push(db, "abc", 1)
        db.flush()
        join = _join(db)
        with patch.object(JoinsTogether, "settle", lambda self, common, aside: None):
            join.change(join.of.storing(_tree("((b c) a)")))
            _push(db, "abc", 2)
            db.flush()
        assert list(_states(db)) == ["b c"]
        db.close()
        db = _opened(tmp_path)
        assert _join(db).tree == _tree("((b c) a)")
        _push(db, "abc", 3)
        db.flush()
        assert _states(db)["b c"] > 0
        db.close()


def _tree(text: str) -> Any:
    return tree_written(text, ["a", "b", "c"])


def test_prices_are_measured_once_and_kept(db: eddyline.Database) -> None:
    engine = _engine(db)
    assert engine.join_costs.if_known is None, "who only asks does not wait for them"
    costs = engine.join_costs.costs(1.0)
    assert engine.join_costs.if_known == costs
    assert 0 < costs.join < 1e-3 and 0 < costs.insert < 1e-3 and 0 < costs.compare < 1e-3
    kept = engine.storage.read_json(FILE)
    assert kept["join"] == costs.join
    with patch("eddyline.spark.join_costs.measured", side_effect=AssertionError):
        assert engine.join_costs.costs(1.0) == costs


def test_what_explain_says_of_a_join_at_work(db: eddyline.Database) -> None:
    _streams(db, "abc")
    db.sql(
        "CREATE QUERY q WITH (join_tree = '((a b) c)') AS ISTREAM(SELECT a.v AS x, c.v AS y "
        "FROM a [RANGE 9 SEC], b [RANGE 9 SEC], c [RANGE 9 SEC] WHERE a.k = b.k AND b.k = c.k)"
    )
    for tick in range(1, 5):
        _push(db, "abc", tick)
        db.flush()
    text = _explained(db, "q")
    assert text.startswith("join tree for a, b, c (clique); it runs by this tree, as join_tree says:")
    assert "├─ ⋈ a b" in text
    assert "measured: a b: " in text and "stored in" in text
    assert "measured: the join itself: " in text
    assert "by what was seen, the planner finds:" in text


def test_what_a_relation_takes_back_is_not_taken_from_what_its_join_has_given(db: eddyline.Database) -> None:
    """Most tuples of the windows go in the last batches, and no more come."""
    _streams(db, "abc")
    db.sql("CREATE QUERY q AS SELECT a.v AS x FROM a [RANGE 3 SEC], b [RANGE 3 SEC], c [RANGE 3 SEC] WHERE a.k = b.k")
    for tick in range(1, 20):
        few = {name: [(at, at, tick) for at in range(4 if tick < 8 else 1)] for name in "abc"}
        db.push(few if tick < 15 else {"a": few["a"]})
        db.flush()
    found = re.search(r"measured: the join itself: (\S+) tuples/s", _explained(db, "q"))
    assert found is not None and float(found[1]) >= 0


def test_windows_of_time_without_states_are_said_to_be_joined_as_the_kernel_likes(db: eddyline.Database) -> None:
    _streams(db, "abc")
    windows = ", ".join(f"{name} [FROM NOW-3 TO NOW SLIDE 2 SEC]" for name in "abc")
    for name, tree in {"plain": "(a b c)", "stored": "((a b) c)"}.items():
        db.sql(
            f"CREATE QUERY {name} WITH (join_tree = '{tree}') AS "
            f"SELECT a.v AS x FROM {windows} WHERE a.k = b.k AND b.k = c.k"
        )
    for tick in range(1, 9):
        _push(db, "abc", tick)
        db.flush()
    assert "probed as the kernel likes, because windows of time are joined from tuples" in _explained(db, "plain")
    assert "probed in the last batch, in orders that" in _explained(db, "stored")


def test_probe_orders_follow_what_is_seen(db: eddyline.Database) -> None:
    """An input that finds little in another asks that one first; which one that is changes in the middle."""
    _streams(db, "abc")
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
        seen.append([one for one in _join(db).probes if one.startswith("a")])
    assert seen[0] == [] and seen[15] == ["a → b → c"]
    assert seen[25] == ["a → c → b"], "within ten batches"
    text = _explained(db, "q")
    assert "probed in the last batch, in orders that were changed in " in text and "a → c → b" in text


def test_orders_need_one_batch_to_be_known(db: eddyline.Database) -> None:
    """To wait longer is for trees, which cost to change."""
    _streams(db, "abc")
    db.sql(
        "CREATE QUERY q WITH (join_tree = '(a b c)') AS ISTREAM(SELECT a.v AS x "
        "FROM a [RANGE 5 SEC], b [RANGE 5 SEC], c [RANGE 5 SEC] WHERE a.k = b.k AND a.v = c.v)"
    )
    ordered = []
    for tick in (1, 2, 3):
        db.push({name: [(at % 5, at, tick) for at in range(20)] for name in "abc"})
        db.flush()
        ordered.append(bool(_join(db).probes))
    assert ordered == [False, True, True]
    assert not _join(db).changes and _join(db).observed.batches == 2


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
    _streams(db, "abc")
    db.sql(
        "CREATE QUERY q WITH (join_tree = '(a b c)') AS ISTREAM(SELECT a.v AS x "
        f"FROM a [RANGE 5 SEC], b [RANGE 5 SEC], c [RANGE 5 SEC] WHERE {condition} AND b.v = c.v)"
    )
    assert [one.by_key for one in _join(db).of.conditions] == [looked_up, True]
    asked = []

    def noted(left: Any, right: Any, text: str) -> Any:
        asked.append(text)
        return joined(left, right, text)

    with patch("eddyline.spark.evaluate.joining.joined", noted):
        for tick in (1, 2):
            _push(db, "abc", tick)
            db.flush()
    lives = ["greatest(_lf, _rf) <= least(_lu, _ru)" in text for text in asked if "%" in text or "c0" in text]
    assert lives and set(lives) == {not looked_up}


_OVER = "FROM a [RANGE 9 SEC] AS {}, b [RANGE 9 SEC] AS {}, {} [RANGE 9 SEC] AS {}"


def _two_that_share(db: eddyline.Database, how: str = "WITH (join_tree = '((x y) z)')") -> None:
    """The second one names its inputs in another order, and shows other columns."""
    _streams(db, "abcd")
    db.sql(
        f"CREATE QUERY one {how} AS ISTREAM(SELECT x.v AS p, z.v AS q {_OVER.format('x', 'y', 'c', 'z')} "
        "WHERE x.k = y.k AND y.v = z.v)"
    )
    db.sql(
        "CREATE QUERY two WITH (join_tree = '((m n) o)') AS ISTREAM(SELECT m.t AS p, n.v AS q, o.v AS r "
        "FROM b [RANGE 9 SEC] AS m, d [RANGE 9 SEC] AS o, a [RANGE 9 SEC] AS n WHERE m.k = n.k AND n.v = o.v)"
    )


def test_two_queries_keep_one_state(db: eddyline.Database) -> None:
    _two_that_share(db)
    db.sql("CREATE QUERY other AS SELECT k FROM d")
    made: list[str] = []
    with patch(
        "eddyline.spark.work.state_changes", side_effect=lambda *given: made.append("") or state_changes(*given)
    ):
        for tick in range(1, 4):
            _push(db, "abcd", tick)
            db.flush()
    assert list(_states(db)) == ["x y"] and len(made) == 3, "once in each batch"
    shares = {row["name"]: row["shares"] for row in db.sql("SHOW QUERIES").to_arrow().to_pylist()}
    assert shares.pop("other") is None
    assert shares == {"one": "its join states: x ⋈ y with two", "two": "its join states: m ⋈ n with one"}
    db.sql("DROP QUERY one")
    _push(db, "abcd", 4)
    db.flush()
    assert list(_states(db)) == ["m n"] and len(_stages(db)) == 1, "the state goes on, with the columns that it has"
    db.sql("DROP QUERY two")
    _push(db, "abcd", 5)
    db.flush()
    assert _states(db) == {}


def _stages(db: eddyline.Database) -> list[str]:
    """The states whose logs are not given up."""
    stages = _engine(db).executor.results.stages
    return [name for name, stage in stages.items() if is_shared(name) and stage.start is not None]


def test_a_query_that_comes_later_reads_what_is_there(db: eddyline.Database) -> None:
    _two_that_share(db)
    for tick in range(1, 4):
        _push(db, "abcd", tick)
        db.flush()
    there = _stages(db)
    db.sql(f"CREATE QUERY late AS ISTREAM(SELECT x.v AS p {_OVER.format('x', 'y', 'c', 'z')} WHERE x.k = y.k)")
    begun: list[bool] = []
    with patch(
        "eddyline.spark.work.state_changes",
        side_effect=lambda node, batch: begun.append(batch.begins) or state_changes(node, batch),
    ):
        _push(db, "abcd", 4)
        db.flush()
    (query,) = (query for query in _engine(db).executor.queries() if query.name == "late")
    assert query.join is not None and written(query.join.tree, ["x", "y", "z"]) == "((x y) z)"
    assert begun == [False] and _stages(db) == there, "nothing was made for it"


def test_what_was_learned_of_a_state_goes_with_it(db: eddyline.Database) -> None:
    """Trees change as long as a database is open: of states that are gone nothing is kept in memory."""
    _two_that_share(db)
    db.sql("CREATE QUERY other AS SELECT k FROM d")
    _push(db, "abcd", 1)
    db.flush()
    (state,), executor = _stages(db), _engine(db).executor
    memory, by_stage = executor.shared.standing.memory, executor.routes.by_stage
    assert state in memory
    by_stage |= {state: {}, "other": {}}
    _push(db, "abcd", 2)
    db.flush()
    assert state in memory and state in by_stage, "it stands"
    executor.refused |= {state: "of what the kernel cannot do", "one/state/1-2": "of a tree before"}
    db.sql("DROP QUERY one")
    db.sql("DROP QUERY two")
    _push(db, "abcd", 3)
    db.flush()
    assert (list(memory), list(executor.refused), list(by_stage)) == ([], [], ["other"])


@pytest.mark.parametrize("others", [True, False])
def test_a_state_that_nobody_wants_is_not_found_again_after_a_restart(tmp_path: Path, others: bool) -> None:
    """If batches have run meanwhile it was not kept up: whoever wants it has it made anew."""
    with kernels_alone():
        db = _opened(tmp_path)
        _two_that_share(db)
        if others:
            db.sql("CREATE QUERY other AS SELECT k FROM d")
        _push(db, "abcd", 1)
        db.flush()
        db.sql("DROP QUERY one")
        db.sql("DROP QUERY two")
        db.close()
        db = _opened(tmp_path)
        _push(db, "abcd", 2)
        db.flush()  # without queries there are no batches
        assert len(_stages(db)) == (0 if others else 1)
        db.sql(
            "CREATE QUERY again WITH (join_tree = '((x y) z)') AS "
            f"SELECT COUNT(*) AS n {_OVER.format('x', 'y', 'c', 'z')} WHERE x.k = y.k AND y.v = z.v"
        )
        _push(db, "abcd", 3)
        db.flush()
        db.advance(5)
        db.flush()
        answers = [(answer.op, answer.row) for answer in db.query("again").fetch()]
        # 4 tuples of 2 keys in each of 3 batches: 72 pairs, each with the three of c that have the same v
        assert answers[-1] == ("+", (216,))
        db.close()


def test_limits_hold_for_all_joins_together(db: eddyline.Database) -> None:
    """There is room for the states of one of two joins: the one that saves more has them."""
    _streams(db, "abcdef")
    for name, (x, y, z) in {"one": "abc", "two": "def"}.items():
        db.sql(
            f"CREATE QUERY {name} AS ISTREAM(SELECT {x}.v AS p, {z}.v AS q FROM {x} [RANGE 20 SEC], "
            f"{y} [RANGE 20 SEC], {z} [RANGE 20 SEC] WHERE {x}.k = {y}.k AND {y}.v = {z}.v)"
        )
    _chosen_prices(db, _STORING_PAYS)
    dice = random.Random(1)

    def batches(ticks: range) -> dict[str, str]:
        for tick in ticks:
            for name, rows in zip("abcdef", (3, 3, 9, 3, 3, 60), strict=True):
                db.stream(name).push([(dice.randrange(30), dice.randrange(9), tick) for _ in range(rows)])
            db.flush()
        queries = _engine(db).executor.queries()
        return {query.name: query.join.tree.kind for query in queries if query.join is not None}

    assert batches(range(1, 13)) == {"one": "bjtree", "two": "bjtree"}
    taken = _engine(db).executor.joins.taken
    assert sum(_states(db).values()) > 0 and taken is not None and set(taken.parts) == {"one", "two"}
    models = {q.name: q.join.model() for q in _engine(db).executor.queries() if q.join is not None}
    state = models["one"].graph.state(0b11) + models["two"].graph.state(0b11)
    db.sql(f"SET memory_limit = {int(taken.used.memory - 0.4 * state)}")
    assert batches(range(13, 19)) == {"one": "mjoin", "two": "bjtree"}
    db.sql("DROP QUERY two")
    assert batches(range(19, 27)) == {"one": "bjtree"}, "there is room again"
    db.sql("SET memory_limit = 100")
    batches(range(27, 33))
    text = _explained(db, "one")
    assert "memory_limit = '100 B' (given), for all joins together" in text
    assert "no join trees fit together: " in text and "times the limit" in text
    assert "they fit with SET memory_limit = '" in text


def test_a_search_that_takes_too_long_is_cut_short(db: eddyline.Database) -> None:
    """There is a tree all the same, by what takes no search; EXPLAIN says so."""
    _streams(db, "abc")
    db.sql(
        "CREATE QUERY q AS ISTREAM(SELECT a.v AS x, c.v AS y FROM a [RANGE 20 SEC], b [RANGE 20 SEC], c [RANGE 20 SEC] "
        "WHERE a.k = b.k AND b.v = c.v)"
    )
    _chosen_prices(db, _STORING_PAYS)
    dice = random.Random(1)

    def said(steps: int, ticks: range) -> str:
        with patch("eddyline.spark.joins_together.FOR_ALL", steps):
            _push_what_is_worth_storing(db, ticks, dice)
        return _explained(db, "q")

    assert CUT_SHORT in said(1, range(1, 9)) and _join(db).tree.kind == "bjtree"
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
    _streams(db, "abc")
    with pytest.raises(InvalidDefinition, match=message):
        db.sql(
            f"CREATE QUERY q WITH (join_tree = '{tree}') AS "
            "SELECT a.v AS x FROM a [RANGE 9 SEC], b [RANGE 9 SEC], c [RANGE 9 SEC] WHERE a.k = b.k AND b.k = c.k"
        )
