"""Rows of Parquet files that stay where they are: `OPTIONS (copy 'false')`.

Of such a file only the footer is read when its rows come in. What it must be like so that everybody reads it as they
read a segment of a log is said here; any other file is copied, as without the option.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eddyline.algebra.types import BOOLEAN, DATE, DOUBLE, FLOAT, INTEGER_BITS, STRING, TIMESTAMP, DataType
from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_type
from eddyline.errors import InvalidDefinition, StorageUnreadable
from eddyline.sources.converted import DAYS, MOMENTS
from eddyline.sources.options import flag

COPY = "copy"
#: how the time of a row becomes its tick: it is one, it counts microseconds, or it counts days
NUMBER, MOMENT, DAY = "number", "moment", "day"
MICROS_OF_A_DAY = 86_400_000_000
#: row groups are taken together up to so many rows; one that is larger is a stretch by itself …
_STRETCH_ROWS = 1 << 19
#: … unless it is larger than a task should read at once
_MOST_ROWS = 1 << 21
#: what Spark or the kernel would take for a pattern in a path
_PATTERN = re.compile(r"[*?\[\]{}\\]")
#: names that the readers give to what they know of a file beside its columns
_TAKEN = frozenset({"_metadata", "file_row_number", "filename"})
_HINT = "put the file back as it was; files that are not copied must stay as long as their rows can be needed"


def stays(extent: Extent) -> bool:
    """Whether an extent wants the rows of its files to stay there; raises if that cannot be."""
    if flag(extent, COPY, True):
        return False
    if not extent.is_stream:
        raise InvalidDefinition(f"{extent.name}: option {COPY} is for streams; a table is read as it is")
    if extent.timestamp is None:
        raise InvalidDefinition(
            f"{extent.name}: rows that are not copied need a time of their own", hint="say TIMESTAMP BY column"
        )
    if extent.key:
        raise InvalidDefinition(f"{extent.name}: a stream with a KEY copies its rows", hint=f"leave out {COPY} 'false'")
    return True


@dataclass(frozen=True)
class InPlace:
    """Some rows of a file, and which file it was when they came in."""

    file: str  # absolute
    size: int
    modified: int  # in nanoseconds
    start: int  # the number of its first row, from 0
    rows: int
    time: str  # the column
    kind: str  # NUMBER, MOMENT or DAY
    micros: int  # of a tick, for moments and days

    def slice(self, start: int, rows: int) -> InPlace:
        return replace(self, start=self.start + start, rows=max(0, min(rows, self.rows - start)))

    def check(self, stream: str) -> None:
        """Raises if the file is not what it was."""
        try:
            now = os.stat(self.file)
        except OSError as problem:
            reason = problem.strerror or str(problem)
            raise StorageUnreadable(
                f"{self.file}, which {stream} refers to, cannot be read: {reason}", hint=_HINT
            ) from None
        if (now.st_size, now.st_mtime_ns) != (self.size, self.modified):
            raise StorageUnreadable(
                f"{self.file}, which {stream} refers to, has changed since its rows came in", hint=_HINT
            )

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows, group by group; without columns, all there are."""
        with pq.ParquetFile(self.file, memory_map=True) as opened:
            wanted = opened.schema_arrow.names if columns is None else list(columns)
            for group, first, rows in self.groups(opened):
                yield _plain(opened.read_row_group(group, columns=wanted).slice(first, rows))

    def groups(self, opened: pq.ParquetFile) -> list[tuple[int, int, int]]:
        """The row groups that have some of the rows, with the first and the number of those in each."""
        found = []
        begin = 0
        for group in range(opened.num_row_groups):
            rows = opened.metadata.row_group(group).num_rows
            low, high = max(begin, self.start), min(begin + rows, self.start + self.rows)
            if low < high:
                found.append((group, low - begin, high - low))
            begin += rows
        return found

    def schema(self) -> pa.Schema:
        return _plain(pq.read_schema(self.file, memory_map=True).empty_table()).schema

    def ticks(self, times: pa.ChunkedArray) -> pa.Array:
        return ticks_of(times.combine_chunks(), self.kind, self.micros)


def _plain(table: pa.Table) -> pa.Table:
    """Texts in the one way in which logs have them, and every column such that it may have NULLs."""
    columns = [column.cast(pa.string()) if _is_text(column.type) else column for column in table.columns]
    return pa.table(columns, list(table.column_names))


def kind_of(type_: DataType) -> str:
    return {TIMESTAMP: MOMENT, DATE: DAY}.get(type_, NUMBER)


def ticks_of(times: pa.Array, kind: str, tick_micros: int) -> pa.Array:
    """The ticks of times; null where there is none."""
    if kind == MOMENT:
        micros = times.view(pa.int64())
    elif kind == DAY:
        micros = pc.multiply(pc.cast(times.view(pa.int32()), pa.int64()), MICROS_OF_A_DAY)
    else:
        return pc.cast(times, pa.int64())
    absent = pc.is_null(micros).to_numpy(zero_copy_only=False) if micros.null_count else None
    whole = pc.fill_null(micros, 0).to_numpy() if absent is not None else micros.to_numpy()
    return pa.array(np.floor_divide(whole, tick_micros), mask=absent)  # rounds down, Arrow's division does not


def why_copied(extent: Extent, opened: pq.ParquetFile, file: Path) -> str | None:
    """Why the rows of a file cannot stay in it; None if they can."""
    schema = opened.schema_arrow
    if _PATTERN.search(str(file.absolute())):
        return "its path looks like a pattern"
    if sorted(schema.names) != sorted(extent.schema.names):
        return "its columns are not named as they are declared, or there are more"
    if _TAKEN.intersection(name.lower() for name in schema.names):
        return "a column has a name that its readers use"
    for field in extent.schema.fields:
        if not _is_as_declared(schema.field(field.name).type, field.type):
            return f"its column {field.name} is {schema.field(field.name).type}, not {field.type}"
        if field.type in (DATE, TIMESTAMP) and not _within_bounds(opened.metadata, field.name, field.type):
            return f"its column {field.name} may have days that are none"
    groups = (opened.metadata.row_group(group).num_rows for group in range(opened.num_row_groups))
    if max(groups, default=0) > _MOST_ROWS:
        return f"it has a row group of more than {_MOST_ROWS:,} rows"
    return None


def stretches(opened: pq.ParquetFile) -> list[list[int]]:
    """The row groups of a file, those together whose rows come in together."""
    found: list[list[int]] = []
    rows = 0
    for group in range(opened.num_row_groups):
        more = opened.metadata.row_group(group).num_rows
        if not found or rows + more > _STRETCH_ROWS:
            found.append([])
            rows = 0
        found[-1].append(group)
        rows += more
    return found


def _is_as_declared(given: pa.DataType, type_: DataType) -> bool:
    if type_ == STRING:
        return _is_text(given)
    plain = type_ in INTEGER_BITS or type_ in (BOOLEAN, FLOAT, DOUBLE, DATE, TIMESTAMP) or type_.name == "DECIMAL"
    return plain and bool(given == arrow_type(type_))


def _is_text(given: pa.DataType) -> bool:
    if pa.types.is_dictionary(given):
        given = given.value_type
    return bool(pa.types.is_string(given) or pa.types.is_large_string(given) or pa.types.is_string_view(given))


def _within_bounds(metadata: Any, name: str, type_: DataType) -> bool:
    """Whether a file says that its days are between the first and the last there is; others are not values at all."""
    low, high = MOMENTS if type_ == TIMESTAMP else DAYS
    for column in _chunks(metadata, name, range(metadata.num_row_groups)):
        said = column.statistics
        if said is None or not said.has_null_count:
            return False
        if said.null_count == column.num_values:
            continue
        if not said.has_min_max or not low <= said.min_raw or not said.max_raw <= high:
            return False
    return True


def spans_in(metadata: Any, groups: Sequence[int], place: InPlace) -> tuple[tuple[int, int], ...] | None:
    """From which tick to which the rows of each group go; None if the file does not say, or has no time somewhere."""
    found = []
    for column in _chunks(metadata, place.time, groups):
        said = column.statistics
        if said is None or not said.has_null_count or said.null_count or not said.has_min_max:
            return None
        ends = pa.array([said.min_raw, said.max_raw])
        times = {MOMENT: pa.int64(), DAY: pa.int32()}.get(place.kind, pa.int64())
        low, high = ticks_of(ends.cast(times), place.kind, place.micros).to_pylist()
        found.append((low, high))
    return tuple(found)


def _chunks(metadata: Any, name: str, groups: Sequence[int]) -> Iterator[Any]:
    """Those of a column."""
    for group in groups:
        of_group = metadata.row_group(group)
        yield next(c for c in map(of_group.column, range(of_group.num_columns)) if c.path_in_schema == name)
