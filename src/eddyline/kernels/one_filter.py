"""One grouped filter for several query classes: what rows of a segment their members want is found for all at once.

Works that look at the rows of the same segments, whatever they do with them, differ in their members and in what they
keep. The first of them that a task comes to reads the rows and looks them up in one filter with the members of all;
each then takes the pairs of its own members.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa

from eddyline.kernels.direct import Reading
from eddyline.kernels.grouped.form import Form
from eddyline.kernels.matching import MOST_PAIRS, Asked, Match, adapt
from eddyline.kernels.places import Ints
from eddyline.log.storage import Storage

if TYPE_CHECKING:
    from eddyline.kernels.grouped.filter import GroupedFilter

#: members of one form beyond which they have an index to themselves: they share it with enough others
MOST_MEMBERS = 1 << 14
#: … and of one filter: who comes or goes has it built anew
MOST_IN_FILTER = 1 << 16
#: pairs that are kept while the works take theirs; where there are more, finding them is not what costs
_KEPT_PAIRS = 8_000_000
#: a class that wants less of the rows than this would have its members looked up for nothing
_WANTED_SHARE = 0.5
#: the number of a class stands above that of its member
_SHIFT = 40
#: looking up a row once more, a work that reads by itself, and building an index for a member, in the same unit
_WORK_COST, _MEMBER_COST = 10_000, 16
#: filters that a worker keeps
_KEPT = 8
_filters: OrderedDict[object, GroupedFilter] = OrderedDict()
#: what could have been saved so far by filters that were not built
_missed: OrderedDict[object, int] = OrderedDict()


@dataclass(frozen=True)
class OneFilter:
    """Matches that look at the same rows."""

    name: str
    matches: tuple[Match, ...]


@dataclass(frozen=True)
class Place:
    """That of a work among those who share a filter."""

    shared: OneFilter
    number: int


@dataclass(frozen=True)
class _Wanted:
    """The members of a form of one class."""

    place: int  # of its match
    asked: Asked
    form: Form  # over the columns that are read for all
    types: dict[str, pa.DataType]


#: by the place of a match and by its leaf, pairs of a place among the rows and a member
Pairs = dict[tuple[int, str], list[tuple[Ints, Ints]]]


class Shared:
    """The rows and what was found among them. Matches that are not there look for themselves."""

    def __init__(self, rows: pa.Table, columns: _Columns, found: Pairs) -> None:
        self._rows, self._columns, self._found = rows, columns, found
        self._places = {place for place, _ in found}

    def tables(self, place: int, match: Match) -> Iterator[tuple[str, pa.Table]] | None:
        """As `Match.tables` gives them; None if it has to ask that."""
        return self._tables(place, match) if place in self._places else None

    def _tables(self, place: int, match: Match) -> Iterator[tuple[str, pa.Table]]:
        assert match.reading is not None
        own = [self._columns.of(match.reading.columns[name]) for name in match.kept]
        kept = self._rows.select(own).rename_columns(list(match.kept))
        for leaf in match.leaves:
            yield leaf, kept.slice(0, 0).append_column(match.number, pa.array([], pa.int64()))
        for leaf in match.leaves:
            for rows, members in self._found.pop((place, leaf)):
                yield leaf, kept.take(pa.array(rows)).append_column(match.number, pa.array(members))


class _Columns:
    """What is read for all: each expression once."""

    def __init__(self, matches: Sequence[Match]) -> None:
        readings = [_reading(match) for match in matches]
        texts = dict.fromkeys(_expression(text) for reading in readings for text in reading.columns.values())
        self._names = {text: f"_y{number}" for number, text in enumerate(texts)}
        self._places = tuple(dict.fromkeys(place for reading in readings for place in reading.places))
        conditions = dict.fromkeys(reading.condition for reading in readings)
        self._flags = {text: f"_w{number}" for number, text in enumerate(conditions)} if len(conditions) > 1 else {}

    def of(self, text: str) -> str:
        return self._names[_expression(text)]

    def flag(self, reading: Reading) -> str | None:
        """The column that tells which rows are for a match; None: all."""
        return self._flags.get(reading.condition)

    def statement(self, reading: Reading) -> str:
        columns = [f"{text} AS {name}" for text, name in self._names.items()]
        flags = [f"coalesce({text}, false) AS {name}" for text, name in self._flags.items()]
        where = " OR ".join(f"({text})" for text in self._flags or [reading.condition])
        rows = f"SELECT {', '.join([*reading.source, *self._places])} FROM {reading.leaf}"
        return f"WITH rows_of_all AS ({rows}) SELECT {', '.join([*columns, *flags])} FROM rows_of_all WHERE {where}"


def may_share(match: Match) -> bool:
    """Whether what members want can be found together with what others want."""
    return match.reading is not None and not match.costly and all(a.filter.count <= MOST_MEMBERS for a in match.asked)


def members_of(match: Match) -> int:
    return sum(asked.filter.count for asked in match.asked)


def found_together(
    shared: OneFilter, reading: Reading, connection: duckdb.DuckDBPyConnection, storage: Storage
) -> Shared | None:
    """None if each had better look by itself. `reading`: that of a match whose leaf is open."""
    columns = _Columns(shared.matches)
    try:
        rows = connection.sql(columns.statement(reading)).to_arrow_table().combine_chunks()
    except duckdb.Error:  # what one cannot compute is not to hinder the others
        return None
    flags = {}
    wanted: list[_Wanted] = []
    for place, match in enumerate(shared.matches):
        flag = columns.flag(_reading(match))
        if flag is not None and flag not in flags:
            flags[flag] = rows.column(flag).to_numpy()
        if flag is None or flags[flag].sum() >= _WANTED_SHARE * rows.num_rows:
            wanted += [_wanted(place, match, asked, columns) for asked in match.asked]
    if len({each.place for each in wanted}) < 2:
        return None
    filter_ = _filter(wanted, rows.num_rows, storage)
    if filter_ is None:
        return None
    adapt(filter_)
    found: Pairs = {(each.place, each.asked.leaf): [] for each in wanted}
    pairs = 0
    ends = np.arange(len(wanted) + 1) << _SHIFT
    for piece in filter_.matches_in_pieces(_attributes(wanted, rows), MOST_PAIRS):
        pairs += len(piece)
        if pairs > _KEPT_PAIRS:
            return None
        cuts = np.searchsorted(piece.members, ends)
        for number, each in enumerate(wanted):
            places, members = (of_all[cuts[number] : cuts[number + 1]] for of_all in (piece.rows, piece.members))
            flag = columns.flag(_reading(shared.matches[each.place]))
            if flag is not None:
                own = flags[flag][places]
                places, members = places[own], members[own]
            if places.size:
                found[each.place, each.asked.leaf].append((places, members - ends[number]))
    return Shared(rows, columns, found)


def _reading(match: Match) -> Reading:
    assert match.reading is not None
    return match.reading


def _expression(text: str) -> str:
    """What a column is, without the name that it gets.

    >>> _expression('"c1" AS _x0'), _expression("_tick")
    ('"c1"', '_tick')
    """
    head, as_, name = text.rpartition(" AS ")
    return (head if as_ and name.isidentifier() else text).strip()


def _wanted(place: int, match: Match, asked: Asked, columns: _Columns) -> _Wanted:
    names = {name: columns.of(_reading(match).columns[column]) for name, column in asked.columns.items()}
    alternatives = tuple(
        tuple(replace(range_, attribute=names[range_.attribute]) for range_ in alternative)
        for alternative in asked.filter.form.alternatives
    )
    types = {names[name]: type_ for name, type_ in asked.filter.attributes.items()}
    return _Wanted(place, asked, Form(alternatives), types)


def _attributes(wanted: Sequence[_Wanted], rows: pa.Table) -> pa.Table:
    types = {name: type_ for each in wanted for name, type_ in each.types.items()}
    return pa.table([rows.column(name).cast(type_) for name, type_ in types.items()], list(types))


def _filter(wanted: Sequence[_Wanted], rows: int, storage: Storage) -> GroupedFilter | None:
    """One that is there, or one that is built once it would have been worth it; None until then, and for too much."""
    key = storage.root, tuple((each.asked.filter.path, each.form) for each in wanted)
    found = _filters.pop(key, None)
    if found is None:
        missed = _missed.pop(key, 0) + (len(wanted) - 1) * (rows + _WORK_COST)
        if missed < _MEMBER_COST * sum(each.asked.filter.count for each in wanted):
            _missed[key] = missed
            while len(_missed) > 8 * _KEPT:
                _missed.popitem(last=False)
            return None
        found = _built(wanted, storage)
    _filters[key] = found
    while len(_filters) > _KEPT:
        _filters.popitem(last=False)
    seen = found.statistics
    return None if seen.tuples and rows * seen.pairs / seen.tuples > _KEPT_PAIRS else found


def _built(wanted: Sequence[_Wanted], storage: Storage) -> GroupedFilter:
    from eddyline.kernels.grouped.filter import GroupedFilter, Part  # loads compiled code

    parts = []
    for number, each in enumerate(wanted):
        members, ids = each.asked.filter.constants(storage)
        parts.append(Part(each.form, members, pa.array(ids.to_numpy() + (number << _SHIFT))))
    types = {name: type_ for each in wanted for name, type_ in each.types.items()}
    return GroupedFilter.of_several(parts, pa.schema(list(types.items())))
