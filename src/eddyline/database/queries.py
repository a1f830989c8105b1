"""The queries of a database in the user's hands: listed and dropped by pattern, and made many at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.coercion import MAX_PRECISION
from eddyline.binder.connection import check_free
from eddyline.binder.setting import checked_way
from eddyline.binder.statement import NAMES
from eddyline.catalog.catalog import AUTO
from eddyline.database.core import Core
from eddyline.database.definitions import StandingSet
from eddyline.database.given import checked_text, checked_tick
from eddyline.database.handle import QueryHandle, schema_of
from eddyline.database.present import changes_of_all
from eddyline.database.sets import lower, names_of, types_of
from eddyline.database.statements import DROP_LIKE, QUERIES, SetRecord
from eddyline.errors import DuplicateName, InvalidDefinition, NotSupported, UnknownName, noted
from eddyline.log.answers import QUERY
from eddyline.log.segment import Segment
from eddyline.session.script_run import is_one_off
from eddyline.spark.tags.history import keep_histories
from eddyline.spark.tags.standing import tagged_upto
from eddyline.spark.templates import constants_of, template_shape

_HERE = "."


class Queries:
    """The names of the queries that stand, and what can be done with many of them at once.

    >>> import eddyline.testing
    >>> with eddyline.testing.database() as db:
    ...     _ = db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
    ...     above = db.queries("SELECT x FROM s WHERE x > :low", {"low": [1, 10, 100]}, name="above")
    ...     _ = db.stream("s").push([(5, 1), (50, 2)])
    ...     db.flush()
    ...     list(db.queries), [answer.row for answer in db.query("above.2").fetch()], db.queries.drop("above.%")
    (['above.1', 'above.2', 'above.3'], [(50,)], 3)
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    def __call__(
        self,
        template: str,
        constants: Any,
        name: str | None = None,
        *,
        history: bool = False,
        since: int | None = None,
        priority: int = 1,
        revisions: str = AUTO,
        revise_if: str | None = None,
    ) -> QuerySetHandle:
        """Create a query for each row of constants: an Arrow table, a frame of pandas or Spark, or columns by name.

        The template is a query with parameters: `SELECT … WHERE price > :low`. The column `name` names the queries;
        without one they are named NAME.1, NAME.2, …, where NAME is `name` or a new one. All of them are answered
        together, as if each had been created by itself at this moment.

        With `history` they first answer over what has passed and is retained, all in one pass; with `since`, over what
        is not before that tick. `priority`, from 1 to 10, is the weight of their share beside other queries.
        `revisions` says how their answers are corrected: 'auto', 'upstream' or 'downstream'. Of their answers,
        corrections are shown for which `revise_if` holds: `'abs(new - old) > 0.5'`; without, all are.
        """
        with noted(template):
            checked_way(revisions, repr(revisions))
            return self._created(template, constants, name, history, since, priority, revisions, revise_if)

    def _created(
        self,
        template: str,
        constants: Any,
        name: str | None,
        history: bool,
        since: int | None,
        priority: int,
        revisions: str,
        revise_if: str | None,
    ) -> QuerySetHandle:
        core = self._core
        core.check()
        checked_text(template, "a template")
        if name is not None:
            checked_text(name, "a name")
        if since is not None:
            checked_tick(since, "since")
        if revise_if is not None:
            checked_text(revise_if, "revise_if")
        try:
            given = _storable(_table(constants))
        except (pa.ArrowException, TypeError, ValueError, AttributeError, KeyError, OverflowError) as problem:
            raise InvalidDefinition(f"the constants are no table: {problem}") from problem
        if len(set(given.column_names)) < given.num_columns:
            raise DuplicateName("the constants have a column twice")
        with core.defining:
            values = self._named(given, name or f"queries{core.statements.next_number}")
            looks_back = history or since is not None
            about = looks_back, since, priority, revisions, revise_if
            bound = core.definitions.bind_template(template, types_of(values), *about)
            query = core.definitions.for_spark(bound)
            if is_one_off(query):
                raise NotSupported(
                    "the template reads tables alone: such a query is answered once, and does not stand",
                    hint="ask it with db.sql, or have the tables read again and again: FROM d [SCAN 1 MIN]",
                )
            shape = template_shape(query)
            constants_of(shape, values)  # raises if they do not fit
            with core.engine.writing:
                keep_histories(core.engine, query)
                moment = core.engine.beginning(query) if looks_back else core.engine.moment()
                beginning = moment.beginning(core.engine.journal.number if looks_back else None)
                seat = core.engine.classes.seat(shape, beginning, always=True)
                assert seat is not None
                number = core.statements.next_number
                first = core.definitions.record(values.column(NAMES)[0].as_py(), query, number, moment, seat)
                record = SetRecord(first, values.num_rows, f"catalog/{number:012d}.parquet", *about)
                core.storage.write_table(record.values, values)
                core.remember(QUERIES, template, _HERE, many=record)
                many = core.add_set(record, bound, values, beginning.past)
            core.engine.start()
            if first.history:
                core.engine.touch()
        return QuerySetHandle(core, many)

    def _named(self, values: pa.Table, prefix: str) -> pa.Table:
        if not values.num_rows:
            raise InvalidDefinition("there are no constants: each row of them makes a query")
        names = names_of(values, prefix)
        extents = [extent.name for extent in self._core.definitions.catalog.extents.values()]
        known = pc.utf8_lower(pa.array([*self, *extents], pa.string()))
        taken = pc.is_in(pc.utf8_lower(names), known)
        if pc.any(taken).as_py():
            raise DuplicateName(f"{names.filter(taken)[0].as_py()} exists already")
        rest = values.drop_columns([NAMES]) if NAMES in values.column_names else values
        return rest.append_column(NAMES, names)

    # -- those that stand ---------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[str]:
        definitions = self._core.definitions
        yield from [query.record.name for query in list(definitions.queries.values())]
        for many in list(definitions.sets):
            yield from many.members.names.to_pylist()

    def __len__(self) -> int:
        definitions = self._core.definitions
        return len(definitions.queries) + sum(len(many.members) for many in definitions.sets)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._core.definitions.find(name) is not None

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Queries | tuple | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def like(self, pattern: str) -> list[str]:
        """The names that are LIKE a pattern, as in SQL: % is anything, _ any one character; case does not matter."""
        checked_text(pattern, "a pattern")
        names = pa.array(list(self), pa.string())
        return list(names.filter(pc.match_like(pc.utf8_lower(names), lower(pattern))).to_pylist())

    def drop(self, pattern: str) -> int:
        """Drop all queries whose names are LIKE a pattern; gives how many. Their answers go with them."""
        core = self._core
        with noted():
            core.check_open()
            checked_text(pattern, "a pattern", hint="'%' drops all queries")
            with core.defining, core.engine.writing:
                check_free(core.definitions.catalog.queries_like(pattern), core.definitions.catalog)
                core.remember(DROP_LIKE, pattern, _HERE, arrived=tagged_upto(core.engine))
                return core.drop_like(pattern)

    def __repr__(self) -> str:
        return f"<{len(self)} queries>"


class QuerySetHandle:
    """The queries of one template."""

    def __init__(self, core: Core, many: StandingSet) -> None:
        self._core = core
        self._many = many

    def __len__(self) -> int:
        return len(self._many.members)

    @property
    def names(self) -> list[str]:
        return list(self._many.members.names.to_pylist())

    def __getitem__(self, name: str) -> QueryHandle:
        """A handle on one of them."""
        found = self._many.find(name)
        if found is None:
            raise UnknownName(f"there is no query {name} among them")
        return QueryHandle(self._core, found)

    def to_arrow(self, since: int | None = None) -> pa.Table:
        """All changes of all of them, or those after a cursor, as a query's own: the column `_query` has its name."""
        self._core.check()
        members, cursor = self._many.members, -1 if since is None else since
        first, reader = members.record.query, self._core.reader
        values = schema_of(first.reading.columns, self._many.query)

        def read(segments: list[Segment]) -> pa.Table:
            return changes_of_all(reader.storage, segments, first.reading, values, members.all_names, cursor)

        reader.refresh()
        return reader.read(first.log, cursor, read).filter(pc.is_in(pc.field(QUERY), members.names))

    def __repr__(self) -> str:
        return f"<{len(self)} queries ({', '.join(self._many.members.record.query.reading.columns)})>"


def _table(constants: Any) -> pa.Table:
    if isinstance(constants, pa.Table):
        return constants
    if isinstance(constants, dict):
        return pa.table({name: _column(name, values) for name, values in constants.items()})
    if isinstance(constants, list):
        return pa.Table.from_pylist(constants)
    if hasattr(constants, "toArrow"):  # of Spark
        return constants.toArrow()
    if hasattr(constants, "columns") and hasattr(constants, "dtypes"):  # of pandas
        return pa.Table.from_pandas(constants, preserve_index=False).replace_schema_metadata()
    raise NotSupported(
        f"constants cannot be a {type(constants).__name__}",
        hint="give an Arrow table, a DataFrame of pandas or Spark, a dict of columns or a list of dicts",
    )


def _storable(constants: pa.Table) -> pa.Table:
    """With DECIMALs as the language has them: of at most 38 digits, and none of them in front of zeros left away."""
    for at, field in enumerate(constants.schema):
        kind = field.type
        if pa.types.is_decimal(kind) and not (pa.types.is_decimal128(kind) and kind.scale >= 0):
            scale = max(kind.scale, 0)
            digits = min(MAX_PRECISION, kind.precision + scale - kind.scale)
            column = constants.column(at).cast(pa.decimal128(digits, scale))
            constants = constants.set_column(at, field.name, column)
    return constants


def _column(name: str, values: Any) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise InvalidDefinition(f"the column {name} of the constants is {values!r:.60}, not a list of values")
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
        raise InvalidDefinition(f"the column {name} of the constants has values of no one type: {problem}") from problem
