"""Short ways to write streams, tags and plans for the tests of tick-tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eddyline.algebra.expression import Aggregate, Call, Column, Expr, Literal, Named
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.tag import Applicability, TickTag
from eddyline.algebra.types import BIGINT, BOOLEAN, INTEGER, STRING
from eddyline.reference.element import Change, Clock, Mark, Row, Stamped, TagElement

#: the stream of the paper's section 3.4
PATIENTS = Schema(
    (
        Field("pid", INTEGER, "Patients"),
        Field("measure", INTEGER, "Patients"),
        Field("loc", STRING, "Patients"),
    )
)
PID, MEASURE, LOC = range(3)
ANIMALS = PATIENTS.renamed("Animals")

patients = StreamReceive("Patients", PATIENTS, tick_tags=True)
animals = StreamReceive("Animals", ANIMALS, tick_tags=True)


def insert(index: int, tick: int, *values: Any, tags: Iterable[TickTag] = ()) -> Change:
    return Change(index, None, stamped(tick, *values, tags=tags))


def stamped(tick: int, *values: Any, tags: Iterable[TickTag] = ()) -> Stamped:
    return Stamped(tick, Row(values, tuple(Mark(tag, tag.applies_to.positions(PATIENTS)) for tag in tags)))


def tag(content: str, *attributes: str, at: int = 0, by: str = "ann", **fields: Any) -> TickTag:
    where = {name: fields.pop(name) for name in list(fields) if name in Applicability.__dataclass_fields__}
    return TickTag(
        content, Applicability("Patients", attributes=attributes or None, **where), by, at, "objective", **fields
    )


def arriving(*tags: TickTag) -> list[TagElement]:
    return [TagElement(each.timestamp, each) for each in tags]


def end(tick: int) -> Clock:
    """The end of the input."""
    return Clock(tick, tick)


def column(name: str, relation: str = "Patients") -> Column:
    return Column(name, STRING if name == "loc" else INTEGER, relation)


def compare(left: Expr, operator: str, right: Any) -> Call:
    return Call(operator, (left, Literal(right, STRING if isinstance(right, str) else INTEGER)), BOOLEAN)


def aggregate(function: str, *names: str) -> Named:
    expr = Aggregate(function, tuple(column(name) for name in names), BIGINT)
    return Named(expr, f"{function}({', '.join(names)})")


def changes(elements: Iterable[Any]) -> list[Change]:
    return [element for element in elements if isinstance(element, Change)]


def contents(version: Stamped | None) -> list[str]:
    assert version is not None
    return [mark.tag.content for mark in version.row.marks]


def fold(elements: Iterable[Any]) -> dict[int, tuple[int, Row]]:
    """What stands after all changes; every old version must be the one that stood."""
    standing: dict[int, tuple[int, Row]] = {}
    for change in changes(elements):
        assert standing.pop(change.index, None) == change.old
        if change.new is not None:
            standing[change.index] = change.new
    return standing
