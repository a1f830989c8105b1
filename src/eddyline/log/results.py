"""Which segments hold the answers of which query, batch by batch.

A micro-batch writes one record with everything it adds. The record of a batch that is run again replaces the one
before it, and readers look only at batches that Spark's own commit log has: so every answer is there once, whatever is
killed and started again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from eddyline.log.remade import Remade, still_needed
from eddyline.log.revision_log import RevisionLog
from eddyline.log.segment import Exchange, Segment
from eddyline.log.storage import Storage
from eddyline.log.withheld import Stretch

_FOLDER = "batches"
_SNAPSHOT = f"{_FOLDER}/snapshot.json"
COMMITS = "checkpoint/commits"


@dataclass(frozen=True)
class StageResult:
    """What one stage of a query added in a batch: segments, and how many tuples or windows it has numbered so far.

    `touched` are the stretches of ticks of the new rows. `start` is the tick at which the query began. Where each
    member of a query class counts for itself, `numbers` say how far each had come before the batch that wrote them.
    A log that is written `anew` holds nothing of what it held before; put together, `since` is the batch that did so.
    Of the stretches that are `remade`, too, it holds nothing from before the batch that they name. Of a join, `tree` is
    the one by which it ran.
    """

    segments: tuple[Segment, ...] = ()
    count: int = 0
    touched: tuple[tuple[int, int], ...] = ()
    start: int | None = None
    plus: int = 0
    minus: int = 0
    failed: str = ""  # why the query has stopped for good
    numbers: tuple[Segment, ...] = ()
    withheld: tuple[Stretch, ...] = ()  # where corrections are that are not shown yet, in all
    anew: bool = False
    since: int = -1
    remade: Remade = ()
    tree: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "segments": [segment.to_json() for segment in self.segments],
            "count": self.count,
            "touched": [list(span) for span in self.touched],
            "start": self.start,
            "plus": self.plus,
            "minus": self.minus,
            "failed": self.failed,
            "numbers": [segment.to_json() for segment in self.numbers],
            **({"withheld": [list(stretch) for stretch in self.withheld]} if self.withheld else {}),
            "anew": self.anew,
            "since": self.since,
            **({"remade": [list(one) for one in self.remade]} if self.remade else {}),
            **({"tree": self.tree} if self.tree else {}),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> StageResult:
        segments = tuple(Segment.from_json(segment) for segment in value["segments"])
        touched = tuple((low, high) for low, high in value["touched"])
        numbers = tuple(Segment.from_json(segment) for segment in value.get("numbers", ()))
        counts = value["plus"], value["minus"]
        withheld = tuple((low, high, count) for low, high, count in value.get("withheld", ()))
        made = cls(segments, value["count"], touched, value["start"], *counts, value["failed"], numbers, withheld)
        remade = tuple((low, high, batch) for low, high, batch in value.get("remade", ()))
        anew, since = value.get("anew", False), value.get("since", -1)
        return replace(made, anew=anew, since=since, remade=remade, tree=value.get("tree", ""))

    @property
    def files(self) -> list[str]:
        """All that it refers to."""
        return [segment.path for segment in (*self.segments, *self.numbers)]


@dataclass(frozen=True)
class Past:
    """How far a query that looks back has come: which of its stages is at work, and up to which tick or index."""

    stage: int = 0
    done: int | None = None  # None: nothing of the stage yet

    @classmethod
    def from_json(cls, value: dict[str, Any] | None) -> Past | None:
        return None if value is None else cls(**value)


@dataclass(frozen=True)
class Position:
    """Up to which entry of the journal a query is answered, and the clock then.

    With a `past`, what had come by then is still being answered, from its beginning on.
    """

    entry: int
    reached: int | None
    closed: int | None
    past: Past | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Position:
        return cls(**{**value, "past": Past.from_json(value["past"])})


@dataclass(frozen=True)
class Record:
    """One micro-batch: up to which entry of the journal it came, the clock then, and what each stage added.

    `positions` are of the queries that the batch leaves behind, as far as they are new; None: it is behind no longer.
    """

    batch: int
    entry: int
    reached: int | None
    closed: int | None
    stages: Mapping[str, StageResult] = field(default_factory=dict)
    scans: Mapping[str, Any] = field(default_factory=dict)  # snapshots of tables taken in this batch
    positions: Mapping[str, Position | None] = field(default_factory=dict)
    revisions: RevisionLog = field(default_factory=RevisionLog)  # that it took in, and what it did about them

    @property
    def position(self) -> Position:
        return Position(self.entry, self.reached, self.closed)

    def to_json(self) -> dict[str, Any]:
        stages = {name: stage.to_json() for name, stage in self.stages.items()}
        positions = {name: None if at is None else asdict(at) for name, at in self.positions.items()}
        fields = {"batch": self.batch, "entry": self.entry, "reached": self.reached, "closed": self.closed}
        revisions = {"revisions": self.revisions.to_json()} if self.revisions else {}
        return {**fields, "stages": stages, "scans": dict(self.scans), "positions": positions, **revisions}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Record:
        stages = {name: StageResult.from_json(stage) for name, stage in value["stages"].items()}
        at = value.get("positions", {}).items()
        positions = {name: None if position is None else Position.from_json(position) for name, position in at}
        clock = value["reached"], value["closed"]
        revisions = RevisionLog.from_json(value.get("revisions"))
        return cls(value["batch"], value["entry"], *clock, stages, value["scans"], positions, revisions)


@dataclass
class Results:
    """The results of all batches up to `last`, put together."""

    last: Record = field(default_factory=lambda: Record(-1, 0, None, None))
    stages: dict[str, StageResult] = field(default_factory=dict)
    scans: dict[str, list[Any]] = field(default_factory=dict)
    positions: dict[str, Position] = field(default_factory=dict)  # of queries that are behind the last batch
    revisions: RevisionLog = field(default_factory=RevisionLog)  # the latest

    def position(self, stage: str) -> Position:
        """How far the query of a stage is answered; its stages are named after it."""
        return self.positions.get(stage.partition("/")[0], self.last.position)

    @property
    def needed(self) -> int:
        """The entry of the journal up to which all queries are answered: later ones are still asked for one by one."""
        return min([self.last.entry, *(position.entry for position in self.positions.values())])

    def take(self, record: Record) -> None:
        for name, added in record.stages.items():
            had = self.stages.get(name, StageResult())
            segments = added.segments if added.anew else (*had.segments, *added.segments)
            # a lane may have begun it in an earlier batch
            remade = (*had.remade, *((low, high, record.batch) for low, high, _ in added.remade))
            self.stages[name] = replace(
                added,
                segments=segments,
                remade=still_needed(remade, segments) if remade else (),
                plus=had.plus + added.plus,
                minus=had.minus + added.minus,
                numbers=added.numbers or had.numbers,
                anew=False,
                since=record.batch if added.anew else had.since,
            )
        for name, taken in record.scans.items():
            self.scans.setdefault(name, []).append(taken)
        for name, position in record.positions.items():
            if position is None:
                self.positions.pop(name, None)
            else:
                self.positions[name] = position
        self.revisions = self.revisions.with_later(record.revisions)
        self.last = record

    def forget(self, names: Iterable[str]) -> None:
        gone = set(names)
        for name in gone:
            self.stages.pop(name, None)
            self.positions.pop(name, None)
        if gone:
            self.revisions = self.revisions.without(gone)
            self.scans = {key: taken for key, taken in self.scans.items() if key.partition("\n")[0] not in gone}

    def exchange(self, exchanges: Mapping[str, Exchange]) -> None:
        """The same rows in other segments; a stage that was dropped meanwhile has none."""
        for name, exchange in exchanges.items():
            if name in self.stages:
                stage = self.stages[name]
                segments = tuple(exchange.applied(stage.segments))
                self.stages[name] = replace(stage, segments=segments, remade=still_needed(stage.remade, segments))

    def rest_on(self, base: Results) -> None:
        """Take over the segments of a snapshot; what was added after it stays as it is, and what went is gone."""
        for name, stage in base.stages.items():
            if name in self.stages:
                own = self.stages[name]
                later = [s for s in own.segments if s.seq[0] > base.last.batch]
                earlier = stage.segments if own.since <= base.last.batch else ()
                self.stages[name] = replace(own, segments=(*earlier, *later))

    def to_json(self) -> dict[str, Any]:
        last = replace(self.last, stages={}, scans={}, positions={}, revisions=RevisionLog())
        stages = {name: stage.to_json() for name, stage in self.stages.items()}
        positions = {name: asdict(position) for name, position in self.positions.items()}
        revisions = {"revisions": self.revisions.to_json()} if self.revisions else {}
        return {"last": last.to_json(), "stages": stages, "scans": self.scans, "positions": positions, **revisions}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Results:
        stages = {name: StageResult.from_json(stage) for name, stage in value["stages"].items()}
        positions = {name: Position.from_json(position) for name, position in value.get("positions", {}).items()}
        revisions = RevisionLog.from_json(value.get("revisions"))
        return cls(Record.from_json(value["last"]), stages, value["scans"], positions, revisions)


class ResultLog:
    """Records on disk. One process writes, any number may read."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def write(self, record: Record) -> None:
        self._storage.write_json(_name(record.batch), record.to_json())

    def committed(self) -> int:
        """The last batch that Spark has committed, -1 if there is none; Spark deletes older names now and then."""
        done = [int(name) for name in self._storage.names(COMMITS) if name.isdigit()]
        return max(done, default=-1)

    def base(self) -> Results:
        """What the snapshot holds."""
        snapshot = self._storage.read_json(_SNAPSHOT)
        return Results() if snapshot is None else Results.from_json(snapshot)

    def load(self) -> Results:
        """All results of committed batches. Records that are folded while we read are found in the snapshot."""
        while True:
            results = self.base()
            committed = self.committed()
            for record in self._records(results.last.batch, committed):
                if record.batch != results.last.batch + 1:
                    break
                results.take(record)
            if results.last.batch >= committed or self.base().last.batch <= results.last.batch:
                return results

    def after(self, batch: int) -> Iterable[Record]:
        """The records of committed batches after one, in order."""
        return self._records(batch, self.committed())

    def folded(self, upto: int) -> Results:
        """What the snapshot would hold if the records up to a batch were in it."""
        results = self.base()
        for record in self._records(results.last.batch, upto):
            results.take(record)
        return results

    def fold(self, results: Results) -> None:
        """Make this the snapshot. Whoever reads it looks at later records only; the folded ones go with `tidy`."""
        self._storage.write_json(_SNAPSHOT, results.to_json())

    def tidy(self, results: Results) -> None:
        """Delete records that are in the snapshot, also those that a crash has left behind."""
        for name in self._storage.names(_FOLDER):
            number = name.removesuffix(".json")
            if number.isdigit() and int(number) <= results.last.batch:
                self._storage.delete(f"{_FOLDER}/{name}")

    def _records(self, after: int, upto: int) -> Iterable[Record]:
        for number in range(after + 1, upto + 1):
            value = self._storage.read_json(_name(number))
            if value is not None:
                yield Record.from_json(value)


def _name(batch: int) -> str:
    return f"{_FOLDER}/{batch:012d}.json"
