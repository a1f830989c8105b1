"""From the plans of some queries to what they add to their logs: the work of a micro-batch, or of a lane.

All stages of one level leave in a single Spark action; a query with a stream inside takes one action more for each
level.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from eddyline.catalog.extent import Extent
from eddyline.kernels.task import Reference, Work
from eddyline.kernels.together import put_together
from eddyline.log.results import Results, StageResult
from eddyline.log.revision_log import Correction
from eddyline.log.withheld import fewer, without
from eddyline.planner.probing import Orders
from eddyline.spark.added import Added, beginning, of_kind, result_of
from eddyline.spark.beginning import first_tick, told_start, whose_tuples
from eddyline.spark.corrected import corrections
from eddyline.spark.correcting import UPSTREAM_ONLY
from eddyline.spark.differing import Differences
from eddyline.spark.doubt import asked_again, doubted_by_stage, made_anew, without_doubt
from eddyline.spark.evaluate.asked import Waiting
from eddyline.spark.evaluate.batch import Batch, Clock, KeptState, Log
from eddyline.spark.evaluate.pause import reason_to_stop
from eddyline.spark.join_at_work import ended
from eddyline.spark.join_states import with_states
from eddyline.spark.keeping import Keeper
from eddyline.spark.kernel_job import reason_for_spark, reason_of_taggers, run, works_of
from eddyline.spark.lookups.answers import paths_of
from eddyline.spark.numbering import is_due
from eddyline.spark.planning import planned
from eddyline.spark.showing import ask_again
from eddyline.spark.spans import LOW, NOTHING, Spans
from eddyline.spark.stages import RELATION, SLICES, STATE, Stage, numbered_by, waited_by, waiting_for
from eddyline.spark.standing import Standing, of_the_past
from eddyline.spark.stretches import Stretch, all_fresh, clock_of, derived_with
from eddyline.spark.trouble import reason_of, storage_problem, was_cancelled
from eddyline.spark.work import Scans, stage_frame
from eddyline.spark.work_means import Means, Shared, Turn, Way, levels_of, probing_of, tree_of
from eddyline.spark.writer import (
    folder_of,
    references_of,
    segments_by_stage,
    touched_by_stage,
    withheld_by_stage,
    written,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NOTHING = StageResult()


class BatchWork:
    """Some queries, each along a stretch of the journal. `number` is that of the batch in which the work begins.

    It is made by one who holds the guard of what there is, and may run without it.
    """

    def __init__(
        self,
        means: Means,
        results: Results,
        number: int,
        queries: Sequence[tuple[Standing, Stretch]],
        extents: Mapping[str, Extent],
        turn: Turn | None = None,
        settled: Mapping[str, int] = MappingProxyType({}),
        shared: Shared | None = None,
    ) -> None:
        """`settled`: by stage, the tick before which its answers can never change again.

        `shared`: the states of join trees that are made for all of these queries.
        """
        self._means, self._spark, self._storage = means, means.spark, means.storage
        self._number = number
        self._ways = [
            Way(query, stretch, tuple(query.stages), query.members, probing_of(query), tree_of(query))
            for query, stretch in queries
        ]
        self._shared = shared
        if shared is not None:
            self._ways.insert(0, Way(shared.standing, shared.stretch, tuple(shared.standing.stages), None, None))
        self._extents = dict(extents)
        self._turn = turn or Turn()
        self._settled = settled
        names = {stage.name for way in self._ways for stage in way.stages}
        names.update(name for way in self._ways if way.query.join for name in way.query.join.stored(results))
        if shared is not None:
            names.update(shared.kept)
        # what others add meanwhile is none of its business
        self._had = {name: stage for name, stage in results.stages.items() if name in names}
        self._scanned = {key: tuple(taken) for key, taken in results.scans.items() if key.partition("\n")[0] in names}
        self._owner = {stage.name: way.query for way in self._ways for stage in way.stages}
        self._points = dict(means.points)
        self._known = means.lookups.known()  # by table: all stages see the same
        self._read_rows, self._cpu = 0, dict[str, float]()  # by stage
        self._failures: dict[str, str] = {}  # by stage, in this batch
        self._keepers: dict[str, Keeper] = {}  # by query
        self._from_tuples: set[str] = set()  # queries that found nothing in slices, although they were to ask them
        self._remade: dict[str, Spans] = {}  # by stage that keeps slices, the ticks of those that are made anew
        self._added = Added()

    @property
    def reads(self) -> set[str]:
        """All files that it may read."""
        logs = [log for way in self._ways for log in way.stretch.logs.values()]
        found = {segment.path for log in logs for segment in log.segments}
        return found | {path for stage in self._had.values() for path in stage.files} | paths_of(self._known.values())

    @property
    def earlier_scans(self) -> list[Any]:
        """What its queries had seen of tables before."""
        return [one for taken in self._scanned.values() for one in taken]

    def run(self) -> Added:
        """It may be tried again. Whoever takes what comes of it has it `learn` what was seen."""
        self._failures.clear()
        self._from_tuples.clear()
        self._remade.clear()
        self._cpu.clear()
        names = [way.query.name for way in self._ways]
        added = self._added = Added(seconds=dict.fromkeys(names, 0.0), rows_read=dict.fromkeys(names, 0))
        differences = Differences(self._means.corrections.pairs, added.by_differences)
        scans = Scans(self._means.tables, self._scanned)
        derived: dict[str, Log] = {}
        stored: dict[str, KeptState] = {}
        seen: dict[str, Batch] = {}  # by query, what the stage with its join saw
        self._keepers = {way.query.name: keeper for way in self._ways if (keeper := self._keeper(way)) is not None}
        for level in levels_of(self._ways):
            views = {}
            for way, stage in level:
                mine = {name: derived.get(name) or way.stretch.logs[name] for name in stage.streams}
                view = self._view(way, stage, mine, scans)
                if view is not None and stage.joined is not None:
                    had = self._had.get(stage.name, _NOTHING)
                    view = with_states(stage, view, self._seen_by(way, stored), had, self._probing(way, stage))
                if view is not None and way.stretch.piece is None:
                    view = differences.seen(way.query, stage, view, self._had.get(stage.name))
                # a state lists no windows: whoever reads it does
                reason = None if view is None or stage.kind == STATE else reason_to_stop(stage.plan, view)
                if reason is not None:
                    self._failures[stage.name] = reason
                elif view is not None:
                    views[stage] = view
            begun = {stage.name: beginning(stage, view) for stage, view in views.items()}
            views.update(self._numbers_due(views))
            references = self._written(views)
            made, withheld = segments_by_stage(references), withheld_by_stage(references)
            touched = touched_by_stage(references)
            added.stages.update(self._stopped_among(level))
            for way, stage in level:
                if stage.name in begun and stage.name not in self._failures:
                    had = self._had.get(stage.name, StageResult())
                    ticks = touched.get(stage.name, ())
                    result = result_of(had, made.get(stage.name, []), ticks, begun[stage.name])
                    if way.query.name in self._keepers:
                        result = self._keepers[way.query.name].result(stage, result)
                    remade = self._remade.get(stage.name, NOTHING)
                    result = replace(result, remade=tuple((low, high, self._number) for low, high in remade))
                    result = of_kind(stage, views[stage], result)
                    added.learned.append(partial(self._means.lookups.count, stage, views[stage], result))
                    numbers = made.get(stage.its_numbers.name, []) if stage.counts_for_each else []
                    left = without(had.withheld, [span for spans in views[stage].looked for span in spans])
                    held = fewer((*left, *withheld.get(stage.name, ())))
                    tree = "" if stage.kind == STATE or stage.joined is None else way.tree
                    added.stages[stage.name] = replace(result, numbers=tuple(numbers), withheld=held, tree=tree)
                derived[stage.name] = derived_with(stage, self._had.get(stage.name), added.stages.get(stage.name))
                if stage.kind == STATE and stage in views:
                    view = views[stage]
                    stored[stage.name] = KeptState(view.whole_from, derived[stage.name], view.begins)
                elif stage.joined is not None and stage in views and way.stretch.piece is None:
                    seen[way.query.name] = views[stage]
        for name, keeper in self._keepers.items():
            added.stages.update(keeper.ended())
            added.learned.append(keeper.learn)
            if keeper.choice is not None and keeper.choice.from_slices and name not in self._from_tuples:
                added.from_slices.add(name)
        spent = {name: cpu for name, cpu in self._cpu.items() if name not in self._failures}
        added.learned.append(partial(differences.learn, spent))
        for way in self._ways:
            if way.query.join is not None and way.query.name in added.stages:
                over = ended(way.query.join, self._had, way.stages)
                over = [name for name in over if self._had[name].start is not None]
                added.stages.update({name: StageResult(anew=True) for name in over})
                if way.query.name in seen:
                    see, view = way.query.join.see, seen[way.query.name]
                    added.learned.append(partial(see, view, self._storage.root, self._nodes(way)))
        if self._shared is not None:  # each batch adds to a state, or ends it
            over = [name for name in self._shared.kept if name not in added.stages]
            over = [name for name in over if self._had[name].start is not None]
            added.stages.update({name: StageResult(anew=True) for name in over})
        added.scans = scans.taken
        return added

    def _seen_by(self, way: Way, stored: Mapping[str, KeptState]) -> Mapping[str, KeptState]:
        """The states for a query. To one that comes back from its lane, shared ones do not tell what has changed."""
        if self._shared is None or way.stretch.before.entry == self._shared.stretch.before.entry:
            return stored
        mine = {stage.name for stage in way.stages}
        return {name: state if name in mine else replace(state, begun=True) for name, state in stored.items()}

    def _probing(self, way: Way, stage: Stage) -> Orders | None:
        shared = self._shared
        return way.probing if shared is None or way.query is not shared.standing else shared.probing(stage.name)

    def _nodes(self, way: Way) -> dict[str, tuple[int, float]]:
        """By stage of a join tree, how many tuples it has given, and its processor time.

        What a relation takes back is a tuple whose time is over; elsewhere it is one that was never right.
        """
        names = [stage.name for stage in way.stages if stage.joined is not None]
        fading = {stage.name for stage in way.stages if stage.kind == RELATION}
        if self._shared is not None:
            names += [name for name in self._shared.states if way.query.name in self._shared.users(name)]
        found = {name: self._added.stages.get(name, _NOTHING) for name in names}
        return {
            name: (max(0, result.plus - (0 if name in fading else result.minus)), self._cpu.get(name, 0.0))
            for name, result in found.items()
        }

    @property
    def _tasks(self) -> int:
        """How many run at once."""
        return 1 if self._spark is None else int(self._spark.sparkContext.defaultParallelism)

    def corrections(self, added: Added, batch: int) -> list[Correction]:
        """Which queries were answered over revisions; `added` is what came of it, `batch` commits it."""
        answering = (way for way in self._ways if self._shared is None or way.query is not self._shared.standing)
        return corrections([(way.query, way.stages, way.stretch) for way in answering], added, batch)

    def _keeper(self, way: Way) -> Keeper | None:
        keeper = Keeper.of(way.query, way.stages, way.members, self._had, self._means.corrections, self._points)
        if keeper is not None and way.stretch.piece is not None:
            keeper.looks_back = True
            if way.query.chooses:
                keeper.choice = UPSTREAM_ONLY  # nothing is corrected in what has passed
        return keeper

    def _numbers_due(self, views: Mapping[Stage, Batch]) -> dict[Stage, Batch]:
        """Stages that count for each member, where it is time to write down how far each has come."""
        counting = ((stage, view) for stage, view in views.items() if stage.counts_for_each)
        return {stage.its_numbers: view for stage, view in counting if is_due(self._had.get(stage.name))}

    def _written(self, views: Mapping[Stage, Batch]) -> list[Reference]:
        """What the stages of a level write: those for the kernel in one Spark job, the others in one Spark action.

        Who could not trust its slices is asked again.
        """
        self._read_rows = 0
        references, for_spark = self._in_kernel(views)
        doubted = doubted_by_stage(references)
        if doubted:
            again = self._asked_again(views, doubted)
            views = {**views, **again}
            more, more_for_spark = self._in_kernel(again)
            names = {stage.name for stage in again}
            references = [*(one for one in references if one.stage not in names), *more]
            for_spark = [*(stage for stage in for_spark if stage not in again), *more_for_spark]
        frames = {}
        for stage in for_spark:
            frame = self._frame(stage, views[stage])
            if frame is not None:
                frames[stage.name] = frame
        found_on_spark: list[Reference] = []
        if frames:
            with self._turn.taken():
                began = time.monotonic()  # what it has waited for its turn is not its own cost
                found_on_spark = self._collected(frames)
                seconds = time.monotonic() - began
            for name in frames:  # Spark does not tell them apart
                self._spent(name, seconds / len(frames), seconds / len(frames))
        asked = {stage: view.sliced for stage, view in views.items() if view.sliced}
        self._from_tuples.update(self._owner[numbered_by(s.name)].name for s, told in asked.items() if not any(told))
        return [*references, *found_on_spark]

    def _asked_again(self, views: Mapping[Stage, Batch], doubted: Mapping[str, Spans]) -> dict[Stage, Batch]:
        """What stages see whose slices could not answer, and those that keep these slices."""
        again = {}
        for stage, view in views.items():
            if stage.name not in doubted:
                continue
            again[stage] = asked_again(view, doubted[stage.name])
            keeper = self._keepers.get(self._owner[stage.name].name)
            if keeper is not None and keeper.stage in views:
                kept = made_anew(keeper, views[keeper.stage], doubted[stage.name])
                if kept.remade:
                    again[keeper.stage] = kept
                    self._remade[keeper.stage.name] = kept.remade
        return again

    def _in_kernel(self, views: Mapping[Stage, Batch]) -> tuple[list[Reference], list[Stage]]:
        """What stages write that run in the kernel, and which do not."""
        works: list[Work] = []
        for_spark: list[Stage] = []
        for stage, view in views.items():
            found = self._works(stage, view)
            if found is None:
                for_spark.append(stage)
            else:
                works += found
                self._read(stage.name, sum(work.reads for work in found))
        references = self._run(put_together(works, self._tasks)) if works else []
        for reference in references:
            self._spent(reference.stage, reference.seconds, reference.cpu)
        self._failures.update({reference.stage: reference.failed for reference in references if reference.failed})
        refused = {reference.stage: reference.refused for reference in references if reference.refused}
        with self._means.changing:  # who was dropped meanwhile is forgotten
            self._means.refused.update({name: why for name, why in refused.items() if self._stands(name)})
        for_spark += [stage for stage in views if stage.name in refused and stage.name not in self._failures]
        return [reference for reference in references if reference.stage not in refused], for_spark

    def _frame(self, stage: Stage, view: Batch) -> DataFrame | None:
        """What Spark is to run for a stage, if anything; a query that cannot even be planned stops alone."""
        before, had = self._read_rows, self._had.get(numbered_by(stage.name))
        try:
            if view.slices is not None and stage.kind != SLICES:
                with self._turn.taken():
                    began = time.monotonic()
                    view = without_doubt(self._spark, stage, view, had, self._number)
                    self._spent(stage.name, time.monotonic() - began, time.monotonic() - began)
            frame = stage_frame(stage, view, had, self._number)
            self._read(stage.name, self._read_rows - before)
            return None if frame is None else written(frame, stage, self._number, self._storage, folder_of(stage))
        except Exception as problem:
            if storage_problem(problem) or was_cancelled(problem) or not self._spark_works():
                raise
            self._failures[numbered_by(stage.name)] = reason_of(str(problem))
            return None

    def _spent(self, stage: str, seconds: float, cpu: float) -> None:
        query = self._owner[numbered_by(stage)].name
        users = [query] if self._shared is None else self._shared.users(stage) or [query]
        for user in users:  # who has a state in common has its costs in common
            if user in self._added.seconds:
                self._added.seconds[user] += seconds / len(users)
        self._cpu[stage] = self._cpu.get(stage, 0.0) + cpu
        if query in self._keepers:
            spent = self._keepers[query].seconds
            spent[stage] = spent.get(stage, 0.0) + cpu

    def _read(self, stage: str, rows: int) -> None:
        self._added.rows_read[self._owner[numbered_by(stage)].name] += rows

    def _run(self, works: Sequence[Work]) -> list[Reference]:
        found: list[Reference] = []
        width = self._turn.width or len(works)
        try:
            for first in range(0, len(works), width):
                with self._turn.taken():
                    references = run(self._spark, works[first : first + width])
                found += self._without_reports(references)
            return found
        except Exception as problem:
            if storage_problem(problem) or was_cancelled(problem):
                raise
            reason = reason_of(str(problem))  # whatever it was, Spark's own plans may do
            return [Reference(work.stage, None, reason) for work in works]

    def _without_reports(self, references: Sequence[Reference]) -> list[Reference]:
        """What eddies report is taken in, unless their query was dropped meanwhile."""
        with self._means.changing:
            return self._means.routes.taken(r for r in references if not r.reports or self._stands(r.stage))

    def _stands(self, stage: str) -> bool:
        return self._means.stands(self._owner[numbered_by(stage)])

    def _collected(self, frames: Mapping[str, DataFrame]) -> list[Reference]:
        """All outputs in one Spark action; if it fails, each by itself, so that one query does not stop the others."""
        try:
            return references_of(planned(self._spark, list(frames.values()), self._read_rows).collect())
        except Exception as problem:
            if storage_problem(problem) or was_cancelled(problem):
                raise
        found: list[Reference] = []
        for name, frame in frames.items():
            try:
                found += references_of(planned(self._spark, [frame], self._read_rows).collect())
            except Exception as problem:
                if storage_problem(problem) or was_cancelled(problem) or not self._spark_works():
                    raise
                self._failures[numbered_by(name)] = reason_of(str(problem))
        return found

    def _spark_works(self) -> bool:
        """Whether it is not Spark itself that fails."""
        try:
            return bool(self._spark.sparkContext.parallelize([1], 1).count() == 1)
        except Exception:
            return False

    def _stopped_among(self, level: Sequence[tuple[Way, Stage]]) -> dict[str, StageResult]:
        """A query of which a stage has failed has stopped: the record says so, and it is not asked again."""
        stopped = {}
        for way, stage in level:
            if stage.name in self._failures:
                reason = self._failures[stage.name]
                users = [way.query.name] if self._shared is None else self._shared.users(stage.name)
                for name in users or [way.query.name]:  # it would stop if the state were its own
                    had = self._had.get(name, _NOTHING)
                    stopped[name] = StageResult(count=had.count, start=had.start, failed=reason)
                    self._failures.setdefault(name, reason)
        return stopped

    def _works(self, stage: Stage, view: Batch) -> list[Work] | None:
        if not self._means.kernels or stage.name in self._means.refused or reason_for_spark(stage) is not None:
            return None
        if reason_of_taggers(stage, view) is not None:
            return None
        had, known = self._had.get(numbered_by(stage.name)), self._means.routes.known(stage.name)
        return works_of(stage, view, had, self._number, self._storage.root, folder_of(stage), known)

    def _view(self, way: Way, stage: Stage, mine: Mapping[str, Log], scans: Scans) -> Batch | None:
        """What a stage sees; None while its query has not begun, and when it has stopped."""
        query, stretch = way.query, way.stretch
        if self._shared is not None and query is self._shared.standing:
            return self._view_of_state(way, stage, mine, scans)
        if self._had.get(query.name, _NOTHING).failed or self._has_failed(way):
            return None
        if stretch.after.entry <= query.entry:
            return None  # what this batch takes in came before the query
        # slices and states may be kept later than their query begins, and are then those of all that has passed
        whose = query.name if stage.kind == SLICES else stage.name
        had = self._had.get(stage.joined.stage if stage.joined is not None else whose)
        start = query.start if had is None else had.start
        before, now = clock_of(stretch.before), stretch.now
        piece = stretch.piece
        if piece is not None:
            if of_the_past(query, way.stages)[piece.stage].name != waited_by(stage.name):
                return None
            mine, (before, now) = piece.logs(mine), piece.clocks(now)
        elif had is None:
            before = query.created
            if query.history:
                before = Clock()
                mine = {name: all_fresh(log) for name, log in mine.items()}
        if start is None and not query.history:
            start = first_tick(way, self._extents)
        elif start is None:
            beginning = [whose_tuples(way, log, had is None and query.history) for log in mine.values()]
            start = min((log.touched.low for log in beginning if log.touched), default=None)
        if start is None and stage.tells_tags:  # tags are told as they come, whether a tuple has come or not
            start = min((segment.tick[0] for log in mine.values() for segment in log.fresh), default=None)
        if start is None:
            start = told_start(way)
        if start is None:
            return None
        memory = query.memory.setdefault(stage.name, {})
        view = Batch(self._means.frames, mine, now, before, start, scans.current, memory=memory, since=query.since)
        view.members = way.members
        if stage.asked is not None:
            view.waiting = Waiting(self._had.get(waiting_for(stage.name), _NOTHING), self._known[stage.asked])
        view.over = LOW if query.history else query.created.reached
        view.snapshots = scans.of(stage, start, now, before)
        view.on_read = self._count
        if piece is not None:
            view.indexes = piece.indexes
        if stage.revise is not None and had is not None:
            flushes = (flush for e in stretch.entries if e.number > query.entry for flush in e.flushes)
            ask_again(view, query, stage, had, flushes, self._settled.get(stage.name, LOW))
            if view.asked_again:
                self._added.asked_again.add(query.name)
        keeper = self._keepers.get(query.name)
        return view if keeper is None else keeper.view(stage, view)

    def _view_of_state(self, way: Way, stage: Stage, mine: Mapping[str, Log], scans: Scans) -> Batch:
        """What a state sees that is nobody's own: all tuples there are, from the last batch on."""
        stretch, start = way.stretch, way.query.start
        assert start is not None
        memory = way.query.memory.setdefault(stage.name, {})
        now, before = stretch.now, clock_of(stretch.before)
        view = Batch(self._means.frames, mine, now, before, start, scans.current, memory=memory)
        view.on_read = self._count
        return view

    def _has_failed(self, way: Way) -> bool:
        return any(stage.name in self._failures for stage in way.stages)

    def _count(self, rows: int) -> None:
        self._read_rows += rows
