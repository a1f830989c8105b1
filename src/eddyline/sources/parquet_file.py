"""Reading Parquet, a batch of rows at a time. The `line` of a row is its number in the file, from 1."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet

from eddyline.catalog.extent import Extent
from eddyline.errors import SourceUnusable
from eddyline.sources.arrival import Arrival, Reject
from eddyline.sources.columns import columns_by_name
from eddyline.sources.conversion import RowConversion
from eddyline.sources.files import ByteMeter
from eddyline.sources.in_place import COPY, stays, why_copied
from eddyline.sources.intake import BadRow, Intake
from eddyline.sources.native_value import native_converter
from eddyline.sources.options import check_options

OPTIONS = frozenset({"path", COPY})

_BATCH_ROWS = 8192


class ParquetReader:
    """How the files of one extent are to be read; holds no state of a pass."""

    def __init__(self, extent: Extent) -> None:
        check_options(extent, OPTIONS)
        self._extent = extent
        self._stays = stays(extent)
        self.conversion = RowConversion(extent.schema, native_converter)

    def check(self, file: Path) -> list[str]:
        with self._open(file) as opened:
            columns_by_name(self._extent, opened.schema_arrow.names, str(file))
            reason = why_copied(self._extent, opened, file) if self._stays else None
        return [] if reason is None else [f"{self._extent.name}: {file} is copied all the same: {reason}"]

    def rows(self, file: Path, intake: Intake, meter: ByteMeter) -> Iterator[Arrival | Reject]:
        with self._open(file) as opened:
            names = opened.schema_arrow.names
            plan = columns_by_name(self._extent, names, str(file))
            size, total, number = file.stat().st_size, max(1, opened.metadata.num_rows), 0
            row: Sequence[Any] = ()

            def said() -> str:
                return json.dumps(dict(zip(names, row, strict=True)), default=str, ensure_ascii=False)

            intake.said = said
            with meter.reading(file, lambda: size * number // total):
                for row in self._raw_rows(opened, file):
                    number += 1
                    op, ref, tag = (None if at is None else row[at] for at in (plan.op, plan.ref, plan.tag))
                    try:
                        yield intake.row(number, op, ref, tag, [row[at] for at in plan.order])
                    except BadRow as problem:
                        yield Reject(self._extent.name, str(file), number, said(), str(problem))

    def _open(self, file: Path) -> parquet.ParquetFile:
        try:
            return parquet.ParquetFile(file)
        except (arrow.ArrowException, OSError) as problem:
            raise SourceUnusable(f"{self._extent.name}: {file} is not a Parquet file: {problem}") from problem

    def _raw_rows(self, opened: parquet.ParquetFile, file: Path) -> Iterator[Sequence[Any]]:
        try:
            for batch in opened.iter_batches(batch_size=_BATCH_ROWS):
                yield from zip(*(_python_values(column) for column in batch.columns), strict=True)
        except (arrow.ArrowException, OSError) as problem:
            raise SourceUnusable(f"{self._extent.name}: {file} cannot be read to its end: {problem}") from problem


def _python_values(column: arrow.Array) -> list[Any]:
    if arrow.types.is_timestamp(column.type) and column.type.unit == "ns":
        # Python's datetime has no nanoseconds, and neither has Spark's TIMESTAMP.
        column = column.cast(arrow.timestamp("us", column.type.tz), safe=False)
    values: list[Any] = column.to_pylist()
    return values
