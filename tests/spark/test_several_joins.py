"""Several joins at work: states that they share, and limits that hold for all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

import eddyline
from eddyline.planner.written import written
from eddyline.spark.evaluate.joining import state_changes
from eddyline.spark.shared_states import is_shared
from laws.without_spark import kernels_alone
from spark.joins_at_work import (
    STORING_PAYS,
    choose_prices,
    create_streams,
    engine_of,
    explained,
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


_OVER = "FROM a [RANGE 9 SEC] AS {}, b [RANGE 9 SEC] AS {}, {} [RANGE 9 SEC] AS {}"


def _two_that_share(db: eddyline.Database, how: str = "WITH (join_tree = '((x y) z)')") -> None:
    """The second one names its inputs in another order, and shows other columns."""
    create_streams(db, "abcd")
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
            push_to(db, "abcd", tick)
            db.flush()
    assert list(states_of(db)) == ["x y"] and len(made) == 3, "once in each batch"
    shares = {row["name"]: row["shares"] for row in db.sql("SHOW QUERIES").to_arrow().to_pylist()}
    assert shares.pop("other") is None
    assert shares == {"one": "its join states: x ⋈ y with two", "two": "its join states: m ⋈ n with one"}
    db.sql("DROP QUERY one")
    push_to(db, "abcd", 4)
    db.flush()
    assert list(states_of(db)) == ["m n"] and len(_stages(db)) == 1, "the state goes on, with the columns that it has"
    db.sql("DROP QUERY two")
    push_to(db, "abcd", 5)
    db.flush()
    assert states_of(db) == {}


def _stages(db: eddyline.Database) -> list[str]:
    """The states whose logs are not given up."""
    stages = engine_of(db).executor.results.stages
    return [name for name, stage in stages.items() if is_shared(name) and stage.start is not None]


def test_a_query_that_comes_later_reads_what_is_there(db: eddyline.Database) -> None:
    _two_that_share(db)
    for tick in range(1, 4):
        push_to(db, "abcd", tick)
        db.flush()
    there = _stages(db)
    db.sql(f"CREATE QUERY late AS ISTREAM(SELECT x.v AS p {_OVER.format('x', 'y', 'c', 'z')} WHERE x.k = y.k)")
    begun: list[bool] = []
    with patch(
        "eddyline.spark.work.state_changes",
        side_effect=lambda node, batch: begun.append(batch.begins) or state_changes(node, batch),
    ):
        push_to(db, "abcd", 4)
        db.flush()
    (query,) = (query for query in engine_of(db).executor.queries() if query.name == "late")
    assert query.join is not None and written(query.join.tree, ["x", "y", "z"]) == "((x y) z)"
    assert begun == [False] and _stages(db) == there, "nothing was made for it"


def test_what_was_learned_of_a_state_goes_with_it(db: eddyline.Database) -> None:
    """Trees change as long as a database is open: of states that are gone nothing is kept in memory."""
    _two_that_share(db)
    db.sql("CREATE QUERY other AS SELECT k FROM d")
    push_to(db, "abcd", 1)
    db.flush()
    (state,), executor = _stages(db), engine_of(db).executor
    memory, by_stage = executor.shared.standing.memory, executor.routes.by_stage
    assert state in memory
    by_stage |= {state: {}, "other": {}}
    push_to(db, "abcd", 2)
    db.flush()
    assert state in memory and state in by_stage, "it stands"
    executor.refused |= {state: "of what the kernel cannot do", "one/state/1-2": "of a tree before"}
    db.sql("DROP QUERY one")
    db.sql("DROP QUERY two")
    push_to(db, "abcd", 3)
    db.flush()
    assert (list(memory), list(executor.refused), list(by_stage)) == ([], [], ["other"])


@pytest.mark.parametrize("others", [True, False])
def test_a_state_that_nobody_wants_is_not_found_again_after_a_restart(tmp_path: Path, others: bool) -> None:
    """If batches have run meanwhile it was not kept up: whoever wants it has it made anew."""
    with kernels_alone():
        db = open_database(tmp_path)
        _two_that_share(db)
        if others:
            db.sql("CREATE QUERY other AS SELECT k FROM d")
        push_to(db, "abcd", 1)
        db.flush()
        db.sql("DROP QUERY one")
        db.sql("DROP QUERY two")
        db.close()
        db = open_database(tmp_path)
        push_to(db, "abcd", 2)
        db.flush()  # without queries there are no batches
        assert len(_stages(db)) == (0 if others else 1)
        db.sql(
            "CREATE QUERY again WITH (join_tree = '((x y) z)') AS "
            f"SELECT COUNT(*) AS n {_OVER.format('x', 'y', 'c', 'z')} WHERE x.k = y.k AND y.v = z.v"
        )
        push_to(db, "abcd", 3)
        db.flush()
        db.advance(5)
        db.flush()
        answers = [(answer.op, answer.row) for answer in db.query("again").fetch()]
        # 4 tuples of 2 keys in each of 3 batches: 72 pairs, each with the three of c that have the same v
        assert answers[-1] == ("+", (216,))
        db.close()


def test_limits_hold_for_all_joins_together(db: eddyline.Database) -> None:
    """There is room for the states of one of two joins: the one that saves more has them."""
    create_streams(db, "abcdef")
    for name, (x, y, z) in {"one": "abc", "two": "def"}.items():
        db.sql(
            f"CREATE QUERY {name} AS ISTREAM(SELECT {x}.v AS p, {z}.v AS q FROM {x} [RANGE 20 SEC], "
            f"{y} [RANGE 20 SEC], {z} [RANGE 20 SEC] WHERE {x}.k = {y}.k AND {y}.v = {z}.v)"
        )
    choose_prices(db, STORING_PAYS)
    dice = random.Random(1)

    def batches(ticks: range) -> dict[str, str]:
        for tick in ticks:
            for name, rows in zip("abcdef", (3, 3, 9, 3, 3, 60), strict=True):
                db.stream(name).push([(dice.randrange(30), dice.randrange(9), tick) for _ in range(rows)])
            db.flush()
        queries = engine_of(db).executor.queries()
        return {query.name: query.join.tree.kind for query in queries if query.join is not None}

    assert batches(range(1, 13)) == {"one": "bjtree", "two": "bjtree"}
    taken = engine_of(db).executor.joins.taken
    assert sum(states_of(db).values()) > 0 and taken is not None and set(taken.parts) == {"one", "two"}
    models = {q.name: q.join.model() for q in engine_of(db).executor.queries() if q.join is not None}
    state = models["one"].graph.state(0b11) + models["two"].graph.state(0b11)
    db.sql(f"SET memory_limit = {int(taken.used.memory - 0.4 * state)}")
    assert batches(range(13, 19)) == {"one": "mjoin", "two": "bjtree"}
    db.sql("DROP QUERY two")
    assert batches(range(19, 27)) == {"one": "bjtree"}, "there is room again"
    db.sql("SET memory_limit = 100")
    batches(range(27, 33))
    text = explained(db, "one")
    assert "memory_limit = '100 B' (given), for all joins together" in text
    assert "no join trees fit together: " in text and "times the limit" in text
    assert "they fit with SET memory_limit = '" in text
