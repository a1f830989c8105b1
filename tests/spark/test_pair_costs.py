"""Joins that leave it to us how they are corrected: from tuples or by differences, by what that has cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import eddyline
from eddyline.kernels.task import Reference, Work, done
from eddyline.spark.costs import OLD_NEWS
from eddyline.spark.explain import Question, corrections_of
from eddyline.spark.pair_costs import Changes, PairCosts
from laws.without_spark import kernels_alone

FEW, MANY, STIRRED = Changes(1_000, 1), Changes(1_000_000, 1), Changes(1_000_000, 500_000)
WINDOW = "[FROM NOW-9 TO NOW SLIDE 10 SEC]"


def test_before_anything_is_known_large_windows_with_few_changes_are_for_differences() -> None:
    costs = PairCosts()
    assert [costs.by_differences("q", each) for each in (FEW, MANY, STIRRED)] == [False, True, False]


def test_what_was_measured_decides() -> None:
    costs = PairCosts()
    for _ in range(8):
        costs.spent("q", MANY, True, 9.0)
    assert not costs.by_differences("q", MANY), "they take longer than was believed"
    costs = PairCosts()
    for _ in range(8):
        costs.spent("q", FEW, False, 3.0)
        costs.by_differences("q", FEW)
    assert costs.by_differences("r", FEW), "the next query begins with what the others have taught"


def test_what_is_not_done_is_tried_again_some_day() -> None:
    costs = PairCosts()
    ways = []
    for _ in range(OLD_NEWS + 20):
        ways.append(costs.by_differences("q", MANY))
        costs.spent("q", MANY, ways[-1], 5.0 if ways[-1] else 0.7)
    first = ways.index(False)
    assert first < 10, "it goes on although it is dear"
    assert ways[first:].index(True) == OLD_NEWS
    assert not ways[-1], "it was dear again"


def test_who_is_gone_is_forgotten() -> None:
    costs = PairCosts()
    costs.by_differences("q", MANY)
    assert "1,000,000 tuples and 1 that had changed" in costs.told("q")
    costs.forget("q")
    assert not costs.told("q")


def test_a_query_goes_the_way_that_was_cheaper(tmp_path: Path) -> None:
    """From tuples it takes so long that differences are tried; these take even longer, so it goes back."""
    with kernels_alone():
        db = eddyline.connect(str(tmp_path / "db"))
        db.sql("CREATE STREAM s (a INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql(f"CREATE QUERY q AS RSTREAM(SELECT x.a, y.t FROM s {WINDOW} AS x, s {WINDOW} AS y WHERE x.a = y.a)")
        db.stream("s").push([(at % 5, at) for at in range(1, 42)])
        db.flush()
        for index in range(7, 13):
            _correct(db, index, from_tuples=0.9, by_differences=60.0)
        ways = [row[-1] for row in db.sql("SHOW REVISIONS")]
        first = ways.index("downstream")
        assert 0 < first < 4 and ways[-1] == "upstream" == ways[0]
        assert "ms from tuples, " in _explained(db) and "ms by differences, for " in _explained(db)
        db.sql("DROP QUERY q")
        assert not db._core.engine.executor.corrections.pairs.told("q")
        db.close()


def _correct(db: Any, index: int, from_tuples: float, by_differences: float) -> None:
    asked, chosen = PairCosts.by_differences, list[bool]()

    def choosing(costs: PairCosts, query: str, changes: Changes) -> bool:
        chosen.append(asked(costs, query, changes))
        return chosen[-1]

    def timed(spark: object, works: list[Work]) -> list[Reference]:
        seconds = by_differences if chosen[-1] else from_tuples
        found = [reference for reference in done(works) if not reference.seconds]
        return [*found, *(Reference(work.stage, None, seconds=seconds, cpu=seconds) for work in works)]

    with patch("eddyline.spark.batch_work.run", timed), patch.object(PairCosts, "by_differences", choosing):
        db.stream("s").push([{"_op": "=", "_ref": index, "a": 2, "t": index}])
        db.flush()


def _explained(db: Any) -> str:
    query = db._core.definitions.standing("q").query
    question = Question("q", query.plan, query.columns, revisions=query.revisions)
    return "\n".join(corrections_of(db._core.engine, question))
