"""The shape of any query, for those that begin at the same moment.

The windows of some queries, or their numbers, depend on when the query began: windows of rows are counted from then on,
tables are scanned from then on, loops start there, and so does a stream that is made inside of a query. Of queries that
began at the same moment all of that is the same, so they are answered together as others are; but nobody comes later.

From the answer down to its streams a plan is a spine, up to where it branches. On it there is a place for the match:
the lowest selection with constants. What is below is computed once for all members, and what is above carries the
number of the member along, through windows and streams alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import cast

from eddyline.algebra.expression import TypedExpr, conjunction, conjuncts
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.relational import Instants, RelationChanges, WindowSelect, WindowSort
from eddyline.algebra.revision import StreamRevise, WindowRevise
from eddyline.algebra.sharing import QUERY, StreamMatch, WindowMatch
from eddyline.algebra.stream import DStream, IStream, RStream, StreamLookup, StreamSelect
from eddyline.algebra.types import DataType
from eddyline.algebra.user_function import is_expensive
from eddyline.algebra.window import HopWindow, LatestRowsWindow, LoopWindow, RangeWindow, RowWindow, TimeWindow
from eddyline.rules import optimize
from eddyline.sharing.constants import Taken, has_constants
from eddyline.sharing.raising import raised
from eddyline.sharing.shape import SELECTING, UNARY, Carried, Shape, shape_at_any_time, with_asks

_TO_STREAMS = (RelationChanges, RStream, IStream, DStream, Instants)
_OUTERMOST = (StreamRevise, WindowRevise, *_TO_STREAMS)
_WINDOWS = (TimeWindow, HopWindow, LoopWindow, RangeWindow, LatestRowsWindow, RowWindow)
#: not through what withholds corrections inside: it pairs rows by the places of their columns
_SPINE = (*UNARY, *_TO_STREAMS, *_WINDOWS, StreamLookup)
#: where these stand over what members want, each would have windows or indexes of its own that are not counted by row
_BARRIERS = (RowWindow, StreamLookup)


def shape_of(plan: Operator, columns: tuple[str, ...]) -> Shape | None:
    """The shape of a bound plan; None if the engine cannot answer others like it together."""
    plan = raised(plan)
    return shape_at_any_time(plan, columns) or _shape_together(plan, columns)


@dataclass(frozen=True)
class _Place:
    """Where the match stands: over a source, in place of some selections or of the condition of a look-up."""

    above: Sequence[Operator]  # from the answer down
    parts: tuple[TypedExpr, ...]
    source: Operator

    @property
    def differs(self) -> bool:
        return any(_is_asked(part) for part in self.parts)


def _shape_together(plan: Operator, columns: tuple[str, ...]) -> Shape | None:
    if plan.tagged or QUERY in map(str.lower, columns):
        return None
    outermost = list(takewhile(lambda operator: isinstance(operator, _OUTERMOST), plan.walk()))
    inner = outermost[-1].inputs[0] if outermost else plan
    place = _place(inner)
    fixed = conjunction(tuple(part for part in place.parts if not _is_asked(part)))
    asked = conjunction(tuple(part for part in place.parts if _is_asked(part)))
    taken, above = Taken("p"), Taken("a")
    predicate = None if asked is None else taken.out_of(asked)
    selections = [operator for operator in place.above if isinstance(operator, SELECTING)]
    conditions: dict[Operator, TypedExpr] = {o: above.out_of(o.predicate) for o in selections}
    match = with_asks(_match(place.source, fixed, above.types), inner)
    made = Carried(match, conditions).through(list(reversed(place.above)), inner)
    if made is None:
        return None
    for operator in reversed(outermost):
        made = operator.with_inputs(made)
    constants, places = (*taken.values, *above.values), (*taken.places, *above.places)
    return Shape(made, columns, predicate, taken.types, constants, places=places, together=True)


def _is_asked(part: TypedExpr) -> bool:
    """Whether members ask it: it has constants; or it costs much, and is asked only of what a member may want."""
    return has_constants(part) or is_expensive(part)


def _place(plan: Operator) -> _Place:
    """The lowest place at which members differ; if they do so nowhere, the highest there is."""
    places = _places(plan)
    return next((place for place in places if place.differs), places[-1])


def _places(plan: Operator) -> list[_Place]:
    """All places at which a match can stand, the lowest first."""
    spine: list[Operator] = []
    node = plan
    while isinstance(node, _SPINE):
        spine.append(node)
        if isinstance(node, _BARRIERS):
            break
        node = node.inputs[0]
    below = spine if isinstance(node, _BARRIERS) else [*spine, node]
    places = []
    if isinstance(node, StreamLookup):
        # what is asked inside of it decides what gets an index
        places.append(_Place(spine[:-1], () if node.predicate is None else conjuncts(node.predicate), node))
    for at in reversed(range(len(spine))):
        if isinstance(spine[at], SELECTING) and not (at + 1 < len(spine) and isinstance(spine[at + 1], SELECTING)):
            first = at - sum(1 for _ in takewhile(lambda o: isinstance(o, SELECTING), reversed(spine[:at])))
            run = cast(Sequence[StreamSelect | WindowSelect], spine[first : at + 1])
            parts = tuple(part for selection in run for part in conjuncts(selection.predicate))
            places.append(_Place(spine[:first], parts, below[at + 1]))
    if not any(place.differs for place in places):
        # an order is told by the outermost operator
        highest = 1 if isinstance(plan, WindowSort) else 0
        if not isinstance(below[highest], StreamLookup):
            places.append(_Place(spine[:highest], (), below[highest]))
    return places


def _match(source: Operator, fixed: TypedExpr | None, constants: tuple[DataType, ...]) -> Operator:
    """The source, what is asked of all members alike, and the match for the rest."""
    if isinstance(source, StreamLookup):
        tuples = cast(StreamOp, optimize(source.input).plan)
        return StreamMatch((), constants, replace(source, input=tuples, predicate=fixed))
    if isinstance(source, StreamOp):
        below = source if fixed is None else StreamSelect(fixed, source)
        return StreamMatch((), constants, cast(StreamOp, optimize(below).plan))
    windows = cast(WindowOp, source)
    selected = windows if fixed is None else WindowSelect(fixed, windows)
    return WindowMatch((), constants, cast(WindowOp, optimize(selected).plan))
