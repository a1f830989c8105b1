"""Answers that many members of a query class get: each row is written once, and beside it who gets it.

To write them once for everybody takes several times as long as to find them. So where most rows have takers, a segment
of the class's log is one file of Arrow's with the rows, the members in ascending order, and behind each other the
places of every member's rows. It is mapped into memory: who reads the rows of one member touches no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

#: what the path of such a segment ends with
SUFFIX = ".dealt"
#: what begins with it is not a column of the rows
_OWN = "dealt:"
_MEMBERS, _ENDS, _PLACES = (f"{_OWN}{name}" for name in ("members", "ends", "places"))
Longs = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]


def is_dealt(path: str) -> bool:
    return path.endswith(SUFFIX)


@dataclass(frozen=True)
class Dealt:
    """Rows, and who gets which of them: the rows of `members[i]` are at `places[ends[i - 1] : ends[i]]`."""

    rows: pa.Table  # texts may be numbers of a dictionary
    member: str  # the column that tells the member, which the rows do not have
    at: int  # where it is among the columns
    members: Longs
    ends: Longs
    places: Places

    @classmethod
    def of(cls, rows: pa.Table, member: str, at: int, members: Longs, places: Places) -> Dealt:
        """`members`: by place, in ascending order."""
        is_last = np.append(members[1:] != members[:-1], True)[: members.size]
        ends = np.flatnonzero(is_last) + 1
        return cls(rows, member, at, members[ends - 1], ends, places)

    @classmethod
    def merged(cls, parts: Sequence[Dealt]) -> Dealt:
        """The rows of all, and who gets them, in the order of the parts."""
        first = parts[0]
        rows = pa.concat_tables([part.rows for part in parts], promote_options="default").unify_dictionaries()
        starts = np.cumsum([0, *(part.rows.num_rows for part in parts)])
        members = np.concatenate([part.by_place() for part in parts])
        places = np.concatenate([part.places + start for part, start in zip(parts, starts, strict=False)])
        order = np.argsort(members, kind="stable")
        return cls.of(rows, first.member, first.at, members[order], places[order].astype(np.int32))

    def by_place(self) -> Longs:
        """The member that each place is for."""
        return np.repeat(self.members, np.diff(self.ends, prepend=0))

    def __len__(self) -> int:
        return self.places.size

    @property
    def names(self) -> list[str]:
        """The columns, with the one that tells the member."""
        names = list(self.rows.column_names)
        names.insert(self.at, self.member)
        return names

    def table(self, columns: Sequence[str] | None = None, first: int | None = None, end: int | None = None) -> pa.Table:
        """A row for everybody who gets it, in the order of members; of those from `first` on and before `end`."""
        low = 0 if first is None else int(np.searchsorted(self.members, first))
        high = self.members.size if end is None else int(np.searchsorted(self.members, end))
        start = int(self.ends[low - 1]) if low else 0
        stop = int(self.ends[high - 1]) if high > low else start
        places = pa.array(self.places[start:stop])
        made = []
        names = self.names if columns is None else list(columns)
        for name in names:
            if name == self.member:
                counts = np.diff(self.ends[low:high], prepend=start)
                made.append(pa.chunked_array([np.repeat(self.members[low:high], counts)], pa.int64()))
            else:
                made.append(_plain(self.rows.column(name).take(places)))
        return pa.table(made, names)

    def sum(self, flags: pa.ChunkedArray) -> int:
        """How many get a row that has a flag."""
        return int(np.take(flags.to_numpy(), self.places).sum()) if pc.any(flags).as_py() else 0

    def to_batch(self) -> pa.RecordBatch:
        """All of it in one row of lists, which a file can have beside each other although they differ in length."""
        own = {_MEMBERS: self.members, _ENDS: self.ends, _PLACES: self.places}
        lists = {name: pa.array(values) for name, values in own.items()}
        lists |= {name: _array(column) for name, column in zip(self.rows.column_names, self.rows.columns, strict=True)}
        columns = [pa.ListArray.from_arrays(pa.array([0, len(each)], pa.int32()), each) for each in lists.values()]
        said = {"member": self.member, "at": str(self.at)}
        schema = pa.schema([pa.field(n, c.type) for n, c in zip(lists, columns, strict=True)], said)
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    @classmethod
    def from_batch(cls, batch: pa.RecordBatch) -> Dealt:
        lists = {field.name: column.values for field, column in zip(batch.schema, batch.columns, strict=True)}
        members, ends, places = (lists.pop(name).to_numpy() for name in (_MEMBERS, _ENDS, _PLACES))
        said = batch.schema.metadata
        rows = pa.table(list(lists.values()), list(lists))
        return cls(rows, said[b"member"].decode(), int(said[b"at"]), members, ends, places)


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _plain(column: pa.ChunkedArray) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
