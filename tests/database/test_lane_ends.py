"""What happens while a query or its class changes in the middle of a batch or a lane, one batch at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest

from eddyline import testing
from eddyline.kernels.eddy.knowledge import Knowledge
from eddyline.kernels.eddy.report import Report
from eddyline.kernels.task import Reference, Work
from eddyline.log.storage import Storage
from eddyline.spark import batch_work, executor
from eddyline.spark.fairness import Policy
from eddyline.spark.lanes import Lanes
from eddyline.spark.standing import Standing
from eddyline.spark.tables import Tables
from eddyline.spark.work_means import Turn
from laws.without_spark import kernels_alone, one_batch

#: databases start a session although nothing runs on it here
pytestmark = pytest.mark.usefixtures("spark")
STREAM = "CREATE STREAM s (k INTEGER, x INTEGER, t INTEGER) TIMESTAMP BY t"


class Aside(Policy):
    """Whoever may go goes after every batch; whoever has caught up returns if it is let."""

    back = True

    def leaving(self, common: Collection[Standing]) -> list[str]:
        return [query.name for query in common]

    def returns(self, query: Standing) -> bool:
        return self.back

    def rows(self) -> int:
        return 1


class Staying(Aside):
    back = False


@contextmanager
def database(policy: Callable[[], Policy | None]) -> Iterator[Any]:
    with kernels_alone(policy), testing.database() as db:
        db.sql(STREAM)
        yield db


def push(db: Any, x: int, t: int) -> None:
    db.stream("s").push([(1, x, t)])


def test_who_is_dropped_on_its_way_back_is_not_waited_for() -> None:
    with database(Aside) as db:
        db.sql("CREATE QUERY other AS SELECT MAX(x) AS m FROM s [FROM NOW-1 TO NOW SLIDE 1 SEC]")
        db.sql("CREATE QUERY q AS SELECT x FROM s WHERE x > 0")
        engine = db._core.engine
        at = 0
        while "q" not in engine.executor._returning:
            assert at < 50
            push(db, 1, at := at + 1)
            one_batch(engine)
        db.sql("DROP QUERY q")
        db.sql("DROP QUERY other")
        one_batch(engine)
        before = engine.journal.number
        one_batch(engine)
        assert engine.journal.number == before  # nobody asks for one batch after the other


def test_what_is_told_of_a_dropped_query_is_not_kept() -> None:
    dropped: list[str] = []
    report = Report(("a",))
    report.learned = Knowledge(("a",))
    with database(lambda: None) as db:
        db.sql("CREATE QUERY q AS SELECT x FROM s WHERE x > 0")
        db.sql("CREATE QUERY stays AS SELECT k FROM s")
        engine = db._core.engine

        def run(spark: object, works: Sequence[Work]) -> list[Reference]:
            if not dropped:
                dropped.append("q")
                db.sql("DROP QUERY q")
            found = []
            for work in works:
                found.append(Reference(work.stage, None, refused="it is too hard"))
                found.append(Reference(work.stage, None, reports={"a": report}))
            return found

        push(db, 1, 1)
        with patch.object(batch_work, "run", run), patch.object(batch_work, "stage_frame", lambda *given: None):
            one_batch(engine)
        assert set(engine.executor.refused) == {"stays"}
        assert engine.executor.routes.known("stays") and not engine.executor.routes.known("q")


def test_a_batch_has_the_same_members_from_start_to_end() -> None:
    seen: list[Any] = []
    works_of, retried = batch_work.works_of, executor.retried
    with database(lambda: None) as db:
        push(db, 1, 0)  # those who wait for the first tick are in a class of their own
        for number in range(3):
            db.sql(f"CREATE QUERY q{number} AS SELECT x FROM s WHERE x > {number}")
        engine = db._core.engine
        found = engine.classes.named("~class1")

        def later(action: Callable[[], Any], *given: Any) -> Any:
            """As EXPLAIN or CREATE QUERY may do while a batch is at work."""
            seen.append((found.stages, found.members))
            db.sql("CREATE QUERY late AS SELECT x FROM s WHERE x > 7")
            found.settle()
            assert found.members is not seen[0][1] and found.stages is not seen[0][0]
            return retried(action, *given)

        def spied(stage: Any, view: Any, *given: Any) -> Any:
            if stage.name == found.name:
                seen.append((stage, view.members))
            return works_of(stage, view, *given)

        push(db, 1, 1)
        with patch.object(executor, "retried", later), patch.object(batch_work, "works_of", spied):
            one_batch(engine)
        (stages, members), (stage, used) = seen
        assert used is members and stage is stages[-1]


def test_what_a_lane_waits_for_its_turn_is_not_its_cost() -> None:
    now = [0.0]

    @contextmanager
    def after_a_while() -> Iterator[None]:
        now[0] += 100
        yield

    def collected(work: object, frames: object) -> list[Reference]:
        now[0] += 2
        return []

    with database(Staying) as db, ExitStack() as stack:
        db.sql("CREATE QUERY q AS SELECT x FROM s WHERE x > 0")
        push(db, 1, 0)
        one_batch(db._core.engine)
        stack.enter_context(patch.object(Lanes, "turn", lambda lanes, lane: Turn(after_a_while, 1)))
        for name in ("reason_for_spark", "stage_frame", "written"):  # as if it were for Spark's own plans
            stack.enter_context(patch.object(batch_work, name, lambda *given: "something"))
        stack.enter_context(patch.object(batch_work, "time", SimpleNamespace(monotonic=lambda: now[0])))
        stack.enter_context(patch.object(batch_work.BatchWork, "_collected", collected))
        push(db, 1, 1)
        one_batch(db._core.engine)
        assert db._core.engine.executor._lanes["q"].added.seconds == {"q": 2}


def test_a_lane_has_the_weight_that_its_class_has_now() -> None:
    with database(Staying) as db:
        push(db, 1, 0)
        for number in range(2):
            db.sql(f"CREATE QUERY q{number} AS SELECT x FROM s WHERE x > {number}")
        engine = db._core.engine
        for at in range(1, 4):
            push(db, 1, at)
            one_batch(engine)
        lane = engine.executor._lanes["~class1"]
        assert lane.place.weight == 1
        db.sql("CREATE QUERY urgent WITH (priority = 9) AS SELECT x FROM s WHERE x > 5")
        for at in range(4, 8):
            push(db, 1, at)
            one_batch(engine)
        assert engine.executor._lanes["~class1"] is lane and lane.place.weight == 9
        db.sql("DROP QUERY urgent")
        assert engine.classes.named("~class1").ranks == []


def test_pieces_of_tables_stay_for_those_who_can_have_seen_them(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    tables = Tables(cast("Any", None), storage, lambda reject: None)
    paths = [f"tables/t/{name}.parquet" for name in ("before", "during", "seen")]
    for path in paths:
        storage.write(path, b"")

    def left() -> list[str]:
        return [path for path in paths if storage.read(path) is not None]

    def seen() -> set[str]:
        assert not _can_begin(tables)  # a reader that ends says first what it has seen
        return {paths[2]}

    tables._outdate(paths[:1])
    with tables.in_use():
        tables._outdate(paths[1:])
        tables.delete_unused(tables.outdated(), set)
        assert left() == paths[1:]  # who always reads does not keep them all for ever
    tables.delete_unused(tables.outdated(), seen)
    assert left() == paths[2:] == tables.outdated()


def _can_begin(tables: Tables) -> bool:
    begun = threading.Event()

    def read() -> None:
        with tables.in_use():
            begun.set()

    threading.Thread(target=read, daemon=True).start()
    return begun.wait(0.05)
