"""Operators of query classes: one plan answers many queries, whose numbers and constants are columns beside the data.

Queries of one shape differ in the constants of their predicates. In the plan of their class, the WHERE clause is a
match: each tuple comes out once for every member of the class that wants it, with the member's number. From there on
the number goes with the tuple as one more column to group by, so all members are answered at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.expression import Column, TypedExpr, columns_of
from eddyline.algebra.node import WINDOW, StreamOp, WindowOp
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import BIGINT, BOOLEAN, DataType
from eddyline.algebra.window import TimeWindow
from eddyline.errors import InvalidAlgebra

#: the pseudo-relation under which expressions see the member of a class that a tuple is for
MEMBER = "$member"
#: the number of the member, in the files of its class
QUERY = "_query"
#: the names of what a match adds, which no column of a query has: the number, and the constants a0, a1, …
NUMBER, CONSTANT = "$query", "$a"
#: … and whether the member shows tags, where some members do
ASKS = "$asks"


@dataclass(frozen=True)
class Form:
    """Predicates that are the same but for their constants: those are columns p0, p1, … of MEMBER.

    `name` is that of the table with the members. Without a predicate everything is wanted.
    """

    name: str
    predicate: TypedExpr | None
    constants: tuple[DataType, ...]
    asks: bool = False  # whether its members show tags


def _matched(match: Match) -> Schema:
    more = (Field(column.name, column.type, MEMBER) for column in member_columns(match))
    return match.input.schema + Schema(tuple(more))


def _check(forms: tuple[Form, ...], schema: Schema) -> None:
    for form in forms:
        for column in columns_of(form.predicate) if form.predicate is not None else ():
            own = column.relation in (MEMBER, WINDOW)
            if not own and not schema.has(column.name, column.relation):
                raise InvalidAlgebra(f"a match reads {column.label}, which its input does not have")


@dataclass(frozen=True)
class StreamMatch(StreamOp):
    """Each tuple once for every member of the class whose predicate it satisfies, with the member's number.

    `constants` are those that the operators above ask for; they come along as a0, a1, … With `asks`, so does whether
    the member shows tags.
    """

    forms: tuple[Form, ...]
    constants: tuple[DataType, ...]
    input: StreamOp
    asks: bool = False

    @property
    def schema(self) -> Schema:
        return _matched(self)

    def check(self) -> None:
        _check(self.forms, self.input.schema)


@dataclass(frozen=True)
class WindowMatch(WindowOp):
    """The same for the tuples of each window."""

    forms: tuple[Form, ...]
    constants: tuple[DataType, ...]
    input: WindowOp
    asks: bool = False

    @property
    def schema(self) -> Schema:
        return _matched(self)

    def check(self) -> None:
        _check(self.forms, self.input.schema)


Match = StreamMatch | WindowMatch


@dataclass(frozen=True)
class MemberWindow(TimeWindow):
    """Windows of time of which each member of a query class has its own length and slide; this one is around them all.

    The last three constants that the match above adds are the member's first and last tick and its slide. `unit` ticks
    divide all of them, so that stretches of so many ticks lie wholly inside or outside of every window.
    """

    unit: int = 1
    longest: int = 1  # the longest slide

    @property
    def pace(self) -> int:
        return self.longest


@dataclass(frozen=True)
class LastNumbers(StreamOp):
    """The number of the last tuple that each member of a query class was given in a stream which counts for each."""

    input: StreamOp

    @property
    def schema(self) -> Schema:
        return Schema((Field(NUMBER, BIGINT, MEMBER),))


def predicates_of(match: Match) -> list[TypedExpr]:
    return [form.predicate for form in match.forms if form.predicate is not None]


def member_columns(match: Match) -> tuple[Column, ...]:
    """What a match adds to each tuple."""
    asks = (Column(ASKS, BOOLEAN, MEMBER),) if match.asks else ()
    more = (Column(f"{CONSTANT}{i}", type_, MEMBER) for i, type_ in enumerate(match.constants))
    return (Column(NUMBER, BIGINT, MEMBER), *asks, *more)
