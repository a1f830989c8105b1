"""What comes out of a plan, as answers to its reader: windows numbered, tags shown, differences as revisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from eddyline.algebra.answer import (
    Answer,
    RelationAnswer,
    StixAnswer,
    TagAnswer,
    TagView,
    TupleAnswer,
    Values,
    WindowAnswer,
)
from eddyline.algebra.schema import Schema
from eddyline.algebra.types import FLOAT
from eddyline.reference.element import ALWAYS, Change, RelationChange, Row, TagElement, Window, WindowChange
from eddyline.reference.marks import stix_of, tag_views
from eddyline.reference.stix import StixElement
from eddyline.reference.value import float32


@dataclass
class Reporter:
    """Turns the changes of one query's output into answers.

    `with_tags`: rows show the tags they carry; `joins`: rows come from more than one tuple, so a stix says which
    attributes each tag is on; `shows_tags`: tick-tags and stixes on their way are part of the answer.
    """

    query: str
    schema: Schema
    columns: tuple[str, ...]
    with_tags: bool = False
    joins: bool = False
    shows_tags: bool = False
    _numbers: dict[Any, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._floats = frozenset(i for i, f in enumerate(self.schema.fields) if f.type == FLOAT)

    def report(self, elements: Iterable[Any]) -> Iterator[Answer]:
        for element in elements:
            if isinstance(element, Change):
                yield self._tuple(element)
            elif isinstance(element, WindowChange):
                yield self._window(element)
            elif isinstance(element, RelationChange):
                op = "+" if element.weight > 0 else "-"
                yield RelationAnswer(self.query, element.tick, op, self._values(element.row), self._tags(element.row))
            elif isinstance(element, TagElement) and self.shows_tags:
                yield TagAnswer(self.query, element.tick, element.tag)
            elif isinstance(element, StixElement) and self.shows_tags:
                yield StixAnswer(self.query, element.tick, element.text)

    def _tuple(self, change: Change) -> TupleAnswer:
        shown = change.new or change.old
        assert shown is not None
        op = "+" if change.old is None else "-" if change.new is None else "="
        old = self._values(change.old.row) if op == "=" and change.old is not None else None
        row = shown.row
        return TupleAnswer(
            self.query, shown.tick, change.index, op, self._values(row), old, self._tags(row), self._stix(row)
        )

    def _window(self, change: WindowChange) -> WindowAnswer:
        number = self._numbers.setdefault(change.key, len(self._numbers) + 1)
        old, new = change.old, change.new
        if new is None:
            assert old is not None
            return WindowAnswer(self.query, _shown_tick(old), number, "-", (), self._rows(old))
        tags = tuple(self._tags(row) or () for row in new.rows) if self.with_tags else None
        stix = tuple(self._stix(row) for row in new.rows) if self.with_tags and self.joins else None
        if old is None:
            return WindowAnswer(self.query, _shown_tick(new), number, "+", self._rows(new), tags=tags, stix=stix)
        moved = old.tick if old.tick != new.tick else None
        return WindowAnswer(
            self.query, _shown_tick(new), number, "=", self._rows(new), self._rows(old), moved, tags=tags, stix=stix
        )

    def _rows(self, window: Window) -> tuple[Values, ...]:
        return tuple(self._values(row) for row in window.rows)

    def _values(self, row: Row) -> Values:
        """A FLOAT is shown with the digits it has: 0.1, not the 0.10000000149011612 that stands nearest to it."""
        if not self._floats:
            return row.values
        return tuple(shortest(v) if i in self._floats and v is not None else v for i, v in enumerate(row.values))

    def _tags(self, row: Row) -> tuple[TagView, ...] | None:
        return tag_views(row.marks, self.columns) if self.with_tags else None

    def _stix(self, row: Row) -> str | None:
        return stix_of(row.marks, len(self.columns)) if self.with_tags and self.joins else None


def _shown_tick(window: Window) -> int:
    """A query over tables alone has no time; it is answered at 0."""
    return 0 if window.tick == ALWAYS else window.tick


def shortest(value: float) -> float:
    """The number with the fewest digits that is this FLOAT.

    >>> shortest(float32(0.1))
    0.1
    """
    for digits in range(6, 9):
        candidate = float(f"{value:.{digits}g}")
        if float32(candidate) == value:
            return candidate
    return float(f"{value:.9g}")
