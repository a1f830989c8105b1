"""From the push of one row to its answer, beside what Spark takes for a micro-batch in which nothing is done.

All three follow their source with the same trigger (at once) and end when the batch is in Spark's commit log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eddyline.database import connect
from eddyline.spark.source import FORMAT, LogSource

EDDYLINE, EMPTY_FILES, EMPTY_LOG = "eddyline", "empty foreachBatch, file source", "empty foreachBatch, our source"
_STREAM = "CREATE STREAM readings (at TIMESTAMP, site INTEGER, temp DOUBLE) TIMESTAMP BY at"
_SCHEMA = "at TIMESTAMP, site INT, temp DOUBLE"
#: longer is not slow but stuck
_PATIENCE = 60.0
Push = Callable[[int], None]  # pushes a row and comes back when it is answered


def row(number: int) -> tuple[datetime, int, float]:
    return datetime.fromtimestamp(1_800_000_000 + number, UTC), number % 10, 20.0


@contextmanager
def eddyline(spark: Any, root: Path) -> Iterator[Push]:
    with connect(str(root), heartbeat=None) as db:
        db.sql(_STREAM)
        answers = db.sql("CREATE QUERY warm AS SELECT site, temp * 1.8 + 32 AS hot FROM readings WHERE temp > 10")
        readings = db.stream("readings")

        def push(number: int) -> None:
            readings.push([row(number)])
            assert answers.fetch(timeout=_PATIENCE), "no answer"

        yield push


@contextmanager
def empty_log(spark: Any, root: Path) -> Iterator[Push]:
    """A database without queries takes the rows; a query of ours follows its log and does nothing."""
    with connect(str(root), heartbeat=None) as db:
        db.sql(_STREAM)
        readings = db.stream("readings")
        spark.dataSource.register(LogSource)
        frame = spark.readStream.format(FORMAT).option("root", str(root)).load()
        with _empty(frame, root / "checkpoint") as committed:

            def push(number: int) -> None:
                readings.push([row(number)])
                committed(number)

            yield push


@contextmanager
def empty_files(spark: Any, root: Path) -> Iterator[Push]:
    (root / "in").mkdir(parents=True)
    with _empty(spark.readStream.schema(_SCHEMA).parquet(str(root / "in")), root / "checkpoint") as committed:

        def push(number: int) -> None:
            at, site, temp = row(number)
            table = pa.table({"at": [at], "site": pa.array([site], pa.int32()), "temp": [temp]})
            pq.write_table(table, root / f"in/.{number}")
            os.replace(root / f"in/.{number}", root / f"in/{number}.parquet")
            committed(number)

        yield push


@contextmanager
def _empty(frame: Any, checkpoint: Path) -> Iterator[Callable[[int], None]]:
    writer = frame.writeStream.foreachBatch(lambda batch, number: None)
    query = writer.option("checkpointLocation", str(checkpoint)).start()

    def committed(number: int) -> None:
        end = time.monotonic() + _PATIENCE
        while not (checkpoint / f"commits/{number}").exists():
            assert time.monotonic() < end and query.isActive, "no commit"
            time.sleep(0.002)

    try:
        yield committed
    finally:
        query.stop()


WAYS = {EDDYLINE: eddyline, EMPTY_FILES: empty_files, EMPTY_LOG: empty_log}


def latencies(spark: Any, way: str, root: Path, pushes: int, warm: int) -> list[float]:
    """Seconds for each of some pushes, one after the other."""
    found = []
    with WAYS[way](spark, root) as push:
        for number in range(warm + pushes):
            began = time.monotonic()
            push(number)
            found.append(time.monotonic() - began)
            time.sleep(0.02)
    return found[warm:]
