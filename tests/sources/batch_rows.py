"""Chunks as rows again, to be compared with what the row-wise reader gives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.sources import Arrival, Reject, open_source, reach_of
from eddyline.sources.batches import Chunk, open_batches
from sources.extents import SECOND

CHUNK_ROWS = (1, 2, 3, 1000)


def arrivals(chunk: Chunk, extent: Extent) -> Iterator[Arrival]:
    assert chunk.values.schema == arrow_schema(extent.schema)
    columns = (chunk.tick, chunk.op, chunk.ref, chunk.tag, chunk.line, chunk.text)
    types = (pa.int64(), pa.string(), pa.int64(), pa.string(), pa.int64(), pa.string())
    for column, type_ in zip(columns, types, strict=True):
        assert isinstance(column, pa.Array) and column.type == type_ and len(column) == chunk.num_rows
        column.validate(full=True)
    chunk.values.validate(full=True)
    assert chunk.values.num_rows == chunk.num_rows
    rows = zip(*(column.to_pylist() for column in chunk.values.columns), strict=True)
    others = zip(*(column.to_pylist() for column in columns), strict=True)
    for row, (tick, op, ref, tag, line, text) in zip(rows, others, strict=True):
        by_key = bool(extent.key) and op == "-" and ref is None
        values = tuple(_value(value) for value in row) if op in "+=" or by_key else None
        assert values is not None or set(row) == {None}
        says = op != "+" or extent.retain is not None
        assert (text is not None) == says
        yield Arrival(
            chunk.extent,
            line,
            op,
            values,
            tick,
            ref,
            None if tag is None else json.loads(tag),
            chunk.file if says else "",
            text or "",
        )


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return tuple(_value(element) for element in value) if isinstance(value, list) else value


def _comparable(values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    return values and tuple(_plain(value) for value in values)


def _plain(value: Any) -> Any:
    """Arrow's and Spark's decimals have no -0, and pandas has a class of its own for durations."""
    if isinstance(value, timedelta):
        return timedelta(microseconds=value // timedelta(microseconds=1))
    return abs(value) if isinstance(value, Decimal) and not value else value


def in_one(found: Iterable[Arrival | Reject]) -> list[tuple[Any, ...]]:
    """Arrivals and rejects as tuples that are equal if they are the same: NaN to NaN, but not 0.0 to -0.0."""
    return [
        (
            type(row).__name__,
            row.line,
            row.text,
            row.file,
            row.extent,
            row.reason
            if isinstance(row, Reject)
            else repr((row.op, _comparable(row.values), row.tick, row.ref, json.dumps(row.tag, default=float))),
        )
        for row in found
    ]


def check_same(folder: Path, extent: Extent, cuts: Iterable[int] = CHUNK_ROWS) -> list[Arrival | Reject]:
    """The columns say what the row-wise reader says, however they are cut; returns the rows."""
    source = open_source(extent, folder, SECOND)
    assert source is not None
    rows = list(source.rows())
    good = [row for row in rows if isinstance(row, Arrival)]
    for chunk_rows in cuts:
        batches = open_batches(extent, folder, SECOND, chunk_rows)
        assert batches is not None
        assert batches.warnings == source.warnings
        chunks = list(batches.chunks())
        found = [row for chunk in chunks for row in arrivals(chunk, extent)]
        assert in_one(found) == in_one(good)
        rejects = [reject for chunk in chunks for reject in chunk.rejects]
        assert rejects == [row for row in rows if isinstance(row, Reject)]
        assert all(chunk.num_rows <= chunk_rows and (chunk.num_rows or chunk.rejects) for chunk in chunks)
        assert batches.bytes_read == batches.total_bytes()
        sizes = [chunk.bytes_read for chunk in chunks]
        assert sizes == sorted(sizes)
        assert batches.reach() == reach_of(source)
    return rows
