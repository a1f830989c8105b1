"""Lanes: queries that the common batch does not wait for, each with Spark jobs of its own in the background.

A lane takes its query from one position to a later one, a step at a time. What a step has added waits until the next
micro-batch commits it with its own record: one step in a batch, because readers take what a batch says of a window or
a tuple as one change. Everything here but the step itself happens in the thread that runs batches.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eddyline.log.results import Position
from eddyline.spark.added import Added
from eddyline.spark.batch_work import BatchWork
from eddyline.spark.fairness import Pace
from eddyline.spark.past import Extent
from eddyline.spark.patience import retried
from eddyline.spark.pools import pool_of
from eddyline.spark.standing import Standing
from eddyline.spark.tables import Tables
from eddyline.spark.turns import Place, Turns
from eddyline.spark.work_means import Turn

if TYPE_CHECKING:
    from pyspark import SparkContext
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
    place: Place  # among those who take turns
    pace: Pace = field(default_factory=Pace)
    group: str = field(default_factory=lambda: f"eddyline-lane-{uuid.uuid4().hex}")
    whole: Extent | None = None  # the past of the stage that it is at, if it is at that
    step: Step | None = None  # at work, or done and not yet committed
    thread: threading.Thread | None = None
    added: Added | None = None
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
        self._guard = threading.Lock()  # held by whoever starts a thread, or says that none is to be started
        self._threads: list[threading.Thread] = []  # that may be alive, also those of lanes that were closed
        self._lanes: dict[str, Lane] = {}
        self.problem: BaseException | None = None  # why no batch is coming that was asked for
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
        lane = self._lanes[query.name] = Lane(query.name, Place(query.priority))
        return lane

    def close(self, name: str) -> None:
        """End a lane; if it is at work, nobody wants that any more."""
        lane = self._lanes.pop(name, None)
        if lane is not None:
            lane.gone = True
            self.turns.close(lane.place)
            if lane.step is not None and not lane.done and self._spark is not None:
                _cancel(self._spark.sparkContext, lane.group)

    def close_all(self) -> None:
        self.problem = None
        for name in self.names:
            self.close(name)

    def end(self) -> None:
        """From now on nothing is started; does not wait for what is at work."""
        with self._guard:
            self._stopping.set()

    def stop(self) -> None:
        """No more steps; waits for all threads, whose work has been cancelled: then nothing writes any more."""
        self.end()
        self.close_all()
        end = time.monotonic() + _PATIENCE
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))

    # -- steps --------------------------------------------------------------------------------------------------------

    def finished(self) -> dict[str, Lane]:
        """The lanes whose steps are done; raises what went wrong in one, if it is no matter of the query alone."""
        lanes = list(self._lanes.values())
        self.problem = None  # a batch has come
        for lane in lanes:
            if lane.problem is not None:
                raise lane.problem
        return {lane.name: lane for lane in lanes if lane.done}

    def committed(self, lane: Lane) -> None:
        """What its step has added is in a record."""
        assert lane.step is not None
        lane.pace.took(lane.step.size, lane.place.seconds)
        lane.step = lane.added = lane.thread = None

    def start(self, lane: Lane, step: Step) -> None:
        if not self._stopping.is_set():
            lane.step = step
            self._run(lane, step)

    def _run(self, lane: Lane, step: Step) -> None:
        lane.thread = self._started(lambda: self._at_work(lane, step), f"eddyline-lane-{lane.name}")

    def _started(self, work: Callable[[], None], name: str) -> threading.Thread | None:
        """A new thread, for which the end of the database waits; None if that has begun."""
        with self._guard:
            if self._stopping.is_set():
                return None
            thread = threading.Thread(target=work, name=name, daemon=True)
            self._threads = [*(other for other in self._threads if other.is_alive()), thread]
            thread.start()
            return thread

    def _at_work(self, lane: Lane, step: Step) -> None:
        if self._spark is not None:
            context = self._spark.sparkContext
            context.setJobGroup(lane.group, f"the lane of {lane.name}", interruptOnCancel=True)
            context.setLocalProperty(_POOL, pool_of(lane.place.weight))

        def run() -> Added:
            lane.place.seconds = 0.0  # of this attempt alone
            return step.work.run()

        try:
            with self._tables.in_use() if step.reads_tables else nullcontext():
                # before it stops reading: from here on it is known which pieces of tables it has seen
                added = retried(run, self._stopping, self._on_trouble)
                added.learn()
                lane.added = added
        except BaseException as problem:
            if lane.gone:
                return
            lane.problem = problem
        if not lane.gone:
            self._have_a_batch()

    def want_a_batch(self) -> None:
        """Have Spark run a batch although nothing may come; for the thread of batches, which must not wait for it."""
        self._started(self._have_a_batch, "eddyline-nudge")

    def _have_a_batch(self) -> None:
        if self._stopping.is_set():
            return
        try:
            retried(self._nudge, self._stopping, self._on_trouble)
        except Exception as problem:
            if not self._stopping.is_set():  # else it ends before the folder can be written
                self.problem = problem  # nobody else would know, and who waits for the batch would do so for ever

    def turn(self, lane: Lane) -> Turn:
        """When a lane may work: in waves of few tasks, so that the common batch finds a core soon."""
        return Turn(lambda: self.turns.taken(lane.place), self.turns.width)

    # -- files --------------------------------------------------------------------------------------------------------

    def reads(self) -> set[str]:
        """The files that steps at work may read."""
        steps = [lane.step for lane in list(self._lanes.values())]
        return {path for step in steps if step is not None for path in step.work.reads}

    def scanned(self) -> set[str]:
        """The pieces of tables that steps have seen which are not committed: those before them, and when they are done
        also their own."""
        lanes = list(self._lanes.values())
        taken = [one for lane in lanes if (step := lane.step) is not None for one in step.work.earlier_scans]
        taken += [one for lane in lanes if (added := lane.added) is not None for one in added.scans.values()]
        return {piece for _, pieces in taken for piece in pieces}

    def writing(self, stages: Callable[[str], Collection[str]]) -> dict[str, int]:
        """By stage, the number from which on the names of files that nothing refers to may be those of a step."""
        found = {}
        for lane in list(self._lanes.values()):
            if lane.step is not None:
                found.update(dict.fromkeys(stages(lane.name), lane.step.number))
        return found


def _cancel(context: SparkContext, group: str) -> None:
    """Cancel all jobs of a group, also one that its thread is just about to submit: no other thread has the group."""
    context._jsc.sc().cancelJobGroupAndFutureJobs(group)  # PySpark itself does not pass it on


__all__ = ["Lane", "Lanes", "Step"]
