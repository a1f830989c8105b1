"""Rows of a DataFrame as Parquet pieces, written by the tasks that have them; the driver gets references only."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.columnar.gathering import tables_of
from eddyline.log.storage import Storage
from eddyline.sources.staged import TEXT, UNFIT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: whoever reads pieces one by one has so many rows in memory at most
PIECE_ROWS = 1 << 18
_REFERENCE = "part BIGINT, number BIGINT, path STRING, rows BIGINT, unfit STRING"


@dataclass(frozen=True)
class Piece:
    """A Parquet file; `unfit` are the lines, reasons and texts of the rows that were left out of it."""

    path: str
    rows: int
    unfit: tuple[tuple[int, str, str], ...] = ()


def write_pieces(frame: DataFrame, folder: str, storage: Storage, only_fitting: bool) -> list[Piece]:
    """The pieces in the order of Spark's partitions. A task that fails or is overtaken leaves files nobody names."""
    root, most = storage.root, PIECE_ROWS

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        line = 1
        for number, table in enumerate(tables_of(batches, most)):
            unfit = _unfit_rows(table, line) if only_fitting else []
            line += table.num_rows
            if only_fitting:
                table = table.filter(pc.is_null(table.column(UNFIT))).drop_columns([UNFIT, TEXT])
            path = f"{folder}/{uuid.uuid4().hex}.parquet"
            Storage(root).write_table(path, table)
            row = {"part": part, "number": number, "path": path, "rows": table.num_rows, "unfit": json.dumps(unfit)}
            yield pa.RecordBatch.from_pylist([row])

    rows = frame.mapInArrow(write, _REFERENCE).collect()
    return [
        Piece(row.path, row.rows, tuple((line, reason, text) for line, reason, text in json.loads(row.unfit)))
        for row in sorted(rows, key=lambda row: (row.part, row.number))
    ]


def _unfit_rows(table: pa.Table, first: int) -> list[tuple[int, str, str]]:
    lines = pa.array(range(first, first + table.num_rows), pa.int64())
    bad = pc.is_valid(table.column(UNFIT))
    columns = (lines.filter(bad.combine_chunks()), table.column(UNFIT).filter(bad), table.column(TEXT).filter(bad))
    return list(zip(*(column.to_pylist() for column in columns), strict=True))
