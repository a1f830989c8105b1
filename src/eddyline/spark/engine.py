"""A database at work: its logs, its one streaming query, and the executor that the query drives."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from eddyline.algebra.node import Operator
from eddyline.algebra.retention import reaching
from eddyline.algebra.tagging import Taggers
from eddyline.algebra.user_function import UserFunction, functions_of
from eddyline.catalog.catalog import AUTO, UPSTREAM, BoundQuery
from eddyline.catalog.connection import ConnectionPoint
from eddyline.catalog.extent import Extent
from eddyline.errors import EddylineError, StreamingFailed
from eddyline.log.answers import Reading, Seat
from eddyline.log.ingest import Ingest
from eddyline.log.journal import Base, Flush, Journal
from eddyline.log.results import ResultLog, Results
from eddyline.log.said import history_name, history_of
from eddyline.log.statements import Unnamed
from eddyline.log.storage import Storage
from eddyline.log.tagged import TagReading
from eddyline.log.upkeep import House, Pace, Upkeep
from eddyline.planner.cost import Limits
from eddyline.planner.written import tree_written
from eddyline.sources import Reject
from eddyline.sources.chunk import Chunk
from eddyline.spark.batch_report import BatchReport
from eddyline.spark.classes import Classes, sharing_from
from eddyline.spark.evaluate.batch import Batch, Clock, Log
from eddyline.spark.evaluate.kept import with_slices
from eddyline.spark.executor import Executor
from eddyline.spark.fairness import Policy
from eddyline.spark.join_at_work import Allowed, JoinAtWork
from eddyline.spark.join_costs import JoinCosts
from eddyline.spark.join_inputs import first_join
from eddyline.spark.kernel_job import use_kernels
from eddyline.spark.lanes import Lanes
from eddyline.spark.lookups.asking import Lookups
from eddyline.spark.merging import run_merges
from eddyline.spark.moment import Beginning, Moment
from eddyline.spark.needs import cuts
from eddyline.spark.shapes import shape_of_query, shared_shape
from eddyline.spark.source import FORMAT, LogSource
from eddyline.spark.spans import LOW
from eddyline.spark.stages import WINDOWS, Stage, cut
from eddyline.spark.staging import Staging
from eddyline.spark.standing import Standing
from eddyline.spark.start import start_session
from eddyline.spark.stretches import given_logs
from eddyline.spark.tables import Tables
from eddyline.spark.tags.functions import code_for
from eddyline.spark.tags.lowering import joins_in
from eddyline.spark.tags.sharing import functions_of_shape
from eddyline.spark.tags.standing import with_histories
from eddyline.spark.templates import constants_of, template_shape
from eddyline.spark.trouble import explained, reason_of, told_plainly
from eddyline.spark.user_functions import register
from eddyline.spark.waiting import waited
from eddyline.spark.work import Scans, once_frame

#: rows that a micro-batch takes at most, unless the user says otherwise
BATCH_ROWS = 1_000_000
#: who waits for lanes looks up so often
_LOOK_UP = 0.05


class Engine:
    """Everything about running, nothing about SQL. Streams and queries are bound already."""

    def __init__(
        self,
        root: str,
        master: str | None = None,
        batch_rows: int = BATCH_ROWS,
        set_aside: Callable[[Reject], None] = lambda reject: None,
        on_batch: Callable[[BatchReport], None] = lambda report: None,
        on_trouble: Callable[[str], None] = lambda text: None,
        now: Callable[[], int] | None = None,
        conf: Mapping[str, str] | None = None,
        kernels: bool | None = None,
        pace: Pace | None = None,
        share_from: int | None = None,
        policy: Policy | None = None,
        reading: TagReading | None = None,
    ) -> None:
        """`kernels`: whether stages may run in a kernel inside of Spark's tasks; None: as EDDYLINE_KERNELS says.

        `share_from`: the how-manieth query of a shape is the first that shares its work; None: as EDDYLINE_SHARE_FROM
        says, which is the second if it says nothing.

        `policy`: who has a lane of its own; without one nobody has, and every batch answers all queries.

        Without a `pace`, nothing is folded, merged or deleted: for a database that goes away with its script.

        `reading` understands tags that come in; without it they mean nothing.
        """
        share_from = sharing_from(share_from)  # what is wrong is told before Spark is started
        self.spark = start_session(master, conf=conf)
        self.storage = Storage(root)
        self._batch_rows = batch_rows
        self.journal = Journal(self.storage)
        self.ingest = Ingest(self.storage, self.journal, set_aside, now, reading)
        self.tables = Tables(self.spark, self.storage, set_aside)
        lanes = None if policy is None else Lanes(self.spark, self.tables, self.touch, on_trouble)
        use = use_kernels(kernels)
        lookups = Lookups(self.spark, self.storage, self.touch, on_trouble)
        self.executor = Executor(
            self.spark, self.storage, self.tables, on_batch, on_trouble, use, policy, lanes, lookups
        )
        self.results = ResultLog(self.storage)
        self.classes = Classes(self.storage, share_from)
        self.join_costs = JoinCosts(self.storage)
        self.join_limits: Callable[[], Allowed] = Allowed  # what all joins may take together
        self.executor.joins.allowed = lambda: self.join_limits()
        self._extents: dict[str, Extent] = {}
        #: by connection point, the stream or log that it is on, which of both, and how far back it reaches
        self._points: dict[str, tuple[str, bool, tuple[int, int]]] = {}
        self._tag_functions: set[UserFunction] = set()  # that Spark knows
        self._query: Any = None
        self._guard = threading.RLock()
        self.writing = threading.RLock()  # held by whoever appends to the logs
        self.unnamed = Unnamed()
        self._upkeep = None if pace is None else Upkeep(self._house(on_trouble), pace)
        if self._upkeep is not None:
            self.storage.delete_folder("explain")  # what an EXPLAIN left that was killed
            self.executor.upkeep = self._upkeep.between_batches

    # -- what there is ------------------------------------------------------------------------------------------------

    def define(self, extent: Extent, base: Path) -> None:
        if extent.is_stream:
            for each in (extent, history_of(extent)):
                self._extents[each.name] = each
                self.executor.add_stream(each)
        else:
            if extent.lookup is not None:
                self.executor.lookups.add(extent, base)
            self.tables.add(extent, base)

    def extent(self, name: str) -> Extent:
        """A stream as it is now: its connection points may take what comes later than it says itself."""
        return self._extents[name]

    def horizon(self, stream: str) -> int | None:
        """The smallest tick that a stream takes now; None if it takes all."""
        return self._extents[stream].horizon(self.journal.state(stream).top)

    def connect(self, point: ConnectionPoint, place: str, floor: int | None) -> None:
        """Let a connection point stand on a stream, or a query whose log is `place`.

        On a stream it reaches back no further than to `floor`: what was out of reach when it was created may be gone.
        """
        self._points[point.name] = place, point.is_stream, reaching(point.retain, floor)
        self._points_changed(place)

    def disconnect(self, name: str) -> None:
        place, _, _ = self._points.pop(name)
        self._points_changed(place)

    def _points_changed(self, place: str) -> None:
        with self.writing, self.executor.changing:
            if place in self._extents:
                on = [reach for at, is_stream, reach in self._points.values() if at == place and is_stream]
                for name in (place, history_name(place)):
                    self._extents[name] = replace(self._extents[name], further=tuple(on))
                    self.executor.add_stream(self._extents[name])
                self.ingest.retention_changed(place)
            wanted = [ticks for at, is_stream, (ticks, _) in self._points.values() if at == place and not is_stream]
            self.executor.points.pop(place, None)
            if wanted:
                self.executor.points[place] = max(wanted)

    def add_function(self, function: UserFunction) -> None:
        """Let Spark know a user's function, whose code is in the storage."""
        register(self.spark, function, self.storage)

    @property
    def tag_functions(self) -> frozenset[UserFunction]:
        """What plans call to carry tags along; their code must stay where workers find it."""
        return frozenset(self._tag_functions)

    def use_functions(self, functions: Sequence[UserFunction]) -> None:
        """Let Spark know those that carry tags along."""
        for function in code_for(self.storage, functions):
            if function not in self._tag_functions:
                self._tag_functions.add(function)
                self.add_function(function)

    def arrived(self, stream: str) -> int:
        """The last index that a tuple of a stream has got."""
        with self.writing:
            return self.journal.state(stream).last_index

    def staging(self, extent: Extent, base: Path) -> Staging:
        """Where the rows of a stream wait that Spark itself reads."""
        return Staging(self.spark, self.storage, extent, base)

    def register(self, name: str, query: BoundQuery, plan: Operator, start: int | None, history: bool) -> Seat | None:
        """Let a query stand. `history`: it first answers over everything that has passed.

        Gives its seat if it is a member of a query class. Those that come before the next batch begin together.
        """
        keeps = query.revisions != UPSTREAM
        self.use_functions(functions_of(plan))
        stages = _stages(name, plan, query, keeps)
        clock = self.ingest.clock
        created = Clock(_tick(clock.reached), _tick(clock.closed))
        standing = Standing(name, stages, start, history, created, keeps=keeps, past=self.journal.number)
        standing.chooses = query.revisions == AUTO
        self._let_join(standing, query)
        seat = self.seat(query, standing.beginning)
        self.stand(standing, query, seat)
        return seat

    def seat(self, query: BoundQuery, beginning: Beginning) -> Seat | None:
        """Where in a query class a new query goes; None if it stands for itself."""
        shape = shared_shape(query)
        return None if shape is None else self.classes.seat(shape, beginning)

    def stand(self, standing: Standing, query: BoundQuery, seat: Seat | None) -> None:
        """Add a query to the executor, for itself or as a member of its class."""
        if seat is None:
            self._count_alone(query, standing, 1)
            self.executor.add(standing)
            return
        shape = shape_of_query(query)
        assert shape is not None
        self.use_functions(functions_of_shape(shape))
        with self.executor.changing:
            self.executor.add(self.classes.take(seat, shape, standing))

    def stand_all(self, standing: Standing, query: BoundQuery, seat: Seat, values: pa.Table) -> None:
        """Let as many queries stand as there are rows of values for the parameters of a query."""
        shape = template_shape(query)
        self.use_functions(functions_of_shape(shape))
        with self.executor.changing:
            constants = constants_of(shape, values)
            self.executor.add(self.classes.take(seat, shape, standing, constants, values.num_rows))

    def leave(self, log: str, numbers: Sequence[int], query: BoundQuery) -> bool:
        """End members of a class; gives whether the class has ended with them."""
        shape = shape_of_query(query)
        assert shape is not None
        with self.executor.changing:
            left = self.classes.leave(log, numbers, shape)
            if len(left):
                return False
            self.executor.drop(left.name)
            return True

    def beginning(self, query: BoundQuery) -> Moment:
        """The moment before the first tuple that a query sees which looks back."""
        with self.writing:
            states = [self.journal.state(name) for name in query.streams]
            ticks = [segment.tick[0] for state in states for segment in state.segments]
            return Moment(query.started(min(ticks, default=None)), None, 0, {})

    def moment(self) -> Moment:
        """Now, as a live query remembers it."""
        with self.writing:
            clock = self.ingest.clock
            arrived = {name: state.last_index for name, state in self.journal.streams.items() if state.last_index}
            return Moment(clock.reached, clock.closed, self.journal.number, arrived)

    def prepare(
        self,
        name: str,
        plan: Operator | None,
        query: BoundQuery,
        moment: Moment,
        history: bool = False,
        past: int | None = None,
    ) -> Standing:
        """A query that answers what comes after a moment, ready to be added to the executor.

        A member of a class has no plan of its own. `history`: it answers first what had passed; the moment is the one
        before all that. `past`: of how many entries that is, if it looks back only now.
        """
        created = Clock(_tick(moment.reached), _tick(moment.closed))
        keeps = query.revisions != UPSTREAM
        if plan is not None:
            self.use_functions(functions_of(plan))
        stages = () if plan is None else _stages(name, plan, query, keeps)
        made = Standing(name, stages, moment.start, history, created, moment.entry, moment.arrived)
        made.priority, made.keeps, made.past = query.priority, keeps, past
        made.chooses = query.revisions == AUTO
        self._let_join(made, query)
        return made

    def _let_join(self, standing: Standing, query: BoundQuery) -> None:
        """Let the join of a query run by a tree, if one can run it."""
        found = first_join(standing.stages)
        if found is None:
            return
        stage, join = found
        written = None if query.join_tree is None else tree_written(query.join_tree, join.names)

        own = Limits(query.cpu_limit or math.inf, query.memory_limit or math.inf)
        allowed, costs = self.executor.joins.allowed, self.join_costs.costs
        standing.join = JoinAtWork(stage, standing.stages, join, allowed, costs, written, own)
        standing.stages = standing.join.stages

    def drop(self, name: str, query: BoundQuery) -> None:
        """End a query that stands for itself."""
        found = [standing for standing in self.executor.queries() if standing.name == name]
        for standing in found:
            self._count_alone(query, standing, -1)
        self.executor.drop(name)

    def _count_alone(self, query: BoundQuery, standing: Standing, how_many: int) -> None:
        begun_before = standing.history and standing.past is None
        shape = None if begun_before else shared_shape(query)
        if shape is not None:
            self.classes.stands_alone(shape, standing.beginning, how_many)

    def reading(self, name: str, query: BoundQuery, seat: Seat | None = None) -> Reading:
        return Reading.of(name, query.kind, query.columns, seat, joins_in(query.plan))

    # -- data ---------------------------------------------------------------------------------------------------------

    def append(self, chunks: Sequence[Chunk], ended: bool = False, origin: Mapping[str, int] | None = None) -> None:
        with self.writing:
            self.ingest.append(self._extents, chunks, ended, origin)

    def advance(self, tick: int | None, ended: bool = False) -> None:
        with self.writing:
            self.ingest.advance(tick, ended)

    def touch(self) -> None:
        """Make Spark run a batch although nothing has come, so that a new query begins at once."""
        with self.writing:
            self.ingest.touch()

    def flush_revisions(self, flush: Flush) -> None:
        """Have what is withheld shown by the next batch."""
        with self.writing:
            self.ingest.touch([flush])

    def withheld(self, log: str) -> int:
        """Of how many results of a query or query class corrections are withheld, at most."""
        found = self.executor.results.stages.get(log)
        return 0 if found is None else sum(count for _, _, count in found.withheld)

    def logs(self, tagged: bool = False) -> dict[str, Log]:
        """All streams as they stand now, as they are written; `tagged`: with what continuous taggers make of tuples."""
        taggers = self.executor.taggers if tagged else Taggers()
        with self.writing:
            return given_logs(self.journal, self._extents, taggers, self.journal.number, ())

    def answered_once(self, plan: Operator) -> pa.Table:
        """A query over tables alone, as they are: its rows as c0, c1, …"""
        with self.tables.in_use():
            batch = self.batch({})
            batch.snapshots = Scans(self.tables, {}).of(Stage("", WINDOWS, plan, ()), 0, Clock(), Clock())
            with told_plainly("Spark cannot answer it"):
                return once_frame(plan, batch).toArrow()

    def batch(self, logs: Mapping[str, Any]) -> Batch:
        """What somebody sees who looks at logs and tables as they are now."""
        scans = Scans(self.tables, {})
        return Batch(self.executor.frames, logs, Clock(), Clock(), 0, scans.current)

    # -- running ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the streaming query, if it does not run."""
        with self._guard:
            if self._query is not None and self._query.isActive:
                return
            self.spark.dataSource.register(LogSource)
            reader = self.spark.readStream.format(FORMAT).option("root", self.storage.root)
            references = reader.option("batchRows", str(self._batch_rows)).load()
            writer = references.writeStream.foreachBatch(self.executor.process)
            self._query = writer.option("checkpointLocation", self.storage.url("checkpoint")).start()
        self.executor.look()
        if self.executor.is_behind:
            self.touch()  # queries that were left behind go on although nothing comes

    def flush(self, meanwhile: Callable[[], None] | None = None) -> None:
        """Wait until everything that has come in is answered, in lanes too; `meanwhile` is called now and then."""
        self.start()
        while True:
            behind = self.executor.is_behind  # what was so a moment ago may not be committed yet
            self._all_available(meanwhile)
            if not behind and not self.executor.is_behind:
                return
            if (problem := self.executor.lane_problem) is not None:
                raise explained(problem) from problem
            if meanwhile is not None:
                meanwhile()
            time.sleep(_LOOK_UP)  # a lane that is done has Spark run a batch

    def _all_available(self, meanwhile: Callable[[], None] | None) -> None:
        try:
            if meanwhile is None:
                self._query.processAllAvailable()
            else:
                waited(self._query.processAllAvailable, meanwhile)
        except Exception as problem:
            raise explained(problem) from problem

    @property
    def run_id(self) -> str | None:
        """Which run of the streaming query it is; None if it does not run."""
        query = self._query
        return str(query.runId) if query is not None and query.isActive else None

    def failure(self) -> EddylineError | None:
        """Why the streaming query has ended by itself; None if it has not."""
        query = self._query
        try:
            if query is None or query.isActive:
                return None
            problem = query.exception()
        except Exception as gone:
            return StreamingFailed(f"Spark has gone: {reason_of(str(gone))}", hint="open the database again")
        return explained(problem)

    def stopped(self) -> dict[str, str]:
        """The queries that have stopped because their own work fails, and why."""
        return {name: stage.failed for name, stage in self.executor.results.stages.items() if stage.failed}

    def restart(self) -> None:
        """Begin again with the batch that failed; what its attempt left in memory is forgotten."""
        with self._guard:
            if self._query is not None:
                self._query.stop()
                self._query = None
            self.executor.forget_attempt()
            self.start()

    def stop(self) -> None:
        with self._guard:
            with self.executor.ending():
                if self._query is not None:
                    self._query.stop()
                    self._query = None
            if self._upkeep is not None:
                self._upkeep.close()

    # -- upkeep -------------------------------------------------------------------------------------------------------

    def _house(self, on_trouble: Callable[[str], None]) -> House:
        return House(
            self.storage,
            self.executor.journal,
            lambda: self.executor.results,
            self.executor.stages_at_work,
            self._folded,
            lambda merges: run_merges(self.spark, self.storage, merges),
            self._cuts,
            on_trouble,
            self._keep_tags,
            self.executor.lane_reads,
            self.executor.lane_writes,
            self.unnamed.garbage_upto,
        )

    def _folded(self, base: Base, results: Results) -> None:
        self.executor.rest_on(results)
        with self.writing:
            self.journal.rest_on(base)

    def _keep_tags(self, stream: str) -> None:
        with self.writing:
            extent = self._extents.get(stream)
            if extent is not None:
                self.ingest.keep_tags(extent)

    def _cuts(self, base: Base, results: Results) -> dict[str, int]:
        horizons = {name: extent.horizon(base.state(name).top) for name, extent in list(self._extents.items())}
        tagged = {history_name(name): name for name in horizons if self.executor.taggers.of(name)}
        stages = [stage for query in self.executor.queries() for stage in query.stages]
        stages += self.executor.shared_stages()
        return with_histories(tagged, horizons, lambda known: cuts(stages, known, results))


def _stages(name: str, plan: Operator, query: BoundQuery, keeps: bool) -> list[Stage]:
    stages = cut(name, plan, query.columns)
    return with_slices(stages) if keeps else stages


def _tick(value: int | None) -> int:
    return LOW if value is None else value
