"""What needs processes of its own: how much memory a side takes at most, and what a stream without tags costs beside
the code of another checkout, which had no tags."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.tags.experiments import STREET_JOIN, Cell, Feed, Side, cells
from bench.tags.roads import WIDTH
from bench.tags.worker import HERE, Worker, tags_beside
from bench.tags.workload import COLUMNS, Batch, Stream

#: rows of the batches that warm a process up
WARM = 5_000


def peak(cell: Cell, side: Side, folder: Path, rows: int, batches: int) -> dict[str, float]:
    """Megabytes of its Python processes: before the first batch that counts, and at the highest after it."""
    worker = Worker()
    try:
        worker.open(folder / "db", side.statements(), side.query or "")
        stream = Stream(cell.tags, cell.grain, cell.per_tick)
        before = 0.0
        for number, batch in enumerate(stream.batches(2, WARM)):
            before = worker.push(_written(side.feed, batch, folder / f"warm{number}"), watch=True)["peak"]
        highest = before
        for number, batch in enumerate(stream.batches(batches, round(rows * cell.part))):
            highest = max(highest, worker.push(_written(side.feed, batch, folder / f"{number}"), watch=True)["peak"])
        worker.close()
    finally:
        worker.end()
    return {"before": before, "highest": highest, "grown": highest - before}


def _written(feed: Feed, batch: Batch, folder: Path) -> dict[str, Path]:
    """A batch as files: what it takes to make it is not the worker's."""
    folder.mkdir(parents=True)
    files = {}
    for stream, fed in feed(batch).items():
        rows, tags = fed if isinstance(fed, tuple) else (fed, None)
        files[stream] = folder / f"{stream}.parquet"
        pq.write_table(rows, files[stream])
        if tags is not None:
            pq.write_table(tags, tags_beside(files[stream]))
    return files


def untagged_sides() -> list[Side]:
    """Plain queries over streams in which there is no tag."""

    def plain(batch: Batch) -> dict[str, pa.Table]:
        return {"moving": batch.reports}

    one = {"moving": COLUMNS}
    (join,) = (side for cell in cells(STREET_JOIN, 0, 0.0) for side in cell.sides if side.name == "join")
    window = "FROM NOW-4 TO NOW SLIDE 5 SEC"
    return [
        Side("intake", one, plain, "SELECT id FROM moving WHERE id < 0"),
        Side("selection", one, plain, f"SELECT * FROM moving WHERE x < CAST({WIDTH / 2} AS DOUBLE)"),
        Side("aggregate", one, plain, f"SELECT station, COUNT(*), AVG(speed) FROM moving [{window}] GROUP BY station"),
        join,
    ]


def beside(checkout: Path, folder: Path, rows: int, settle: int, batches: int) -> Iterator[dict[str, Any]]:
    """Each plain query on this code and on that of another checkout, batch by batch in turns."""
    workers = {"now": Worker(HERE), "before": Worker(checkout)}
    try:
        for side in untagged_sides():
            names = list(workers)
            for name, worker in workers.items():
                worker.open(folder / side.name / name, side.statements(), side.query or "")
            spent: dict[str, list[float]] = {name: [] for name in names}
            for number, batch in enumerate(Stream(0).batches(settle + batches, rows)):
                files = _written(side.feed, batch, folder / side.name / f"{number}")
                for name in names if number % 2 else reversed(names):
                    spent[name].append(workers[name].push(files)["cpu"])
            for worker in workers.values():
                worker.close()
            yield {"side": side.name, **compared(*(spent[name][settle:] for name in names)), "all": spent}
    finally:
        for worker in workers.values():
            worker.end()


def compared(now: Sequence[float], before: Sequence[float]) -> dict[str, float | None]:
    """The ratio of the medians, and how far it may be off: the error of the mean of the batches' ratios."""
    logs = [math.log(one / other) for one, other in zip(now, before, strict=True) if one > 0 and other > 0]
    error = statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else None
    return {"ratio": statistics.median(now) / statistics.median(before), "error": error}
