"""What the engine does with its logs, without Spark: pushes, micro-batches, and crashes at any write."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from eddyline.algebra.retention import horizon_of
from eddyline.errors import StorageUnusable
from eddyline.log.answers import BATCH
from eddyline.log.ingest import Ingest
from eddyline.log.journal import Base, Journal, Tail
from eddyline.log.merging import Merge
from eddyline.log.results import Position, Record, ResultLog, Results, StageResult
from eddyline.log.segment import DIFF, INDEX, SEQ, TICK, Segment, segment_of
from eddyline.log.storage import Storage
from eddyline.log.upkeep import House, Pace, Upkeep
from eddyline.sources.pushed import chunk_of
from sources.extents import SECOND, extent

ROAD = extent("site INTEGER, time INTEGER, temp INTEGER", format=None)
#: everything as often as possible
BUSY = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)


class Crash(BaseException):
    """The process is gone; nobody catches it."""


class Faulty(Storage):
    """Fails at the k-th change: before it, after it, or with an error that one may live through."""

    def __init__(self, root: str, at: int, how: str) -> None:
        super().__init__(root)
        self.left, self.how = at, how

    def _change(self, change: Any, *arguments: Any) -> Any:
        self.left -= 1
        if self.left == 0 and self.how != "after":
            raise Crash if self.how == "before" else StorageUnusable("no space left")
        result = change(*arguments)
        if self.left == 0:
            raise Crash
        return result

    def write(self, name: str, content: bytes) -> None:
        self._change(super().write, name, content)

    def write_table(self, name: str, table: pa.Table) -> int:
        return int(self._change(super().write_table, name, table))

    def merge_tables(self, name: str, parts: Sequence[str], *more: Any) -> int:
        return int(self._change(super().merge_tables, name, parts, *more))

    def delete(self, name: str) -> None:
        self._change(super().delete, name)


class SmallEngine:
    """One stream and one query, `q`, whose answer is the changes of the stream as they are."""

    def __init__(
        self, storage: Storage, pace: Pace, retain: int | None = None, standing: Sequence[str] = ("q",)
    ) -> None:
        self.storage = storage
        self.standing = list(standing)
        self._retain = retain
        self.written, self.read = Journal(storage), Journal(storage)
        self.ingest = Ingest(storage, self.written, lambda reject: None)
        self.log = ResultLog(storage)
        self.results = self.log.load()
        self.tail = Tail(storage)
        self.trouble: list[str] = []
        self.late: dict[str, Position | None] = {}  # positions that the next batches write down
        self.upkeep = Upkeep(
            House(
                storage,
                self.read,
                lambda: self.results,
                lambda: self.standing,
                self._folded,
                self._merge,
                self._cuts,
                self.trouble.append,
            ),
            pace,
        )

    def push(self, rows: Sequence[Mapping[str, Any]], number: int) -> None:
        self.ingest.append({"road": ROAD}, [chunk_of(ROAD, rows, SECOND)], origin={"pushes": number})

    @property
    def pushes(self) -> int:
        return self.written.origin.get("pushes", 0)

    def batch(self) -> None:
        """What Spark does: it writes down how far the batch goes, has it processed, and commits it."""
        batch = self.log.committed() + 1
        offset = self.storage.read_json(f"checkpoint/offsets/{batch}")
        if offset is None:
            before = self.storage.read_json(f"checkpoint/offsets/{batch - 1}") or 0
            offset = max((entry.number for entry in self.tail.after(before)), default=before)
            Storage.write_json(Storage(self.storage.root), f"checkpoint/offsets/{batch}", offset)
        if batch <= self.results.last.batch:
            self.results = self.log.load()
        self.process(batch, offset)
        Storage.write(Storage(self.storage.root), f"checkpoint/commits/{batch}", b"")
        for name in sorted(self.storage.names("checkpoint/commits"), key=int)[:-3]:  # Spark keeps the last ones only
            Path(self.storage.path(f"checkpoint/commits/{name}")).unlink()

    def process(self, batch: int, entry: int) -> None:
        self.upkeep.between_batches(batch - 1)
        self.read.refresh()
        entries = self.read.between(self.results.last.entry, entry)
        segments = [s for e in entries for s in e.segments.get("road", ())]
        added = [self._answer(batch, segment) for segment in segments if self.standing]
        count = max((s.index[1] for s in added), default=0)
        stages = {name: StageResult(tuple(added), count, start=0) for name in self.standing}
        at = entries[-1] if entries else self.results.last
        record = Record(batch, entry, at.reached, at.closed, stages, positions=self.late)
        self.log.write(record)
        self.results.take(record)

    def _answer(self, batch: int, segment: Segment) -> Segment:
        table = self.storage.read_table(segment.path, [INDEX, TICK, DIFF, "temp"])
        table = table.add_column(0, BATCH, pa.array([batch] * table.num_rows, pa.int64()))
        path = f"results/q/{batch:012d}-{uuid.uuid4().hex}.parquet"
        size = self.storage.write_table(path, table)
        found = segment_of(path, size, table.append_column(SEQ, table.column(BATCH)))
        assert found.seq == (batch, batch)
        return found

    def _merge(self, merges: Sequence[Merge]) -> list[int]:
        return [merge.run(self.storage) for merge in merges]

    def _cuts(self, base: Base, results: Results) -> dict[str, int]:
        tick = horizon_of(base.state("road").top, self._retain)
        return {} if tick is None else {"road": tick}

    def _folded(self, base: Base, results: Results) -> None:
        self.results.rest_on(results)
        self.written.rest_on(base)


def rows_of_push(number: int) -> list[dict[str, Any]]:
    """New tuples, now and then one that is late, one that is corrected and one that is withdrawn."""
    at = 10 * number
    rows: list[dict[str, Any]] = [{"site": k, "time": at + k, "temp": at} for k in range(3)]
    if number % 4 == 3:
        rows.append({"site": 9, "time": at - 25, "temp": at})
    if number % 3 == 2:
        rows.append({"_op": "=", "_ref": 3 * number - 4, "site": 5, "time": at - 9, "temp": -at})
    if number % 5 == 4:
        rows.append({"_op": "-", "_ref": 3 * number - 2})
    return rows


def run(engine: SmallEngine, pushes: int, patient: bool = False) -> None:
    """Push and answer what is left; `patient`: what fails is tried again."""
    while True:
        try:
            if engine.read.number > engine.results.last.entry or engine.written.number > engine.results.last.entry:
                engine.batch()
            elif engine.pushes < pushes:
                engine.push(rows_of_push(engine.pushes), engine.pushes + 1)
            else:
                return
        except StorageUnusable:
            if not patient:
                raise


def stream_rows(engine: SmallEngine, since: int = -(2**62)) -> list[tuple[Any, ...]]:
    """Everything in the stream's log, by place."""
    tables = [engine.storage.read_table(s.path) for s in engine.written.state("road").segments]
    rows = [tuple(row.values()) for table in tables for row in table.to_pylist() if row[TICK] >= since]
    return sorted(rows, key=lambda row: row[0])


def result_rows(engine: SmallEngine, results: Results) -> list[tuple[Any, ...]]:
    tables = [engine.storage.read_table(s.path) for s in results.stages["q"].segments]
    return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())


def contents(engine: SmallEngine, since: int = -(2**62)) -> dict[str, Any]:
    """Everything that counts, however it is cut into files."""
    state, stage = engine.written.state("road"), engine.results.stages["q"]
    return {
        "rows": stream_rows(engine, since),
        "counters": (state.last_seq, state.last_index, engine.written.number, dict(engine.written.origin)),
        "clock": (engine.written.reached, engine.written.closed),
        "answers": result_rows(engine, engine.results),
        "stage": (stage.count, stage.plus, stage.minus, stage.start, engine.results.last.batch),
    }


def files(engine: SmallEngine) -> list[str]:
    return [
        name
        for folder in ("streams", "results", "journal", "batches")
        for name, _ in engine.storage.files_below(folder)
    ]
