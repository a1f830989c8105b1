"""Query classes on the driver: which queries are answered together, and the tables of their members."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.sharing import QUERY, Form
from eddyline.algebra.stream import StreamAcquire, StreamReceive
from eddyline.algebra.types import DataType
from eddyline.columnar.types import arrow_type
from eddyline.log.answers import CLASS, Seat
from eddyline.sharing import Shape, slide_of, with_forms
from eddyline.spark.evaluate.members import SINCE, Members
from eddyline.spark.executor import Standing
from eddyline.spark.spans import LOW
from eddyline.spark.stages import Stage, cut

#: the first of a shape runs by itself: there is nothing to share, and its log is its own
_SHARE_FROM = 2


@dataclass
class _Table:
    """The members of one form."""

    form: Form
    above: tuple[DataType, ...]
    rows: dict[int, tuple[Any, ...]] = field(default_factory=dict)  # by number: since, constants

    def arrow(self) -> pa.Table:
        names = [*(f"_p{i}" for i in range(len(self.form.constants))), *(f"_a{i}" for i in range(len(self.above)))]
        types = [arrow_type(type_) for type_ in (*self.form.constants, *self.above)]
        schema = pa.schema([*((n, pa.int64()) for n in (QUERY, SINCE)), *zip(names, types, strict=True)])
        columns = zip(*((number, *row) for number, row in self.rows.items()), strict=True)
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


@dataclass
class QueryClass(Standing):
    """Queries of one shape at work. Its log has the answers of all of them; the last column tells whose."""

    shape: Shape | None = None
    numbers: dict[int, _Table] = field(default_factory=dict)  # of the members
    settled: bool = False
    next_number: int = 1
    _forms: dict[tuple[TypedExpr | None, tuple[DataType, ...]], _Table] = field(default_factory=dict)

    def add(self, number: int, shape: Shape, since: int) -> None:
        key = shape.predicate, shape.where
        if key not in self._forms:
            form = Form(f"f{self.next_number}", shape.predicate, shape.where)
            self._forms[key] = _Table(form, shape.above)
        table = self.numbers[number] = self._forms[key]
        table.rows[number] = (since, *shape.constants)
        self.next_number = max(self.next_number, number + 1)
        self.settled = False

    def drop(self, number: int) -> None:
        table = self.numbers.pop(number)
        del table.rows[number]
        self.settled = False
        if not table.rows:
            self._forms = {key: other for key, other in self._forms.items() if other is not table}

    def settle(self) -> None:
        """Take in who has come and gone; between batches, so that a batch sees the same members from start to end."""
        if self.settled:
            return
        self.settled = True
        assert self.shape is not None
        tables = list(self._forms.values())
        rows = [row for table in tables for row in table.rows.values()]
        since = max((since for since, *_ in rows), default=0)
        self.members = Members({t.form.name: t.arrow() for t in tables}, len(self.shape.above), since)
        plan = with_forms(self.shape.plan, tuple(table.form for table in tables))
        self.stages: Sequence[Stage] = cut(self.name, plan, (*self.shape.columns, QUERY))


class Classes:
    """All classes of an engine. A query of a shape that has been seen often enough gets a seat in a class."""

    def __init__(self, share_from: int) -> None:
        self._share_from = share_from  # the how-manieth query of a shape is the first to be a member of a class
        self._alone: dict[Any, int] = {}  # by shape, how many queries stand for themselves
        self._by_key: dict[Any, QueryClass] = {}
        self._last = 0

    def seat(self, shape: Shape, start: int | None, closed: int | None) -> Seat | None:
        """Where a new query of this shape goes; None: it stands for itself."""
        key = _key(shape, start)
        if key not in self._by_key:
            self._alone[key] = self._alone.get(key, 0) + 1
            if self._alone[key] < self._share_from:
                return None
            log, number, earlier = f"{CLASS}{self._last + 1}", 1, 0
        else:
            found = self._by_key[key]
            log, number, earlier = found.name, found.next_number, _windows_between(shape, found.start, start)
        begin = None if start is None else max(start, LOW if closed is None else closed + 1)
        return Seat(log, number, begin, earlier)

    def take(self, seat: Seat, shape: Shape, standing: Standing) -> QueryClass:
        """Let a query have its seat; gives its class."""
        key = _key(shape, standing.start)
        found = self._by_key.get(key)
        if found is None:
            found = QueryClass(seat.log, (), standing.start, standing.history, standing.created, standing.entry)
            found.shape = shape
            self._by_key[key] = found
            self._last = max(self._last, int(seat.log.removeprefix(CLASS)))
        stream = next(op.name for op in shape.plan.walk() if isinstance(op, StreamReceive | StreamAcquire))
        since = standing.since.get(stream, 0) if slide_of(shape.plan) is None else 0  # windows may look back
        found.add(seat.number, shape, since)
        return found

    def leave(self, seat: Seat) -> QueryClass:
        found = next(found for found in self._by_key.values() if found.name == seat.log)
        found.drop(seat.number)
        if not found.numbers:
            self._by_key = {key: other for key, other in self._by_key.items() if other is not found}
        return found

    def named(self, log: str) -> QueryClass | None:
        return next((found for found in self._by_key.values() if found.name == log), None)


def sharing_from(wanted: int | None) -> int:
    """From which query of a shape on they share: as the call says, or for a whole process as its environment says."""
    return int(os.environ.get("EDDYLINE_SHARE_FROM", _SHARE_FROM)) if wanted is None else wanted


def _key(shape: Shape, start: int | None) -> Any:
    """Queries that wait for the first tick of their streams begin together, later ones each at its own tick."""
    return shape.key, start is None


def _windows_between(shape: Shape, first: int | None, start: int | None) -> int:
    """How many windows a class has before the first one of a member."""
    slide = slide_of(shape.plan)
    if slide is None or first is None or start is None:
        return 0
    return -(-start // slide) - -(-first // slide)


__all__ = ["Classes", "QueryClass"]
