"""Results leave through the tasks that made them: each writes Parquet segments and returns references to them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.log.segment import DIFF, INDEX, TICK, Segment, bounds_of
from eddyline.log.storage import Storage
from eddyline.spark.stages import Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

REFERENCE = (
    "stage STRING, path STRING, rows BIGINT, size BIGINT, index_low BIGINT, index_high BIGINT, "
    "tick_low BIGINT, tick_high BIGINT, minus BIGINT"
)
#: a segment is written when it has that many rows, so that a task's memory stays bounded
_ROWS = 1_000_000
WINDOW = "_window"


def written(frame: DataFrame, stage: Stage, batch: int, storage: Storage) -> DataFrame:
    """The rows of the frame as segments of a stage's log; gives references to them."""
    root, name = storage.root, stage.name
    # the names of the result's columns: a DataFrame could not have them all, a file can
    names = [*frame.columns[: len(frame.columns) - len(stage.columns)], *stage.columns]

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # a path of its own for every attempt: what a failed or overtaken task wrote is never referred to
        target = Storage(root)
        for table in _tables(batches):
            path = f"results/{name}/{batch:012d}-{uuid.uuid4().hex}.parquet"
            table = table.rename_columns(names)
            yield _reference(name, path, target.write_table(path, table), table)

    return frame.mapInArrow(write, REFERENCE)


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= _ROWS:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _reference(stage: str, path: str, size: int, table: pa.Table) -> pa.RecordBatch:
    number = next((name for name in (INDEX, WINDOW) if name in table.column_names), None)
    index = (0, -1) if number is None else bounds_of(table, number)
    tick = bounds_of(table, TICK)
    minus = pc.sum(pc.less(table.column(DIFF), 0)).as_py() or 0
    values = [stage, path, table.num_rows, size, *index, *tick, minus]
    names = [field.split()[0] for field in REFERENCE.split(", ")]
    return pa.RecordBatch.from_arrays([pa.array([value]) for value in values], names=names)


def segments_of(references: Sequence[Row], batch: int) -> dict[str, list[Segment]]:
    """The segments that a batch wrote, by stage."""
    segments: dict[str, list[Segment]] = {}
    for row in references:
        value: Any = row
        segment = Segment(
            value.path,
            value.rows,
            value.size,
            (batch, batch),
            (value.index_low, value.index_high),
            (value.tick_low, value.tick_high),
            value.minus,
        )
        segments.setdefault(value.stage, []).append(segment)
    return segments
