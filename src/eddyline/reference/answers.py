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
from eddyline.reference.element import ALWAYS, Change, RelationChange, Row, TagElement, Window, WindowChange
from eddyline.reference.marks import stix_of, tag_views
from eddyline.reference.stix import StixElement


@dataclass
class Reporter:
    """Turns the changes of one query's output into answers.

    `with_tags`: rows show the tags they carry; `joins`: rows come from more than one tuple, so a stix says which
    attributes each tag is on; `shows_tags`: tick-tags and stixes on their way are part of the answer.
    """

    query: str
    columns: tuple[str, ...]
    with_tags: bool = False
    joins: bool = False
    shows_tags: bool = False
    _numbers: dict[Any, int] = field(default_factory=dict)

    def report(self, elements: Iterable[Any]) -> Iterator[Answer]:
        for element in elements:
            if isinstance(element, Change):
                yield self._tuple(element)
            elif isinstance(element, WindowChange):
                yield self._window(element)
            elif isinstance(element, RelationChange):
                op = "+" if element.weight > 0 else "-"
                yield RelationAnswer(self.query, element.tick, op, element.row.values, self._tags(element.row))
            elif isinstance(element, TagElement) and self.shows_tags:
                yield TagAnswer(self.query, element.tick, element.tag)
            elif isinstance(element, StixElement) and self.shows_tags:
                yield StixAnswer(self.query, element.tick, element.text)

    def _tuple(self, change: Change) -> TupleAnswer:
        shown = change.new or change.old
        assert shown is not None
        op = "+" if change.old is None else "-" if change.new is None else "="
        old = change.old.row.values if op == "=" and change.old is not None else None
        row = shown.row
        return TupleAnswer(self.query, shown.tick, change.index, op, row.values, old, self._tags(row), self._stix(row))

    def _window(self, change: WindowChange) -> WindowAnswer:
        number = self._numbers.setdefault(change.key, len(self._numbers) + 1)
        old, new = change.old, change.new
        if new is None:
            assert old is not None
            return WindowAnswer(self.query, _shown_tick(old), number, "-", (), _values(old))
        tags = tuple(self._tags(row) or () for row in new.rows) if self.with_tags else None
        stix = tuple(self._stix(row) for row in new.rows) if self.with_tags and self.joins else None
        if old is None:
            return WindowAnswer(self.query, _shown_tick(new), number, "+", _values(new), tags=tags, stix=stix)
        moved = old.tick if old.tick != new.tick else None
        return WindowAnswer(
            self.query, _shown_tick(new), number, "=", _values(new), _values(old), moved, tags=tags, stix=stix
        )

    def _tags(self, row: Row) -> tuple[TagView, ...] | None:
        return tag_views(row.marks, self.columns) if self.with_tags else None

    def _stix(self, row: Row) -> str | None:
        return stix_of(row.marks, len(self.columns)) if self.with_tags and self.joins else None


def _values(window: Window) -> tuple[Values, ...]:
    return tuple(row.values for row in window.rows)


def _shown_tick(window: Window) -> int:
    """A query over tables alone has no time; it is answered at 0."""
    return 0 if window.tick == ALWAYS else window.tick
