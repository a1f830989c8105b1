"""Operators that make windows: from tables, and from streams by time, by rows and by for-loops."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.expression import Column, Expr
from eddyline.algebra.loop import Loop
from eddyline.algebra.node import StreamOp, WindowOp, require_columns
from eddyline.algebra.schema import Schema
from eddyline.errors import InvalidAlgebra


@dataclass(frozen=True)
class Scan(WindowOp):
    """The contents of a table, scanned when the query starts and every `interval` ticks after.

    Without an interval the table is a static input: one window that was always there.
    """

    table: str
    declared: Schema
    interval: int | None = None

    @property
    def schema(self) -> Schema:
        return self.declared

    def check(self) -> None:
        if self.interval is not None and self.interval <= 0:
            raise InvalidAlgebra(f"a table cannot be scanned every {self.interval} ticks")


@dataclass(frozen=True)
class OneRow(WindowOp):
    """What a query without FROM reads: a single tuple without attributes, always there."""

    @property
    def schema(self) -> Schema:
        return Schema(())


@dataclass(frozen=True)
class TimeScope:
    """The ends of a time window relative to its tick, both inclusive, in ticks (0 or negative)."""

    start: int
    end: int


@dataclass(frozen=True)
class RowScope:
    """The ends of a row window relative to its index, both inclusive, in rows (0 or negative)."""

    start: int
    end: int


@dataclass(frozen=True)
class _OverStream(WindowOp):
    input: StreamOp

    @property
    def schema(self) -> Schema:
        return self.input.schema


def _check_scope(scope: TimeScope | RowScope, slide: int) -> None:
    if scope.start > scope.end:
        raise InvalidAlgebra(f"a window from {scope.start} to {scope.end} is always empty")
    if slide <= 0:
        raise InvalidAlgebra(f"a window cannot slide by {slide}")


@dataclass(frozen=True)
class TimeWindow(_OverStream):
    """At every multiple of the slide, the tuples whose ticks are in scope (SNEEql section 6.2)."""

    scope: TimeScope
    slide: int

    @property
    def pace(self) -> int:
        """The most ticks from one window of a query to its next."""
        return self.slide

    def check(self) -> None:
        _check_scope(self.scope, self.slide)


@dataclass(frozen=True)
class RowWindow(_OverStream):
    """At index slide, 2·slide, …, the tuples whose indexes are in scope; its tick is its last tuple's (Figure 6)."""

    scope: RowScope
    slide: int

    def check(self) -> None:
        _check_scope(self.scope, self.slide)


@dataclass(frozen=True)
class RangeWindow(_OverStream):
    """CQL's time-based window: at every tick the tuples of the last `range` ticks.

    None is UNBOUNDED, 0 is NOW. With a slide, the window moves only at the multiples of it.
    """

    range: int | None
    slide: int | None = None

    def check(self) -> None:
        if (self.range is not None and self.range < 0) or (self.slide is not None and self.slide <= 0):
            raise InvalidAlgebra(f"a range of {self.range} sliding by {self.slide} is no window")


@dataclass(frozen=True)
class LatestRowsWindow(_OverStream):
    """CQL's tuple-based window: at every tick the `rows` latest tuples, of each partition if partitioned."""

    rows: int
    partition: tuple[Column, ...] = ()

    def check(self) -> None:
        if self.rows <= 0:
            raise InvalidAlgebra(f"a window of {self.rows} rows is always empty")
        for column in self.partition:
            require_columns(column, self.input.schema, "PARTITION BY")


@dataclass(frozen=True)
class LoopWindow(_OverStream):
    """For every value of `t`, the tuples from tick `left(t)` to tick `right(t)`, both inclusive; its tick is `t`."""

    loop: Loop
    left: Expr
    right: Expr


@dataclass(frozen=True)
class HopWindow(_OverStream):
    """The released TelegraphCQ's window [begin, begin + range), the first beginning at `start`; its tick is its end.

    Without `start` the first begins when the query starts.
    """

    range: int
    slide: int
    start: int | None = None

    def first_end(self, begin: int, over: int) -> int:
        """The end of the first window from `begin` on that is not over at a tick."""
        end = begin + self.range
        return end if end > over else end + -(-(over + 1 - end) // self.slide) * self.slide

    def check(self) -> None:
        if self.range <= 0 or self.slide <= 0:
            raise InvalidAlgebra(f"a range of {self.range} sliding by {self.slide} is no window")
