"""Which segments hold the answers of which query, batch by batch.

A micro-batch writes one record with everything it adds. The record of a batch that is run again replaces the one
before it, and readers look only at batches that Spark's own commit log has: so every answer is there once, whatever is
killed and started again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eddyline.log.segment import Segment
from eddyline.log.storage import Storage

_SNAPSHOT = "batches/snapshot.json"
COMMITS = "checkpoint/commits"


@dataclass(frozen=True)
class StageResult:
    """What one stage of a query added in a batch: segments, and how many tuples or windows it has numbered so far.

    `touched` are the stretches of ticks of the new rows. `start` is the tick at which the query began.
    """

    segments: tuple[Segment, ...] = ()
    count: int = 0
    touched: tuple[tuple[int, int], ...] = ()
    start: int | None = None
    plus: int = 0
    minus: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "segments": [segment.to_json() for segment in self.segments],
            "count": self.count,
            "touched": [list(span) for span in self.touched],
            "start": self.start,
            "plus": self.plus,
            "minus": self.minus,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> StageResult:
        segments = tuple(Segment.from_json(segment) for segment in value["segments"])
        touched = tuple((low, high) for low, high in value["touched"])
        return cls(segments, value["count"], touched, value["start"], value["plus"], value["minus"])


@dataclass(frozen=True)
class Record:
    """One micro-batch: up to which entry of the journal it came, the clock then, and what each stage added."""

    batch: int
    entry: int
    reached: int | None
    closed: int | None
    stages: Mapping[str, StageResult] = field(default_factory=dict)
    scans: Mapping[str, Any] = field(default_factory=dict)  # snapshots of tables taken in this batch

    def to_json(self) -> dict[str, Any]:
        stages = {name: stage.to_json() for name, stage in self.stages.items()}
        fields = {"batch": self.batch, "entry": self.entry, "reached": self.reached, "closed": self.closed}
        return {**fields, "stages": stages, "scans": dict(self.scans)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Record:
        stages = {name: StageResult.from_json(stage) for name, stage in value["stages"].items()}
        return cls(value["batch"], value["entry"], value["reached"], value["closed"], stages, value["scans"])


@dataclass
class Results:
    """The results of all batches up to `last`, put together."""

    last: Record = field(default_factory=lambda: Record(-1, 0, None, None))
    stages: dict[str, StageResult] = field(default_factory=dict)
    scans: dict[str, list[Any]] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        for name, added in record.stages.items():
            had = self.stages.get(name, StageResult())
            self.stages[name] = replace(
                added,
                segments=(*had.segments, *added.segments),
                plus=had.plus + added.plus,
                minus=had.minus + added.minus,
            )
        for name, taken in record.scans.items():
            self.scans.setdefault(name, []).append(taken)
        self.last = record

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            self.stages.pop(name, None)
            self.scans = {key: taken for key, taken in self.scans.items() if not key.startswith(f"{name}\n")}


class ResultLog:
    """Records on disk. One process writes, any number may read."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def write(self, record: Record) -> None:
        self._storage.write_json(_name(record.batch), record.to_json())

    def committed(self) -> int:
        """The last batch that Spark has committed, -1 if there is none."""
        done = [int(name) for name in self._storage.names(COMMITS) if name.isdigit()]
        return max(done, default=-1)

    def folded(self) -> int:
        """The last batch whose record went into the snapshot, -1 if there is none."""
        snapshot = self._storage.read_json(_SNAPSHOT)
        return -1 if snapshot is None else int(snapshot["last"]["batch"])

    def load(self) -> Results:
        """All results of committed batches."""
        results = Results()
        snapshot = self._storage.read_json(_SNAPSHOT)
        if snapshot is not None:
            results.last = Record.from_json({**snapshot["last"]})
            results.stages = {name: StageResult.from_json(stage) for name, stage in snapshot["stages"].items()}
            results.scans = snapshot["scans"]
        for record in self.after(results.last.batch):
            results.take(record)
        return results

    def after(self, batch: int) -> Iterable[Record]:
        """The records of committed batches after one, in order."""
        committed = self.committed()
        for number in range(batch + 1, committed + 1):
            value = self._storage.read_json(_name(number))
            if value is not None:
                yield Record.from_json(value)

    def fold(self, results: Results) -> None:
        """Put the records so far into the snapshot."""
        empty = replace(results.last, stages={}, scans={})
        stages = {name: stage.to_json() for name, stage in results.stages.items()}
        self._storage.write_json(_SNAPSHOT, {"last": empty.to_json(), "stages": stages, "scans": results.scans})
        for name in self._storage.names("batches"):
            number = name.removesuffix(".json")
            if number.isdigit() and int(number) <= results.last.batch:
                self._storage.delete(f"batches/{name}")


def _name(batch: int) -> str:
    return f"batches/{batch:012d}.json"
