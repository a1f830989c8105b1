"""Extents for tests, in one line each."""

from __future__ import annotations

from pathlib import Path

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import DataType
from eddyline.catalog.extent import PUSHED, Extent
from eddyline.sources import Arrival, Reject, open_source

SECOND = 1_000_000


def extent(
    columns: str = "site INTEGER, time INTEGER, temp INTEGER",
    path: str = "road.csv",
    *,
    name: str = "road",
    kind: str = PUSHED,
    timestamp: str | None = "time",
    format: str | None = "csv",
    sites: tuple[int, ...] = (),
    interval: int | None = None,
    **options: str,
) -> Extent:
    """`columns` as in CREATE STREAM, without parameters of types."""
    fields = [Field(column, DataType(type_)) for column, type_ in (c.split() for c in columns.split(","))]
    pairs = (("path", path), *options.items())
    return Extent(name, kind, Schema(tuple(fields)), timestamp, sites, interval, format, pairs)


def rows(folder: Path, content: str | bytes, of: Extent) -> list[Arrival | Reject]:
    """What the extent's source gives when its file holds this."""
    write(folder / (of.option("path") or ""), content)
    source = open_source(of, folder, SECOND)
    assert source is not None
    first = list(source.rows())
    assert list(source.rows()) == first, "every pass gives the same"
    assert source.bytes_read == source.total_bytes()
    return first


def write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def values(found: list[Arrival | Reject]) -> list[tuple[object, ...] | None]:
    return [row.values for row in found if isinstance(row, Arrival)]


def ticks(found: list[Arrival | Reject]) -> list[int | None]:
    return [row.tick for row in found if isinstance(row, Arrival)]


def reasons(found: list[Arrival | Reject]) -> list[tuple[int, str]]:
    return [(row.line, row.reason) for row in found if isinstance(row, Reject)]
