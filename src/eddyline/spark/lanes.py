"""Lanes: queries that the common batch does not wait for, each with Spark jobs of its own in the background.

A lane takes its query from one position to a later one, a step at a time. What a step has added waits until the next
micro-batch commits it with its own record: one step in a batch, because readers take what a batch says of a window or
a tuple as one change. Everything here but the step itself happens in the thread that runs batches.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eddyline.errors import EddylineError
from eddyline.log.results import Position
from eddyline.spark.batch_work import Added, BatchWork, Turn
from eddyline.spark.fairness import Pace
from eddyline.spark.past import Extent
from eddyline.spark.patience import retried
from eddyline.spark.pools import pool_of
from eddyline.spark.standing import Standing
from eddyline.spark.tables import Tables
from eddyline.spark.trouble import Cancelled
from eddyline.spark.turns import Turns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: tells which pool of Spark's fair scheduler the jobs of a thread belong to
_POOL = "spark.scheduler.pool"
#: how long the end of a database waits for lanes that were told to stop
_PATIENCE = 10.0


@dataclass(frozen=True)
class Step:
    """What a lane is to do, or has done: `size` is counted in rows, or in what the past is counted in."""

    work: BatchWork
    after: Position
    size: int
    number: int  # of the batch in which it began: its files are named after it
    reads_tables: bool


@dataclass
class Lane:
    """The lane of one query."""

    name: str
    weight: int
    pace: Pace = field(default_factory=Pace)
    group: str = field(default_factory=lambda: f"eddyline-lane-{uuid.uuid4().hex}")
    whole: Extent | None = None  # the past of the stage that it is at, if it is at that
    step: Step | None = None  # at work, or done and not yet committed
    thread: threading.Thread | None = None
    added: Added | None = None
    seconds: float = 0.0
    problem: BaseException | None = None
    gone: bool = False

    @property
    def idle(self) -> bool:
        return self.step is None

    @property
    def done(self) -> bool:
        return self.added is not None


class Lanes:
    """All lanes of an executor. `nudge` makes Spark run a batch, in which what is done is committed."""

    def __init__(
        self,
        spark: SparkSession | None,
        tables: Tables,
        nudge: Callable[[], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        self._spark, self._tables = spark, tables
        self._nudge, self._on_trouble = nudge, on_trouble
        self._stopping = threading.Event()
        self._lanes: dict[str, Lane] = {}
        cores = 1 if spark is None else spark.sparkContext.defaultParallelism
        self.turns = Turns(max(1, cores - 1))

    def __contains__(self, name: object) -> bool:
        return name in self._lanes

    def __getitem__(self, name: str) -> Lane:
        return self._lanes[name]

    def get(self, name: str) -> Lane | None:
        return self._lanes.get(name)

    @property
    def names(self) -> list[str]:
        return list(self._lanes)

    @property
    def busy(self) -> bool:
        """Whether there is something that a batch will commit."""
        return any(not lane.idle for lane in list(self._lanes.values()))

    def open(self, query: Standing) -> Lane:
        lane = self._lanes[query.name] = Lane(query.name, query.priority)
        return lane

    def close(self, name: str) -> None:
        """End a lane; if it is at work, nobody wants that any more."""
        lane = self._lanes.pop(name, None)
        if lane is not None:
            lane.gone = True
            self.turns.forget(name)
            if lane.thread is not None and lane.thread.is_alive() and self._spark is not None:
                self._spark.sparkContext.cancelJobGroup(lane.group)

    def close_all(self) -> None:
        for name in self.names:
            self.close(name)

    def stop(self) -> None:
        """No more steps; waits for those at work, which have been cancelled."""
        self._stopping.set()
        threads = [lane.thread for lane in self._lanes.values() if lane.thread is not None]
        self.close_all()
        end = time.monotonic() + _PATIENCE
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))

    # -- steps --------------------------------------------------------------------------------------------------------

    def finished(self) -> dict[str, Lane]:
        """The lanes whose steps are done; raises what went wrong in one, if it is no matter of the query alone."""
        lanes = list(self._lanes.values())
        for lane in lanes:
            if lane.problem is not None:
                raise lane.problem
        return {lane.name: lane for lane in lanes if lane.done}

    def committed(self, lane: Lane) -> None:
        """What its step has added is in a record."""
        assert lane.step is not None
        lane.pace.took(lane.step.size, lane.seconds)
        lane.step = lane.added = lane.thread = None

    def start(self, lane: Lane, step: Step) -> None:
        lane.step = step
        self._run(lane, step)

    def _run(self, lane: Lane, step: Step) -> None:
        lane.thread = threading.Thread(
            target=self._at_work, args=(lane, step), name=f"eddyline-lane-{lane.name}", daemon=True
        )
        lane.thread.start()

    def _at_work(self, lane: Lane, step: Step) -> None:
        if self._spark is not None:
            context = self._spark.sparkContext
            context.setJobGroup(lane.group, f"the lane of {lane.name}", interruptOnCancel=True)
            context.setLocalProperty(_POOL, pool_of(lane.weight))
        began = time.monotonic()
        try:
            with self._tables.in_use() if step.reads_tables else nullcontext():
                added = retried(step.work.run, self._stopping, self._on_trouble)
                lane.seconds = time.monotonic() - began
                lane.added = added  # from here on it is known which pieces of tables it has seen
        except BaseException as problem:
            if lane.gone:
                return
            lane.problem = problem
        if not lane.gone:
            self._have_a_batch()

    def want_a_batch(self) -> None:
        """Have Spark run a batch although nothing may come; for the thread of batches, which must not wait for it."""
        threading.Thread(target=self._have_a_batch, name="eddyline-nudge", daemon=True).start()

    def _have_a_batch(self) -> None:
        with suppress(EddylineError):  # only if it ends before the folder can be written
            retried(self._nudge, self._stopping, self._on_trouble)

    def turn(self, lane: Lane) -> Turn:
        """When a lane may work: in waves of few tasks, so that the common batch finds a core soon."""

        @contextmanager
        def taken() -> Iterator[None]:
            with self.turns.taken(lane.name, lane.weight):
                if lane.gone:
                    raise Cancelled
                yield

        return Turn(taken, self.turns.width)

    # -- files --------------------------------------------------------------------------------------------------------

    def reads(self) -> set[str]:
        """The files that steps at work may read."""
        steps = [lane.step for lane in list(self._lanes.values())]
        return {path for step in steps if step is not None for path in step.work.reads}

    def scanned(self) -> set[str]:
        """The pieces of tables that steps have seen which are done and not committed."""
        added = [lane.added for lane in list(self._lanes.values())]
        taken = [one for some in added if some is not None for one in some.scans.values()]
        return {piece for _, pieces in taken for piece in pieces}

    def writing(self, stages: Callable[[str], Collection[str]]) -> dict[str, int]:
        """By stage, the number from which on the names of files that nothing refers to may be those of a step."""
        found = {}
        for lane in list(self._lanes.values()):
            if lane.step is not None:
                found.update(dict.fromkeys(stages(lane.name), lane.step.number))
        return found


class LanesInTurn(Lanes):
    """The same without threads: a step is done where it would be started."""

    def _run(self, lane: Lane, step: Step) -> None:
        self._at_work(lane, step)

    def want_a_batch(self) -> None:
        self._have_a_batch()


__all__ = ["Lane", "Lanes", "LanesInTurn", "Step"]
