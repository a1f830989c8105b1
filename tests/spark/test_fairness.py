"""Who goes to a lane and who returns, how large steps are, and whose turn it is: without Spark."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from eddyline.log.results import Past, Position
from eddyline.spark.added import Added
from eddyline.spark.evaluate.batch import Clock
from eddyline.spark.fairness import FLOOR, STEP_SECONDS, Pace, Policy
from eddyline.spark.lanes import Lanes, Step
from eddyline.spark.past import INDEXES, TICKS, Extent
from eddyline.spark.standing import Standing
from eddyline.spark.trouble import Cancelled
from eddyline.spark.turns import Place, Turns
from eddyline.spark.work_means import Turn

if TYPE_CHECKING:
    from eddyline.spark.batch_work import BatchWork
    from eddyline.spark.tables import Tables


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


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.001)


def test_lanes_take_turns_by_their_weight() -> None:
    clock = Hands()
    turns, places, told = Turns(1, clock), {"low": Place(1), "high": Place(4)}, list[str]()

    def lane(name: str) -> None:
        while len(told) < 50:
            with turns.taken(places[name]):
                until(lambda: turns._waiting or len(told) > 40)  # the other one wants it too
                clock.now += 1
                told.append(name)

    threads = [threading.Thread(target=lane, args=(name,)) for name in places]
    for thread in threads:
        thread.start()
    until(lambda: len(told) >= 50)
    clock.now += 1  # nothing is kept for one that does not come any more
    for thread in threads:
        thread.join(30)
    assert Counter(told[:40]) == {"low": 8, "high": 32}


def test_one_that_comes_late_does_not_get_the_time_it_was_not_there() -> None:
    turns, old, young = Turns(1), Place(had=9.0), Place()
    with turns.taken(old):
        thread = threading.Thread(target=lambda: turns.taken(young).__enter__())
        thread.start()
        until(lambda: young in turns._waiting)
    thread.join()
    assert young.had is not None and young.had >= 9.0


def test_one_that_is_closed_waits_no_longer_and_another_of_its_name_is_not_touched() -> None:
    """After a restart there are two lanes of one query for a while."""
    turns, ended = Turns(1), list[str]()
    busy, old, new = Place(), Place(), Place()

    def lane(name: str, place: Place) -> None:
        try:
            with turns.taken(place):
                ended.append(f"{name} worked")
        except Cancelled:
            ended.append(f"{name} was cancelled")

    threads = [threading.Thread(target=lane, args=given) for given in (("old", old), ("new", new))]
    with turns.taken(busy):
        for thread in threads:
            thread.start()
        until(lambda: len(turns._waiting) == 2)
        turns.close(old)
        threads[0].join(30)
        assert ended == ["old was cancelled"] and turns._waiting == [new]
        turns.close(busy)  # at work: nothing is kept for it
    threads[1].join(30)
    assert ended == ["old was cancelled", "new worked"]
    with pytest.raises(Cancelled), turns.taken(busy):
        raise AssertionError


def test_a_lane_does_not_pay_for_the_time_it_waits() -> None:
    clock = Hands()
    turns, busy, place = Turns(1, clock), Place(), Place()
    turn = Turn(lambda: turns.taken(place))

    def work() -> None:
        with turn.taken():
            clock.now += 2

    thread = threading.Thread(target=work)
    with turns.taken(busy):
        thread.start()
        until(lambda: turns._waiting)
        clock.now += 100
    clock.now += 1  # nothing is kept for the other one
    thread.join(30)
    assert place.seconds == 2


def lanes_of(nudge: Callable[[], None] = lambda: None) -> Lanes:
    return Lanes(None, cast("Tables", None), nudge, lambda text: None)


def step_of(run: Callable[[], Added]) -> Step:
    return Step(cast("BatchWork", SimpleNamespace(run=run)), Position(1, None, None), 1, 1, False)


def test_nothing_starts_and_nothing_is_written_after_the_end() -> None:
    written: list[str] = []
    lanes = lanes_of(lambda: written.append("an entry"))
    lanes.stop()
    lane = lanes.open(standing("q"))  # by a batch that still runs
    lanes.start(lane, step_of(lambda: written.append("a segment") or Added()))
    lanes.want_a_batch()
    assert lane.idle and lane.thread is None and lanes._threads == [] and written == []


def test_the_end_waits_for_whoever_asks_for_a_batch_and_for_lanes_that_were_closed() -> None:
    go, asked = threading.Event(), threading.Event()

    def nudge() -> None:
        asked.set()
        assert go.wait(30)

    lanes = lanes_of(nudge)
    lane = lanes.open(standing("q"))
    lanes.start(lane, step_of(Added))
    assert asked.wait(30)
    lanes.close("q")
    lanes.want_a_batch()
    threads = list(lanes._threads)
    assert len(threads) == 2
    threading.Timer(0.05, go.set).start()
    lanes.stop()
    assert not any(thread.is_alive() for thread in threads)


def test_it_is_known_why_no_batch_comes() -> None:
    def nudge() -> None:
        raise RuntimeError("a bug of ours")

    lanes = lanes_of(nudge)
    lane = lanes.open(standing("q"))
    lanes.start(lane, step_of(Added))
    assert lane.thread is not None
    lane.thread.join(30)
    assert str(lanes.problem) == "a bug of ours"
    lanes.finished()  # one has come all the same
    assert lanes.problem is None
