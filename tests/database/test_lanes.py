"""Queries that would keep the others waiting run in lanes of their own, and miss nothing there."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import patch

import pytest

import eddyline
from eddyline import testing
from eddyline.errors import StreamingFailed
from eddyline.log.results import Position
from eddyline.log.upkeep import Pace as UpkeepPace
from eddyline.spark import batch_work
from eddyline.spark.evaluate.batch import Clock
from eddyline.spark.fairness import Pace, Policy
from eddyline.spark.lanes import Lanes, Step
from eddyline.spark.standing import Standing
from eddyline.spark.trouble import was_cancelled
from eddyline.spark.turns import Place, Turns

if TYPE_CHECKING:
    from eddyline.spark.batch_work import BatchWork
    from eddyline.spark.tables import Tables

STREAM = "CREATE STREAM s (k INTEGER, x INTEGER, t INTEGER) TIMESTAMP BY t"
CHEAP = "CREATE QUERY cheap AS SELECT x FROM s WHERE x > 0"
SLOW = "CREATE QUERY slow AS SELECT k, SUM(x) AS total FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY k"
BUSY = UpkeepPace(batches=2, behind=1, neighbours=2, small=1_000_000, grace=0.0, aside=False)


class Sent(Policy):
    """Those whose names begin with `slow` have lanes, whatever they cost; all others have none but to look back."""

    def leaving(self, common: Collection[Standing]) -> list[str]:
        return [query.name for query in common if query.name.startswith("slow")]

    def returns(self, query: Standing) -> bool:
        return not query.name.startswith("slow")

    def size(self, pace: Pace) -> int | None:
        return 3

    def rows(self) -> int:
        return 4


_TAKEN = Turns.taken


class Barrier:
    """Lanes wait here before they work, until they are let through."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.reached = threading.Event()

    @contextmanager
    def taken(self, turns: Turns, place: Place) -> Iterator[None]:
        self.reached.set()
        assert self.open.wait(60)
        with _TAKEN(turns, place):
            yield


@contextmanager
def lanes(policy: type[Policy] = Sent, closed: bool = False) -> Iterator[Barrier]:
    barrier = Barrier()
    if not closed:
        barrier.open.set()
    taken = lambda turns, place: barrier.taken(turns, place)  # noqa: E731
    with patch("eddyline.database.core.Policy", policy), patch.object(Turns, "taken", taken):
        try:
            yield barrier
        finally:
            barrier.open.set()


def rows_of(step: int) -> list[tuple[int, int, int]]:
    """In order, and every third time one that is late."""
    at = 3 * step
    return [(1, step + 1, at), (2, 1, at + 1), (3, 5, max(0, at - 4) if step % 3 == 2 else at)]


def until(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


def states(db: eddyline.Database) -> dict[str, str]:
    shown = db.sql("SHOW QUERIES").to_arrow().to_pylist()
    return {row["name"]: row["state"] for row in shown}


def wanted(*queries: str, steps: int = 6, revise: bool = False, first: int = 0) -> dict[str, Any]:
    """What the queries say in the end if all of them run together, from the first row on, or from a later step on."""
    with testing.database() as db:
        db.sql(STREAM)
        for step in range(first):
            db.stream("s").push(rows_of(step))
        for query in queries:
            db.sql(query)
        for step in range(first, steps):
            db.stream("s").push(rows_of(step))
        if revise:
            db.sql("DELETE FROM s WHERE x = 2; UPDATE s SET x = 7 WHERE x = 4")
        db.flush()
        return current(db)


def current(db: eddyline.Database) -> dict[str, Any]:
    """What stands; which number a tuple of RSTREAM has may depend on how the rows are cut into batches."""
    tables = {name: db.query(name).current() for name in db.queries}
    shown = {name: t.drop_columns([c for c in t.column_names if c == "_index"]) for name, t in tables.items()}
    return {name: sorted(table.to_pylist(), key=str) for name, table in shown.items()}


def test_others_are_answered_while_a_slow_one_is_behind(spark: object) -> None:
    with lanes(closed=True) as barrier, testing.database() as db:
        db.sql(STREAM)
        cheap, slow = db.sql(CHEAP), db.sql(SLOW)
        db.stream("s").push(rows_of(0))
        until(lambda: len(cheap.fetch()) == 3)  # the first batch: nobody is known to be slow
        for step in range(1, 6):
            db.stream("s").push(rows_of(step))
            assert len(cheap.fetch(timeout=60)) == 3
        assert barrier.reached.wait(60)
        assert states(db) == {"cheap": "live", "slow": "behind"}
        assert re.search(r"query slow: windows from 0, \+\d+ -0, behind", str(db.status()))
        assert len(slow.fetch()) <= 1
        barrier.open.set()
        db.flush()
        assert states(db) == {"cheap": "live", "slow": "live"}
        assert current(db) == wanted(CHEAP, SLOW)


def test_readers_with_cursors_get_each_answer_once_also_from_merged_logs(spark: object) -> None:
    with lanes(), testing.database(pace=BUSY) as db:
        db.sql(STREAM)
        db.sql(SLOW)
        live: list[Any] = []
        cursor = -1
        for step in range(10):
            db.stream("s").push(rows_of(step))
            db.flush()
            handle = db.query("slow", since=cursor)
            live += handle.fetch()
            cursor = handle.cursor
            if step == 5:
                half, seen = cursor, len(live)
        engine = db._core.engine
        assert any("merged-" in segment.path for segment in engine.executor.results.stages["slow"].segments)
        assert db.query("slow").fetch() == live
        assert db.query("slow", since=half).fetch() == live[seen:] != []
        handle = db.query("slow")
        rest = handle.to_arrow(since=half)
        assert rest.num_rows == handle.to_spark(since=half).where("NOT _header").count() > 0
        assert min(rest.column("_batch").to_pylist()) > half
        found = handle.to_spark().where("NOT _header").select("_batch").collect()
        spark_batches = sorted({row["_batch"] for row in found})
        assert spark_batches == sorted(set(handle.to_arrow().column("_batch").to_pylist()))


def test_nothing_is_lost_or_said_twice_if_a_lane_is_cut_off(spark: object, tmp_path: Path) -> None:
    with lanes(closed=True) as barrier:
        db = eddyline.connect(tmp_path, heartbeat=None, clock=lambda: 0)
        db.sql(STREAM)
        cheap = db.sql(CHEAP)
        db.sql(SLOW)
        for step in range(4):
            db.stream("s").push(rows_of(step))
            assert len(cheap.fetch(timeout=60)) == 3
        assert barrier.reached.wait(60)
        assert db._core.engine.executor.results.positions
        closing = threading.Thread(target=db.close)
        closing.start()
        barrier.open.set()  # it was told to stop meanwhile
        closing.join(60)
    with lanes(), eddyline.connect(tmp_path, heartbeat=None, clock=lambda: 0) as db:
        assert states(db)["slow"] == "behind"
        db.flush()
        for step in range(4, 6):
            db.stream("s").push(rows_of(step))
        db.flush()
        assert current(db) == wanted(CHEAP, SLOW)
        stages = db._core.engine.executor.results.stages.values()
        named = {segment.path for stage in stages for segment in stage.segments}
        assert {path for path, _ in db._core.storage.files_below("results")} == named  # no orphans


def test_a_query_can_be_dropped_while_its_lane_is_at_work(spark: object) -> None:
    with lanes(closed=True) as barrier, testing.database() as db:
        db.sql(STREAM)
        cheap = db.sql(CHEAP)
        db.sql(SLOW)
        for step in range(3):
            db.stream("s").push(rows_of(step))
            assert len(cheap.fetch(timeout=60)) == 3
        assert barrier.reached.wait(60)
        db.sql("DROP QUERY slow")
        db.flush()  # nobody waits for it
        barrier.open.set()
        db.sql(SLOW)
        for step in range(3, 6):
            db.stream("s").push(rows_of(step))
        db.flush()
        assert len(cheap.fetch()) == 9
        assert current(db) == {"cheap": wanted(CHEAP)["cheap"], "slow": wanted(SLOW, first=3)["slow"]}
        assert not db._core.engine.executor.is_behind


def test_a_job_of_a_dropped_query_is_cancelled(spark: Any) -> None:
    with lanes(), testing.database() as db:
        db.sql("CREATE STREAM s (k INTEGER, x INTEGER, t INTEGER) TIMESTAMP BY t")
        # 8,000 rows that all meet: 64 million pairs, which takes a while
        window = "s [FROM NOW-9 TO NOW SLIDE 1 SEC]"
        slow = f"SELECT COUNT(*) AS n FROM {window} AS a, {window} AS b WHERE a.x * b.x % 7 = 3"
        db.sql(f"CREATE QUERY slow AS {slow}")
        db.stream("s").push([(0, 0, 0)])
        db.flush()
        db.stream("s").push([(0, x, 10) for x in range(8000)])
        db.stream("s").push([(0, 0, 12)])
        executor = db._core.engine.executor
        until(lambda: executor._lanes.get("slow") is not None and executor._lanes["slow"].step is not None)
        lane = executor._lanes["slow"]
        tracker = spark.sparkContext.statusTracker()
        until(lambda: tracker.getJobIdsForGroup(lane.group))
        db.sql("DROP QUERY slow")
        lane.thread.join(30)
        assert not lane.thread.is_alive() and lane.added is None


def test_a_job_that_a_closed_lane_is_about_to_submit_is_cancelled_too(spark: Any) -> None:
    lanes = Lanes(spark, cast("Tables", None), lambda: None, lambda text: None)
    lane = lanes.open(Standing("q", (), 0, False, Clock()))
    lane.step = Step(cast("BatchWork", None), Position(1, None, None), 1, 1, False)
    lanes.close("q")
    said: list[BaseException] = []

    def late() -> None:
        spark.sparkContext.setJobGroup(lane.group, "late")
        try:
            spark.sparkContext.parallelize([1], 1).count()
        except Exception as problem:
            said.append(problem)

    thread = threading.Thread(target=late)
    thread.start()
    thread.join(60)
    assert said and was_cancelled(said[0])


def test_who_waits_is_told_why_no_batch_comes(spark: object) -> None:
    def broken() -> None:
        raise RuntimeError("a bug of ours")

    with lanes(), testing.database() as db:
        db.sql(STREAM)
        db.sql(SLOW)
        db.stream("s").push(rows_of(0))
        db.flush()
        with patch.object(db._core.engine.executor._lanes, "_nudge", broken):
            db.stream("s").push(rows_of(1))
            with pytest.raises(StreamingFailed, match="a bug of ours"):
                db.flush()
        for step in range(2, 6):
            db.stream("s").push(rows_of(step))
        db.flush()
        assert current(db) == wanted(SLOW)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, x FROM s WHERE x > 1",
        "SELECT k, SUM(x) AS total FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY k",
        "SELECT a.x, b.x AS y FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] AS a, s [FROM NOW-5 TO NOW SLIDE 3 SEC] AS b "
        "WHERE a.k = b.k",
        "RSTREAM(SELECT k, x FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC])",
        "SELECT k, x FROM s [FROM NOW-2 TO NOW SLIDE 1 ROWS]",
        "SELECT COUNT(*) AS n FROM s for (t = 8; t > 0; t -= 3) { WindowIs(s, t - 4, t); }",
    ],
    ids=["tuples", "windows", "join", "rstream", "rows", "backward loop"],
)
def test_the_past_in_steps_is_the_past_in_one_go(spark: object, query: str) -> None:
    """While it is at that, rows come late and are revised."""
    whole = f"CREATE QUERY back AS {query}"
    with lanes(closed=True) as barrier, testing.database() as db:
        db.sql(STREAM)
        for step in range(4):
            db.stream("s").push(rows_of(step))
        back = db.sql(f"CREATE QUERY back FROM HISTORY AS {query}")
        assert barrier.reached.wait(60)
        assert states(db)["back"] == "backfill 0 %" and back.progress is not None
        for step in range(4, 6):
            db.stream("s").push(rows_of(step))
        barrier.open.set()
        db.sql("DELETE FROM s WHERE x = 2; UPDATE s SET x = 7 WHERE x = 4")
        db.flush()
        assert back.progress is None and states(db)["back"] == "live"
        assert current(db) == wanted(whole, revise=True)


def test_a_backfill_goes_on_from_its_last_step(spark: object, tmp_path: Path) -> None:
    query = "SELECT k, SUM(x) AS total FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC] GROUP BY k"
    with lanes() as barrier:
        db = eddyline.connect(tmp_path, heartbeat=None, clock=lambda: 0)
        db.sql(STREAM)
        for step in range(6):
            db.stream("s").push(rows_of(step))
        executor = db._core.engine.executor
        taken, first = Turns.taken, threading.Event()

        def once(turns: Turns, place: Place) -> Any:
            if first.is_set():
                barrier.open.clear()  # the second step never ends
            first.set()
            return taken(turns, place)

        with patch.object(Turns, "taken", once):
            back = db.sql(f"CREATE QUERY back FROM HISTORY AS {query}")
            until(lambda: (at := executor.results.positions.get("back")) and at.past and at.past.done is not None)
            assert back.progress is not None and 0 < back.progress.fraction < 1
            before = back.fetch(timeout=60)
            closing = threading.Thread(target=db.close)
            closing.start()
            barrier.open.set()
            closing.join(60)
    with lanes(), eddyline.connect(tmp_path, heartbeat=None, clock=lambda: 0) as db:
        assert states(db)["back"].startswith("backfill ")
        db.flush()
        assert current(db) == wanted(f"CREATE QUERY back AS {query}")
        told = db.query("back").fetch()
        assert told[: len(before)] == before != [] and len({a.window for a in told}) == len(told)


def test_upkeep_leaves_what_a_slow_one_still_needs(spark: object) -> None:
    stream = STREAM + " RETAIN 6"
    with lanes(closed=True) as barrier, testing.database(pace=BUSY) as db:
        db.sql(stream)
        cheap = db.sql(CHEAP)
        db.sql(SLOW)
        for step in range(12):
            db.stream("s").push(rows_of(step))
            assert len(cheap.fetch(timeout=60)) == 3
        engine = db._core.engine
        position = engine.executor.results.positions["slow"]
        assert 0 < engine.executor.journal.base.number <= position.entry < engine.executor.results.last.entry
        barrier.open.set()
        db.flush()
        for step in range(12, 16):
            db.stream("s").push(rows_of(step))
            db.flush()
        assert engine.executor.journal.base.number > position.entry
        found = current(db)
    assert found == wanted(CHEAP, SLOW, steps=16)


def test_a_for_loop_reads_the_past_in_a_lane(spark: object) -> None:
    with lanes(closed=True) as barrier, testing.database() as db:
        db.sql(STREAM)
        cheap = db.sql(CHEAP)
        for step in range(4):
            db.stream("s").push(rows_of(step))
        db.flush()
        loop = db.sql("SELECT COUNT(*) AS n FROM s for (t = ST; t > ST - 6; t -= 3) { WindowIs(s, t - 2, t); }")
        db.stream("s").push(rows_of(4))
        assert len(cheap.fetch(timeout=60)) > 0
        assert barrier.reached.wait(60) and loop.fetch() == []
        barrier.open.set()
        db.flush()
        assert [(a.tick, a.rows) for a in loop.fetch()] == [(10, ((3,),)), (7, ((2,),))]


def test_a_failure_in_a_lane_is_told_and_nothing_is_lost(spark: object, monkeypatch: pytest.MonkeyPatch) -> None:
    works_of = batch_work.works_of

    def broken(*given: Any) -> Any:
        if threading.current_thread().name == "eddyline-lane-slow":
            raise RuntimeError("a bug of ours")
        return works_of(*given)

    with lanes(), testing.database() as db:
        db.sql(STREAM)
        db.sql(CHEAP)
        db.sql(SLOW)
        db.stream("s").push(rows_of(0))
        db.flush()
        with monkeypatch.context() as changed:
            changed.setattr(batch_work, "works_of", broken)
            db.stream("s").push(rows_of(1))
            with pytest.raises(StreamingFailed, match="a bug of ours"):
                db.flush()
        db.restart()
        for step in range(2, 6):
            db.stream("s").push(rows_of(step))
        db.flush()
        assert current(db) == wanted(CHEAP, SLOW)


def test_a_query_that_fails_in_its_lane_stops_alone(spark: object) -> None:
    with lanes(), testing.database() as db:
        db.sql("CREATE STREAM s (k STRING, p STRING, t INTEGER) TIMESTAMP BY t")
        good = db.sql("CREATE QUERY good AS SELECT k FROM s")
        db.sql("CREATE QUERY slow AS SELECT k RLIKE p AS x FROM s")
        db.stream("s").push([("a", "a", 1)])
        db.flush()
        db.stream("s").push([("b", "[", 2)])
        db.flush()
        db.stream("s").push([("c", "c", 3)])
        db.flush()
        assert len(good.fetch()) == 3
        assert states(db) == {"good": "live", "slow": "stopped"}
        slow = db.query("slow")
        assert [answer.row for answer in slow.fetch()] == [(True,)]
        with pytest.raises(StreamingFailed, match="the query slow has stopped: PatternSyntaxException"):
            slow.fetch()
        assert not db._core.engine.executor.is_behind


def test_waiting_shows_how_far_the_past_is(spark: object) -> None:
    shown: list[dict[str, float]] = []
    report = "eddyline.output.backfill_bar.BackfillBar.report"
    with lanes(), patch(report, lambda bar, fractions: shown.append(fractions)), testing.database() as db:
        db.sql(STREAM)
        for step in range(6):
            db.stream("s").push(rows_of(step))
        db.sql("CREATE QUERY back FROM HISTORY AS SELECT x FROM s")
        db.flush(progress=True)
        fractions = [found["back"] for found in shown if "back" in found]
        assert fractions == sorted(fractions) and fractions[-1] < 1
        assert any(fraction > 0 for fraction in fractions)
