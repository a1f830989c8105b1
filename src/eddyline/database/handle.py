"""A standing query in the user's hands."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pyarrow as pa

from eddyline.algebra.answer import Answer
from eddyline.algebra.lineage import Cause
from eddyline.catalog.catalog import BoundQuery
from eddyline.columnar.types import arrow_type
from eddyline.database.definitions import StandingQuery
from eddyline.database.present import changes, present
from eddyline.database.reader import Read, ResultReader
from eddyline.database.revisions import Revisions
from eddyline.errors import DatabaseClosed, StreamingFailed, noted
from eddyline.log.segment import Segment
from eddyline.spark.past import Progress

#: who waits for answers looks up now and then: the query may have been dropped, Spark may have failed
_LOOK_UP = 0.25
_STOPPED = "the other queries go on; DROP QUERY it and create one that does not fail"


class Home(Protocol):
    """What a handle needs of its database."""

    reader: ResultReader
    revisions: Revisions

    def check(self) -> None:
        """Raises if the database is closed or the streaming query has failed."""

    def is_standing(self, query: StandingQuery) -> bool: ...

    def problem_of(self, query: StandingQuery) -> str | None:
        """Why a query has stopped although it stands."""

    def wait(self, batch: int, seconds: float) -> None:
        """Wait until a batch after the given one is committed or the time is up."""

    def progress_of(self, query: StandingQuery) -> Progress | None:
        """How much of the past a query has answered; None if it is through."""

    def flush_revisions(self, query: StandingQuery | None = None) -> None:
        """Have what is withheld of a query's answer shown."""

    def changes_frame(self, query: StandingQuery, segments: list[Segment], since: int) -> Any: ...


class QueryHandle:
    """Answers of one query. Every handle reads on its own: it begins with the first answer, or after `since`.

    >>> import eddyline.testing
    >>> with eddyline.testing.database() as db:
    ...     _ = db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
    ...     big = db.sql("CREATE QUERY big AS SELECT x FROM s WHERE x > 1")
    ...     _ = db.stream("s").push([(1, 10), (2, 20)])
    ...     db.flush()
    ...     [answer.row for answer in big.fetch()]
    [(2,)]
    """

    def __init__(self, home: Home, query: StandingQuery, since: int = -1) -> None:
        self._home = home
        self._query = query
        self._cursor = since
        self._guard = threading.Lock()

    @property
    def name(self) -> str:
        return self._query.record.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self._query.record.reading.columns

    @property
    def kind(self) -> str:
        """What its answers are: `stream`, `windows`, or `relation` for the changes of one."""
        return self._query.record.kind

    @property
    def cursor(self) -> int:
        """How far this handle has read. `db.query(name, since=cursor)` goes on from there, also after a restart."""
        return self._cursor

    @property
    def is_standing(self) -> bool:
        """Whether the query has not been dropped."""
        return self._home.is_standing(self._query)

    @property
    def progress(self) -> Progress | None:
        """How much of the past it has answered, if it looks back and is not through: `fraction`, `done` of `total`."""
        return self._home.progress_of(self._query)

    def flush_revisions(self) -> None:
        """Have all corrections shown that `revise_if` withholds; they come as answers like any other.

        When this returns it is written down, so that it will be done once, whatever happens. `db.flush()` waits for it.
        """
        self._check()
        self._home.flush_revisions(self._query)

    # -- answers ------------------------------------------------------------------------------------------------------

    def fetch(self, timeout: float | None = 0) -> list[Answer]:
        """What is new since the last fetch; if nothing is, waits up to `timeout` seconds for it (None: for ever)."""
        self._check()
        end = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            found = self._new()
            if found or not self.is_standing:
                return found
            self._home.check()
            problem = self._home.problem_of(self._query)
            if problem is not None:
                with noted():
                    raise StreamingFailed(f"the query {self.name} has stopped: {problem}", hint=_STOPPED)
            left = end - time.monotonic()
            if left <= 0:
                return []
            self._home.wait(self._cursor, min(left, _LOOK_UP))

    def __iter__(self) -> Iterator[Answer]:
        """Answers as they come; ends when the query is dropped or the database is closed."""
        while True:
            try:
                found = self.fetch(timeout=None)
            except DatabaseClosed:
                return
            if not found:
                return
            yield from found

    def _new(self) -> list[Answer]:
        with self._guard:
            last = self._home.reader.refresh()
            record = self._query.record
            found: list[Answer] = []
            if self.is_standing:
                # another thread may read on meanwhile: what it finds is for the next time
                found = list(self._home.reader.answers(record.log, record.reading, self._cursor, upto=last))
            self._cursor = max(self._cursor, last)
            return found

    def causes(self, answer: Answer) -> tuple[Cause, ...]:
        """The revisions of the input that an answer corrects for: `stream`, `index`, `op` and `precision` of each.

        There are none if it corrects nothing, and if it was given so long ago that nobody remembers.
        """
        with noted():
            self._check()
            return self._home.revisions.causes(self._query, answer)

    # -- tables -------------------------------------------------------------------------------------------------------

    def to_arrow(self, since: int | None = None) -> pa.Table:
        """All changes, or those after a cursor: `_batch`, `_tick`, `_index` or `_window`, `_diff`, and the columns."""
        cursor, reading = -1 if since is None else since, self._query.record.reading
        storage = self._home.reader.storage
        return self._read(cursor, lambda segments: changes(storage, segments, reading, self._schema(), cursor))

    def to_pandas(self, since: int | None = None) -> Any:
        """The same as `to_arrow`, for pandas."""
        return self.to_arrow(since).to_pandas()

    def to_spark(self, since: int | None = None) -> Any:
        """The result segments as a Spark DataFrame: every change with its `_diff`.

        Spark reads when the frame is used. Files that were merged into others go after ten minutes, so a frame that is
        older may miss one.
        """
        cursor = -1 if since is None else since
        return self._read(cursor, lambda segments: self._home.changes_frame(self._query, segments, cursor))

    def current(self) -> pa.Table:
        """What stands now, all changes added up: tuples, the rows of every window, or the rows of a relation."""
        storage, reading = self._home.reader.storage, self._query.record.reading
        return self._read(-1, lambda segments: present(storage, segments, reading, self._schema()))

    def _read(self, since: int, action: Callable[[list[Segment]], Read]) -> Read:
        self._check()
        self._home.reader.refresh()
        return self._home.reader.read(self._query.record.log, since, action)

    def _schema(self) -> pa.Schema:
        return schema_of(self.columns, self._query.query)

    def _check(self) -> None:
        self._home.check()
        if not self.is_standing:
            raise DatabaseClosed(f"the query {self.name} was dropped")

    def __repr__(self) -> str:
        return f"<query {self.name} ({', '.join(self.columns)}): {self.kind}>"


def schema_of(columns: tuple[str, ...], query: BoundQuery) -> pa.Schema:
    """The columns of a query's answers in Arrow's types."""
    fields = zip(columns, query.plan.schema.fields, strict=False)  # marks stand behind them
    return pa.schema([pa.field(name, arrow_type(field.type)) for name, field in fields])
