"""The executor: what happens in one micro-batch.

The plan of every query is built anew for each batch over exactly the segments it needs, so queries can come and go
between batches. Queries that would keep the others waiting have lanes of their own (`lanes.py`): they are behind the
batch, and what their lanes have done is committed by a later one.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import compress
from typing import TYPE_CHECKING

from eddyline.algebra.tagging import Taggers
from eddyline.catalog.extent import Extent
from eddyline.log.journal import Entry, Journal, revised_entries
from eddyline.log.results import Past, Position, Record, ResultLog, Results, StageResult
from eddyline.log.revision_log import RevisionLog
from eddyline.log.storage import Storage
from eddyline.spark.added import Added
from eddyline.spark.batch_report import BatchReport
from eddyline.spark.batch_work import BatchWork
from eddyline.spark.correcting import Corrections
from eddyline.spark.evaluate.frames import Frames, SparkFrames
from eddyline.spark.fairness import Policy
from eddyline.spark.joins_together import Beside, JoinsTogether
from eddyline.spark.lanes import Lane, Lanes, Step
from eddyline.spark.lookups.asking import Lookups
from eddyline.spark.needs import settled
from eddyline.spark.past import Progress, extent_of
from eddyline.spark.patience import retried
from eddyline.spark.routes import Routes
from eddyline.spark.shared_states import SharedStates, is_shared
from eddyline.spark.source import ENTRY
from eddyline.spark.stages import Stage
from eddyline.spark.standing import Standing, of_the_past
from eddyline.spark.stretches import Stretch, Stretches, as_far_as, derived_log, given_logs, nothing_between
from eddyline.spark.tables import Tables
from eddyline.spark.work_means import Means, shared_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: so many rows more than a batch has are no reason for a query to stay in its lane
_FEW_ROWS = 10_000


class Executor:
    """Runs inside `foreachBatch`; everything it must remember is in the journal and the result log."""

    def __init__(
        self,
        spark: SparkSession,
        storage: Storage,
        tables: Tables,
        on_batch: Callable[[BatchReport], None] = lambda report: None,
        on_trouble: Callable[[str], None] = lambda text: None,
        kernels: bool = True,
        policy: Policy | None = None,
        lanes: Lanes | None = None,
        lookups: Lookups | None = None,
    ) -> None:
        """Without a `policy` and `lanes`, all queries run in the common batch."""
        self.kernels = kernels  # False: Spark's own plans for everything
        self.refused: dict[str, str] = {}  # by stage, why the kernel could not do it: it is not asked again
        self.routes = Routes()
        self.frames: Frames = SparkFrames(spark, storage)
        self._guard = self.changing = threading.RLock()  # held by whoever changes what there is
        self.corrections = Corrections()
        self.points: dict[str, int] = {}  # by query, how far back a connection point wants it to be correctable
        self._means = Means(
            spark,
            storage,
            tables,
            self.frames,
            kernels,
            self.refused,
            self.routes,
            self._guard,
            self._stands,
            self.corrections,
            self.points,
            lookups or Lookups(spark, storage),
        )
        self.lookups = self._means.lookups
        self.lookups.refresh = self.look
        self._storage, self._tables = storage, tables
        self._journal = Journal(storage)
        self._log = ResultLog(storage)
        self.results = self._log.load()
        self._extents: dict[str, Extent] = {}
        self.taggers = Taggers()  # the continuous ones on streams; whoever changes them is writing to the logs
        self._queries: dict[str, Standing] = {}
        self.shared = SharedStates()
        self.joins = JoinsTogether(on_trouble)
        self._on_batch, self._on_trouble = on_batch, on_trouble
        self._stopping = threading.Event()
        self.upkeep: Callable[[int], None] = lambda committed: None  # told before each batch what Spark has committed
        self._policy, self._lanes = policy, lanes
        self._returning: set[str] = set()  # queries that are behind, and yet run in the next common batch

    # -- what there is ------------------------------------------------------------------------------------------------

    def add_stream(self, extent: Extent) -> None:
        with self._guard:
            self._extents[extent.name] = extent

    def add(self, query: Standing) -> None:
        with self._guard:
            query.adopt(self.results)
            self._queries[query.name] = query

    def drop(self, name: str) -> None:
        with self._guard:
            standing = self._queries.pop(name, None)
            if standing is not None:
                stored = [] if standing.join is None else standing.join.stored(self.results)
                self.results.forget([*stored, *(stage.name for stage in standing.stages)])
                for stage in standing.stages:  # one with the same names may come before the next batch
                    self.refused.pop(stage.name, None)
                    self.routes.forget(stage.name)
            self._returning.discard(name)  # no batch is going to have it, and each would ask for one more
            if self._lanes is not None:
                self._lanes.close(name)
            if self._policy is not None:
                self._policy.forget(name)
            self.corrections.forget(name)
            self.points.pop(name, None)
        self.look()

    def rest_on(self, base: Results) -> None:
        """Take over what upkeep has put in place of old segments."""
        with self._guard:
            self.results.rest_on(base)

    def _stands(self, query: Standing) -> bool:
        """Whether a query has not been dropped; another one may have its name by now."""
        return self._queries.get(query.name) is query or query is self.shared.standing

    @property
    def journal(self) -> Journal:
        return self._journal

    def stages_at_work(self) -> list[str]:
        """The names of all stages; of join trees also what is stored and given up with the next batch only."""
        with self._guard:
            names = [stage.name for query in self._queries.values() for stage in query.stages]
            joins = [query.join for query in self._queries.values() if query.join is not None]
            names += [name for join in joins for name in join.stored(self.results)]
            return [*names, *SharedStates.kept(self.results.stages)]

    def shared_stages(self) -> list[Stage]:
        """The stages that make states for several queries."""
        with self._guard:
            self.shared.arrange(self._joining()[0], self.results.stages)
            return list(self.shared.stages)

    def beside(self, name: str) -> Beside:
        """What the other joins leave for one."""
        with self._guard:
            return self.joins.beside(name, *self._joining())

    def _joining(self) -> tuple[list[Standing], list[Standing]]:
        """The queries with joins, those in the common batch and the others."""
        found = [query for query in self._queries.values() if query.join is not None and not self._has_stopped(query)]
        aside = [self._lanes is not None and query.name in self._lanes for query in found]
        return list(compress(found, (not one for one in aside))), list(compress(found, aside))

    def queries(self) -> list[Standing]:
        with self._guard:
            return list(self._queries.values())

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Who tries again gives up, and no lane starts any more; inside of it the streaming query is to be stopped.

        Lanes are stopped after that: a batch that still runs would open them again.
        """
        self._stopping.set()
        self.lookups.end()
        if self._lanes is not None:
            self._lanes.end()
        try:
            yield
        finally:  # Spark may be gone
            self.lookups.stop()
            if self._lanes is not None:
                self._lanes.stop()

    def forget_attempt(self) -> None:
        """Nothing is left of a batch that failed half-way."""
        with self._guard:
            self._forget_lanes()
            for query in (*self._queries.values(), self.shared.standing):
                query.memory.clear()
            self.results = self._log.load()

    def _forget_lanes(self) -> None:
        """What they were at is done again from the positions that are committed."""
        self._returning.clear()
        if self._lanes is not None:
            self._lanes.close_all()

    # -- who is behind ------------------------------------------------------------------------------------------------

    @property
    def is_behind(self) -> bool:
        """Whether a query is behind the common batch, a lane has something to commit, or tuples wait for answers."""
        late = any(name in self._queries for name in list(self.results.positions))
        return late or (self._lanes is not None and self._lanes.busy) or self.lookups.busy

    def look(self) -> None:
        """Have those asked for whom tuples wait."""
        self.lookups.see(self.queries(), self.results)

    @property
    def lane_problem(self) -> BaseException | None:
        """Why what lanes have done is not going to be committed, although nothing else is wrong."""
        return None if self._lanes is None else self._lanes.problem

    def progress(self, name: str) -> Progress | None:
        """How much of the past a query has answered that looks back; None if it is through, or never did."""
        with self._guard:
            query, position = self._queries.get(name), self.results.positions.get(name)
            if query is None:
                return None
            if position is None:
                begun = any(stage.name in self.results.stages for stage in query.stages)
                return Progress() if query.history and not begun else None
            if position.past is None:
                return None
            lane = None if self._lanes is None else self._lanes.get(name)
            if lane is None or lane.whole is None:
                return Progress()
            return lane.whole.progress(position.past, len(of_the_past(query, query.stages)))

    def is_late(self, name: str) -> bool:
        """Whether a query is answered less far than the common batch."""
        return name in self.results.positions

    def lane_reads(self) -> set[str]:
        """Files that must stay, because a lane may be reading them."""
        return set() if self._lanes is None else self._lanes.reads()

    def lane_writes(self) -> dict[str, int]:
        """By stage, the number of the batch from which on files may be those of a lane at work."""
        return {} if self._lanes is None else self._lanes.writing(self._stages_of)

    def _stages_of(self, name: str) -> Collection[str]:
        with self._guard:
            query = self._queries.get(name)
            return () if query is None else [stage.name for stage in query.stages]

    # -- a batch ------------------------------------------------------------------------------------------------------

    def process(self, references: DataFrame, batch: int) -> None:
        """What Spark calls for each micro-batch, and again for one that it is not sure was finished."""
        began = time.monotonic()
        # Spark lost its commit, or is doing it again; or the Spark of a killed process has committed behind our back
        if batch != self.results.last.batch + 1:
            with self._guard:
                self._forget_lanes()
                self.results = self._results_before(batch)
        # by now: those of this batch may be in use until its end
        outdated, unread = self._tables.outdated(), self.lookups.droppable()
        self.upkeep(batch - 1)
        target = self._target(batch)
        entries = self._journal.between(self.results.last.entry, target.entry)
        rows = sum(e.rows for e in entries)
        with self._guard:
            done = {} if self._lanes is None else self._lanes.finished()
            self._open_lanes(target)
            common = [query for query in self._queries.values() if self._lanes is None or query.name not in self._lanes]
            positions = self._positions(target, done, common)
            self.joins.settle(*self._joining())
            for query in common:
                query.settle()
            self.shared.arrange(self._joining()[0], self.results.stages)
            stretches = Stretches(self._journal, self._extents, self.taggers, target)
            ways = [(query, stretches.after(self.results.position(query.name), query)) for query in common]
            settled = self._settled(common, target)
            shared = shared_of(self.shared, self.results, stretches)
            work = BatchWork(self._means, self.results, batch, ways, self._extents, settled=settled, shared=shared)
        self._start_lanes([name for name in positions if name not in done], positions, target, batch)
        record, added = retried(
            lambda: self._recorded(work, target, batch, done, positions, entries), self._stopping, self._on_trouble
        )
        added.learn()
        with self._guard:
            self.results.take(record)
            standing = {stage.name for query in self._queries.values() for stage in query.stages}
            self._means.forget_what_is_gone([*self._queries.values(), self.shared.standing])
            dropped = [name for name in record.stages if name not in standing and not is_shared(name)]
            self.results.forget([*dropped, *self.shared.outdated(self.results.stages, batch)])
            self.results.forget([name for name in record.positions if name not in self._queries])
            used = {piece for taken in self.results.scans.values() for _, pieces in taken for piece in pieces}
        self._settle_lanes(common, added, done, target, rows)
        self._start_lanes(list(done), self.results.positions, target, batch + 1)
        self.look()
        self.lookups.sweep(unread, self.lane_reads())
        self._tables.delete_unused(outdated, lambda: used if self._lanes is None else used | self._lanes.scanned())
        for name, stage in record.stages.items():
            if stage.failed:
                self._on_trouble(f"the query {name} has stopped: {stage.failed}; the others go on")
        plus = sum(stage.plus for stage in record.stages.values())
        minus = sum(stage.minus for stage in record.stages.values())
        seconds = time.monotonic() - began
        self._on_batch(BatchReport(batch, rows, seconds, record.reached, plus, minus, len(record.stages)))

    def _recorded(
        self,
        work: BatchWork,
        target: Position,
        batch: int,
        done: Mapping[str, Lane],
        positions: Mapping[str, Position | None],
        entries: Sequence[Entry],
    ) -> tuple[Record, Added]:
        """The record of a batch, written: what the common batch adds, and what lanes have added since the last one."""
        added = work.run()
        stages, scans = dict(added.stages), dict(added.scans)
        corrections = work.corrections(added, batch)
        for lane in done.values():
            assert lane.added is not None and lane.step is not None
            corrections += lane.step.work.corrections(lane.added, batch)
            stages |= lane.added.as_of(batch)
            scans |= lane.added.scans
        known = self.results.positions
        changed = {name: at for name, at in positions.items() if known.get(name) != at}
        revisions = RevisionLog(tuple(revised_entries(entries, self.results.last.closed)), tuple(corrections))
        clock = target.reached, target.closed
        record = Record(batch, target.entry, *clock, stages, scans, changed, revisions)
        self._log.write(record)
        return record, added

    def _target(self, batch: int) -> Position:
        """Up to where the batch goes: Spark has written the entry down before it began."""
        content = self._storage.read(f"checkpoint/offsets/{batch}")
        assert content is not None
        entry = int(json.loads(content.decode().splitlines()[-1])[ENTRY])
        self._journal.refresh()
        last = self.results.last
        entries = self._journal.between(last.entry, entry)
        at = entries[-1] if entries else last
        return Position(entry, at.reached, at.closed)

    def _settled(self, queries: Sequence[Standing], target: Position) -> dict[str, int]:
        """By stage that withholds corrections, the tick before which nothing can change once all is taken up to there.

        What comes later meets horizons that are not before these.
        """
        known = self.results.stages
        holding = [q for q in queries if any(known[s.name].withheld for s in q.stages if s.name in known)]
        if not holding:
            return {}
        tops = {name: self._journal.top(name, target.entry) for name in self._extents}
        horizons = {name: extent.horizon(tops[name]) for name, extent in self._extents.items()}
        return settled([stage for query in holding for stage in query.stages], horizons, self.results)

    def _results_before(self, batch: int) -> Results:
        results = self._log.load()
        return results if results.last.batch < batch else self.results

    # -- lanes --------------------------------------------------------------------------------------------------------

    def _open_lanes(self, target: Position) -> None:
        """For queries that were left behind before a restart, and for new ones that look back."""
        if self._lanes is None or self._policy is None:
            return
        self.results.forget([name for name in self.results.positions if name not in self._queries])
        for query in self._queries.values():
            if query.name in self._lanes or self._has_stopped(query):
                continue
            if query.name in self.results.positions:
                if query.name not in self._returning:
                    self._lanes.open(query)
            elif not self._has_begun(query) and query.entry < target.entry and self._policy.begins_aside(query):
                self._lanes.open(query)

    def _has_begun(self, query: Standing) -> bool:
        return any(stage.name in self.results.stages for stage in query.stages)

    def _has_stopped(self, query: Standing) -> bool:
        return bool(self.results.stages.get(query.name, StageResult()).failed)

    def _positions(
        self, target: Position, done: Mapping[str, Lane], common: Sequence[Standing]
    ) -> dict[str, Position | None]:
        """How far the queries will be answered that this batch leaves behind; None: as far as the batch goes."""
        positions: dict[str, Position | None] = {}
        for query in common:
            if query.name in self.results.positions:  # it comes back from its lane
                positions[query.name] = None
        for name in () if self._lanes is None else self._lanes.names:
            query = self._queries[name]
            at = self.results.positions.get(name) or self._first_position(query, target)
            failed, latest = False, dict[str, StageResult]()
            if name in done:
                step, added = done[name].step, done[name].added
                assert step is not None and added is not None
                latest = added.stages
                at, failed = step.after, bool(latest.get(name, StageResult()).failed)
            news = self.lookups.has_news(query, latest, self.results.stages)
            through = at.past is None and not news and nothing_between(self._journal, at, target)
            positions[name] = None if failed or through or self._has_stopped(query) else at
        return positions

    def _first_position(self, query: Standing, target: Position) -> Position:
        if query.history and not self._has_begun(query):
            return Position(target.entry, target.reached, target.closed, Past())
        return self.results.last.position

    def _settle_lanes(
        self, common: Sequence[Standing], added: Added, done: Mapping[str, Lane], target: Position, rows: int
    ) -> None:
        """Who leaves the common batch, and who returns to it."""
        if self._lanes is None or self._policy is None:
            return
        with self._guard:
            self._returning.difference_update(query.name for query in common)
            self._policy.spent({name: cost for name, cost in added.seconds.items() if name in self._queries})
            for name in self._policy.leaving([query for query in common if query.name in self._queries]):
                self._lanes.open(self._queries[name])
            for name, lane in done.items():
                if name in self._lanes:
                    self._settle_lane(name, lane, target, rows)
            waiting = bool(self._returning)
        if waiting:
            self._lanes.want_a_batch()

    def _settle_lane(self, name: str, lane: Lane, target: Position, rows: int) -> None:
        """What a lane does next, now that its step is committed."""
        assert self._lanes is not None and self._policy is not None and lane.step is not None
        assert lane.added is not None
        query, now = self._queries[name], self.results.positions.get(name)
        self._policy.spent(lane.added.seconds)
        self._lanes.committed(lane)
        if lane.whole is not None and (now is None or now.past is None):  # from here on it is as any other
            lane.whole = None
            lane.pace.forget()
            self._policy.forget(name)
        if now is None:
            if self._policy.returns(query):
                self._lanes.close(name)
        elif now.past is None and self._policy.returns(query):
            behind = sum(entry.rows for entry in self._journal.between(now.entry, target.entry))
            if behind <= rows + _FEW_ROWS:
                self._lanes.close(name)
                self._returning.add(name)

    def _start_lanes(
        self, names: Sequence[str], positions: Mapping[str, Position | None], target: Position, number: int
    ) -> None:
        """Let the lanes do their next steps that have something to do and are not at it."""
        if self._lanes is None:
            return
        steps = []
        with self._guard:
            for name in names:
                lane, at = self._lanes.get(name), positions.get(name)
                if lane is not None and lane.idle and at is not None and name in self._queries:
                    steps.append((lane, self._step(self._queries[name], lane, at, target, number)))
        for lane, step in steps:
            self._lanes.start(lane, step)

    def _step(self, query: Standing, lane: Lane, at: Position, target: Position, number: int) -> Step:
        assert self._lanes is not None and self._policy is not None
        query.share(())  # those of the common batch are ahead of it
        query.settle()
        lane.place.weight = query.priority  # that of a class changes with its members
        if at.past is not None:
            stretch, after, size = self._piece(query, lane, at, at.past)
        else:
            after, size = as_far_as(self._journal, at, target, self._policy.rows())
            stretch = Stretches(self._journal, self._extents, self.taggers, after).after(at, query)
        turn, settled = self._lanes.turn(lane), self._settled([query], after)
        work = BatchWork(
            self._means, self.results, number, [(query, stretch)], dict(self._extents), turn, settled=settled
        )
        return Step(work, after, size, number, any(stage.tables for stage in query.stages))

    def _piece(self, query: Standing, lane: Lane, at: Position, past: Past) -> tuple[Stretch, Position, int]:
        """The next piece of the past."""
        assert self._policy is not None
        logs = given_logs(self._journal, self._extents, self.taggers, at.entry, ())
        stages = of_the_past(query, query.stages)
        for stage in stages[: past.stage]:
            logs[stage.name] = derived_log(stage, self.results.stages.get(stage.name))
        stage = stages[past.stage]
        begun = self.results.stages.get(stage.name)
        start = query.start if begun is None else begun.start
        lane.whole = extent_of(stage, logs, start, at.closed)
        if past.done is None:
            lane.pace.forget()  # the stage before counted something else
        piece = lane.whole.piece(past, self._policy.size(lane.pace))
        return Stretch(at, at, (), logs, piece), piece.behind(at, len(stages)), piece.size
