"""Query classes on the driver: which queries are answered together, and the tables of their members."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from eddyline.algebra.marks import MARKS
from eddyline.algebra.node import Operator
from eddyline.algebra.sharing import QUERY, Form
from eddyline.errors import InvalidDefinition
from eddyline.log.answers import CLASS, Seat
from eddyline.log.storage import Storage
from eddyline.sharing import Shape, slide_of, with_forms, with_windows
from eddyline.spark.evaluate.kept import with_slices
from eddyline.spark.evaluate.members import Members
from eddyline.spark.form_table import FormTable
from eddyline.spark.moment import Beginning
from eddyline.spark.spans import LOW
from eddyline.spark.stages import SLICES, Stage, cut
from eddyline.spark.standing import Standing

#: the first of a shape runs by itself: there is nothing to share, and its log is its own
_SHARE_FROM = 2
#: where the tables of members are that workers read; the catalog has everything that is in them
FOLDER = "classes"


@dataclass
class Rank:
    """Members that came together with a priority above the usual."""

    numbers: range
    priority: int
    left: int


@dataclass
class QueryClass(Standing):
    """Queries of one shape at work. Its log has the answers of all of them; the last column tells whose."""

    shape: Shape | None = None
    marked: Shape | None = None  # of one who shows tags, while there is any
    storage: Storage | None = None
    next_number: int = 1
    forms: dict[Any, FormTable] = field(default_factory=dict)  # by predicate and types of its constants
    plan: Operator | None = None  # of all members there were when it was last settled
    settled: bool = False
    met: bool = False  # whether a batch may have seen it
    ranks: list[Rank] = field(default_factory=list)
    left: list[FormTable] = field(default_factory=list)  # forms that nobody has any more
    gone: list[FormTable] = field(default_factory=list)  # … and that no batch reads any more

    def __len__(self) -> int:
        return sum(len(table) for table in self.forms.values())

    def table(self, shape: Shape) -> FormTable:
        """Where members with the predicate of a shape are, those who show tags apart from others."""
        self.settled = False
        if shape.asks:
            self.marked = shape
        if shape.form not in self.forms:
            form = Form(f"f{self.next_number}", shape.predicate, shape.where, shape.asks)
            self.forms[shape.form] = FormTable(form, shape.above)
        return self.forms[shape.form]

    def drop(self, numbers: Sequence[int], shape: Shape) -> None:
        table = self.table(shape)
        table.drop(numbers)
        if not len(table):
            self.left.append(self.forms.pop(shape.form))
            if not any(other.form.asks for other in self.forms.values()):
                self.marked = None

    def takes(self, shape: Shape) -> bool:
        """Whether a query of its shape can be a member: all who show tags see the same ones."""
        return self.marked is None or not shape.asks or self.marked.marks == shape.marks

    @property
    def asking(self) -> int:
        """How many members show tags."""
        return sum(len(table) for table in self.forms.values() if table.form.asks)

    def rank(self, numbers: range, priority: int) -> None:
        """A class has the priority of its most urgent member: all are answered together, so none can go ahead."""
        if priority > 1:
            self.ranks.append(Rank(numbers, priority, len(numbers)))
        self.priority = max((rank.priority for rank in self.ranks), default=1)

    def unrank(self, numbers: Sequence[int]) -> None:
        for rank in self.ranks:
            rank.left -= sum(number in rank.numbers for number in numbers)
        self.ranks = [rank for rank in self.ranks if rank.left]
        self.rank(range(0), 1)

    def described(self) -> str:
        """What it is to a member, in words."""
        others = "one other" if len(self) == 2 else f"{len(self) - 1:,} others"
        return f"answered together with {others}, as a member of {self.name}"

    def settle(self) -> None:
        """Take in who has come and gone; between batches, so that a batch sees the same members from start to end."""
        self.met = True
        self.take_in()

    def take_in(self) -> None:
        """The same, before any batch can see it."""
        if self.settled:
            return
        assert self.shape is not None and self.storage is not None
        for table in self.gone:
            table.free(self.storage)
        self.gone, self.left = self.left, []
        tables = list(self.forms.values())
        folder = f"{FOLDER}/{self.name}"
        parts = [part for table in tables for part in table.settled(self.storage, folder)]
        known = {form.name: members for form, members in parts}
        since, begin = (max(table.latest for table in tables), max(table.last_begin for table in tables))
        latest = self.next_number - 1
        self.members = Members(known, len(self.shape.above), since, begin, self.shape.together, latest)
        forms = tuple(form for form, _ in parts)
        windows = {window for table in tables for window in table.windows} if self.shape.windowed else set()

        def filled(plan: Operator) -> Operator:
            made = with_forms(plan, forms)
            return with_windows(made, windows) if windows else made

        own = filled(self.shape.plan)
        self.plan = own
        stages = cut(self.name, own, (*self.shape.columns, QUERY))
        self.stages: Sequence[Stage] = with_slices(stages) if self.keeps else stages
        if self.marked is not None and self.marked.marked is not None:
            # nobody looks at tags but the last stage: slices know nothing of them
            self.plan = filled(self.marked.marked)
            marked = cut(self.name, self.plan, (*self.shape.columns, MARKS, QUERY))
            self.stages = [*(stage for stage in self.stages if stage.kind == SLICES), *marked]
        self.settled = True


class Classes:
    """All classes of an engine. A query of a shape that has been seen often enough gets a seat in a class."""

    def __init__(self, storage: Storage, share_from: int) -> None:
        self._storage = storage
        self._share_from = share_from  # the how-manieth query of a shape is the first to be a member of a class
        self._alone: Counter[Any] = Counter()  # by shape, how many queries stand for themselves
        self._by_key: dict[Any, list[QueryClass]] = {}  # where new queries of a shape go
        self._by_log: dict[str, QueryClass] = {}
        self._last = 0
        storage.delete_folder(FOLDER)

    def stands_alone(self, shape: Shape, beginning: Beginning, how_many: int) -> None:
        """A query of this shape stands for itself (1), or does so no longer (-1)."""
        key = _key(shape, beginning)
        self._alone[key] += how_many
        if not self._alone[key]:
            del self._alone[key]

    def reserve(self, log: str, upto: int) -> None:
        """A class has had this name, and members up to a number: their answers may still lie about."""
        self._last = max(self._last, int(log.removeprefix(CLASS)))
        if log in self._by_log:
            self._by_log[log].next_number = max(self._by_log[log].next_number, upto + 1)

    def seat(self, shape: Shape, beginning: Beginning, always: bool = False) -> Seat | None:
        """Where a new query of this shape goes; None: it stands for itself, unless `always` is asked for."""
        found = self.of(shape, beginning)
        if found is None and self._alone[_key(shape, beginning)] + 1 < self._share_from and not always:
            return None
        log, number = (f"{CLASS}{self._last + 1}", 1) if found is None else (found.name, found.next_number)
        if shape.together:
            return Seat(log, number)
        if shape.hop is not None:
            reached = beginning.reached
            first = shape.hop.first_end(shape.hop.start or 0, LOW if reached is None else reached)
            return Seat(log, number, None if reached is None else first, first, shape.hop.slide, first)
        start = beginning.start
        return Seat(log, number, start, start, slide_of(shape))

    def of(self, shape: Shape, beginning: Beginning) -> QueryClass | None:
        """The class that a new query of this shape would find."""
        found = next((each for each in self._by_key.get(_key(shape, beginning), ()) if each.takes(shape)), None)
        # who looks back may be answered by any batch, others by the next one that brings something
        return None if found is not None and beginning.past is not None and found.met else found

    def take(
        self, seat: Seat, shape: Shape, standing: Standing, constants: pa.Table | None = None, count: int = 1
    ) -> QueryClass:
        """Let a query have its seat, or `count` of them that have constants in a table; gives its class."""
        # by its log, not by its shape: what is read back from the catalog may be the same in other words
        found = self._by_log.get(seat.log)
        if found is None:
            found = QueryClass(seat.log, (), standing.start, standing.history, standing.created, standing.entry)
            found.shape, found.storage, found.past = shape, self._storage, standing.past
            found.keeps, found.chooses = standing.keeps, standing.chooses
            if shape.together:
                found.since = standing.since
            self._by_log[seat.log] = found
            if standing.past is not None or not standing.history:  # who looked back at an earlier time is apart
                key = _key(shape, standing.beginning)
                earlier = [other for other in self._by_key.get(key, ()) if not other.takes(shape)]
                self._by_key[key] = [*earlier, found]
        # where all began together, it is the class that knows what had come
        since = standing.since.get(shape.stream, 0) if shape.by_tuple and not shape.together else 0
        begin = LOW if seat.begin is None else seat.begin
        if constants is None:
            found.table(shape).add(seat.number, since, begin, shape.constants)
        else:
            found.table(shape).add_all(seat.number, since, begin, constants, count)
        came = 1 if constants is None else count
        self.reserve(seat.log, seat.number + came - 1)
        found.rank(range(seat.number, seat.number + came), standing.priority)
        if not found.stages:
            found.take_in()  # upkeep must know its log from the first moment on
        return found

    def leave(self, log: str, numbers: Sequence[int], shape: Shape) -> QueryClass:
        found = self.named(log)
        found.drop(numbers, shape)
        found.unrank(numbers)
        if not len(found):
            left = {key: [other for other in others if other is not found] for key, others in self._by_key.items()}
            self._by_key = {key: others for key, others in left.items() if others}
            del self._by_log[log]
        return found

    def free(self, log: str) -> None:
        """Delete what is left of a class that has ended, once no batch can read it any more."""
        self._storage.delete_folder(f"{FOLDER}/{log}")

    def named(self, log: str) -> QueryClass:
        return self._by_log[log]


def sharing_from(wanted: int | None) -> int:
    """From which query of a shape on they share: as the call says, or for a whole process as its environment says."""
    if wanted is not None:
        return wanted
    said = os.environ.get("EDDYLINE_SHARE_FROM", "").strip()
    if not said:
        return _SHARE_FROM
    if not (said.isascii() and said.isdigit() and len(said) < 19):
        raise InvalidDefinition(
            f"EDDYLINE_SHARE_FROM is '{said:.60}', which is no whole number",
            hint=f"it says which query of a shape is the first that shares its work; without it, number {_SHARE_FROM}",
        )
    return int(said)


def _key(shape: Shape, beginning: Beginning) -> Any:
    """Queries that wait for the first tick of their streams begin together, later ones each at its own tick.

    Those that look back, or whose meaning depends on when they began, are answered together with those that begin at
    the same moment.
    """
    if beginning.past is not None:
        return shape.key, beginning.start, beginning.past, True
    if shape.together and beginning.start is not None:
        return shape.key, beginning.start, beginning.entry, False
    return shape.key, beginning.start is None


__all__ = ["Classes", "QueryClass"]
