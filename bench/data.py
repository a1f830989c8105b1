"""The data that both sides read: Parquet files, so many for each micro-batch, in the order of time.

All values are multiples of a quarter, so that sums are exact in whatever order they are added up.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = datetime(2026, 1, 1, tzinfo=UTC)
#: tuples for each second of the streams' own time, all streams together
RATE = 250
SITES, ITEMS = 100, 10_000

FILTER, TUMBLING, SLIDING, JOIN = "filter-project", "tumbling group-by", "sliding group-by", "window join"
KINDS = (FILTER, TUMBLING, SLIDING, JOIN)
STREAMS = {
    FILTER: ("readings",),
    TUMBLING: ("readings",),
    SLIDING: ("readings",),
    JOIN: ("orders", "payments"),
}


@dataclass(frozen=True)
class Data:
    """Some streams as files; `files[stream][batch]` are those of one micro-batch."""

    folder: Path
    rows: int
    batch_rows: int
    files: dict[str, list[list[Path]]]
    last: int  # the last whole second that the streams reach, since 1970

    @property
    def batches(self) -> int:
        return max(len(batches) for batches in self.files.values())

    def files_per_batch(self, stream: str) -> int:
        return max(len(files) for files in self.files[stream])


def generate(folder: Path, streams: tuple[str, ...], rows: int, batch_rows: int, cores: int) -> Data:
    """Write the files. A batch has a file for each core, so that both sides can read it in parallel."""
    per_stream = rows // len(streams)
    pieces = max(1, cores // len(streams))
    files: dict[str, list[list[Path]]] = {}
    seconds = 0.0
    for number, stream in enumerate(streams):
        rng = np.random.default_rng(7 + number)
        (folder / stream).mkdir(parents=True)
        files[stream] = []
        size = batch_rows // len(streams)
        for first in range(0, per_stream, size):
            count = min(size, per_stream - first)
            cuts = np.linspace(0, count, pieces + 1).astype(int)
            files[stream].append([])
            for a, b in pairwise(cuts.tolist()):
                path = folder / stream / f"{first + a:012d}.parquet"
                pq.write_table(_table(stream, first + a, b - a, RATE / len(streams), rng), path)
                stamp = START.timestamp() + first + a  # Spark takes files in the order of their times
                os.utime(path, (stamp, stamp))
                files[stream][-1].append(path)
        seconds = max(seconds, (per_stream - 1) / (RATE / len(streams)))
    return Data(folder, rows, batch_rows, files, int(START.timestamp() + seconds))


def _table(stream: str, first: int, count: int, rate: float, rng: np.random.Generator) -> pa.Table:
    ids = np.arange(first, first + count)
    micros = int(START.timestamp()) * 1_000_000 + (ids * (1_000_000 / rate)).astype(np.int64)
    at = pa.array(micros).cast(pa.timestamp("us", tz="UTC"))
    quarters = rng.integers(0, 4_000, count) / 4
    if stream == "readings":
        site = rng.integers(0, SITES, count).astype(np.int32)
        return pa.table({"at": at, "id": ids, "site": site, "temp": quarters, "load": rng.integers(0, 400, count) / 4})
    return pa.table({"at": at, "item": rng.integers(0, ITEMS, count).astype(np.int32), "amount": quarters})
