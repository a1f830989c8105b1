"""Many queries that one template has made: their names are a column, and each is a query like any other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.types import DataType
from eddyline.binder.statement import NAMES
from eddyline.columnar.types import language_type
from eddyline.database.statements import DROP_LIKE, Definition, QueryRecord, SetRecord
from eddyline.errors import DuplicateName, InvalidDefinition
from eddyline.log.answers import Seat
from eddyline.log.storage import Storage


class QuerySet:
    """The queries of one template that stand. They have consecutive numbers in the log of their class."""

    def __init__(self, record: SetRecord, names: pa.Array) -> None:
        self.record = record
        self._names = names
        self._lower = pc.utf8_lower(names)
        self._standing = np.ones(record.count, dtype=bool)

    @cached_property
    def _order(self) -> np.ndarray:
        """The places by name: each name is looked for when a query is created, also among a million."""
        return np.asarray(pc.sort_indices(self._lower).to_numpy())

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
        wanted, order = lower(name), self._order
        at = bisect_left(order, wanted, key=lambda place: self._lower[place].as_py())
        place = int(order[at]) if at < len(order) else 0
        return self._record(place) if self._standing[place] and self._lower[place].as_py() == wanted else None

    def is_standing(self, number: int) -> bool:
        place = number - self.seat.number
        return 0 <= place < len(self._standing) and bool(self._standing[place])

    def at(self, number: int) -> QueryRecord | None:
        """The query with a number in the log of its class, if it stands."""
        return self._record(number - self.seat.number) if self.is_standing(number) else None

    def _record(self, place: int) -> QueryRecord:
        seat = replace(self.seat, number=self.seat.number + place)
        return replace(self.record.query, name=self._names[place].as_py(), seat=seat)

    def like(self, pattern: str) -> list[int]:
        """The numbers of those that stand and whose names are LIKE a pattern."""
        found = pc.match_like(self._lower, lower(pattern)).to_numpy(zero_copy_only=False) & self._standing
        return [int(place) + self.seat.number for place in np.flatnonzero(found)]

    def drop(self, numbers: Sequence[int]) -> None:
        self._standing[np.asarray(numbers, np.int64) - self.seat.number] = False


def lower(name: str) -> str:
    """As the names in a column are: Arrow and Python do not agree on all letters."""
    return str(pc.utf8_lower(pa.scalar(name)).as_py())


def names_of(values: pa.Table, prefix: str) -> pa.Array:
    """The names of the queries: those of a column `name`, or the prefix and a number from 1 on."""
    if NAMES not in values.column_names:
        numbers = pa.array(np.arange(1, values.num_rows + 1)).cast(pa.string())
        return pc.binary_join_element_wise(pa.scalar(prefix), numbers, ".")
    names = values.column(NAMES).combine_chunks().cast(pa.string())
    if names.null_count:
        raise InvalidDefinition("a query has no name: the column `name` has a NULL")
    if pc.any(pc.equal(names, "")).as_py():
        raise InvalidDefinition("a query has no name: the column `name` has an empty one")
    repeated = pc.value_counts(pc.utf8_lower(names))
    twice = repeated.filter(pc.greater(repeated.field("counts"), 1))
    if len(twice):
        raise DuplicateName(f"two queries would have the name {twice[0]['values'].as_py()}")
    return names


class StandingByRecord:
    """The queries that stand after some definitions, as whoever looks on without the engine finds them."""

    def __init__(self, definitions: Sequence[Definition], storage: Storage) -> None:
        self._queries: dict[str, QueryRecord] = {}  # by key
        self._sets: list[QuerySet] = []
        self._logs: set[str] = set()  # that any query has had
        for definition in definitions:
            self._take(definition, storage)

    def _take(self, definition: Definition, storage: Storage) -> None:
        if definition.query is not None:
            self._queries[definition.query.key] = definition.query
            self._logs.add(definition.query.log)
        elif definition.many is not None:
            self._logs.add(definition.many.query.log)
            if storage.exists(definition.many.values):  # else none of them is left
                names = storage.read_table(definition.many.values, [NAMES]).column(NAMES).combine_chunks()
                self._sets.append(QuerySet(definition.many, names))
        elif definition.kind == DROP_LIKE:
            gone = like([query.name for query in self._queries.values()], definition.text)
            self._queries = {key: query for key, query in self._queries.items() if query.name not in gone}
            for many in self._sets:
                many.drop(many.like(definition.text))
        elif definition.dropped is not None:
            self._drop(definition.dropped)

    def _drop(self, key: str) -> None:
        if self._queries.pop(key, None) is None:
            log, _, number = key.rpartition("#")
            for many in self._sets:
                if many.seat.log == log and many.is_standing(int(number)):
                    many.drop([int(number)])

    def find(self, name: str) -> QueryRecord | None:
        for query in self._queries.values():
            if query.name.lower() == name.lower():
                return query
        return next((record for many in self._sets if (record := many.find(name)) is not None), None)

    @property
    def names(self) -> list[str]:
        return [query.name for query in self._queries.values()] + [n for s in self._sets for n in s.names.to_pylist()]

    @property
    def unused_logs(self) -> list[str]:
        """The result logs that no query has any more."""
        used = {query.log for query in self._queries.values()} | {many.seat.log for many in self._sets if len(many)}
        return sorted(self._logs - used)


def like(names: Sequence[str], pattern: str) -> set[str]:
    """Those among names that are LIKE a pattern; case does not matter."""
    found = pc.match_like(pc.utf8_lower(pa.array(names, pa.string())), lower(pattern)).to_pylist()
    return {name for name, matches in zip(names, found, strict=True) if matches}


def types_of(values: pa.Table) -> dict[str, DataType]:
    """The types of the parameters that a table has values for."""
    return {field.name: language_type(field.type) for field in values.schema if field.name != NAMES}
