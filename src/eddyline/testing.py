"""For users' own tests: a database that goes away, and a clock that stands still until it is told to move.

>>> from eddyline import testing
>>> clock = testing.ManualClock()
>>> with testing.database(clock) as db:
...     _ = db.sql("CREATE STREAM door (person STRING)")  # without a time of its own: the clock gives it
...     entered = db.sql("SELECT COUNT(*) AS n FROM door [FROM NOW-9 TO NOW SLIDE 10 SEC]")
...     sink = testing.ListSink(db, entered)
...     source = testing.ListSource(db, "door", [("ann",), ("bob",), ("cid",)])
...     _ = source.push(2)
...     clock.advance(15)
...     _ = source.push()
...     clock.advance(6)  # now it is 21: the windows at 0, 10 and 20 are complete
...     sink.rows
[(2,), (0,), (1,)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from eddyline.algebra.answer import Answer
from eddyline.log.answers import python_rows

if TYPE_CHECKING:
    from eddyline.database import Database
    from eddyline.database.handle import QueryHandle
    from eddyline.database.stream import Pushed
    from eddyline.log.upkeep import Pace


class ManualClock:
    """Shows the tick it was set to. When it moves, so does the clock of the database that it was given to."""

    def __init__(self, tick: int = 0) -> None:
        self._tick = tick
        self._followers: list[Callable[[int], None]] = []

    def __call__(self) -> int:
        return self._tick

    def set(self, tick: int) -> None:
        if tick < self._tick:
            raise ValueError(f"time does not go back: the clock shows {self._tick}, not {tick}")
        self._tick = tick
        for follow in self._followers:
            follow(tick)

    def advance(self, ticks: int = 1) -> None:
        self.set(self._tick + ticks)

    def follow(self, move: Callable[[int], None]) -> None:
        """Have something called with the tick whenever the clock is moved."""
        self._followers.append(move)


class ListSource:
    """Rows that are pushed into a stream, all at once or some at a time."""

    def __init__(self, db: Database, stream: str, rows: Sequence[Any]) -> None:
        self._stream = db.stream(stream)
        self._left = list(rows)

    def push(self, count: int | None = None) -> Pushed:
        """Push the next rows; without a count, all that are left."""
        some = self._left if count is None else self._left[:count]
        self._left = self._left[len(some) :]
        return self._stream.push(some)

    def __len__(self) -> int:
        """How many rows are left."""
        return len(self._left)


class ListSink:
    """What a query has answered. Looking at it waits until everything that was pushed is answered."""

    def __init__(self, db: Database, query: QueryHandle | str) -> None:
        self._db = db
        self._handle = db.query(query if isinstance(query, str) else query.name)
        self._answers: list[Answer] = []

    @property
    def answers(self) -> list[Answer]:
        """All answers so far, corrections too, in their order."""
        self._db.flush()
        self._answers += self._handle.fetch()
        return list(self._answers)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows that stand once all answers are added up: those of a stream, of all windows, or of a relation."""
        self._db.flush()
        return python_rows(self._handle.columns, self._handle.current())


@contextmanager
def database(
    clock: Callable[[], int] | None = None, master: str | None = None, pace: Pace | None = None
) -> Iterator[Database]:
    """A temporary database whose time is that of the clock; one that shows 0 if there is none given."""
    from eddyline.database import connect  # takes a moment to load, which importing this module must not

    clock = ManualClock() if clock is None else clock
    with connect(master=master, clock=clock, heartbeat=None, pace=pace) as db:
        if isinstance(clock, ManualClock):
            clock.follow(db.advance)
        yield db
