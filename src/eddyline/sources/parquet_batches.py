"""Reading Parquet as columns. Rows in doubt, and rows that are no tuples, go through `Intake` one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from eddyline.algebra.types import INTEGER_BITS
from eddyline.errors import SourceUnusable
from eddyline.sources.batch_intake import BatchIntake, Columns, Positions, Stretch, sure_rows
from eddyline.sources.chunk import Chunk
from eddyline.sources.columns import ColumnPlan, columns_by_name
from eddyline.sources.converted import mask
from eddyline.sources.files import ByteMeter
from eddyline.sources.in_place import NUMBER, InPlace, kind_of, spans_in, stretches, why_copied
from eddyline.sources.native_columns import from_native
from eddyline.sources.parquet_file import ParquetReader, _python_values
from eddyline.sources.reasons import written
from eddyline.sources.staying import StayingChunk
from eddyline.sources.text_columns import no_references

_LEAST_ROWS = 8192


class ParquetBatchReader(ParquetReader):
    """How the files of one extent are to be read as columns; holds no state of a pass."""

    def chunks(self, file: Path, intake: BatchIntake, meter: ByteMeter, chunk_rows: int) -> Iterator[Chunk]:
        with self._open(file) as opened:
            plan = columns_by_name(self._extent, opened.schema_arrow.names, str(file))
            size, total, rows = file.stat().st_size, max(1, opened.metadata.num_rows), 0
            may_stay = self._stays and why_copied(self._extent, opened, file) is None
            with meter.reading(file, lambda: size * rows // total):
                for groups in stretches(opened) if may_stay else [list(range(opened.num_row_groups))]:
                    chunk = self._in_place(opened, file, groups, rows, intake, meter) if may_stay else None
                    if chunk is not None:
                        rows += chunk.num_rows
                        yield chunk
                        continue
                    for batch in self._batches(opened, file, max(chunk_rows, _LEAST_ROWS), groups):
                        stretch = Stretch(intake, str(file))
                        lines = np.arange(rows + 1, rows + 1 + batch.num_rows)
                        sure = take_batch(batch, plan, lines, stretch)
                        rows += batch.num_rows
                        yield stretch.chunk([sure], meter.count)

    def _batches(
        self, opened: parquet.ParquetFile, file: Path, rows: int, groups: list[int]
    ) -> Iterator[pa.RecordBatch]:
        with self._to_its_end(file):
            yield from opened.iter_batches(batch_size=rows, row_groups=groups)

    def _in_place(
        self,
        opened: parquet.ParquetFile,
        file: Path,
        groups: list[int],
        first: int,
        intake: BatchIntake,
        meter: ByteMeter,
    ) -> Chunk | None:
        """The rows of some groups without their values; None if one has no time, and must be set aside."""
        assert intake.time is not None
        field = self._extent.schema.fields[intake.time]
        kind = kind_of(field.type)
        now, micros = file.stat(), 0 if kind == NUMBER else intake.tick_micros
        count = sum(opened.metadata.row_group(group).num_rows for group in groups)
        stays = InPlace(str(file.absolute()), now.st_size, now.st_mtime_ns, first, count, field.name, kind, micros)
        spans = spans_in(opened.metadata, groups, stays)
        if spans is None:  # the file does not tell
            with self._to_its_end(file):
                times = opened.read_row_groups(groups, columns=[field.name]).column(0)
            if times.null_count:
                return None
        return StayingChunk(self._extent.name, stays, meter.count, spans or (), str(file))

    @contextmanager
    def _to_its_end(self, file: Path) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as problem:
            raise SourceUnusable(f"{self._extent.name}: {file} cannot be read to its end: {problem}") from problem


def take_batch(
    batch: pa.RecordBatch, plan: ColumnPlan, lines: Positions, stretch: Stretch, whole_floats: bool = False
) -> Chunk:
    """The rows that are sure, the others being given to the stretch; `lines` are the numbers of the rows.

    Rows that are pushed may have `whole_floats`. The usual tags among them are sure, without the texts of their rows.
    """
    fields = stretch.intake.extent.schema.fields
    columns = Columns(
        lines,
        [from_native(batch.column(at), field.type, whole_floats) for at, field in zip(plan.order, fields, strict=True)],
        None if plan.op is None else _op_texts(batch.column(plan.op)),
        no_references(batch.num_rows) if plan.ref is None and stretch.intake.extent.key else None,
        tag=batch.column(plan.tag) if whole_floats and plan.tag is not None and _is_text(batch, plan.tag) else None,
        says=None if plan.tag is None else mask(pc.is_valid(batch.column(plan.tag))),
    )
    sure, doubtful = sure_rows(columns, stretch.intake, stretch.file)
    if len(doubtful):
        _RowWise(batch, plan, lines, stretch, whole_floats).take(doubtful)
    return sure


def _is_text(batch: pa.RecordBatch, at: int) -> bool:
    return bool(pa.types.is_string(batch.schema.field(at).type))


def _op_texts(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.string())
    return pa.repeat("?", len(column))  # whatever it is, it is in doubt


class _RowWise:
    """Takes rows of a batch one by one."""

    def __init__(
        self, batch: pa.RecordBatch, plan: ColumnPlan, lines: Positions, stretch: Stretch, whole_floats: bool
    ) -> None:
        self._batch = batch
        self._plan = plan
        self._lines = lines
        self._stretch = stretch
        fields = stretch.intake.extent.schema.fields
        self._may_be_whole = [whole_floats and field.type in INTEGER_BITS for field in fields]

    def take(self, positions: Positions) -> None:
        chosen = self._batch.take(pa.array(positions))
        rows = zip(*(_values(column) for column in chosen.columns), strict=True)
        for position, row in zip(positions.tolist(), rows, strict=True):
            self._take_one(int(self._lines[position]), row)

    def _take_one(self, number: int, row: Sequence[Any]) -> None:
        def said() -> str:
            return written(dict(zip(self._batch.schema.names, row, strict=True)))

        plan, intake = self._plan, self._stretch.intake
        op, ref, tag = (None if at is None else row[at] for at in (plan.op, plan.ref, plan.tag))
        raw = [
            int(row[at]) if may and isinstance(row[at], float) and row[at].is_integer() else row[at]
            for at, may in zip(plan.order, self._may_be_whole, strict=True)
        ]
        intake.said = said
        self._stretch.take(number, lambda: intake.row(number, op, ref, tag, raw), said)


def _values(column: pa.Array) -> list[Any]:
    try:
        return _python_values(column)
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> Any:
    try:
        return _python_values(pa.array([scalar], scalar.type))[0]
    except UnicodeDecodeError:
        return scalar.as_buffer().to_pybytes() if hasattr(scalar, "as_buffer") else _Unheld(scalar)
    except (OverflowError, ValueError):
        return _Unheld(scalar)


class _Unheld:
    """A value beyond what Python can hold, such as a year 10000. It fits no column, and its reason shows it."""

    def __init__(self, scalar: pa.Scalar) -> None:
        self._scalar = scalar

    def __str__(self) -> str:
        return f"{getattr(self._scalar, 'value', 'a value')} ({self._scalar.type})"
