"""Answers that many members of a query class get: each row is written once, and beside it who gets it.

To write them once for everybody takes several times as long as to find them. So where most rows have takers, a segment
of the class's log is one file of Arrow's with the rows, the members in ascending order, and the places of every
member's rows beside each other. It is mapped into memory: who reads the rows of one member touches no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

#: what the path of such a segment ends with
SUFFIX = ".dealt"
#: the columns of the file; behind the last of these come those of the rows, whatever they are called
_MEMBERS, _STARTS, _ENDS, _PLACES, _ROWS = "members", "starts", "ends", "places", "row:"
Longs = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]


def is_dealt(path: str) -> bool:
    return path.endswith(SUFFIX)


@dataclass(frozen=True)
class Dealt:
    """Rows, and who gets which of them: the rows of `members[i]` are at `places[starts[i] : ends[i]]`.

    Those of different members may overlap: who wants prices from 10 to 20 and who wants those from 15 to 25 have some
    in common. So it may be that there are no more places than rows, in an order in which each member's are neighbours.
    """

    rows: pa.Table  # texts may be numbers of a dictionary
    member: str  # the column that tells the member, which the rows do not have
    at: int  # where it is among the columns
    members: Longs  # ascending; one that has rows in several places stands there as often
    starts: Places
    ends: Places
    places: Places

    @classmethod
    def of_pairs(cls, rows: pa.Table, member: str, at: int, members: Longs, places: Places) -> Dealt:
        """`members`: by place, in ascending order."""
        is_last = np.append(members[1:] != members[:-1], True)[: members.size]
        ends = (np.flatnonzero(is_last) + 1).astype(np.int32)
        starts = np.append(np.int32(0), ends)[: ends.size]
        return cls(rows, member, at, members[ends - 1], starts, ends, places)

    @classmethod
    def merged(cls, parts: Sequence[Dealt]) -> Dealt:
        """The rows of all, and who gets them, in the order of the parts: a member stands there once for each."""
        first = parts[0]
        numbered = [
            name for name in first.rows.column_names if len({part.rows.field(name).type for part in parts}) == 1
        ]
        rows = pa.concat_tables([_plain_but(part.rows, numbered) for part in parts]).unify_dictionaries()
        rows_before = np.cumsum([0, *(part.rows.num_rows for part in parts)], dtype=np.int32)
        places_before = np.cumsum([0, *(part.places.size for part in parts)], dtype=np.int32)
        places = np.concatenate([part.places + before for part, before in zip(parts, rows_before, strict=False)])
        starts = np.concatenate([part.starts + before for part, before in zip(parts, places_before, strict=False)])
        ends = np.concatenate([part.ends + before for part, before in zip(parts, places_before, strict=False)])
        members = np.concatenate([part.members for part in parts])
        order = np.argsort(members, kind="stable")
        return cls(rows, first.member, first.at, members[order], starts[order], ends[order], places)

    def __len__(self) -> int:
        """How often a row is given to somebody."""
        return int((self.ends - self.starts).sum(dtype=np.int64))

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
        members, places = self._pairs(low, high)
        names = self.names if columns is None else list(columns)
        taken = pa.array(places)
        made = [
            pa.chunked_array([members], pa.int64())
            if name == self.member
            else _plain(self.rows.column(name).take(taken))
            for name in names
        ]
        return pa.table(made, names)

    def tables(self, rows: int, member: int | None = None) -> Iterator[pa.Table]:
        """The same as tables of about so many rows, each of whole members; of one `member` alone if it is given."""
        if member is not None:
            yield self.table(first=member, end=member + 1)
            return
        last = np.flatnonzero(np.append(self.members[1:] != self.members[:-1], True)[: self.members.size])
        so_far = np.cumsum(self.ends - self.starts, dtype=np.int64)[last]
        first, low = 0, 0
        while low < last.size:
            high = max(low + 1, int(np.searchsorted(so_far, first + rows)))
            yield self.table(first=int(self.members[last[low]]), end=int(self.members[last[high - 1]]) + 1)
            first, low = int(so_far[high - 1]), high

    def _pairs(self, low: int, high: int) -> tuple[Longs, Places]:
        """Of some members, a member and the place of a row for each time that one gets one, in the order of both."""
        starts, counts = self.starts[low:high], self.ends[low:high] - self.starts[low:high]
        before = np.cumsum(counts, dtype=np.int64) - counts  # pairs of the members before
        nth = np.repeat(np.arange(counts.size), counts)
        places = self.places[np.arange(nth.size) + (starts - before)[nth]]
        order = np.argsort(
            nth * np.int64(1 << 32) + places, kind="stable"
        )  # ever so quick if they are in order already
        return self.members[low:high][nth], places[order]

    def sum(self, flags: pa.ChunkedArray) -> int:
        """How often a row is given to somebody that has a flag."""
        if not pc.any(flags).as_py():
            return 0
        so_far = np.append(0, np.cumsum(flags.to_numpy()[self.places]))
        return int((so_far[self.ends] - so_far[self.starts]).sum())

    def to_batch(self) -> pa.RecordBatch:
        """All of it in one row of lists, which a file can have beside each other although they differ in length."""
        own = {_MEMBERS: self.members, _STARTS: self.starts, _ENDS: self.ends, _PLACES: self.places}
        lists = {name: pa.array(values) for name, values in own.items()}
        lists |= {f"{_ROWS}{field.name}": _array(self.rows.column(field.name)) for field in self.rows.schema}
        columns = [pa.ListArray.from_arrays(pa.array([0, len(each)], pa.int32()), each) for each in lists.values()]
        said = {"member": self.member, "at": str(self.at)}
        schema = pa.schema([pa.field(n, c.type) for n, c in zip(lists, columns, strict=True)], said)
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    @classmethod
    def from_batch(cls, batch: pa.RecordBatch) -> Dealt:
        lists = {field.name: column.values for field, column in zip(batch.schema, batch.columns, strict=True)}
        members, starts, ends, places = (lists.pop(n).to_numpy() for n in (_MEMBERS, _STARTS, _ENDS, _PLACES))
        said = batch.schema.metadata
        rows = pa.table(list(lists.values()), [name.removeprefix(_ROWS) for name in lists])
        return cls(rows, said[b"member"].decode(), int(said[b"at"]), members, starts, ends, places)


def _array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _plain_but(rows: pa.Table, numbered: Collection[str]) -> pa.Table:
    columns = [rows.column(name) if name in numbered else _plain(rows.column(name)) for name in rows.column_names]
    return pa.table(columns, rows.column_names)


def _plain(column: pa.ChunkedArray) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
