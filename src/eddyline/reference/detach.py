"""Tags that are taken back: what a DETACH leaves of a tag, and of which tuples it takes it away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eddyline.algebra.dictionary import word_of
from eddyline.algebra.tag import TickTag
from eddyline.reference.element import Mark, Stamped, Values


@dataclass(frozen=True, slots=True)
class Detach:
    """A DETACH TAG on its way through the stream.

    `fields` are the attributes that lose the tag, by position; None: whole tuples do. With a `condition`, over the
    columns, tick and index, only tuples that satisfy it lose the tag, those that have come and those that will.
    Tuples before the `horizon` stay as they are.
    """

    content: str
    tagger: str
    fields: frozenset[int] | None
    by_value: bool = False
    condition: Callable[[Values], bool] | None = None
    horizon: int | None = None

    def is_about(self, content: str, tagger: str, fields: frozenset[int] | None, by_value: bool) -> bool:
        """Whether a tag on these fields loses any. The tuple and its attributes are different objects."""
        if tagger != self.tagger or by_value != self.by_value or word_of(content) != word_of(self.content):
            return False
        if fields is None or self.fields is None:
            return fields is None and self.fields is None
        return bool(fields & self.fields)

    def left(self, tag: TickTag, fields: frozenset[int] | None) -> tuple[bool, frozenset[int] | None]:
        """Whether anything is left of a tag on these fields, and on which."""
        if not self.is_about(tag.content, tag.tagger, fields, tag.applies_to.by_value):
            return True, fields
        left = (fields or frozenset()) - (self.fields or frozenset())
        return bool(left), left

    def concerns(self, index: int, stamped: Stamped) -> bool:
        """Whether a tuple is one of those that lose the tag."""
        return self.condition is None or self.condition((*stamped.row.values, stamped.tick, index))

    def after(self, mark: Mark, index: int, stamped: Stamped) -> Mark | None:
        """What is left of a tag on a tuple."""
        any_left, fields = self.left(mark.tag, mark.fields)
        if (any_left and fields == mark.fields) or not self.concerns(index, stamped):
            return mark
        return Mark(mark.tag, fields) if any_left else None

    def is_too_late_for(self, stamped: Stamped) -> bool:
        return self.horizon is not None and stamped.tick < self.horizon
