"""The table of the members of one form, on the driver and in files that workers read and keep.

Building the index of a hundred thousand members takes longer than a small batch, so one that comes or goes changes
nothing about the large file: who has come since it was written is in a small table beside it, which is a form for
itself, and who has gone is left out of what the large one finds. When there are many of them, all is written anew.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.sharing import QUERY, Form
from eddyline.algebra.types import DataType
from eddyline.algebra.user_function import is_expensive
from eddyline.columnar.types import arrow_type
from eddyline.log.storage import Storage
from eddyline.spark.evaluate.members import BEGIN, SINCE, MemberTable
from eddyline.spark.literal import spark_type
from eddyline.spark.spans import LOW

_OF_EVERYBODY = (QUERY, SINCE, BEGIN)
#: so many members are looked at one by one; beyond that an index finds those who want a row (measured)
MOST_JOINED = 8
#: so many members are worth to be left alone, until more than a share of them has come or gone since
_LARGE, _SHARE = 1_000, 1 / 16
#: the files of as many states stay: a batch that runs may read those before
_KEPT = 3


class FormTable:
    """The members of one form: those in the large file, and those that have come and gone since it was written."""

    def __init__(self, form: Form, above: tuple[DataType, ...]) -> None:
        self.form = form
        constants = [
            *((f"_p{i}", t) for i, t in enumerate(form.constants)),
            *((f"_a{i}", t) for i, t in enumerate(above)),
        ]
        self._schema = pa.schema(
            [*((name, pa.int64()) for name in _OF_EVERYBODY), *((name, arrow_type(type_)) for name, type_ in constants)]
        )
        self._fields = {
            **dict.fromkeys(_OF_EVERYBODY, "BIGINT"),
            **{name: spark_type(type_) for name, type_ in constants},
        }
        self._base = self._more = self._schema.empty_table()
        self._base_table: MemberTable | None = None
        self._gone: set[int] = set()  # of the base
        self._added: dict[int, tuple[Any, ...]] = {}  # not yet in a table
        self._parts: list[tuple[Form, MemberTable]] | None = None  # None: not settled
        self._files: list[set[str]] = []  # of the latest states

    def __len__(self) -> int:
        return int(self._base.num_rows) + int(self._more.num_rows) + len(self._added) - len(self._gone)

    def add(self, number: int, since: int, begin: int, constants: Sequence[Any]) -> None:
        self._added[number] = (number, since, begin, *constants)
        self._parts = None

    def add_all(self, first: int, since: int, begin: int, constants: pa.Table, count: int) -> None:
        """So many members with numbers from `first` on, a row for each, if there are any constants."""
        numbers = pa.array(np.arange(first, first + count))
        moment = [pa.repeat(pa.scalar(value, pa.int64()), count) for value in (since, begin)]
        columns = [numbers, *moment, *constants.columns]
        self._more = pa.concat_tables([self._more, pa.table(columns, schema=self._schema)])
        self._parts = None

    def drop(self, numbers: Sequence[int]) -> None:
        self._parts = None
        left = [number for number in numbers if self._added.pop(number, None) is None]
        if not left:
            return
        before = self._more.num_rows
        latest = pc.is_in(pa.array(left, pa.int64()), self._more.column(QUERY).combine_chunks())
        self._more = _without(self._more, left)
        if self._more.num_rows == before:
            self._gone.update(left)
        else:
            self._gone.update(pa.array(left, pa.int64()).filter(pc.invert(latest)).to_pylist())

    def settled(self, storage: Storage, folder: str) -> list[tuple[Form, MemberTable]]:
        """The members as they are now: a form with the base, and one with those that have come since, if any."""
        if self._parts is None:
            self._take_in()
            size, changes = self._base.num_rows, len(self._gone) + self._more.num_rows
            if self._base_table is None or size < _LARGE or changes > _SHARE * size:
                self._base = pa.concat_tables([_without(self._base, self._gone), self._more])
                self._more = self._schema.empty_table()
                self._gone.clear()
                self._base_table = self._written(self._base, storage, folder)
            gone = pa.table({QUERY: pa.array(sorted(self._gone), pa.int64())}) if self._gone else None
            self._parts = [(self.form, replace(self._base_table, gone=gone))]
            if self._more.num_rows:
                latest = replace(self.form, name=f"{self.form.name}_latest")
                self._parts.append((latest, self._written(self._more, storage, folder)))
            self._sweep(storage)
        return self._parts

    def _take_in(self) -> None:
        if self._added:
            columns = zip(*self._added.values(), strict=True)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, self._schema, strict=True)]
            self._more = pa.concat_tables([self._more, pa.table(arrays, schema=self._schema)])
            self._added.clear()

    def _written(self, rows: pa.Table, storage: Storage, folder: str) -> MemberTable:
        """Few go with the work, many into a file, and those who ask for something costly: all of them at once."""
        costly = self.form.predicate is not None and is_expensive(self.form.predicate)
        if rows.num_rows <= MOST_JOINED and not costly:
            whole = rows.combine_chunks()  # Spark stops at an empty chunk
            return MemberTable(self._fields, whole, asks=self.form.asks)
        path = f"{folder}/{uuid.uuid4().hex}.parquet"
        storage.write_table(path, rows)
        return MemberTable(self._fields, None, path, count=rows.num_rows, asks=self.form.asks)

    def _sweep(self, storage: Storage) -> None:
        self._files.append({table.path for _, table in self._parts or () if table.path is not None})
        old, self._files = self._files[:-_KEPT], self._files[-_KEPT:]
        for path in set().union(*old) - set().union(*self._files):
            storage.delete(path)

    def free(self, storage: Storage) -> None:
        """Delete its files: nobody is in it, and no batch reads it any more."""
        for path in set().union(*self._files):
            storage.delete(path)

    def _everyone(self, columns: list[str]) -> pa.Table:
        return pa.concat_tables([_without(self._base, self._gone).select(columns), self._more.select(columns)])

    @property
    def windows(self) -> list[tuple[int, int, int]]:
        """Those of its members, each once, where they may differ; once settled."""
        columns = self._schema.names[-3:]
        found = self._everyone(columns).group_by(columns).aggregate([]).to_pylist()
        return [tuple(row[name] for name in columns) for row in found]

    @property
    def latest(self) -> int:
        """The largest `_since`, once settled; that of one who has gone does no harm."""
        tables = (self._base, self._more)
        return max(int(pc.max(table.column(SINCE)).as_py() or 0) for table in tables)

    @property
    def last_begin(self) -> int:
        """The largest `_begin`, in the same way."""
        found = [pc.max(table.column(BEGIN)).as_py() for table in (self._base, self._more)]
        return max((int(tick) for tick in found if tick is not None), default=LOW)


def _without(rows: pa.Table, numbers: Sequence[int] | set[int]) -> pa.Table:
    if not numbers:
        return rows
    gone = pa.array(sorted(numbers), pa.int64())
    return rows.filter(pc.invert(pc.is_in(rows.column(QUERY), gone)))
