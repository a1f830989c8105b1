"""What is seen of joins while they run: what windows hold, and what one long batch does to rates."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from unittest.mock import patch

import pytest

import eddyline
from eddyline.planner.cost import Costs, Model
from eddyline.planner.graph import Input, JoinGraph
from eddyline.planner.probing import Probing
from eddyline.spark.observing import Arriving, Node, Observed
from laws.test_sharing import BUSY
from laws.without_spark import kernels_alone


def _observed(window: str, push: Callable[[eddyline.Database, int], None], ticks: int) -> Observed:
    with kernels_alone(), tempfile.TemporaryDirectory() as folder:
        db = eddyline.connect(folder, heartbeat=None, clock=lambda: 0, pace=BUSY)
        for name in "abc":
            db.sql(f"CREATE STREAM {name} (k INTEGER, t INTEGER) TIMESTAMP BY t")
        froms = ", ".join(f"{name} {window}" for name in "abc")
        db.sql(f"CREATE QUERY q AS SELECT a.k AS x FROM {froms} WHERE a.k = b.k AND b.k = c.k AND c.k < 5")
        for tick in range(1, ticks + 1):
            push(db, tick)
            db.flush()
        (query,) = (query for query in db._core.engine.executor.queries() if query.join is not None)
        db.close()
        assert query.join is not None
        return query.join.observed


def _inputs(observed: Observed) -> dict[str, Input]:
    return {one.name: one for one in observed.described(1.0).graph.inputs}


def _push(db: eddyline.Database, tick: int, names: str = "abc", rows: int = 20) -> None:
    for name in names:
        db.stream(name).push([(at % 10, tick) for at in range(rows)])


@pytest.mark.parametrize("window", ["[RANGE 9 SEC]", "[FROM NOW-9 TO NOW SLIDE 1 SEC]"])
def test_a_stream_that_pauses_leaves_its_window_full(window: str) -> None:
    inputs = _inputs(_observed(window, lambda db, tick: _push(db, tick, "abc" if tick <= 18 else "ac"), 22))
    assert inputs["a"].size == pytest.approx(200, rel=0.1) and inputs["a"].rate == pytest.approx(20)
    assert inputs["b"].rate < 1 and 100 <= inputs["b"].size <= 160, "of ten ticks four or five are empty"
    assert inputs["c"].size == pytest.approx(100, rel=0.1), "those that its own condition lets pass"


def test_a_window_that_is_not_full_is_as_large_as_it_is_going_to_be() -> None:
    pausing = _inputs(
        _observed("[RANGE 3000 SEC]", lambda db, tick: _push(db, tick, "abc" if tick <= 18 else "ac"), 24)
    )
    assert pausing["a"].size == pytest.approx(20 * 3001)
    assert pausing["b"].size == pytest.approx(360, rel=0.01), "nothing more is coming, but these stand"


def test_a_window_holds_what_stands_in_it_and_not_what_comes_at_the_moment() -> None:
    """Tuples have come twenty times as fast for three ticks: the window holds 1,540, not 8,000."""
    inputs = _inputs(_observed("[RANGE 19 SEC]", lambda db, t: _push(db, t, rows=400 if t > 27 else 20), 30))
    assert inputs["a"].rate == pytest.approx(400, rel=0.5) and 300 <= inputs["a"].size <= 1_700


def test_others_may_look_while_a_batch_is_seen() -> None:
    """EXPLAIN, and the batch beside a lane, go through what was seen by another thread: that is not added to."""
    looking = []

    def push(db: eddyline.Database, tick: int) -> None:
        (join,) = (query.join for query in db._core.engine.executor.queries() if query.join is not None)
        looking.append(iter(join.observed.streams))
        _push(db, tick)

    _observed("[RANGE 9 SEC]", push, 4)
    assert [len(list(names)) for names in looking] == [0, 0, 3, 3]


def test_orders_are_told_while_a_batch_asks_for_more() -> None:
    graph = JoinGraph(tuple(Input(name, 1.0, 10.0) for name in "abc"))
    probing, names = Probing(Model(graph, Costs(1, 1, 1))), JoinGraph.names
    probing.order((0b1, 0b110), 0)

    def asked(of: JoinGraph, mask: int) -> str:
        probing.order((0b1, 0b10, 0b100), 0)
        return names(of, mask)

    with patch.object(JoinGraph, "names", asked):
        assert probing.told() == ["a → (b c)"]
    assert len(probing.used) == 2


def test_one_batch_that_covers_much_time_is_soon_over() -> None:
    observed = Observed(None)  # type: ignore[arg-type]
    node = Node()
    for seconds in (36_000.0, *[1.0] * 4):
        observed.batch.add(1, seconds)
        node.given.add(500 * min(seconds, 10.0), seconds)
        node.cpu.add(0.01, seconds)
    assert observed.batch.seconds / observed.batch.amount == pytest.approx(1.0)
    assert node.given.rate == pytest.approx(500) and node.cpu.rate == pytest.approx(0.01)


def test_one_batch_that_covers_much_time_in_between() -> None:
    batches = Arriving(deviations=0.0)
    for seconds in (*[1.0] * 20, 36_000.0, *[1.0] * 5):
        batches.add(1, seconds)
    assert batches.seconds / batches.amount == pytest.approx(1.0)


def test_what_is_taken_back_has_no_deviation() -> None:
    """A node may take back more than it gives."""
    given = Arriving()
    for amount in (-5.0, -1.0, -3.0, 0.0, -8.0):
        given.add(amount, 1.0)
    assert given.rate is not None and given.rate <= 0
