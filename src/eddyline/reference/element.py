"""What flows between the operators of the reference engine.

A stream is a sequence of `Change` (and, where tags are wanted, `TagElement`), a stream of windows is a sequence of
`WindowChange`; in both, a `Clock` ends every batch. A change is a pair of weights: the old version counts −1, the
new one +1. An insertion has no old version, a deletion no new one, a replacement has both (Borealis section 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from eddyline.algebra.tag import TickTag

Values = tuple[Any, ...]


class Mark(NamedTuple):
    """A tick-tag on a tuple: which of the tuple's fields (by position) it applies to; None for the whole tuple."""

    tag: TickTag
    fields: frozenset[int] | None


class Row(NamedTuple):
    """A tuple: its values in the order of the schema, and the tags it carries."""

    values: Values
    marks: tuple[Mark, ...] = ()


class Stamped(NamedTuple):
    """A tuple with its tick."""

    tick: int
    row: Row


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to the tuple at `index`."""

    index: int
    old: Stamped | None
    new: Stamped | None

    def weights(self) -> Iterator[tuple[int, Stamped]]:
        if self.old is not None:
            yield -1, self.old
        if self.new is not None:
            yield +1, self.new


@dataclass(frozen=True, slots=True)
class TagElement:
    """A tick-tag on its way through the stream, in front of the tuples it applies to."""

    tick: int
    tag: TickTag


class Window(NamedTuple):
    """A bag of tuples and the tick at which it was created. `order` is its place in the list of windows."""

    tick: int
    order: tuple[Any, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class WindowChange:
    """What happened to the window known as `key`: created (no old), revised, or gone (no new)."""

    key: Any
    old: Window | None
    new: Window | None


@dataclass(frozen=True, slots=True)
class Clock:
    """The end of a batch. `reached` is the largest tick seen; up to `closed` no more tuples are expected.

    While data flows, `closed` is `reached - 1`, because more tuples of the present tick may follow; at the end of
    the input it is `reached`. `None` before the first tuple.
    """

    reached: int | None
    closed: int | None


@dataclass(frozen=True, slots=True)
class RelationChange:
    """A tuple that enters (+1) or leaves (−1) a relation at a tick."""

    tick: int
    weight: int
    row: Row


#: the tick of what was always there: the contents of a table that is not scanned
ALWAYS = -(2**63)

StreamElement = Change | TagElement | Clock
WindowElement = WindowChange | Clock


E = TypeVar("E")


def batches(elements: Iterable[E | Clock]) -> Iterator[tuple[list[E], Clock]]:
    """The elements of each batch, with the clock that ends it."""
    batch: list[E] = []
    for element in elements:
        if isinstance(element, Clock):
            yield batch, element
            batch = []
        else:
            batch.append(element)
