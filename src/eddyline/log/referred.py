"""Segments that are files of the user's: a log refers to their rows instead of having them once more.

Whoever has the path of a segment has everything it takes to read it. So such a segment is one whose path says it all:
which rows of which file, and what the log's own columns are for them. Those are not in the file; they follow from where
a row stands in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from eddyline.errors import StorageUnreadable
from eddyline.log.segment import DIFF, INDEX, OP, REF, SEQ, SYSTEM, TAG, TICK
from eddyline.sources.in_place import DAY, MICROS_OF_A_DAY, MOMENT, NUMBER, InPlace

#: what a log says of a tuple that has come and was never revised
CONSTANTS: dict[str, Any] = {DIFF: 1, OP: "+", REF: None, TAG: None}
#: what the last part of the path of such a segment begins with; no file of ours does
_MARK = "/@"


@dataclass(frozen=True)
class Referred:
    """Rows of a file as rows of the log of a stream."""

    stream: str
    rows: InPlace
    seq: int  # of the first row
    index: int

    @property
    def path(self) -> str:
        """Stands in the folder of its stream, as the paths of all segments do; behind that there is no `/`."""
        said = json.dumps({"seq": self.seq, "index": self.index, **asdict(self.rows)}, separators=(",", ":"))
        return f"streams/{self.stream}{_MARK}" + said.replace("/", r"\u002f")

    def check(self) -> None:
        """Raises if the file is not the one that the log refers to."""
        self.rows.check(f"the stream {self.stream}")

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows as those of any other segment."""
        return pa.concat_tables([*self._groups(columns)])

    def _groups(self, columns: Sequence[str] | None) -> Iterator[pa.Table]:
        self.check()
        rows = self.rows
        own = None if columns is None else [name for name in columns if name not in SYSTEM.names]
        read = own if own is None or TICK not in (columns or ()) else list(dict.fromkeys([*own, rows.time]))
        done = 0
        try:
            for table in rows.tables(read):
                yield self._with_places(table, done, columns)
                done += table.num_rows
        except (pa.ArrowException, OSError) as problem:
            raise StorageUnreadable(f"{rows.file} cannot be read: {problem}") from problem
        if done != rows.rows:
            raise StorageUnreadable(f"{rows.file} has not the rows that {self.stream} refers to")

    def _with_places(self, table: pa.Table, first: int, columns: Sequence[str] | None) -> pa.Table:
        wanted = [*SYSTEM.names, *table.column_names] if columns is None else columns
        times = table.column(self.rows.time) if TICK in wanted else None
        made = {
            name: self.place(name, first, table.num_rows, times) if name in SYSTEM.names else table.column(name)
            for name in wanted
        }
        return pa.table(list(made.values()), list(made))

    def place(self, name: str, first: int, count: int, times: pa.ChunkedArray | None) -> pa.Array:
        """One of the log's own columns, of so many rows behind the first; for ticks the times of these are needed."""
        if name in (SEQ, INDEX):
            start = first + (self.seq if name == SEQ else self.index)
            return pa.array(np.arange(start, start + count))
        if name == TICK:
            assert times is not None
            return self.rows.ticks(times)
        return pa.repeat(pa.scalar(CONSTANTS[name], SYSTEM.field(name).type), count)


@lru_cache(maxsize=10_000)
def referred(path: str) -> Referred | None:
    """The rows that the path of a segment refers to; None if it is that of a file of ours."""
    folder, mark, said = path.partition(_MARK)
    if not mark:
        return None
    value = json.loads(said)
    seq, index = value.pop("seq"), value.pop("index")
    return Referred(folder.removeprefix("streams/"), InPlace(**value), seq, index)


class OpenedReferred:
    """What merging uses of an opened Parquet file: all of it is one group, which is read when it is asked for."""

    num_row_groups = 1

    def __init__(self, rows: Referred) -> None:
        rows.check()
        self._rows = rows
        self.schema_arrow = pa.schema([*SYSTEM, *rows.rows.schema()])

    def read_row_group(self, group: int) -> pa.Table:
        return self._rows.table()


__all__ = [
    "CONSTANTS",
    "DAY",
    "MICROS_OF_A_DAY",
    "MOMENT",
    "NUMBER",
    "InPlace",
    "OpenedReferred",
    "Referred",
    "referred",
]
