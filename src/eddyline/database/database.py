"""The Python face of a database."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from eddyline.database.core import Core
from eddyline.database.given import checked_number, checked_text, checked_tick
from eddyline.database.handle import QueryHandle
from eddyline.database.pushing import given_by_name, push
from eddyline.database.queries import Queries
from eddyline.database.rejects import Rejects
from eddyline.database.rows import Rows
from eddyline.database.scripts import Scripts
from eddyline.database.status import QueryStatus, Status
from eddyline.database.steps import Steps
from eddyline.database.stream import Pushed, StreamHandle
from eddyline.errors import InvalidDefinition, noted
from eddyline.language.script_file import script_at
from eddyline.output.backfill_bar import BackfillBar

Code = Callable[..., Any]


class Database:
    """Streams, tables and standing queries; made by `eddyline.connect`.

    A query answers what comes after it was created; it does not look back at tuples that had come before, except
    through its windows. It may be created, dropped and read from any thread while data flows.
    """

    def __init__(self, core: Core, heartbeat: float | None) -> None:
        self._core = core
        self._steps = Steps(core)
        self._scripts = Scripts(core, self._steps)
        mine = weakref.ref(core)
        self._at_exit = lambda: _close(mine)
        atexit.register(self._at_exit)
        if heartbeat is not None:
            threading.Thread(target=_beat, args=(mine, heartbeat), name="eddyline-clock", daemon=True).start()

    # -- statements ---------------------------------------------------------------------------------------------------

    def sql(self, text: str | os.PathLike[str]) -> Any:
        """Run one statement, or several; gives what the statement gives, or a list with what each gives.

        A path (`pathlib.Path`) is that of a file with statements, in UTF-8.

        - `CREATE QUERY`, and a bare query over streams: its `QueryHandle`. A bare query is named q1, q2, …
        - a query over tables alone: its `Rows`, at once
        - `INSERT`, `UPDATE` and `DELETE`: how many rows were sent (`Pushed`)
        - `EXPLAIN`: the text
        - other definitions: None

        A statement that is wrong raises an `EddylineError` and changes nothing; those before it have happened. A
        traceback shows the place, as `error.render(text)` does. Relative paths start from the working directory.
        """
        source = None
        if isinstance(text, os.PathLike):
            with noted():
                script = script_at(os.fspath(text))
            text, source = script.text, script.name
        with noted(text, source):
            self._core.check_open()
            results = self._scripts.run(checked_text(text, "a statement", "or the path of a file: pathlib.Path(…)"))
        return results[0] if len(results) == 1 else results

    def function(
        self,
        name: str | None = None,
        function: Code | None = None,
        *,
        returns: str,
        arguments: Sequence[str],
    ) -> Any:
        """Create a function for queries to call: `db.function("score", score, returns="DOUBLE", arguments=["DOUBLE"])`.

        Without the function it is a decorator, `@db.function(returns=…, arguments=[…])`, and the name is that of the
        function. It is given an Arrow array for each argument and gives an array, or what `pyarrow.array` takes, of
        the same length. The same arguments must always give the same value: it is called whenever a value is needed,
        on any worker, with rows in any order.

        Its code is kept with the database. A function of that name with other code gives way, unless a query calls it.
        """
        self._core.check_open()
        if function is None:
            return lambda code: self.function(name, code, returns=returns, arguments=arguments)
        called = getattr(function, "__name__", None) if name is None else name
        if not callable(function):
            raise InvalidDefinition(
                f"what is of type {type(function).__name__} cannot be called", hint="give a function"
            )
        if not isinstance(called, str) or not called.isidentifier():
            raise InvalidDefinition(f"{called} is no name for a function", hint="give it one: db.function('name', …)")
        with noted():
            self._steps.define_function(called, function, returns, arguments)
        return function

    def query(self, name: str, since: int = -1) -> QueryHandle:
        """A handle on a standing query, which begins with its first answer, or after a cursor."""
        with noted():
            self._core.check_open()
            standing = self._core.definitions.standing(checked_text(name, "a name"))
            return QueryHandle(self._core, standing, checked_number(since, "since, a cursor,", least=-1))

    @property
    def queries(self) -> Queries:
        """The queries that stand, by name; called, it creates many: `db.queries(template, constants)`."""
        return Queries(self._core)

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(e.name for e in list(self._core.definitions.catalog.extents.values()) if e.is_stream)

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(e.name for e in list(self._core.definitions.catalog.extents.values()) if not e.is_stream)

    # -- data ---------------------------------------------------------------------------------------------------------

    def stream(self, name: str) -> StreamHandle:
        """A handle to push rows into a stream."""
        with noted():
            self._core.check_open()
            return StreamHandle(self._core, self._core.definitions.stream(checked_text(name, "a name")))

    def push(self, rows: Mapping[str, Any], tags: Mapping[str, Any] | None = None) -> dict[str, Pushed]:
        """Take rows of several streams in as one step: `db.push({"a": rows, "b": rows})`; gives a `Pushed` for each.

        All of it is in for good when this returns, or, if it raises or the process dies, none of it. One batch answers
        it, and no row is late because of another: the clock moves when all are in. Pushed one after the other, the rows
        of the first stream would move it, and those of the second might correct what was answered meanwhile.

        Rows and tags are as `db.stream(name).push(rows, tags)` takes them.
        """
        with noted():
            self._core.check_open()
            given = given_by_name(self._core, rows, tags)
            return dict(zip(given, push(self._core, list(given.values())), strict=True))

    def run(self) -> Pushed:
        """Let the inputs of all streams (`USING csv`, …) flow to their end, merged by time, and wait for the answers.

        What is endless, like `USING rate`, flows as far as it has come by now.

        Nothing flows before, so all queries that were created see the files from their beginning. Calling it again
        takes in what was added to the files since; after a crash it goes on where it stopped. At the end the tick that
        the clock shows is closed, as at the end of a script.
        """
        pushed = self._core.run_files()
        self.flush()
        return pushed

    def flush(self, progress: bool = False) -> None:
        """Wait until everything that has come in is answered, by every query, also by those that look back.

        With `progress`, a bar on stderr shows how far those are, if it is a terminal.
        """
        if not progress:
            self._core.flush()
            return
        bar = BackfillBar(sys.stderr)
        try:
            self._core.flush(lambda: bar.report(self._core.backfills()))
        finally:
            bar.clear()

    def advance(self, tick: int, closed: bool = False) -> None:
        """Move the clock: nothing before `tick` is expected any more, and with `closed` nothing at it either.

        What is expected no more may still come. It is late then, and corrects what was answered.
        """
        self._core.check()
        self._core.engine.advance(checked_tick(tick, "what the clock is moved to"), ended=bool(closed))

    @property
    def clock(self) -> int | None:
        """The largest tick seen; None before the first."""
        return self._core.engine.ingest.clock.reached

    @property
    def rejects(self) -> Rejects:
        """The latest rows that did not fit, with their reasons; all of them are in the database's folder `rejects`."""
        return self._core.rejects

    def revisions(self, of: str | None = None, since: int | None = None, limit: int | None = None) -> Rows:
        """What was corrected, as `SHOW REVISIONS [OF stream or query] [SINCE tick] [LIMIT n]` tells it.

        `db.query(name).causes(answer)` and `db.stream(name).effects(index)` ask for a single one.
        """
        with noted():
            self._core.check_open()
            return self._core.revisions.list(of, since, limit)

    # -- life ---------------------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """How the database is; also tells why nothing is answered, if so."""
        core = self._core
        core.check_open()
        failure = core.engine.failure()
        results = core.engine.executor.results
        streams = dict(core.engine.journal.streams)
        queries = []
        for query in list(core.definitions.queries.values()):
            stage = results.stages.get(query.record.log)
            seat = query.record.seat
            start = query.record.reached if stage is None or seat is not None else stage.start
            counts = (0, 0) if stage is None else (stage.plus, stage.minus)
            shared = None if seat is None else seat.log
            queries.append(
                QueryStatus(
                    query.record.name,
                    query.record.kind,
                    start,
                    *counts,
                    core.problem_of(query),
                    shared,
                    core.state_of(query.record.log),
                    query.query.priority,
                )
            )
        return Status(
            path=core.storage.root,
            running=core.engine.run_id is not None,
            clock=self.clock,
            rows={name: streams[name].last_index if name in streams else 0 for name in self.streams},
            queries=queries,
            batches=results.last.batch + 1,
            waiting=core.engine.journal.number - results.last.entry if len(self.queries) else 0,
            rejects=dict(core.rejects.counts),
            problem=None if failure is None else failure.message,
            warnings=list(core.warnings),
            sets=[(many.members.seat.log, len(many.members)) for many in list(core.definitions.sets)],
        )

    @property
    def spark(self) -> Any:
        """The Spark session it runs on, for data sources of your own: `db.spark.dataSource.register(Source)`."""
        self._core.check_open()
        return self._core.engine.spark

    @property
    def run_id(self) -> str | None:
        """Which run of Spark's streaming query answers; it stays the same while queries come and go."""
        return self._core.engine.run_id

    def restart(self) -> None:
        """Go on after the streaming query has failed, with the batch that failed. Nothing is lost or answered twice."""
        self._core.check_open()
        self._core.restart()

    def close(self) -> None:
        """Stop; what was pushed and answered stays, unless the database is temporary. Handles that wait are woken."""
        atexit.unregister(self._at_exit)
        self._core.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<eddyline database {self._core.storage.root}{' (closed)' if self._core.is_closed else ''}>"


def _close(core: weakref.ref[Core]) -> None:
    found = core()
    if found is not None:
        found.close()


def _beat(core: weakref.ref[Core], seconds: float) -> None:
    """Time passes also when nothing comes: windows over tuples that get the time of their arrival become due."""
    while True:
        found = core()
        if found is None or found.is_closed:
            return
        found.beat()
        del found
        threading.Event().wait(seconds)


__all__ = ["Database", "Rows"]
