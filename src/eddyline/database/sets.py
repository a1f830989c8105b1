"""Many queries that one template has made: their names are a column, and each is a query like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.database.statements import QueryRecord, SetRecord
from eddyline.errors import DuplicateName, InvalidDefinition
from eddyline.log.answers import Seat

#: the column of a table of values that names the queries
NAME = "name"


class QuerySet:
    """The queries of one template that stand. They have consecutive numbers in the log of their class."""

    def __init__(self, record: SetRecord, names: pa.Array) -> None:
        self.record = record
        self._names = names
        self._lower = pc.utf8_lower(names)
        self._standing = np.ones(record.count, dtype=bool)

    def __len__(self) -> int:
        return int(self._standing.sum())

    @property
    def seat(self) -> Seat:
        """That of the first."""
        assert self.record.query.seat is not None
        return self.record.query.seat

    @property
    def names(self) -> pa.Array:
        """Of those that stand."""
        return self._names.filter(pa.array(self._standing))

    @property
    def all_names(self) -> pa.Array:
        """Of all that were made: the number of a query less that of the first tells its place."""
        return self._names

    def find(self, name: str) -> QueryRecord | None:
        place = pc.index(self._lower, name.lower()).as_py()
        return None if place < 0 or not self._standing[place] else self._record(place)

    def is_standing(self, number: int) -> bool:
        place = number - self.seat.number
        return 0 <= place < len(self._standing) and bool(self._standing[place])

    def _record(self, place: int) -> QueryRecord:
        seat = replace(self.seat, number=self.seat.number + place)
        return replace(self.record.query, name=self._names[place].as_py(), seat=seat)

    def like(self, pattern: str) -> list[int]:
        """The numbers of those that stand and whose names are LIKE a pattern."""
        found = pc.match_like(self._lower, pattern.lower()).to_numpy(zero_copy_only=False) & self._standing
        return [int(place) + self.seat.number for place in np.flatnonzero(found)]

    def drop(self, numbers: Sequence[int]) -> None:
        self._standing[np.asarray(numbers, np.int64) - self.seat.number] = False


def names_of(values: pa.Table, prefix: str) -> pa.Array:
    """The names of the queries: those of a column `name`, or the prefix and a number from 1 on."""
    if NAME not in values.column_names:
        numbers = pa.array(np.arange(1, values.num_rows + 1)).cast(pa.string())
        return pc.binary_join_element_wise(pa.scalar(prefix), numbers, ".")
    names = values.column(NAME).combine_chunks().cast(pa.string())
    if names.null_count:
        raise InvalidDefinition("a query has no name: the column `name` has a NULL")
    repeated = pc.value_counts(pc.utf8_lower(names))
    twice = repeated.filter(pc.greater(repeated.field("counts"), 1))
    if len(twice):
        raise DuplicateName(f"two queries would have the name {twice[0]['values'].as_py()}")
    return names
