"""Grouped filters inside of a task: rows are matched with the members of a query class and go on with numbers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import duckdb
import pyarrow as pa

from eddyline.kernels.grouped.form import Form
from eddyline.log.storage import Storage

if TYPE_CHECKING:
    from eddyline.kernels.grouped.filter import GroupedFilter

#: a worker keeps the indexes it has used lately; those of a million members take some hundred megabytes
_KEPT = 16
#: pairs of a row and a member that are in memory at a time, where they can be looked at piece by piece
MOST_PAIRS = 4_000_000
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


@dataclass(frozen=True)
class Match:
    """A leaf that is found before the statement runs: the rows of another statement that members want."""

    leaf: str
    statement: str
    filter: Filter
    number: str  # the column that tells the member


def pieces(match: Match, connection: duckdb.DuckDBPyConnection, storage: Storage, most: int) -> Iterator[pa.Table]:
    """What a match gives, so many rows at a time; without any, one empty piece."""
    rows = connection.sql(match.statement).to_arrow_table().combine_chunks()
    asked = match.filter
    attributes = pa.table([rows.column(name).cast(t) for name, t in asked.attributes.items()], list(asked.attributes))
    kept = rows.drop_columns(list(asked.attributes))
    empty = True
    filter_ = _filter(asked, storage)
    adapt(filter_)
    for found in filter_.matches_in_pieces(attributes, most):
        empty = False
        yield kept.take(pa.array(found.rows)).append_column(match.number, pa.array(found.members))
    if empty:
        yield kept.slice(0, 0).append_column(match.number, pa.array([], pa.int64()))


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
        table = storage.read_table(asked.path)
        columns = {name: table.column(name.partition(" ")[0]).cast(type_) for name, type_ in asked.casts.items()}
        schema = pa.schema(list(asked.attributes.items()))
        ids = table.column("_query").combine_chunks()
        found = GroupedFilter(asked.form, pa.table(columns), ids, schema)
    _filters[key] = found
    while len(_filters) > _KEPT:
        _filters.popitem(last=False)
    return found
