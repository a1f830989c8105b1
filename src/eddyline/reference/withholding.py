"""What is shown of results that are corrected: those whose correction does not matter stay as they were shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from eddyline.algebra.revision import ReviseIf
from eddyline.reference.bag import same_rows
from eddyline.reference.element import (
    Change,
    Row,
    Stamped,
    StreamElement,
    Values,
    Window,
    WindowChange,
    WindowElement,
    batches,
)
from eddyline.reference.expression import compile_expression
from eddyline.reference.value import group_key, row_key

#: whether everything is to be shown as it is, in the batch that ends
Flushed = Callable[[int], bool]


class Withholding:
    """Tells which results are shown as they are, and which as they were."""

    def __init__(self, revise: ReviseIf) -> None:
        self._revise = revise
        self._conditions = [compile_expression(condition, revise.schema) for condition in revise.conditions]
        compared = frozenset(revise.compared)
        self._others = [place for place in range(revise.width) if place not in compared]

    def matters(self, old: Values, new: Values) -> bool:
        """Whether a result that is shown as `old` and should be `new` is shown anew."""
        changed = [group_key(a) != group_key(b) for a, b in zip(old, new, strict=True)]
        if any(changed[place] for place in self._others):
            return True
        compared = self._revise.compared
        if any((old[place] is None) != (new[place] is None) for place in compared):
            return True
        if self._revise.each:
            asked = [ask for ask, place in zip(self._conditions, compared, strict=True) if changed[place]]
        else:
            asked = self._conditions if any(changed) else []
        return any(ask((*old, *new)) is not False for ask in asked)

    def rows(self, shown: Sequence[Row], true: Sequence[Row]) -> tuple[Row, ...]:
        """The rows of a window as they are shown, if others were shown before."""
        before = {self._key(row): row for row in shown}
        return tuple(self._either(before.get(self._key(row)), row) for row in true)

    def _either(self, shown: Row | None, true: Row) -> Row:
        return true if shown is None or self.matters(shown.values, true.values) else shown

    def _key(self, row: Row) -> Any:
        return row_key(tuple(row.values[place] for place in self._revise.keys or ()))


def windows(revise: ReviseIf, elements: Iterator[WindowElement], flushed: Flushed) -> Iterator[WindowElement]:
    """Windows as they are shown. One that is new, gone, or at another tick than before is shown as it is."""
    withholding = Withholding(revise)
    shown: dict[Any, Window] = {}
    true: dict[Any, Window | None] = {}  # of the windows of which something is withheld
    for number, (changes, clock) in enumerate(batches(elements)):
        touched = {change.key: change.new for change in changes}
        if flushed(number):
            touched = {**true, **touched}
        for key, window in touched.items():
            old, new = shown.get(key), window
            true.pop(key, None)
            if old is not None and window is not None and old.tick == window.tick and not flushed(number):
                new = window._replace(rows=withholding.rows(old.rows, window.rows))
                if not same_rows(new.rows, window.rows):
                    true[key] = window
            if new is None:
                shown.pop(key, None)
            else:
                shown[key] = new
            if not _is_same(old, new):
                yield WindowChange(key, old, new)
        yield clock


def _is_same(old: Window | None, new: Window | None) -> bool:
    if old is None or new is None:
        return old is new
    return old.tick == new.tick and same_rows(old.rows, new.rows)


def tuples(revise: ReviseIf, elements: Iterator[StreamElement], flushed: Flushed) -> Iterator[StreamElement]:
    """A stream as it is shown, tuples paired by their indexes. What is at another tick than before is shown."""
    withholding = Withholding(revise)
    shown: dict[int, Stamped] = {}
    true: dict[int, Stamped] = {}  # of the tuples whose correction is withheld
    for number, (changes, clock) in enumerate(batches(elements)):
        touched = {change.index: change.new for change in changes if isinstance(change, Change)}
        if flushed(number):
            touched = {**true, **touched}
        for index, new in touched.items():
            old = shown.get(index)
            true.pop(index, None)
            if (
                old is not None
                and new is not None
                and old.tick == new.tick
                and not flushed(number)
                and not withholding.matters(old.row.values, new.row.values)
            ):
                true[index], new = new, old
            if new is None:
                shown.pop(index, None)
            else:
                shown[index] = new
            if old != new:
                yield Change(index, old, new)
        yield clock
