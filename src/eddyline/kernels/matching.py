"""Grouped filters inside of a task: rows are matched with the members of a query class and go on with numbers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import duckdb
import numpy as np
import pyarrow as pa

from eddyline.kernels.costly import Costly, CostlyColumns
from eddyline.kernels.direct import Computed, Reading, Rows, read_directly, taken
from eddyline.kernels.eddy.eddies import Eddies
from eddyline.kernels.grouped.form import Form
from eddyline.kernels.places import Ints
from eddyline.log.dealt import Dealt
from eddyline.log.storage import Storage

if TYPE_CHECKING:
    from eddyline.kernels.grouped.filter import GroupedFilter

#: a worker keeps the indexes it has used lately; those of a million members take some hundred megabytes
_KEPT = 16
#: pairs of a row and a member that are in memory at a time, where they can be looked at piece by piece
MOST_PAIRS = 4_000_000
#: so many pairs are a segment of the log
_WORTH_A_TABLE = 1_000_000
#: answers, from which on a file of its own is worth it for rows that are written once
_WORTH_A_FILE = 20_000
#: rows that are looked up at a time, where they are read for that
_FEWEST_ROWS, _MOST_ROWS = 1 << 17, 1 << 20
#: members that were looked at and did not want the row; a compiled loop looks at a million in a few milliseconds
_WORTH_A_LOOK = 5_000_000
#: building another index must pay
_MUCH_LESS = 0.5
_looked: WeakKeyDictionary[GroupedFilter, int] = WeakKeyDictionary()
_filters: OrderedDict[tuple[str, str, Form], GroupedFilter] = OrderedDict()


@dataclass(frozen=True)
class Filter:
    """What rows are matched with: the file of the members, and what is asked of the rows' attributes."""

    path: str
    form: Form
    attributes: Mapping[str, pa.DataType]
    casts: Mapping[str, pa.DataType]  # columns of the members, `name` or `name AS type`, with the types to compare in
    count: int = 0  # of the members

    def constants(self, storage: Storage) -> tuple[pa.Table, pa.Array]:
        """What members ask for, a row each, and their numbers."""
        table = storage.read_table(self.path)
        columns = {name: table.column(name.partition(" ")[0]).cast(type_) for name, type_ in self.casts.items()}
        return pa.table(columns), table.column("_query").combine_chunks()


@dataclass(frozen=True)
class Asked:
    """The members of one form, and the leaf that has the rows they want."""

    leaf: str
    name: str  # of the form
    filter: Filter
    columns: Mapping[str, str]  # by attribute of the filter, the column of the rows that it is


@dataclass(frozen=True)
class Match:
    """Leaves that are found before the statement runs: the rows of another statement that members want.

    What costs much is computed only for rows that some member may still want when it is asked for.
    """

    statement: str
    asked: tuple[Asked, ...]
    kept: tuple[str, ...]  # columns of the rows
    number: str  # the column that tells the member
    costly: Mapping[str, Costly] = field(default_factory=dict)  # columns of the rows that the statement does not give
    reading: Reading | None = None  # what the statement says, if others may say the same

    @property
    def leaves(self) -> tuple[str, ...]:
        return tuple(asked.leaf for asked in self.asked)

    def keeping(self, columns: Collection[str]) -> Match:
        """The same for who asks for no more than these columns: others need not be read, nor gathered for each pair."""
        kept = tuple(name for name in self.kept if name in columns)
        if self.costly or kept == self.kept:
            return self
        needed = replace(self, kept=kept)._needed
        statement = f"SELECT {', '.join(needed)} FROM ({self.statement})"
        reading = self.reading
        if reading is not None:
            reading = replace(reading, columns={name: reading.columns[name] for name in needed})
        return replace(self, statement=statement, kept=kept, reading=reading)

    def described(self) -> list[str]:
        """How each leaf is found, for EXPLAIN."""
        lines = []
        for asked in self.asked:
            by = ", ".join(_text(column, self.costly) for column in asked.columns.values())
            lines.append(f"{asked.leaf}: those rows once for each member of form {asked.name} who wants them, by {by}")
        return lines

    def tables(
        self, connection: duckdb.DuckDBPyConnection, storage: Storage, eddies: Eddies
    ) -> Iterator[tuple[str, pa.Table]]:
        """What members want, leaf by leaf, so many rows at a time; each leaf has an empty table first."""
        directly = self._directly(storage)
        if directly is not None:
            yield from self._gathered(self._found_in(directly, storage, False), directly)
            return
        rows = connection.sql(self.statement).to_arrow_table().combine_chunks()
        kept = rows.select(list(self.kept))
        for leaf in self.leaves:
            yield leaf, kept.slice(0, 0).append_column(self.number, pa.array([], pa.int64()))
        computed = CostlyColumns(rows, self.costly, connection, storage)
        for asked in self.asked:
            filter_ = _filter(asked.filter, storage)
            adapt(filter_)
            chosen = self._routed(asked, filter_, rows, computed, eddies)
            given = _attributes(asked, rows, chosen, computed)
            for found in filter_.matches_in_pieces(given, MOST_PAIRS):
                places = found.rows if chosen is None else chosen[found.rows]
                yield asked.leaf, kept.take(pa.array(places)).append_column(self.number, pa.array(found.members))

    @property
    def _needed(self) -> list[str]:
        return list(dict.fromkeys([*self.kept, *self._compared]))

    @property
    def _compared(self) -> list[str]:
        return [column for asked in self.asked for column in asked.columns.values()]

    def dealt(
        self, connection: duckdb.DuckDBPyConnection, storage: Storage, eddies: Eddies
    ) -> Iterator[tuple[str, pa.Table | Dealt]]:
        """The same; but rows that have many takers are there once, with who gets them."""
        if self.costly:
            yield from self.tables(connection, storage, eddies)
            return
        rows = self._directly(storage) or Computed(connection.sql(self.statement).to_arrow_table(), self.kept)
        yield from self._gathered(self._found_in(rows, storage, True), rows)

    def _directly(self, storage: Storage) -> Rows | None:
        return None if self.costly else read_directly(self.reading, storage, self.kept, self._compared)

    def _found_in(self, rows: Rows | Computed, storage: Storage, deal: bool) -> Iterator[tuple[str, pa.Table | Dealt]]:
        """Block by block, and each in the order of members."""
        filters = [(asked, _filter(asked.filter, storage)) for asked in self.asked]
        for block in rows.blocks(_rows_of_a_block([filter_ for _, filter_ in filters])):
            for asked, filter_ in filters:
                adapt(filter_)
                types = asked.filter.attributes
                given = [_as(block.column(asked.columns[name]), type_) for name, type_ in types.items()]
                for found in self._found(filter_, pa.table(given, list(types)), block, deal):
                    yield asked.leaf, found

    def _found(
        self, filter_: GroupedFilter, given: pa.Table, block: pa.Table, deal: bool
    ) -> Iterator[pa.Table | Dealt]:
        """What is wanted of a block; `given` is what the filter looks at."""
        rows = block.select(list(self.kept))
        shares = filter_.shares(given) if deal and filter_.has_many else None
        if shares is not None and worth_dealing(len(shares), block.num_rows):
            yield Dealt(rows, self.number, len(self.kept), shares.members, shares.starts, shares.ends, shares.rows)
            return
        for pairs in filter_.matches_in_pieces(given, MOST_PAIRS):
            if deal and worth_dealing(len(pairs), block.num_rows):
                first = int(pairs.rows.min())  # a piece is of rows beside each other
                some = rows.slice(first, int(pairs.rows.max()) + 1 - first)
                places = (pairs.rows - first).astype(np.int32)
                yield Dealt.of_pairs(some, self.number, len(self.kept), pairs.members, places)
            else:
                kept = taken(block, self.kept, pairs.rows)
                yield kept.append_column(self.number, pa.array(pairs.members))

    def _gathered(
        self, found: Iterable[tuple[str, pa.Table | Dealt]], rows: Rows | Computed
    ) -> Iterator[tuple[str, pa.Table | Dealt]]:
        """As large as a segment of the log should be; of each leaf an empty table first."""
        for leaf in self.leaves:
            yield leaf, rows.none(self.kept).append_column(self.number, pa.array([], pa.int64()))
        waiting: dict[str, list[pa.Table]] = {leaf: [] for leaf in self.leaves}
        for leaf, some in found:
            if isinstance(some, Dealt):
                yield leaf, some
                continue
            waiting[leaf].append(some)
            if sum(map(len, waiting[leaf])) >= _WORTH_A_TABLE:
                yield leaf, self._by_member(waiting[leaf])
                waiting[leaf] = []
        for leaf, tables in waiting.items():
            if tables:
                yield leaf, self._by_member(tables)

    def _by_member(self, tables: list[pa.Table]) -> pa.Table:
        """Each is in the order of its members, and so are all of them then."""
        if len(tables) == 1:
            return tables[0]
        together = pa.concat_tables(tables)
        order = np.argsort(together.column(self.number).to_numpy(), kind="stable")
        return together.take(pa.array(order))

    def _routed(
        self, asked: Asked, filter_: GroupedFilter, rows: pa.Table, computed: CostlyColumns, eddies: Eddies
    ) -> Ints | None:
        """The rows that may be wanted by what costs much; None: nothing does, so all of them."""
        costly = {name: column for name, column in asked.columns.items() if column in self.costly}
        if not costly:
            return None
        from eddyline.kernels.lineage import Lineage  # loads compiled code

        lineage = Lineage(filter_, rows, asked.columns, costly, computed, asked.filter.attributes)
        texts = {name: self.costly[column].text for name, column in costly.items()}
        return lineage.routed(eddies, asked.name, texts)


def worth_dealing(pairs: int, rows: int) -> bool:
    """Whether rows are written once, with who gets them, rather than once for everybody: all rows of the block are."""
    return pairs >= max(_WORTH_A_FILE, rows)


def _rows_of_a_block(filters: Sequence[GroupedFilter]) -> int:
    """Few, so that they stay in the caches; but many if that makes a table for the log, which has to be in order."""
    pairs = sum(each.statistics.pairs / max(1, each.statistics.tuples) for each in filters)
    wanted = int(1.1 * _WORTH_A_TABLE / pairs) if pairs > _WORTH_A_TABLE / _MOST_ROWS else 0
    return min(max(wanted, _FEWEST_ROWS), _MOST_ROWS)


def _as(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """Filters take texts as numbers of a dictionary, too."""
    numbered = pa.types.is_dictionary(column.type) and column.type.value_type == type_
    return column if numbered else column.cast(type_)


def _text(column: str, costly: Mapping[str, Costly]) -> str:
    return f"{costly[column].text} (where it is needed)" if column in costly else column


def _attributes(asked: Asked, rows: pa.Table, chosen: Ints | None, computed: CostlyColumns) -> pa.Table:
    """What the filter looks at."""
    columns = []
    for name, type_ in asked.filter.attributes.items():
        column = asked.columns[name]
        if column not in rows.column_names:
            assert chosen is not None
            values = computed.as_far_as_known(column, chosen, type_)
        else:
            values = rows.column(column) if chosen is None else rows.column(column).take(pa.array(chosen))
        columns.append(values.cast(type_))
    return pa.table(columns, list(asked.filter.attributes))


def adapt(filter_: GroupedFilter) -> bool:
    """Find members by another attribute if the latest tuples would leave far fewer candidates; gives whether it did.

    Looking costs some milliseconds, so it is done when as many candidates were turned down as cost about that, and as
    many again.
    """
    seen = filter_.statistics
    rejected = seen.candidates - seen.pairs
    if rejected < _looked.get(filter_, 0) + _WORTH_A_LOOK:
        return False
    _looked[filter_] = rejected
    advice = filter_.advice()
    if advice.then >= _MUCH_LESS * advice.now:
        return False
    filter_.follow(advice)
    return True


def _filter(asked: Filter, storage: Storage) -> GroupedFilter:
    from eddyline.kernels.grouped.filter import GroupedFilter  # loads compiled code

    key = storage.root, asked.path, asked.form
    found = _filters.pop(key, None)
    if found is None:
        found = GroupedFilter(asked.form, *asked.constants(storage), pa.schema(list(asked.attributes.items())))
    _filters[key] = found
    while len(_filters) > _KEPT:
        _filters.popitem(last=False)
    return found
