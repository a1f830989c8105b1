"""Rows of an extent as columns: what the row-wise readers give as one `Arrival` after the other."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.sources.arrival import Arrival, Reject
from eddyline.sources.in_place import InPlace

if TYPE_CHECKING:
    from eddyline.sources.tags_beside import TagsBeside


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows of one extent in the order of its input, checked and converted, as columns."""

    extent: str
    file: str
    #: the declared columns under their declared names; NULL in a deletion, but for a key that it has; a tag has none
    values: pa.Table
    tick: pa.Int64Array  # null where `Arrival.tick` is None
    op: pa.StringArray  # INSERT, DELETE, REPLACE or TAG
    ref: pa.Int64Array  # null except on DELETE and REPLACE by index
    tag: pa.Array  # the JSON text on TAG rows; texts may be numbers of a dictionary
    line: pa.Int64Array  # as `Arrival.line`
    text: pa.StringArray  # as `Arrival.text`; null where it is empty
    rejects: tuple[Reject, ...]  # the rows of this stretch of the file that did not fit
    bytes_read: int  # of the whole pass so far
    stays: InPlace | None = None  # where the rows are, if they stay there
    beside: TagsBeside | None = None  # tags that stand among the rows, and come beside them
    tags_file: str = ""  # of tags among the rows, if these have come from elsewhere

    @property
    def num_rows(self) -> int:
        return len(self.op)

    @property
    def given(self) -> int:
        """How many rows and tags it tells of, whether they fit or not."""
        return self.num_rows + (0 if self.beside is None else len(self.beside)) + len(self.rejects)

    @property
    def last_line(self) -> int:
        """The last line of the file that it tells of."""
        lines = [reject.line for reject in self.rejects[-1:]]
        if self.num_rows:
            lines.append(self.line[self.num_rows - 1].as_py())
        return max(lines, default=0)

    def after(self, line: int) -> Chunk:
        """What comes behind a line."""
        first = int(np.searchsorted(self.line.to_numpy(), line, side="right"))
        rejects = tuple(reject for reject in self.rejects if reject.line > line)
        return replace(self.slice(first, self.num_rows), rejects=rejects)

    @property
    def ticks(self) -> tuple[int, int]:
        """The smallest and the largest tick of rows that have one."""
        found = pc.min_max(self.tick).as_py()
        return found["min"], found["max"]

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Stretches that have all ticks of the rows, if that is known without looking at each; else none."""
        return ()

    def slice(self, start: int, stop: int) -> Chunk:
        """Some of the rows, without copying them. A reject goes with the row that it stood behind."""
        if start == 0 and stop >= self.num_rows:
            return self
        length = stop - start
        return Chunk(
            self.extent,
            self.file,
            self.values.slice(start, length),
            self.tick.slice(start, length),
            self.op.slice(start, length),
            self.ref.slice(start, length),
            self.tag.slice(start, length),
            self.line.slice(start, length),
            self.text.slice(start, length),
            self._rejects_of(start, stop),
            self.bytes_read,
        )

    def copied(self, extent: Extent) -> Chunk:
        """The same rows with their values, if they are elsewhere so far."""
        return self

    def _rejects_of(self, start: int, stop: int) -> tuple[Reject, ...]:
        if not self.rejects:
            return ()
        begin = 0 if start == 0 else self._first_reject_from(start)
        return self.rejects[begin : None if stop >= self.num_rows else self._first_reject_from(stop)]

    def _first_reject_from(self, row: int) -> int:
        return bisect_left(self.rejects, self.line[row].as_py(), key=lambda reject: reject.line)


def chunk_of_arrivals(
    extent: Extent,
    file: str,
    arrivals: Sequence[Arrival],
    tags: Sequence[str | None],
    rejects: Sequence[Reject],
    bytes_read: int,
) -> Chunk:
    """The same rows as columns; `tags` are the texts of the arrivals' tags."""
    schema = arrow_schema(extent.schema)
    columns = [
        _column([None if row.values is None else row.values[at] for row in arrivals], field.type)
        for at, field in enumerate(schema)
    ]
    return Chunk(
        extent.name,
        file,
        pa.Table.from_arrays(columns, schema=schema),
        pa.array([row.tick for row in arrivals], pa.int64()),
        pa.array([row.op for row in arrivals], pa.string()),
        pa.array([row.ref for row in arrivals], pa.int64()),
        pa.array(tags, pa.string()),
        pa.array([row.line for row in arrivals], pa.int64()),
        _column([row.text or None for row in arrivals], pa.string()),
        tuple(rejects),
        bytes_read,
    )


def _column(values: list[Any], type_: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, type_)
    except UnicodeEncodeError:
        return pa.array([_encodable(value) for value in values], type_)


def _encodable(value: Any) -> Any:
    r"""JSON can write half of a surrogate pair ("\ud800"); UTF-8 (and so Arrow and Spark) has no such character."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, tuple):
        return tuple(_encodable(element) for element in value)
    return value


def tag_text(raw: Any, parsed: dict[str, Any]) -> str:
    """The JSON of a tag: as it was written if it was text, written anew if the row held an object."""
    if isinstance(raw, str):
        try:
            raw.encode()
            return raw
        except UnicodeEncodeError:
            pass
    return json.dumps(parsed)


def in_order_of_lines(parts: Sequence[Chunk]) -> Chunk:
    """Chunks of the same file as one; no line is in two of them. The last one's rejects are those of all."""
    last = parts[-1]
    filled = [part for part in parts if part.num_rows]
    if len(filled) < 2:
        return replace(filled[0] if filled else last, rejects=last.rejects, bytes_read=last.bytes_read)
    lines = np.concatenate([part.line.to_numpy() for part in filled])
    order = pa.array(np.argsort(lines, kind="stable"))

    def column(name: str) -> pa.Array:
        columns = [getattr(part, name) for part in filled]
        if len({column.type for column in columns}) > 1:  # texts that are numbered in some
            columns = [column.cast(pa.string()) for column in columns]
        return pc.take(pa.concat_arrays(columns), order)

    return Chunk(
        last.extent,
        last.file,
        pa.concat_tables([part.values for part in filled]).combine_chunks().take(order),
        column("tick"),
        column("op"),
        column("ref"),
        column("tag"),
        column("line"),
        column("text"),
        last.rejects,
        last.bytes_read,
    )
