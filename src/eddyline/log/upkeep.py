"""Logs that do not grow for ever: entries and records are folded, small segments merged, old ones dropped.

It runs between micro-batches, in the thread that runs them, so no batch refers to what changes. Whatever changes is
one file, the snapshot of the journal or of the result log, written as a whole: before it the old segments count, after
it the new ones. Files go last, when nothing has referred to them for a while. So there is no moment at which a crash
would lose or double anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from eddyline.log.cutting import beyond
from eddyline.log.journal import Base, Journal
from eddyline.log.merging import Limits, Merge, merges
from eddyline.log.results import ResultLog, Results
from eddyline.log.segment import Segment
from eddyline.log.storage import Storage
from eddyline.log.sweeping import RESULTS, STREAMS, Sweeper, Wanted

#: how many segments at least what a log has to keep is cut into
_PIECES = 4


@dataclass(frozen=True)
class Pace:
    """How often there is something to do, and how much."""

    batches: int = 100  # that are folded at a time
    entries: int = 1_000  # of the journal, after which one does not wait for so many batches
    #: batches that are left as they are although Spark has committed them: should a machine lose power, Spark's last
    #: commits may be lost, and what they took in must still be there one by one
    behind: int = 3
    neighbours: int = 8  # segments that are worth merging
    small: int = 8 * 2**20  # bytes from which on a segment stays as it is; a merged one has `neighbours` times as many
    grace: float = 600.0  # seconds after which a file that nothing refers to goes
    aside: bool = True  # whether merging runs while batches do


@dataclass(frozen=True)
class House:
    """What there is to keep in order. The journal is the executor's, which no other thread changes."""

    storage: Storage
    journal: Journal
    results: Callable[[], Results]  # as the executor has them in memory
    standing: Callable[[], Collection[str]]  # the stages at work
    folded: Callable[[Base, Results], None]  # tells whoever has logs in memory what the snapshots are now
    merge: Callable[[Sequence[Merge]], list[int]]  # runs merges; gives the sizes of what they wrote, 0 for what failed
    #: by log, the tick before which nobody can need anything; logs that are not named stay whole
    cuts: Callable[[Base, Results], Mapping[str, int]] = lambda base, results: {}
    on_trouble: Callable[[str], None] = lambda text: None
    #: called before segments of a stream go: what is known only by them is to be written down
    before_cut: Callable[[str], None] = lambda stream: None
    #: files that lanes read, and by stage from which batch on files may be those that a lane is writing
    lane_reads: Callable[[], Collection[str]] = lambda: ()
    lane_writes: Callable[[], Mapping[str, int]] = dict
    #: up to which entry what nothing refers to is garbage, given how far the journal was read
    garbage_upto: Callable[[int], int] = lambda number: number


@dataclass
class _Merging:
    """Merges that run aside, or have run and wait for the next snapshot."""

    streams: list[Merge] = field(default_factory=list)
    stages: list[Merge] = field(default_factory=list)
    sizes: Future[list[int]] | None = None

    @property
    def all(self) -> list[Merge]:
        return [*self.streams, *self.stages]

    @property
    def done(self) -> bool:
        return self.sizes is not None and self.sizes.done()

    def apply(self, base: Base, results: Results) -> None:
        """Put what was written in place of its parts. Where a part has gone meanwhile, nothing changes."""
        assert self.sizes is not None
        sizes = dict(zip((merge.path for merge in self.all), self.sizes.result(), strict=False))
        for merge in self.streams:
            there = {segment.path for segment in base.state(merge.log).segments}
            if sizes.get(merge.path) and merge.replaces(there):
                base.exchange({merge.log: merge.exchange(sizes[merge.path])})
        for merge in self.stages:
            there = {s.path for s in results.stages[merge.log].segments} if merge.log in results.stages else set()
            if sizes.get(merge.path) and merge.replaces(there):
                results.exchange({merge.log: merge.exchange(sizes[merge.path])})


class Upkeep:
    """Called before each micro-batch."""

    def __init__(self, house: House, pace: Pace | None = None) -> None:
        self._house = house
        self._pace = pace or Pace()
        self._log = ResultLog(house.storage)
        self._sweeper = Sweeper(house.storage, self._pace.grace)
        self._merging = _Merging()
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="eddyline-merging") if self._pace.aside else None
        self._folded: int | None = None  # the last batch in the snapshot
        self._cuts: Mapping[str, int] = {}  # of the last fold
        self._told = ""  # the last trouble

    def between_batches(self, committed: int) -> None:
        """`committed` is a batch that Spark has committed; the next one has not begun.

        Whatever goes wrong here is no reason to stop answering: it is told once, and tried again before the next batch.
        """
        try:
            self._keep_up(committed)
        except Exception as problem:
            if str(problem) != self._told:
                self._told = str(problem)
                self._house.on_trouble(f"the logs could not be tidied up: {problem}")

    def _keep_up(self, committed: int) -> None:
        if self._folded is None:
            self._sweeper.sweep(lambda: self._wanted(committed), at_once=True)
            self._folded = self._log.base().last.batch
        upto = committed - self._pace.behind
        needed = self._house.results().needed  # those after it are asked for one by one
        many = sum(entry.number <= needed for entry in self._house.journal.entries) >= self._pace.entries
        if upto - self._folded >= (1 if many else self._pace.batches):
            self.fold(upto)
            self._sweeper.sweep(lambda: self._wanted(committed))
            self._start_merging()

    def close(self) -> None:
        if self._aside is not None:
            self._aside.shutdown(wait=True, cancel_futures=True)

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def fold(self, upto: int) -> None:
        """Put everything up to a committed batch into the snapshots, merged and cut."""
        house = self._house
        results = self._log.folded(upto)
        standing = house.standing()
        results.forget([name for name in (*results.stages, *results.positions) if name not in standing])
        base = house.journal.at(results.needed)
        merging = self._merging if self._merging.done else None
        if merging is not None:
            merging.apply(base, results)
        cuts = self._cuts = house.cuts(base, results)
        gone = {name: beyond(s.segments, cuts[name]) for name, s in base.streams.items() if name in cuts}
        for name, exchange in gone.items():
            if exchange.gone:
                house.before_cut(name)
        base.exchange(gone)
        results.exchange({name: beyond(s.segments, cuts[name]) for name, s in results.stages.items() if name in cuts})
        self._log.fold(results)
        house.journal.fold(base)
        house.folded(base, results)
        self._folded = results.last.batch
        if merging is not None:
            self._merging = _Merging()
        self._log.tidy(results)
        house.journal.tidy()

    # -- merging ------------------------------------------------------------------------------------------------------

    def _start_merging(self) -> None:
        if self._merging.sizes is not None:
            return  # the last ones are not done, or not in a snapshot yet
        streams = {name: state.segments for name, state in self._house.journal.base.streams.items()}
        results = self._log.base().stages
        stages = {name: stage.segments for name, stage in results.items()}
        of_stages = [replace(one, remade=results[one.log].remade) for one in self._worth_merging(RESULTS, stages)]
        merging = _Merging(self._worth_merging(STREAMS, streams), of_stages)
        if merging.all:
            merging.sizes = self._run(merging.all)
            self._merging = merging

    def _worth_merging(self, folder: str, logs: Mapping[str, Sequence[Segment]]) -> list[Merge]:
        found = []
        for name, segments in logs.items():
            limits = Limits(self._pace.neighbours, self._pace.small, self._widest(name, segments))
            found += merges(name, f"{folder}/{name}", segments, limits)
        return found

    def _widest(self, log: str, segments: Sequence[Segment]) -> int | None:
        """In a log that is cut off, a segment is to be old before as much again has come."""
        if log not in self._cuts or not segments:
            return None
        return max(0, max(segment.tick[1] for segment in segments) - self._cuts[log]) // _PIECES

    def _run(self, some: Sequence[Merge]) -> Future[list[int]]:
        if self._aside is not None:
            return self._aside.submit(self._merge, some)
        sizes: Future[list[int]] = Future()
        sizes.set_result(self._merge(some))
        return sizes

    def _merge(self, some: Sequence[Merge]) -> list[int]:
        """Sizes of what was written; none if merging failed, which is tried again with the next fold."""
        try:
            return self._house.merge(some)
        except Exception as problem:
            self._house.on_trouble(f"small segments were not merged: {problem}")
            return []

    # -- files --------------------------------------------------------------------------------------------------------

    def _wanted(self, committed: int) -> Wanted:
        journal, standing = self._house.journal, set(self._house.standing())
        paths = {segment.path for state in journal.streams.values() for segment in state.segments}
        for name, stage in list(self._house.results().stages.items()):
            if name in standing:
                paths.update(stage.files)
        paths.update(self._house.lane_reads())
        merging = {merge.path for merge in self._merging.all}
        return Wanted(paths, self._house.garbage_upto(journal.number), committed, merging, self._house.lane_writes())
