"""The shape of a query: its plan with the constants of its conditions taken out.

Queries whose plans differ in nothing but their conditions are members of one class. Conditions of WHERE may be
anything; those that differ in their constants only are of one form. Of HAVING only the constants may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd
from typing import Any, cast

from eddyline.algebra.expression import Call, Column, Named, TypedExpr, conjunction, conjuncts
from eddyline.algebra.marks import is_marks
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.relational import (
    Instants,
    RelationChanges,
    WindowAggregation,
    WindowAlias,
    WindowCrossProduct,
    WindowDistinct,
    WindowJoin,
    WindowProject,
    WindowSelect,
    WindowSort,
)
from eddyline.algebra.revision import StreamRevise, WindowRevise
from eddyline.algebra.sharing import (
    ASKS,
    MEMBER,
    NUMBER,
    QUERY,
    Form,
    Match,
    MemberWindow,
    StreamMatch,
    WindowMatch,
    member_columns,
)
from eddyline.algebra.stream import (
    DStream,
    IStream,
    RStream,
    StreamAcquire,
    StreamAlias,
    StreamLookup,
    StreamProject,
    StreamReceive,
    StreamSelect,
)
from eddyline.algebra.types import BIGINT, STRING, DataType
from eddyline.algebra.user_function import functions_in, is_expensive
from eddyline.algebra.window import HopWindow, LatestRowsWindow, RangeWindow, Scan, TimeScope, TimeWindow
from eddyline.rules import optimize
from eddyline.sharing.constants import Taken, has_constants

SELECTING = (StreamSelect, WindowSelect)
_PER_TUPLE = (StreamSelect, StreamProject, StreamAlias)
UNARY = (WindowSelect, WindowProject, WindowAggregation, WindowDistinct, WindowSort, WindowAlias, *_PER_TUPLE)


#: how many constants a window is: first tick, last tick, slide
WINDOW = 3
#: what a shape finds out about itself that does not depend on its constants
_FOUND_OUT = ("key", "form", "marks", "stream", "slide", "hop", "by_tuple")


class Key:
    """Something large that is compared often: it is hashed once, and the same object is equal without a look."""

    __slots__ = ("_hash", "_whole")

    def __init__(self, whole: Any) -> None:
        self._whole, self._hash = whole, hash(whole)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Key) and self._hash == other._hash and bool(self._whole == other._whole)
        )

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True)
class Shape:
    """A query as a member of a class: what it has in common with the others, and what it has for itself."""

    plan: Operator  # that of the class, with a match that has no forms yet
    columns: tuple[str, ...]
    predicate: TypedExpr | None  # what WHERE asks for, p0, p1, … in place of its constants
    where: tuple[DataType, ...]  # the types of these
    constants: tuple[Any, ...]  # those of WHERE, those of HAVING, then the window
    windowed: bool = False  # whether members may have windows of their own: (first tick, last tick, slide)
    places: tuple[int | None, ...] = field(default=(), repr=False, compare=False)  # of the constants in the text
    on_spark: bool = False  # whether Spark itself computes it, which those do not wait for whom the kernel serves
    together: bool = False  # whether its meaning depends on when it began, so that members must have begun together
    corrected: str = ""  # how answers are: the members of a class all in the same way
    #: of one that shows tags: the plan of the class while members do so, with a column of marks behind its own
    marked: Operator | None = None

    @cached_property
    def key(self) -> Key:
        """Equal for the members of one class. A function of a user's that fails stops only those who call it."""
        called = () if self.predicate is None else functions_in([self.predicate])
        form = self.form if self.on_spark else None
        return Key((self.plan, self.columns, called, self.corrected, form))

    @cached_property
    def form(self) -> Key:
        """Equal for the members of a class that differ in constants only."""
        return Key((self.predicate, self.where, self.asks))

    @property
    def asks(self) -> bool:
        """Whether it shows tags."""
        return self.marked is not None

    @cached_property
    def marks(self) -> Key | None:
        """Equal for those who see the same tags in the same way: others that show tags are in other classes."""
        return None if self.marked is None else Key(self.marked)

    @cached_property
    def stream(self) -> str:
        """The first that it reads, if it reads any."""
        return next((op.name for op in self.plan.walk() if isinstance(op, StreamReceive | StreamAcquire)), "")

    @cached_property
    def slide(self) -> int | None:
        """That of the windows of all members, where they have none of their own and may begin at any time."""
        if self.together:
            return None
        windows = (operator for operator in self.plan.walk() if isinstance(operator, TimeWindow | HopWindow))
        return next((window.slide for window in windows), None)

    @cached_property
    def hop(self) -> HopWindow | None:
        """The hopping windows of all members, which begin where they say and not where a query does."""
        if self.together:
            return None
        return next((operator for operator in self.plan.walk() if isinstance(operator, HopWindow)), None)

    @cached_property
    def by_tuple(self) -> bool:
        """Whether it answers each tuple as it comes, and has no windows, which may look back."""
        return not any(
            isinstance(below, StreamOp) for o in self.plan.walk() if isinstance(o, WindowOp) for below in o.inputs
        )

    def with_constants(self, constants: tuple[Any, ...]) -> Shape:
        """Another member's: what was found out about this one is true of that one too."""
        made = replace(self, constants=constants)
        made.__dict__.update({name: getattr(self, name) for name in _FOUND_OUT})
        return made

    @property
    def above(self) -> tuple[DataType, ...]:
        """The types of the constants of HAVING and of the window."""
        return match_of(self.plan).constants


def match_of(plan: Operator) -> Match:
    return next(operator for operator in plan.walk() if isinstance(operator, StreamMatch | WindowMatch))


def slide_of(shape: Shape) -> int | None:
    """The ticks from one window to the next; None for a stream query, and where members began together."""
    return int(shape.constants[-1]) if shape.windowed else shape.slide


def with_windows(plan: Operator, windows: Collection[tuple[int, int, int]]) -> Operator:
    """The plan of a class whose members have these windows: first tick, last tick, slide."""
    if isinstance(plan, TimeWindow):
        first, last = min(w[0] for w in windows), max(w[1] for w in windows)
        slide = gcd(*(w[2] for w in windows))
        if len(set(windows)) == 1:
            return replace(plan, scope=TimeScope(first, last), slide=slide)
        unit = gcd(slide, *(w[0] for w in windows), *(w[1] + 1 for w in windows))
        return MemberWindow(plan.input, TimeScope(first, last), slide, unit, max(w[2] for w in windows))
    return plan.with_inputs(*(with_windows(operator, windows) for operator in plan.inputs))


def with_forms(plan: Operator, forms: tuple[Form, ...]) -> Operator:
    """The plan of a class whose members have these forms."""
    if isinstance(plan, StreamMatch | WindowMatch):
        return replace(plan, forms=forms)
    return plan.with_inputs(*(with_forms(operator, forms) for operator in plan.inputs))


def shape_at_any_time(plan: Operator, columns: tuple[str, ...]) -> Shape | None:
    """The shape of a bound plan, of a kind whose members may come at any time; None if it is of no such kind."""
    if QUERY in map(str.lower, columns):
        return None  # the files of a class have a column of this name
    if isinstance(plan, StreamRevise | WindowRevise):
        return _around([plan], shape_at_any_time(plan.input, columns))
    if isinstance(plan, RelationChanges):
        return _around([plan], _shape_of(plan.input, columns, _is_relation))
    if isinstance(plan, RStream | IStream | DStream):
        below = plan.input
        if isinstance(below, Instants):
            return _around([plan, below], _shape_of(below.input, columns, _is_relation))
        return _around([plan], _shape_of(below, columns, _is_source) or _shape_of(below, columns, _is_relation))
    return _shape_of(plan, columns, _is_source)


def _around(outer: Sequence[Operator], inner: Shape | None) -> Shape | None:
    """The shape of a query with some operators around another, of whose windows or relation they make a stream."""
    if inner is None:
        return None
    plan = inner.plan
    for operator in reversed(outer):
        plan = operator.with_inputs(plan)
    return replace(inner, plan=plan)


def _shape_of(plan: Operator, columns: tuple[str, ...], is_source: Callable[[Operator], bool]) -> Shape | None:
    chain: list[Operator] = []
    node = plan
    while isinstance(node, UNARY) or _is_of_chosen(node):
        chain.append(node)
        node = node.inputs[0]
    chosen = any(isinstance(operator, LatestRowsWindow) for operator in chain) and _is_log(node)
    if not chosen and not is_source(node):
        return None
    parts = _where(node, chain)
    # what costs much is left to the match, which asks it only of tuples that a member may want
    fixed = conjunction(tuple(part for part in parts if not has_constants(part) and not is_expensive(part)))
    asked = conjunction(tuple(part for part in parts if has_constants(part) or is_expensive(part)))
    windowed = isinstance(node, TimeWindow)
    taken, above = Taken("p"), Taken("a")
    window: tuple[int, ...] = ()
    if isinstance(node, TimeWindow):
        window = (node.scope.start, node.scope.end, node.slide)
        node = replace(node, scope=TimeScope(0, 0), slide=1)
    predicate = None if asked is None else taken.out_of(asked)
    selections = [operator for operator in chain if isinstance(operator, SELECTING)]
    conditions: dict[Operator, TypedExpr] = {o: above.out_of(o.predicate) for o in selections}
    if isinstance(node, StreamLookup) and above.types and asked is None:
        return None  # all of its rows would be written down for every member
    match = with_asks(_matched(node, fixed, (*above.types, *(BIGINT for _ in window))), plan)
    if windowed and not isinstance(match.inputs[0], TimeWindow):
        return None  # it asks for the window's own time before it can be told whose window it is
    made = Carried(match, conditions).through(list(reversed(chain)), plan)
    if made is None:
        return None
    constants = (*taken.values, *above.values, *window)
    places = (*taken.places, *above.places, *(None for _ in window))
    return Shape(made, columns, predicate, taken.types, constants, windowed, places)


def _where(node: Operator, chain: list[Operator]) -> tuple[TypedExpr, ...]:
    """What is asked of each tuple of the source, taken off the operators above it."""
    if isinstance(node, StreamLookup):  # what is asked inside of it decides what gets an index
        return () if node.predicate is None else conjuncts(node.predicate)
    parts: tuple[TypedExpr, ...] = ()
    while chain and isinstance(selection := chain[-1], SELECTING):
        parts = (*conjuncts(selection.predicate), *parts)
        chain.pop()
    return parts


def _is_source(node: Operator) -> bool:
    """A stream, also beside tables, a window of time over one, or a join of such windows at the same ticks.

    Of hopping windows, those that say where they begin.
    """
    if isinstance(node, StreamLookup):
        tuples: Operator = node
        while isinstance(tuples, StreamLookup) and isinstance(tuples.table, Scan):  # of several tables
            tuples = tuples.input
        return not node.tagged and _is_log(tuples)
    if isinstance(node, StreamOp):
        return isinstance(node, StreamReceive | StreamAcquire) and not node.tagged
    if isinstance(node, HopWindow):
        return node.start is not None and not node.tagged and _is_log(node.input)
    windows = [operator for operator in node.walk() if isinstance(operator, TimeWindow)]
    inner = (TimeWindow, WindowCrossProduct, WindowJoin, WindowAlias, WindowSelect, StreamReceive, StreamAcquire)
    return (
        bool(windows)
        and not node.tagged
        and len({window.slide for window in windows}) == 1
        and all(isinstance(operator, (*inner, *_PER_TUPLE)) for operator in node.walk())
    )


def _is_log(node: Operator) -> bool:
    """Tuples of a given stream with the indexes that they have there: so it is known which came before a member did."""
    while isinstance(node, _PER_TUPLE):
        node = node.input
    return isinstance(node, StreamReceive | StreamAcquire)


def _is_relation(node: Operator) -> bool:
    """A window of CQL, or a join of such."""
    inner = (RangeWindow, LatestRowsWindow, WindowCrossProduct, WindowJoin, WindowAlias, WindowSelect)
    leaves = (StreamReceive, StreamAcquire, *_PER_TUPLE)
    return (
        isinstance(node, WindowOp)
        and not node.tagged
        and all(isinstance(operator, (*inner, *leaves)) for operator in node.walk())
    )


def _is_of_chosen(node: Operator) -> bool:
    """The latest rows of those that satisfy a condition with constants: each member has its own latest ones."""
    if not isinstance(node, LatestRowsWindow):
        return False
    return any(isinstance(below, StreamSelect) and has_constants(below.predicate) for below in node.walk())


def _matched(node: Operator, fixed: TypedExpr | None, constants: tuple[DataType, ...]) -> Operator:
    """What WHERE is about, what it asks of all members alike, and the match for the rest."""
    if isinstance(node, StreamLookup):
        return StreamMatch((), constants, replace(node, predicate=fixed))
    if isinstance(node, StreamOp):
        return StreamMatch((), constants, node if fixed is None else StreamSelect(fixed, node))
    windows = cast(WindowOp, node)
    below = windows if fixed is None else WindowSelect(fixed, windows)
    return WindowMatch((), constants, cast(WindowOp, optimize(below).plan))


def with_asks(match: Operator, plan: Operator) -> Operator:
    """The match of a plan: where marks stand behind the columns, it also tells which members show them."""
    return replace(match, asks=True) if is_marks(plan.schema.names[-1]) else match  # type: ignore[call-arg]


class Carried:
    """Builds the operators above a match anew, so that each tuple keeps the number of its member.

    Marks are computed once for all members, and those of members who do not show them are taken away at the end. So
    nothing else of their answers is other than it would be without, and neither is any correction.
    """

    def __init__(self, match: Operator, conditions: dict[Operator, TypedExpr]) -> None:
        self._node = match
        self._conditions = conditions
        self._member: Sequence[Column] = member_columns(cast(Match, match))

    def through(self, chain: Sequence[Operator], plan: Operator) -> Operator | None:
        """The whole plan: its own columns, then the number. None if names do not tell its columns apart."""
        for operator in chain:
            self._add(operator)
        names = plan.schema.names
        if isinstance(plan, WindowSort):
            assert isinstance(self._node, WindowSort)
            below = self._only(self._node.input, plan)
            member = replace(self._member[0], relation=None)
            return (
                None
                if len(set(names)) < len(names)
                else replace(self._node, input=cast(WindowOp, below), member=member)
            )
        if isinstance(self._node, StreamProject | WindowProject):
            asks = next((column.expr for column in self._node.columns if column.name == ASKS), None)
            return replace(self._node, columns=_shown(self._node.columns[: len(names) + 1], asks))
        return None if len(set(names)) < len(names) else self._only(self._node, plan)

    def _add(self, operator: Operator) -> None:
        if operator in self._conditions:
            own = {column.name: column for column in self._member}
            condition = self._conditions[operator].rewrite(
                lambda e: own[f"${e.name}"] if isinstance(e, Column) and e.relation == MEMBER else None
            )
            operator = replace(operator, predicate=condition, input=self._node)  # type: ignore[call-arg]
        elif isinstance(operator, StreamProject | WindowProject):
            operator = replace(operator, columns=(*operator.columns, *self._named()), input=self._node)  # type: ignore[arg-type]
            self._renamed(None)
        elif isinstance(operator, WindowAggregation):
            every = not operator.keys  # then an empty window has a row too, for every member
            keys = (*operator.keys, *self._named())
            operator = replace(operator, keys=keys, members=every, input=cast(WindowOp, self._node))
            self._renamed(None)
        elif isinstance(operator, WindowSort):
            operator = replace(operator, input=cast(WindowOp, self._node), member=self._member[0])
        elif isinstance(operator, LatestRowsWindow):  # each member has its own latest rows
            partition = (*operator.partition, self._member[0])
            operator = replace(operator, input=cast(StreamOp, self._node), partition=partition)
        else:
            operator = operator.with_inputs(self._node)
            if isinstance(operator, StreamAlias | WindowAlias):
                self._renamed(operator.relation)
        self._node = operator

    def _named(self) -> list[Named]:
        return [Named(column, column.name) for column in self._member]

    def _renamed(self, relation: str | None) -> None:
        self._member = [replace(column, relation=relation) for column in self._member]

    def _only(self, node: Operator, plan: Operator) -> Operator:
        """The columns of the plan as it was bound, and the number of the member."""
        own = [Named(Column(field.name, field.type, field.relation), field.name) for field in plan.schema.fields]
        asks = next((column for column in self._member if column.name == ASKS), None)
        columns = _shown((*own, Named(self._member[0], NUMBER)), asks)
        if isinstance(node, StreamOp):
            return StreamProject(columns, node)
        return WindowProject(columns, cast(WindowOp, node))


def _shown(columns: tuple[Named, ...], asks: TypedExpr | None) -> tuple[Named, ...]:
    """Columns that end with marks and the number of the member: the marks of those who show them."""
    if asks is None:
        return columns
    *own, marks, number = columns
    return (*own, Named(Call("case", (asks, marks.expr), STRING), marks.name), number)
