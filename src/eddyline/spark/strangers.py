"""Members that come back from the catalog as queries of another shape than the class in which they have their seat.

It happens if a later version reads a statement in another way than the one that let it stand. By the plan of the class
such a query would be answered wrongly, so it is not answered any more, and says why. It keeps its seat with a condition
that no row satisfies: what it was told before stays, and it can be dropped as any other.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from eddyline.algebra.expression import Literal, Parameter
from eddyline.algebra.types import BOOLEAN
from eddyline.columnar.types import arrow_type
from eddyline.log.answers import Seat
from eddyline.sharing import Shape

REASON = (
    "it was answered together with others, but is read back from the catalog as a query of another shape; "
    "create it anew"
)


class Strangers:
    """Which they are, by log: the numbers of their seats."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[range]] = {}

    def has(self, seat: Seat) -> bool:
        return any(seat.number in numbers for numbers in self._numbers.get(seat.log, ()))

    def add(self, seat: Seat, count: int) -> None:
        self._numbers.setdefault(seat.log, []).append(range(seat.number, seat.number + count))

    def forget(self, log: str) -> None:
        """Its class has ended."""
        self._numbers.pop(log, None)


def wanting_nothing(of_class: Shape) -> Shape:
    """A member of a class that wants no rows; what it is told above its condition are others' constants, or NULL."""
    above = of_class.constants[len(of_class.where) :]
    known = tuple(None if isinstance(constant, Parameter) else constant for constant in above)
    nothing = replace(of_class, predicate=Literal(False, BOOLEAN), where=(), constants=known, marked=None)
    nothing.__dict__["key"] = of_class.key
    return nothing


def constants_of_nothing(nothing: Shape, count: int) -> pa.Table:
    """The columns of the table of its form, for so many."""
    types = map(arrow_type, nothing.above)
    columns = [pa.repeat(pa.scalar(value, type_), count) for value, type_ in zip(nothing.constants, types, strict=True)]
    return pa.table(columns, [f"c{at}" for at in range(len(columns))])
