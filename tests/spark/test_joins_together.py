"""When joins change their trees: whom limits that cannot be kept concern, and what changes at once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import eddyline
from eddyline.planner.cost import Costs, Limits, Model
from eddyline.planner.graph import Input, JoinGraph, Predicate
from eddyline.planner.member import Member
from eddyline.planner.tree import JTree, mjoin_of, tree_of
from eddyline.spark.join_at_work import Allowed
from eddyline.spark.joins_together import JoinsTogether
from laws.test_sharing import BUSY
from laws.without_spark import kernels_alone

_COSTS = Costs(1e-6, 1e-6, 1e-6)
_MJOIN, _PAIR_FIRST = mjoin_of(0b111), tree_of(((0, 1), 2))


def _model(pairs: float = 1e-3) -> Model:
    """It pays to store a ⋈ b: 1,000 tuples at 1e-3, beside 22,000 of the inputs."""
    inputs = (Input("a", 1, 1_000.0), Input("b", 1, 1_000.0), Input("c", 2_000, 20_000.0))
    edges = (Predicate(frozenset({0, 1}), pairs), Predicate(frozenset({1, 2}), 1e-2))
    return Model(JoinGraph(inputs, edges), _COSTS)


@dataclass
class _Join:
    tree: JTree
    wanted: JTree | None = None
    debt: float = 0.0
    seconds_of_batch: float = 0.01


def _weighed(
    members: Sequence[Member], trees: Sequence[JTree], limits: Limits, times: int = 1
) -> tuple[JoinsTogether, Mapping[str, _Join]]:
    together = JoinsTogether()
    together.allowed = lambda: Allowed(limits.cpu, limits.memory)
    joins = {member.name: _Join(tree) for member, tree in zip(members, trees, strict=True)}
    with patch("eddyline.spark.joins_together._members", lambda joins, alone: list(members)):
        for _ in range(times):
            together._weigh(cast(Any, joins), set(), 4)
            for join in joins.values():
                join.tree, join.wanted = join.wanted or join.tree, None
    return together, joins


def test_who_cannot_keep_its_own_limits_does_not_hold_up_the_others() -> None:
    members = [Member("bad", _model(), Limits(memory=10.0)), Member("good", _model())]
    together, joins = _weighed(members, [_MJOIN, _MJOIN], Limits(100.0, 1e9), times=200)
    assert joins["good"].tree == _PAIR_FIRST and joins["bad"].tree == _MJOIN
    assert together.taken is not None and set(together.taken.exceeded) == {"bad"} and together.taken.missing is None


def test_who_cannot_keep_its_own_limits_runs_by_what_exceeds_them_least() -> None:
    members = [Member("bad", _model(0.1), Limits(memory=10.0)), Member("good", _model())]
    _, joins = _weighed(members, [_PAIR_FIRST, _MJOIN], Limits(100.0, 1e9))
    assert joins["bad"].tree == _MJOIN, "at once: 100,000 tuples fewer"
    assert joins["good"].tree == _MJOIN, "nothing that it owes as yet"


def test_only_what_brings_it_under_the_limits_changes_at_once() -> None:
    def apart(which: int) -> Any:
        def key(mask: int) -> Hashable:
            return which, mask

        return key

    members = [Member("much", _model(0.1), key=apart(0)), Member("little", _model(), key=apart(1))]
    together, joins = _weighed(members, [_PAIR_FIRST, _MJOIN], Limits(100.0, 50_000.0))
    assert joins["much"].tree == _MJOIN and joins["little"].tree == _MJOIN
    assert together.taken is not None and together.taken.limits.allow(together.taken.used)
    _, later = _weighed(members, [_PAIR_FIRST, _MJOIN], Limits(100.0, 50_000.0), times=200)
    assert later["much"].tree == _MJOIN and later["little"].tree == _PAIR_FIRST, "when it has paid"


def test_what_exceeds_the_limits_no_more_is_changed_although_nothing_fits() -> None:
    """The limit of the processor cannot be kept, and a state that makes it less is worth having."""
    mjoin, pair_first = (_model().of(tree).cpu for tree in (_MJOIN, _PAIR_FIRST))
    limits = Limits(pair_first * 0.5, 1e9)
    assert pair_first < 0.9 * mjoin
    together, joins = _weighed([Member("q", _model())], [_MJOIN], limits)
    assert joins["q"].tree == _PAIR_FIRST and together.taken is not None and together.taken.missing is not None


class _Seen:
    """A join in which something turns out to be another in every batch."""

    def __init__(self, turns: Sequence[int]) -> None:
        self._turns = iter(turns)
        self.is_enough = True

    @property
    def turns(self) -> int:
        return next(self._turns)


def _settled(together: JoinsTogether, batches: int, turns: Sequence[int], plan: Any) -> None:
    join = SimpleNamespace(observed=_Seen(turns), is_new=False)
    query = SimpleNamespace(name="q", join=join)
    with patch.object(JoinsTogether, "_weigh", plan):
        for _ in range(batches):
            together.settle([cast(Any, query)])


def test_what_turns_out_to_be_another_does_not_have_joins_planned_all_the_time() -> None:
    """Planning that takes half a second for one in ten batches, however often something turns out to be another."""
    for seconds, often in ((0.5, 4), (0.0, 31)):
        asked: list[int] = []
        now = [0.0]

        def plan(self: Any, joins: Any, alone: Any, since: int, takes: float = seconds) -> None:
            asked.append(since)  # noqa: B023
            now[0] += takes  # noqa: B023

        with patch("eddyline.spark.joins_together.time.monotonic", lambda: now[0]):  # noqa: B023
            _settled(JoinsTogether(), 31, range(31), plan)
        assert len(asked) == often


def test_without_news_joins_are_planned_every_fourth_batch() -> None:
    asked: list[int] = []
    _settled(JoinsTogether(), 17, [1] * 17, lambda self, joins, alone, since: asked.append(since))
    assert asked[1:] == [4] * 4


def test_what_cannot_be_planned_is_told_once() -> None:
    told: list[str] = []

    def fails(self: Any, joins: Any, alone: Any, since: int) -> None:
        raise OverflowError("math range error")

    _settled(JoinsTogether(told.append), 17, [1] * 17, fails)
    assert told == ["join trees cannot be planned: math range error; joins go on by those they have"]


def test_a_tree_that_a_record_has_is_not_rewritten(tmp_path: Path) -> None:
    """Nor that of a query with a cpu_limit of its own: nobody knows yet whether what others keep fits into it."""
    froms = ", ".join(f"{name} [RANGE 5 SEC]" for name in "abc")
    query = f"SELECT a.k AS x FROM {froms} WHERE a.k = b.k AND b.k = c.k"
    with kernels_alone(), patch.object(JoinsTogether, "_weigh", lambda self, joins, alone, since: None):

        def opened() -> eddyline.Database:
            return eddyline.connect(tmp_path / "db", heartbeat=None, clock=lambda: 0, pace=BUSY)

        def push(db: eddyline.Database, tick: int) -> dict[str, list[int]]:
            for name in "abc":
                db.stream(name).push([(at, tick) for at in range(5)])
            db.flush()
            return {q.name: q.join.tree.states() for q in db._core.engine.executor.queries() if q.join is not None}

        db = opened()
        for name in "abc":
            db.sql(f"CREATE STREAM {name} (k INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql(f"CREATE QUERY chosen AS {query}")
        states = [push(db, tick) for tick in range(1, 6)]
        assert states[-1] == {"chosen": []}
        db.sql(f"CREATE QUERY said WITH (join_tree = '((a b) c)') AS {query}")
        db.sql(f"CREATE QUERY limited WITH (cpu_limit = 0.5) AS {query}")
        db.sql(f"CREATE QUERY free AS {query.replace('a.k AS x', 'b.k AS y')}")
        assert push(db, 6) == {"chosen": [], "said": [0b11], "limited": [], "free": [0b11]}
        db.close()
        db = opened()
        assert push(db, 7) == {"chosen": [], "said": [0b11], "limited": [], "free": [0b11]}
        db.close()
