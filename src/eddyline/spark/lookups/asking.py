"""Who asks tables by key: beside the batches, in tasks of jobs of their own.

After each batch it is told who waits. What keys that are is found out in a task, which writes them down in groups; each
group is a call of the user's function in a task of its own. What comes is a piece of what is known, which the next
batch sees. A call that fails is made again later, in halves if there are several keys; nobody else waits for it.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddyline.catalog.extent import Extent
from eddyline.catalog.lookup import FIRST_PAUSE, LONGEST_PAUSE
from eddyline.errors import EddylineError
from eddyline.log.results import Results, StageResult
from eddyline.log.storage import Storage
from eddyline.sources.files import find_files
from eddyline.spark.evaluate.asked import waiting_rows
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.lookups.answers import Answers, Piece
from eddyline.spark.lookups.costs import Costs
from eddyline.spark.lookups.table import Group, Table
from eddyline.spark.lookups.tasks import Asked, Came, Merged, Scanned, Task, Wanted, folder_of, in_a_task
from eddyline.spark.patience import retried
from eddyline.spark.pools import pool_of
from eddyline.spark.stages import WAITING, Stage
from eddyline.spark.standing import Standing
from eddyline.spark.trouble import reason_of, storage_problem, was_cancelled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: how long the end of a database waits for calls that were told to stop
_PATIENCE = 10.0
#: of a group that has failed so often, each half is asked for by itself
_SPLIT = 2
#: pauses are doubled so often at most
_DOUBLED = 20
#: seconds before it is tried again to find out which keys are wanted
_FIND_AGAIN = 0.5
Job = Callable[[], None]


class Lookups:
    """All tables of a database that are asked by key. `nudge` makes Spark run a batch, which sees what has come."""

    def __init__(
        self,
        spark: SparkSession | None,
        storage: Storage,
        nudge: Callable[[], None] = lambda: None,
        on_trouble: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._spark, self._storage = spark, storage
        self._nudge, self._on_trouble = nudge, on_trouble
        self._tables: dict[str, Table] = {}
        self._news = threading.Condition()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._at_work = 0
        self._begun = 0  # so many jobs, ever
        self._changed = True  # since it was last looked what is to be done
        self.refresh: Callable[[], None] = lambda: None  # have it told again who waits
        self._scheduler: threading.Thread | None = None
        self._group = f"eddyline-lookups-{uuid.uuid4().hex}"
        # a core is left to the batches whenever there are two
        self._slots = 1 if spark is None else max(1, spark.sparkContext.defaultParallelism - 1)

    def add(self, extent: Extent, base: Path) -> None:
        """A table; what was known of it before a restart still is, as long as it is not too old."""
        assert extent.lookup is not None
        known = Answers.from_json(self._storage.read_json(_manifest(extent)))
        table = Table(extent, base, known, Costs(extent.lookup.fresh))
        for path, _ in self._storage.files_below(folder_of(extent)):  # of calls that nobody waits for any more
            if path.endswith(".parquet") and path not in known.paths:
                table.dropped.add(path)
        with self._news:
            self._tables[extent.name] = table

    def known(self) -> dict[str, Answers]:
        """By table, all that is known and not too old."""
        with self._news:
            for table in self._tables.values():
                self._forget_old(table)
            return {name: table.known for name, table in self._tables.items()}

    def told(self, table: str) -> list[str]:
        with self._news:
            return self._tables[table].told(time.time())

    # -- who waits ----------------------------------------------------------------------------------------------------

    def see(self, queries: Iterable[Standing], results: Results) -> None:
        """Take in who waits after a batch."""
        if not self._tables:
            return
        waiting: dict[str, list[StageResult]] = {}
        for query in queries:
            if not results.stages.get(query.name, StageResult()).failed:
                for stage in _waiting_stages(query.stages):
                    if stage.asked is not None and stage.name in results.stages:
                        waiting.setdefault(stage.asked, []).append(results.stages[stage.name])
        with self._news:
            for name, table in self._tables.items():
                table.waiting = waiting.get(name, [])
        self._poke()

    def count(self, stage: Stage, view: Batch, result: StageResult) -> None:
        """Take in how many tuples a batch has brought to a look-up, and how many of them have begun to wait.

        Where the log of those who wait is written anew, it does not tell the latter.
        """
        if stage.kind == WAITING and stage.asked is not None and not result.anew:
            fresh = [segment for name in stage.streams for segment in view.logs[name].fresh]
            with self._news:
                self._tables[stage.asked].tuples += sum(segment.rows - segment.minus for segment in fresh)
                self._tables[stage.asked].misses += result.plus

    @property
    def busy(self) -> bool:
        """Whether anybody waits."""
        with self._news:
            return any(table.rows_waiting for table in self._tables.values())

    def has_news(self, query: Standing, *results: Mapping[str, StageResult]) -> bool:
        """Whether something has come that tuples of a query may wait for; `results`: the latest ones first."""
        for stage in _waiting_stages(query.stages):
            found = next((some[stage.name] for some in results if stage.name in some), None)
            table = self._tables.get(stage.asked or "")
            if found is not None and table is not None and waiting_rows(found) and table.known.version != found.count:
                return True
        return False

    # -- files --------------------------------------------------------------------------------------------------------

    def droppable(self) -> dict[str, set[str]]:
        """By table, the files that no batch reads which begins from now on."""
        with self._news:
            return {name: set(table.dropped) for name, table in self._tables.items()}

    def sweep(self, droppable: Mapping[str, set[str]], in_use: set[str]) -> None:
        """Delete files that nobody reads any more; a file of keys is needed as long as one of them is on its way."""
        with self._news:
            for name, paths in droppable.items():
                table = self._tables[name]
                used = in_use | {group.keys.path for group in table.groups}
                for path in paths - used:
                    with suppress(EddylineError):
                        self._storage.delete(path)
                    table.dropped.discard(path)

    # -- deciding -----------------------------------------------------------------------------------------------------

    def _due(self) -> tuple[list[Job], float | None]:
        """What is to be done now, as far as there is room; and when to look again, if nothing happens before."""
        now, jobs, later = time.time(), list[Job](), list[float]()
        with self._news:
            self._changed = False
            # whoever was served last comes last, and each table has a turn before any has its next
            tables = sorted(self._tables.values(), key=lambda table: table.served)
            for turn in zip_longest(*([(table, job) for job in self._due_at(table, now, later)] for table in tables)):
                for table, job in filter(None, turn):
                    if self._at_work < self._slots:
                        jobs.append(job())
                        self._at_work += 1
                        self._begun += 1
                        table.served = self._begun
        return jobs, min(later, default=None)

    def _due_at(self, table: Table, now: float, later: list[float]) -> list[Callable[[], Job]]:
        """What goes wrong with one table is told, and tried again; others do not wait for it."""
        try:
            self._forget_old(table)
            return list(self._due_of(table, now, later))
        except Exception as problem:
            later.append(now + _FIND_AGAIN)
            said = f"look-ups at {table.extent.name}: {reason_of(str(problem))}; trying again"
            if said != table.said and not self._stopping.is_set():
                table.said = said
                self._on_trouble(said)
            return []

    def _due_of(self, table: Table, now: float, later: list[float]) -> Iterable[Callable[[], Job]]:
        """Begins what it gives when that is called."""
        pieces = [] if table.merging or now < table.merge_due else table.mergeable()
        if pieces and table.is_scattered:
            yield partial(self._merge, table, pieces)
        wanted = table.rows_waiting and not table.known.whole and table.looked_at != table.state
        find = wanted and not table.finding and table.find_due <= now
        if find and table.asked_since:  # in turns: batches may bring keys faster than they are found
            yield partial(self._find, table)
        elif wanted and not table.finding and not find:
            later.append(table.find_due)
        if self._scan_is_due(table, now):
            yield partial(self._scan, table, now)
        for group in sorted(table.groups, key=lambda group: group.due):  # one that fails is not always the first
            if not group.at_work and group.due <= now:
                yield partial(self._ask, table, group, now)
            elif not group.at_work:
                later.append(group.due)
        if find and not table.asked_since:
            yield partial(self._find, table)
        if pieces and not table.is_scattered:
            yield partial(self._merge, table, pieces)

    def _scan_is_due(self, table: Table, now: float) -> bool:
        if table.extent.format is None or table.scanning or not table.groups or now < table.scan_due:
            return False
        if table.costs.scan_seconds is None:
            with suppress(EddylineError, OSError):
                files = find_files(table.extent.name, table.extent.option("path") or "", table.base)
                table.costs.estimate_scan(sum(file.stat().st_size for file in files))
        return table.costs.scan_pays(table.keys_waited_for, now)

    def _forget_old(self, table: Table) -> None:
        lookup = table.lookup
        known = table.known.without_old(time.time(), lookup.fresh, lookup.size, table.seen)
        if known is not table.known:
            self._become(table, known)

    # -- jobs ---------------------------------------------------------------------------------------------------------

    def _find(self, table: Table) -> Job:
        table.finding, table.looked_at, table.asked_since = True, table.state, False
        waiting = [segment.path for result in table.waiting for segment in result.segments]
        on_their_way = [group.keys for group in table.groups]
        task = Wanted(self._storage.root, table.extent, waiting, table.known.paths, on_their_way)

        def found() -> None:
            groups, failed = [], False
            try:
                groups = self._run(task)
            except Exception as problem:
                failed = True
                self._tell(table, problem)
            found_at = time.time()
            with self._news:
                table.finding, table.vain_finds = False, table.vain_finds + 1 if failed else 0
                if failed:
                    table.looked_at, table.find_due = None, time.time() + _FIND_AGAIN
                if table.known.whole:  # a scan has come before it
                    table.dropped |= {keys.path for keys in groups}
                else:
                    table.groups += [Group(keys, found_at, found_at) for keys in groups]
            if failed:
                self.refresh()

        return found

    def _ask(self, table: Table, group: Group, now: float) -> Job:
        group.at_work, table.asked_since = True, True
        over = now - group.since >= table.lookup.patience
        task = Asked(self._storage.root, table.extent, group.keys, over)

        def asked() -> None:
            came = self._came(task)
            with self._news:
                self._take(table, group, came, now, over)
            if not came.failed:
                self._nudged()

        return asked

    def _take(self, table: Table, group: Group, came: Came, asked: float, over: bool) -> None:
        group.at_work = False
        if group not in table.groups:  # a scan has come before it
            table.dropped |= {came.path} - {""}
            return
        if came.failed:
            self._failed(table, group, came, over)
            return
        try:
            self._become(table, table.known.with_piece(came.path, came.rows, asked, brief=over))
        except Exception as problem:  # what is not written down is not known; the file may be named there, and stays
            if self._stopping.is_set():
                raise
            self._failed(table, group, Came(seconds=came.seconds, failed=reason_of(str(problem))), over)
            return
        self._gone(table, [group])
        if over:
            keys = f"{group.keys.count:,} keys" if group.keys.count > 1 else "a key"
            self._on_trouble(f"{table.extent.name} has not answered for {keys} in time: it is as if it had nothing")
        else:
            table.is_answered(time.time())
            table.costs.asked(group.keys.count, came.seconds, table.answered)

    def _failed(self, table: Table, group: Group, came: Came, over: bool) -> None:
        """Later again; and in halves, for it may be a single key that cannot be asked for.

        If others get answers, halves are asked for soon; else nobody may be there at all, and pauses go on to double.
        """
        now = time.time()
        table.costs.failed(came.seconds, now)
        table.vain_calls += 1
        if came.failed != table.said:
            table.said = came.failed
            self._on_trouble(f"{came.failed}; asking again, and who needs it waits")
        pause = min(FIRST_PAUSE * 2.0 ** min(group.failures, _DOUBLED), LONGEST_PAUSE)
        group.failures += 1
        # when patience is at its end, it is said so then
        group.due = now + pause if over else min(now + pause, max(now, group.since + table.lookup.patience))
        if group.keys.count > 1 and (group.is_half or group.failures >= _SPLIT) and table.may_halve(group):
            table.halve(group, now)
        group.failing = min(group.failing, now)

    def _scan(self, table: Table, now: float) -> Job:
        table.scanning = True
        task = Scanned(self._storage.root, table.extent, str(table.base))

        def scanned() -> None:
            came = self._came(task)
            with self._news:
                table.scanning = False
                if came.failed:
                    self._on_trouble(f"{table.extent.name} cannot be scanned: {came.failed}; it is looked up")
                    table.scan_due = time.time() + LONGEST_PAUSE
                    return
                table.scan_due = time.time() + LONGEST_PAUSE  # if it cannot be written down
                self._become(table, table.known.of_scan(came.path, came.rows, now))
                table.scan_due = 0.0
                table.costs.scanned(came.seconds, now)
                self._gone(table, list(table.groups))
            self._nudged()

        return scanned

    def _merge(self, table: Table, pieces: list[Piece]) -> Job:
        table.merging = True
        task = Merged(self._storage.root, table.extent, [piece.path for piece in pieces])

        def merged() -> None:
            came = self._came(task)
            with self._news:
                table.merging, table.merge_due = False, time.time() + LONGEST_PAUSE  # if it comes to nothing
                known = None if came.failed else table.merged(pieces, came.path, came.rows)
                if known is not None:
                    self._become(table, known)
                    table.merge_due = 0.0
                elif came.path:
                    table.dropped.add(came.path)

        return merged

    def _came(self, task: Task[Came]) -> Came:
        """Whatever goes wrong around a call is a call that has failed."""
        try:
            came: Came = self._run(task)
            return came
        except Exception as problem:
            if storage_problem(problem) is None and not was_cancelled(problem):
                return Came(failed=reason_of(str(problem)))
            return Came(failed=str(storage_problem(problem) or "it was stopped"))

    def _gone(self, table: Table, groups: list[Group]) -> None:
        """Keys are on their way no longer; the file is not needed when none of its keys is."""
        table.groups = [group for group in table.groups if group not in groups]
        left = {group.keys.path for group in table.groups}
        table.dropped |= {group.keys.path for group in groups} - left

    def _become(self, table: Table, known: Answers) -> None:
        """It is written down before batches see it: after a restart, none has seen a later version than is known."""
        manifest = known.to_json()
        retried(lambda: self._storage.write_json(_manifest(table.extent), manifest), self._stopping, self._on_trouble)
        table.replace(known)

    def _tell(self, table: Table, problem: Exception) -> None:
        """Who waits is in files that may have been merged meanwhile: that is no trouble, unless it comes again."""
        said = reason_of(str(problem))
        if said != table.said and table.vain_finds and not self._stopping.is_set():
            table.said = said
            self._on_trouble(f"{table.extent.name} could not be asked: {said}; trying again")

    def _nudged(self) -> None:
        if not self._stopping.is_set():
            retried(self._nudge, self._stopping, self._on_trouble)

    def _run(self, task: Task[Any]) -> Any:
        if self._spark is not None:
            context = self._spark.sparkContext
            context.setJobGroup(self._group, "look-ups", interruptOnCancel=True)
            context.setLocalProperty("spark.scheduler.pool", pool_of(1))
        return in_a_task(self._spark, task)

    # -- threads ------------------------------------------------------------------------------------------------------

    def _poke(self) -> None:
        """Something has changed: see what is to be done."""
        with self._news:
            if self._scheduler is None and not self._stopping.is_set():
                self._scheduler = threading.Thread(target=self._schedule, name="eddyline-lookups", daemon=True)
                self._scheduler.start()
            self._changed = True
            self._news.notify_all()

    def _schedule(self) -> None:
        """Whatever goes wrong in here is told once, and tried again: who waits would wait for ever without it."""
        jobs, said = list[Job](), ""  # which have a slot, and no thread yet
        while not self._stopping.is_set():
            try:
                due = None
                if not jobs:
                    jobs, due = self._due()
                while jobs:
                    self._start(jobs[0])
                    del jobs[0]
                said = ""
                with self._news:
                    if not self._stopping.is_set() and not self._changed:
                        self._news.wait(None if due is None else max(0.0, due - time.time()))
            except Exception as problem:
                reason = f"look-ups: {reason_of(str(problem))}; trying again"
                if reason != said:
                    said = reason
                    with suppress(Exception):
                        self._on_trouble(reason)
                self._stopping.wait(_FIND_AGAIN)

    def _start(self, job: Job) -> None:
        thread = threading.Thread(target=self._at, args=(job,), name="eddyline-lookup", daemon=True)
        thread.start()
        self._threads = [*(other for other in self._threads if other.is_alive()), thread]

    def _at(self, job: Job) -> None:
        try:
            job()
        except Exception as problem:
            if not self._stopping.is_set():
                self._on_trouble(f"look-ups: {reason_of(str(problem))}")
        finally:
            with self._news:
                self._at_work -= 1
                self._changed = True
                self._news.notify_all()

    def end(self) -> None:
        """No more calls, and who tries again to write something gives up. It waits for nobody who has the lock."""
        self._stopping.set()

    def stop(self) -> None:
        """No more calls; those at work are cancelled."""
        self.end()
        with self._news:
            self._news.notify_all()
        if self._spark is not None and self._threads:
            with suppress(Exception):  # Spark may be gone
                self._spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self._group)
        end = time.monotonic() + _PATIENCE
        for thread in (*self._threads, self._scheduler):
            if thread is not None and thread is not threading.current_thread():
                thread.join(max(0.0, end - time.monotonic()))


def _waiting_stages(stages: Iterable[Stage]) -> list[Stage]:
    return [stage for stage in stages if stage.kind == WAITING]


def _manifest(extent: Extent) -> str:
    return f"{folder_of(extent)}/known.json"


__all__ = ["Lookups"]
