"""Who goes to a lane and who returns, how large steps are, and whose turn it is: without Spark."""

from __future__ import annotations

import threading
import time
from collections import Counter

from eddyline.log.results import Past
from eddyline.spark.evaluate.batch import Clock
from eddyline.spark.fairness import FLOOR, STEP_SECONDS, Pace, Policy
from eddyline.spark.past import INDEXES, TICKS, Extent
from eddyline.spark.standing import Standing
from eddyline.spark.turns import Turns


def standing(name: str, priority: int = 1) -> Standing:
    return Standing(name, (), 0, False, Clock(), priority=priority)


def left(costs: dict[str, float], times: int = 2, **priorities: int) -> list[str]:
    policy = Policy()
    for _ in range(times):
        policy.spent(costs)
    return policy.leaving([standing(name, priorities.get(name, 1)) for name in costs])


def test_who_takes_more_than_its_share_goes() -> None:
    assert left({"cheap": 0.01, "slow": 3.0}) == ["slow"]
    assert left({"cheap": 0.01, "slow": 3.0}, times=1) == []  # the first time it may have loaded something
    assert left({"a": 2.0, "b": 2.1, "c": 1.9}) == []  # all are alike
    assert left({"a": FLOOR / 2, "b": 0.0}) == []  # nobody notices
    assert left({"alone": 9.0}) == []


def test_priority_is_the_weight_of_a_share() -> None:
    costs = {"a": 2.0, "b": 1.0, "c": 1.0}
    assert left(costs) == ["a"]
    assert left(costs, a=3) == []  # three fifths of all are its share


def test_who_has_become_cheap_returns_and_in_between_nothing_changes() -> None:
    policy, query = Policy(), standing("q")
    policy.spent({"q": FLOOR})
    assert not policy.returns(query)
    policy.spent({"q": FLOOR * 0.6})
    assert not policy.returns(query) and policy.leaving([query, standing("other")]) == []
    policy.spent({"q": FLOOR * 0.4})
    assert policy.returns(query)


def test_steps_grow_to_what_takes_about_as_long_as_wanted() -> None:
    pace = Pace()
    pace.took(1_000, STEP_SECONDS / 2)
    assert pace.size == 2_000
    pace.took(2_000, STEP_SECONDS / 100)
    assert pace.size == 8_000  # little tells little
    pace.took(8_000, STEP_SECONDS * 8)
    assert pace.size == 1_000


def test_pieces_cover_the_past_once() -> None:
    for by in (TICKS, INDEXES):
        whole = Extent(by, 4, 100, 96, 1)
        past, covered = Past(), []
        while True:
            piece = whole.piece(past, 7)
            covered += list(range(piece.low + 1, piece.high + 1))
            if piece.last:
                break
            past = Past(0, piece.high)
        assert covered == list(range(5, 101))
        assert whole.progress(Past(0, 52), 1).fraction == 0.5
        assert whole.progress(Past(1, 52), 2).fraction == 0.75
    assert whole.piece(Past(), None).last  # few rows: all at once


def test_lanes_take_turns_by_their_weight() -> None:
    turns, had, end = Turns(1), Counter[str](), threading.Event()

    def lane(name: str, weight: int) -> None:
        while not end.is_set():
            with turns.taken(name, weight):
                time.sleep(0.002)
                had[name] += 1

    threads = [threading.Thread(target=lane, args=given) for given in (("low", 1), ("high", 4))]
    for thread in threads:
        thread.start()
    while had["low"] < 25:
        time.sleep(0.01)
    end.set()
    for thread in threads:
        thread.join()
    assert 2.5 < had["high"] / had["low"] < 5.5


def test_one_that_comes_late_does_not_get_the_time_it_was_not_there() -> None:
    turns = Turns(1)
    turns._had["old"] = 9.0
    with turns.taken("old", 1):
        young = threading.Thread(target=lambda: turns.taken("young", 1).__enter__())
        young.start()
        while "young" not in turns._waiting:
            time.sleep(0.001)
    young.join()
    assert turns._had["young"] >= 9.0
