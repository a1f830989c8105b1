"""Rows of segments that are looked up as they are, read column by column without the kernel.

Most who look for members of a class compare a column or two, and keep the others of those rows that somebody wants.
The kernel would put together every row of all columns, with its texts, as a table that is used once. Here a block of
rows is read into memory that the one before has used, and texts stay numbers of a dictionary until their row is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from eddyline.kernels.dialect import kernel_sql
from eddyline.kernels.places import Ints
from eddyline.log.referred import Referred, referred
from eddyline.log.segment import DIFF, SYSTEM, TICK
from eddyline.log.storage import Storage, is_own

#: a column that at most gets another name
_COLUMN = re.compile(r'(?:"((?:[^"]|"")+)"|(\w+))(?: AS (\w+))?')
#: what is compared with wider constants: as a number it is the same
_WIDENED = re.compile(r'CAST\(("(?:[^"]|"")+"|\w+) AS (BIGINT|DOUBLE)\)(?: AS \w+)?')
#: what all ask for: that a row is a tuple, and not a tick-tag
_IS_TUPLE = f"({kernel_sql(f'{DIFF} <> 0')[0]})"
#: texts that take so few bytes are numbers of a dictionary in the file; others would have to be looked up one by one
_BYTES_OF_A_NUMBER = 4
#: so often a text must stand in a block that it is worth a number
_REPEATED = 4


@dataclass(frozen=True)
class Reading:
    """Where the rows of a match come from, if they are rows of segments of which each is looked at by itself."""

    leaf: str
    files: tuple[str, ...]
    source: tuple[str, ...]  # what the segments' columns are called
    places: tuple[str, ...]  # where a tuple stands, under the names of columns
    columns: Mapping[str, str]  # of the match, by name, what they are
    condition: str


def read_directly(
    reading: Reading | None, storage: Storage, kept: Iterable[str], compared: Iterable[str]
) -> Rows | None:
    """The rows, if it takes no more than to read some columns; None if the kernel has to do it.

    What is `compared` with constants gets the type of these there, so it may be narrower in the file.
    """
    if reading is None or not storage.local or reading.condition not in (_IS_TUPLE, "true"):
        return None
    names = _columns_of(reading, kept)
    widened = {name: found for name in compared if (found := _WIDENED.fullmatch(reading.columns[name])) is not None}
    plain = {name: found[1] for name, found in widened.items()}
    others = _columns_of(replace(reading, columns={**reading.columns, **plain}), compared)
    if names is None or others is None:
        return None
    if not all(referred(file) or is_own(file) for file in reading.files):
        return None
    segments = [_Foreign(rows) if (rows := referred(file)) else _Own(storage.path(file)) for file in reading.files]
    if not all(_fits(segment.type(others[name]), found[2]) for name, found in widened.items() for segment in segments):
        return None
    if reading.condition == _IS_TUPLE and not all(segment.has_only_tuples() for segment in segments):
        return None
    return Rows(segments, names | others)


def _fits(type_: pa.DataType, wider: str) -> bool:
    """Whether all numbers of a type are numbers of the wider one."""
    if wider == "BIGINT":
        return bool(pa.types.is_signed_integer(type_))
    return bool(pa.types.is_floating(type_) or (pa.types.is_signed_integer(type_) and type_.bit_width <= 32))


def _columns_of(reading: Reading, needed: Iterable[str]) -> dict[str, str] | None:
    """By name in the match, the column of the segments."""
    given: dict[str, str] = {}
    for item in (*reading.source, *reading.places):
        column = _COLUMN.fullmatch(item)
        if column is None:
            return None
        given[column[3] or _name(column)] = _name(column)
    found: dict[str, str] = {}
    for name in needed:
        column = _COLUMN.fullmatch(reading.columns[name])
        if column is None or _name(column) not in given:
            return None
        found[name] = given[_name(column)]
    return found


def _name(column: re.Match[str]) -> str:
    return column[2] or column[1].replace('""', '"')


class Rows:
    """The rows of some segments, one after the other, under the names of a match."""

    def __init__(self, segments: Sequence[_Own | _Foreign], names: Mapping[str, str]) -> None:
        self._segments, self._names = segments, names
        self._columns = list(dict.fromkeys(names.values()))

    def blocks(self, rows: int) -> Iterator[pa.Table]:
        """So many at a time: memory that is used again costs nothing, new memory more than reading into it.

        Texts may be numbers of a dictionary.
        """
        for segment in self._segments:
            for block in segment.blocks(self._columns, rows):
                yield pa.table([block.column(own) for own in self._names.values()], list(self._names))

    def none(self, names: Sequence[str]) -> pa.Table:
        """Some columns of no rows, without reading any."""
        types = [self._segments[0].type(self._names[name]) for name in names]
        return pa.table([pa.array([], type_) for type_ in types], list(names))


class Computed:
    """Rows that the kernel has put together, some of whose columns were computed for that."""

    def __init__(self, rows: pa.Table, kept: Sequence[str]) -> None:
        self._rows, self._kept = rows, kept

    def blocks(self, rows: int) -> Iterator[pa.Table]:
        """So many at a time; texts that repeat are numbers of a dictionary."""
        for first in range(0, self._rows.num_rows, rows):
            block = self._rows.slice(first, rows).combine_chunks()
            columns = [
                _numbered(column) if name in self._kept else column
                for name, column in zip(block.column_names, block.columns, strict=True)
            ]
            yield pa.table(columns, block.column_names)

    def none(self, names: Sequence[str]) -> pa.Table:
        return self._rows.select(list(names)).slice(0, 0)


def _numbered(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_string(column.type):
        return column
    found = column.combine_chunks().dictionary_encode()
    return column if len(found.dictionary) > len(column) // _REPEATED else pa.chunked_array([found])


def taken(block: pa.Table, names: Sequence[str], places: Ints) -> pa.Table:
    """Some columns of the rows of a block at some places; texts are texts."""
    chosen = block.select(list(names)).take(pa.array(places))
    return pa.table([_decoded(column) for column in chosen.columns], list(names))


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    type_ = _plain(column.type)
    return column if column.type == type_ else column.cast(type_)


class _Own:
    """A segment of ours."""

    def __init__(self, path: str) -> None:
        self._file = _opened(path)

    def type(self, column: str) -> pa.DataType:
        return _plain(self._file.schema_arrow.field(column).type)

    def has_only_tuples(self) -> bool:
        weights = self._file.read(columns=[DIFF], use_threads=False).column(0).to_numpy()
        return bool((weights != 0).all())

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        yield from self._file.iter_batches(rows, columns=list(columns), use_threads=False)


class _Foreign:
    """Rows of a file of the user's."""

    def __init__(self, rows: Referred) -> None:
        rows.check()
        self._rows = rows
        self._file = _opened(rows.rows.file)

    def type(self, column: str) -> pa.DataType:
        system = column in SYSTEM.names
        return SYSTEM.field(column).type if system else _plain(self._file.schema_arrow.field(column).type)

    def has_only_tuples(self) -> bool:
        return True

    def blocks(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        place = self._rows.rows
        groups = place.groups(self._file)
        read = [name for name in columns if name not in SYSTEM.names]
        read = list(dict.fromkeys([*read, place.time] if TICK in columns or not read else read))
        skipped, done = groups[0][1], 0
        batches = self._file.iter_batches(rows, [group for group, _, _ in groups], read, use_threads=False)
        for batch in batches:
            first = min(skipped, batch.num_rows)
            skipped -= first
            some = batch.slice(first, place.rows - done)
            yield self._with_places(some, columns, done)
            done += some.num_rows

    def _with_places(self, batch: pa.RecordBatch, columns: Sequence[str], first: int) -> pa.RecordBatch:
        times = pa.chunked_array([batch.column(self._rows.rows.time)]) if TICK in columns else None
        made = [
            self._rows.place(name, first, batch.num_rows, times) if name in SYSTEM.names else batch.column(name)
            for name in columns
        ]
        return pa.RecordBatch.from_arrays(made, list(columns))


def _plain(type_: pa.DataType) -> pa.DataType:
    """Texts are held in one way."""
    given = type_.value_type if pa.types.is_dictionary(type_) else type_
    return pa.string() if pa.types.is_large_string(given) or pa.types.is_string_view(given) else given


def _opened(path: str) -> pq.ParquetFile:
    file = pq.ParquetFile(path, memory_map=True)
    texts = [name for name in file.schema_arrow.names if _is_numbered(file, name)]
    return pq.ParquetFile(path, memory_map=True, metadata=file.metadata, read_dictionary=texts) if texts else file


def _is_numbered(file: pq.ParquetFile, name: str) -> bool:
    """Whether a column has texts that the file numbers."""
    if not pa.types.is_string(file.schema_arrow.field(name).type):
        return False
    groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
    chunks = [group.column(at) for group in groups for at in range(group.num_columns)]
    of_column = [chunk for chunk in chunks if chunk.path_in_schema == name]
    size = sum(chunk.total_uncompressed_size for chunk in of_column)
    return bool(size <= _BYTES_OF_A_NUMBER * sum(chunk.num_values for chunk in of_column))
