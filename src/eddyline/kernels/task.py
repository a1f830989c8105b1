"""A task's work: open segments, compute, write results as segments, and say which."""

from __future__ import annotations

import gc
import os
import re
import sys
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.marks import MARKS
from eddyline.algebra.user_function import UserFunction
from eddyline.columnar.gathering import tables_of
from eddyline.errors import FunctionFailed, StorageUnreadable
from eddyline.kernels.dialect import MACROS
from eddyline.kernels.eddy.eddies import Eddies
from eddyline.kernels.eddy.knowledge import Knowledge
from eddyline.kernels.eddy.report import Report
from eddyline.kernels.functions import last_failure, register
from eddyline.kernels.late import LateCall
from eddyline.kernels.leaves import Leaves
from eddyline.kernels.matching import Match
from eddyline.kernels.one_filter import Place
from eddyline.kernels.passing import PassedOn
from eddyline.kernels.searched import with_numbers, with_searches
from eddyline.kernels.selecting import Selection
from eddyline.kernels.sheet import Sources
from eddyline.kernels.together import Grouping, Together
from eddyline.log.answers import NUMBER, PLACE, QUERY, is_inner, is_shared
from eddyline.log.dealt import SUFFIX, Dealt
from eddyline.log.journal import Spans
from eddyline.log.segment import DIFF, INDEX, TICK, Segment, bounds_of
from eddyline.log.spans import spans_of, spans_of_places
from eddyline.log.storage import Storage
from eddyline.log.withheld import Stretch, stretches_of

#: a segment is written when it has that many rows, so that a task's memory stays bounded
SEGMENT_ROWS = 1_000_000
#: beyond it the kernel goes to disk
_MEMORY = "1GB"
_SETTINGS = (
    "SET threads = 1",  # Spark gives a task one core
    f"SET memory_limit = '{_MEMORY}'",
    "SET TimeZone = 'UTC'",
    "SET default_null_order = 'nulls_last'",  # what sqlglot takes for granted: it leaves NULLS LAST away
    "SET preserve_insertion_order = false",
)
#: how the kernel tells, through a stream of rows, that it was no file that failed
_COMPUTING = re.compile(r"(?!IO )[\w ]+ Error: ")
_connection: duckdb.DuckDBPyConnection | None = None
_modules = 0  # how many were loaded when they were last taken for good


@dataclass(frozen=True)
class Work:
    """What a task is to do for one stage; small enough to travel with the task."""

    stage: str
    batch: int
    root: str  # of the storage
    statement: str = ""
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))  # of the segments it writes
    folder: str = ""  # where they go
    found: Sequence[Match | Selection] = ()  # leaves that are found before the statement runs, in this order
    by_row: bool = False  # whether the statement works row by row, so that what is found can come piece by piece
    plain: Mapping[str, Sources] | None = None  # by leaf, the columns of it that the statement gives, if that is all
    functions: tuple[UserFunction, ...] = ()  # of users, that are called somewhere
    known: Mapping[str, Knowledge] = field(default_factory=dict)  # about the operators of its eddies
    few: bool = False  # whether it reads so few rows that whatever it gives fits into memory
    grouping: Grouping | None = None  # what others may need too …
    together: Together | None = None  # … and if some do, how it is shared
    filtered: Place | None = None  # if what it matches is found together with what others match
    reads: int = 0  # rows of the segments that it opens
    doubts: str = ""  # a statement; if it finds any windows, those are not answered right, and nothing is written
    ordered: bool = False  # whether joins run in the order in which the statement has them
    holds: str = ""  # if rows without a weight tell where corrections are withheld, the column that does
    late: LateCall | None = None  # what is called with the rows that the statement gives
    passed: PassedOn | None = None  # if all that it gives are rows of segments as they are, these

    @property
    def is_taken(self) -> bool:
        """Whether what is found is the answer, so that the statement does not run."""
        return self.by_row and self.plain is not None and len(self.found) == 1


@dataclass(frozen=True)
class Reference:
    """A segment that a task has written, or why the kernel could not do its work, or how long all of it took."""

    stage: str
    segment: Segment | None
    refused: str = ""
    failed: str = ""  # why nobody can do it
    reports: Mapping[str, Report] = field(default_factory=dict)  # of its eddies, once it is done
    seconds: float = 0.0
    cpu: float = 0.0  # of these seconds, those of the processor: others may have been waited for
    withheld: tuple[Stretch, ...] = ()  # where corrections are, and of how many results
    doubted: Spans = ()  # where windows are that the work cannot answer, so that it has answered none
    touched: Spans = ()  # the ticks of the segment's rows


def done(works: Iterable[Work]) -> Iterator[Reference]:
    """What Spark calls in a task, with the works of its partition."""
    leaves = Leaves(kernel())
    try:
        for work in works:
            yield from _done(work, leaves)
    finally:
        leaves.close()
        keep_modules()


def keep_modules() -> None:
    """A worker of Spark's looks for garbage after every task, among all that its modules have made: for longer than a
    small work takes. What is there when modules have been loaded is there for good, so it need not be looked at again.
    """
    global _modules
    if "SPARK_REUSE_WORKER" in os.environ and len(sys.modules) != _modules:
        _modules = len(sys.modules)
        gc.collect()
        gc.freeze()


def _done(work: Work, leaves: Leaves) -> Iterator[Reference]:
    storage, eddies = Storage(work.root), Eddies(work.known)
    began, busy = time.monotonic(), time.process_time()
    try:
        passed = _passed_on(work, leaves, storage)
        if passed is not None:
            yield from passed
        else:
            rows = _computed(work, leaves, eddies)
            yield from written(rows, work.stage, work.batch, storage, work.folder, work.holds, work.late)
        if eddies.reports:
            yield Reference(work.stage, None, reports=eddies.reports)
    except (duckdb.Error, pa.ArrowInvalid) as problem:  # an overflow, for one: Spark has another answer to it
        yield Reference(work.stage, None, str(problem).splitlines()[0])
    except FunctionFailed as problem:  # the user's code would fail there too
        yield Reference(work.stage, None, failed=problem.message)
    except _InDoubt as doubt:
        yield Reference(work.stage, None, doubted=doubt.windows)
    seconds, cpu, others = time.monotonic() - began, time.process_time() - busy, leaves.spent_for_others()
    yield Reference(work.stage, None, seconds=seconds - others, cpu=max(0.0, cpu - others))


def _computed(work: Work, leaves: Leaves, eddies: Eddies) -> Iterator[pa.RecordBatch | Dealt]:
    with bound(work, leaves) as connection:
        if work.is_taken and work.plain is not None:
            yield from _taken(work, work.plain, leaves, eddies)
            return
        with _prepared(work, connection) as statement:
            work = work if statement == work.statement else replace(work, statement=statement)
            yield from _given(work, leaves, eddies)


@contextmanager
def _prepared(work: Work, connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """The statement of a work, with what is known from the texts of marks if it reads many."""
    if work.few:
        yield work.statement
        return
    storage = Storage(work.root)
    searched = with_searches(work.statement, work.functions, work.files, storage)
    if work.late is None or not work.late.takes_numbers:
        yield searched
        return
    with with_numbers(connection, searched, work.files, storage) as statement:
        yield statement


def _given(work: Work, leaves: Leaves, eddies: Eddies) -> Iterator[pa.RecordBatch]:
    """What the statement gives, as often as there are pieces."""
    for _ in filled(work, leaves, eddies):
        if work.doubts:
            (doubted,) = leaves.connection.execute(work.doubts).fetchnumpy().values()
            if len(doubted):
                raise _InDoubt(spans_of_places(doubted))
        for batch in _answer(work, leaves):
            schema = work.schema if work.late is None else work.late.before(work.schema, batch.schema)
            yield _as_declared(batch, schema)


def _as_declared(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows of a statement with the columns of a segment. They are named by their place: a result may have names that no
    table could have."""
    columns = [c if c.type == f.type else c.cast(f.type) for c, f in zip(batch, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _passed_on(work: Work, leaves: Leaves, storage: Storage) -> list[Reference] | None:
    """Segments that are files of a stream, if that is what the work gives; None if it has to be written."""
    passed = work.passed
    if passed is None or not passed.fits(storage, work.schema):
        return None
    with bound(work, leaves):
        told = _rows_of(passed.tags, work, leaves) if passed.tags else ()
        segments = passed.linked(storage, work.folder, work.batch, told)
    if segments is None:
        return None
    return [Reference(work.stage, segment, touched=(segment.tick,)) for segment in segments]


class _InDoubt(Exception):
    """A work cannot answer some windows from what it was given."""

    def __init__(self, windows: Spans) -> None:
        super().__init__()
        self.windows = windows


class KernelFailed(Exception):
    """The kernel cannot answer a statement; it says why."""


_asking = threading.Lock()


def answered(work: Work) -> pa.Table:
    """The rows of a statement that somebody asks for, in this process, and nothing is written."""
    with _asking:  # a process has one kernel
        leaves, eddies = Leaves(kernel()), Eddies(work.known)
        try:
            with bound(work, leaves) as connection:
                for _ in filled(work, leaves, eddies):
                    pass
                return _all_rows_of(work.statement, connection)
        except (duckdb.Error, pa.ArrowInvalid) as problem:
            raise KernelFailed(str(problem).splitlines()[0]) from problem
        finally:
            leaves.close()


def _answer(work: Work, leaves: Leaves) -> Iterable[pa.RecordBatch]:
    """The rows of the work's statement."""
    shared = None if work.few else work.together
    has = shared is not None and leaves.has(shared, Storage(work.root))
    return _rows_of(shared.statement if shared is not None and has else work.statement, work, leaves)


def _rows_of(statement: str, work: Work, leaves: Leaves) -> Iterable[pa.RecordBatch]:
    """The rows of a statement. A relation streams them, but has the statement read and bound twice."""
    connection = leaves.connection
    if not work.few:
        streamed: Iterable[pa.RecordBatch] = connection.sql(statement).to_arrow_reader()
        return streamed
    return cast(list[pa.RecordBatch], _all_rows_of(statement, connection).to_batches())


def _all_rows_of(statement: str, connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """The rows of a statement that gives few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the rows are copied, which costs less
        return connection.execute(statement).to_arrow_table()


def _taken(
    work: Work, plain: Mapping[str, Sources], leaves: Leaves, eddies: Eddies
) -> Iterator[pa.RecordBatch | Dealt]:
    """What was found, as it is: the kernel would pass millions of rows through for nothing."""
    for leaf, found in _found(work, work.found[0], leaves, eddies, deal=_may_deal(work)):
        if isinstance(found, Dealt):
            yield _named(found, plain[leaf], work.schema)
        elif found.num_rows:
            columns = [_column(found, source, f) for source, f in zip(plain[leaf], work.schema, strict=True)]
            yield from pa.table(columns, schema=work.schema).combine_chunks().to_batches()


def _may_deal(work: Work) -> bool:
    """Whether rows may be written once for all who get them. Only members read such a log, not the kernel; and where it
    is not on this machine, a member would have to read all of a file."""
    return is_shared(work.stage) and not work.holds and Storage(work.root).local


def _named(dealt: Dealt, sources: Sources, schema: pa.Schema) -> Dealt:
    """The rows with the columns of a segment."""
    fields = [(source, f) for source, f in zip(sources, schema, strict=True) if source != dealt.member]
    rows = pa.table([_column(dealt.rows, *of) for of in fields], [f.name for _, f in fields])
    return replace(dealt, rows=rows, member=schema.names[sources.index(dealt.member)], at=sources.index(dealt.member))


def _column(table: pa.Table, source: str | int, field_: pa.Field) -> pa.Array | pa.ChunkedArray:
    if isinstance(source, int):
        return pa.repeat(pa.scalar(source, field_.type), table.num_rows)
    column = table.column(source)
    numbered = pa.types.is_dictionary(column.type) and column.type.value_type == field_.type
    return column if numbered or column.type == field_.type else column.cast(field_.type)


def _found(
    work: Work, match: Match | Selection, leaves: Leaves, eddies: Eddies, deal: bool = False
) -> Iterator[tuple[str, pa.Table | Dealt]]:
    """The leaves that a match or selection finds, piece by piece; an empty table of each comes first.

    With `deal`, rows that many members get may come once.
    """
    storage = Storage(work.root)
    if work.filtered is not None and isinstance(match, Match):
        found = leaves.matched(work.filtered, match, storage)
        if found is not None:
            return found
    if deal and isinstance(match, Match):
        return match.dealt(leaves.connection, storage, eddies)
    return match.tables(leaves.connection, storage, eddies)


def filled(work: Work, leaves: Leaves, eddies: Eddies) -> Iterator[None]:
    """Fill the leaves that are found; once, or as often as there are pieces."""
    connection = leaves.connection
    if work.by_row and len(work.found) == 1:
        empty: dict[str, pa.Table] = {}
        for leaf, table in _found(work, work.found[0], leaves, eddies):
            connection.register(leaf, table)
            if leaf in empty:
                yield
                table = empty[leaf]
                connection.register(leaf, table)
            empty[leaf] = table
        return
    for found in work.found:
        tables: dict[str, list[pa.Table]] = {}
        for leaf, table in _found(work, found, leaves, eddies):
            tables.setdefault(leaf, []).append(table)
        for leaf, parts in tables.items():
            connection.register(leaf, pa.concat_tables(parts))
    yield


@contextmanager
def bound(work: Work, leaves: Leaves) -> Iterator[duckdb.DuckDBPyConnection]:
    """A kernel that has the work's segments and tables under the names of its leaves."""
    connection, storage = leaves.connection, Storage(work.root)
    given = (*work.tables, *(leaf for found in work.found for leaf in found.leaves))
    last_failure()  # nobody has asked for one of an earlier work
    try:
        register(connection, work.functions, storage)
        leaves.make_room(given)
        for name, files in work.files.items():
            leaves.open(name, files, storage, work.few)
        for name, table in work.tables.items():
            connection.register(name, table)
        with _joining(connection, work.ordered):
            yield connection
    except (duckdb.Error, pa.ArrowException, OSError) as problem:
        failed = last_failure()
        if failed is not None:
            raise failed from problem
        said = str(problem).splitlines()[0]
        if isinstance(problem, OSError) and _COMPUTING.match(said):
            raise duckdb.Error(said) from problem
        if isinstance(problem, duckdb.IOException | OSError):
            raise StorageUnreadable(said) from problem
        raise
    finally:
        leaves.drop(given)


@contextmanager
def _joining(connection: duckdb.DuckDBPyConnection, ordered: bool) -> Iterator[None]:
    """Let joins run as they are written, not as the kernel guesses: who has written them knows what was seen before."""
    if not ordered:
        yield
        return
    aside = connection.cursor()  # one that has no rows on their way
    aside.execute("SET disabled_optimizers = 'join_order'")
    try:
        yield
    finally:
        aside.execute("RESET disabled_optimizers")
        aside.close()


def kernel() -> duckdb.DuckDBPyConnection:
    """One for each process: Spark uses its Python workers again."""
    global _connection
    if _connection is None:
        _connection = duckdb.connect()
        _connection.execute(f"SET temp_directory = '{tempfile.gettempdir()}/eddyline-{uuid.uuid4().hex[:8]}'")
        for statement in (*_SETTINGS, *MACROS):
            _connection.execute(statement)
    return _connection


def written(
    rows: Iterable[pa.RecordBatch | Dealt],
    stage: str,
    batch: int,
    storage: Storage,
    folder: str,
    holds: str = "",
    late: LateCall | None = None,
) -> Iterator[Reference]:
    """Rows as segments of a stage's log; with `holds`, those without a weight tell where corrections are withheld."""
    dealt: list[Reference] = []

    def others() -> Iterator[pa.RecordBatch]:
        for some in rows:
            if isinstance(some, Dealt):  # has the size of a segment
                dealt.append(_reference(some, stage, batch, storage, folder))
            else:
                yield some

    for table in tables_of(others(), SEGMENT_ROWS):
        if late is not None:
            table = late.completed(table, storage)
        if holds:
            weighted = pc.not_equal(table.column(DIFF), 0)
            places = table.filter(pc.invert(weighted)).column(holds)
            if len(places):
                yield Reference(stage, None, withheld=stretches_of(places.to_numpy()))
                table = table.filter(weighted)
                if not table.num_rows:
                    continue
        yield _reference(table, stage, batch, storage, folder)
    yield from dealt


def _reference(rows: pa.Table | Dealt, stage: str, batch: int, storage: Storage, folder: str) -> Reference:
    # a path of its own for every attempt: what a failed or overtaken task wrote is never referred to
    path = f"{folder}/{batch:012d}-{uuid.uuid4().hex}"
    if isinstance(rows, Dealt):
        path, table = f"{path}{SUFFIX}", rows.rows
        size = storage.write_dealt(path, rows)
        minus = rows.sum(pc.less(table.column(DIFF), 0))
    else:
        path, table = f"{path}.parquet", rows
        shared = is_shared(stage)  # each reader wants the rows of one member
        if shared and not _is_sorted(table.column(QUERY)):
            table = table.sort_by(QUERY)
        size = storage.write_table(path, table, QUERY if shared else None)
        minus = pc.sum(pc.less(table.column(DIFF), 0)).as_py() or 0
    number = next((name for name in (INDEX, NUMBER) if name in table.column_names), None)
    index = (0, -1) if number is None else bounds_of(table, number)
    place = bounds_of(table, PLACE) if PLACE in table.column_names else None
    marked = MARKS in table.column_names
    ticks = bounds_of(table, TICK)
    segment = Segment(path, len(rows), size, (batch, batch), index, ticks, minus, place, marked=marked)
    # Whoever reads a stream inside a query reads what is touched: one old tuple among new ones must not be all between.
    return Reference(stage, segment, touched=spans_of(table.column(TICK)) if is_inner(stage) else (ticks,))


def _is_sorted(column: pa.ChunkedArray) -> bool:
    numbers = column.fill_null(-1).to_numpy()
    return bool((numbers[1:] >= numbers[:-1]).all())
