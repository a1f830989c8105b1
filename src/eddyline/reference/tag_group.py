"""Groups of tuples with matching tags (Stream Tag Framework section 4.1, "Tag-Based Aggregation")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from eddyline.algebra.dictionary import Dictionary, word_of
from eddyline.algebra.tag import TagFunction
from eddyline.reference.element import Mark, Row
from eddyline.reference.marks import merge_marks
from eddyline.reference.tag_function import Occurrences, closeness


@dataclass
class TagGroup:
    """The tuples whose tags match the content that founded the group, or the tuples without tags (no founder).

    `label` is how the answer names the group: as the dictionary does, or else by its founder; empty without one, as
    the content of the tag that stands for "no tag" is.
    """

    founder: str | None
    label: str
    members: dict[int, Row] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()  # those of the members' tags that match, in the order in which they joined

    @property
    def key(self) -> str:
        """The same for the same group, whoever has founded it."""
        return word_of(self.label)


class TagGroups:
    """Puts tuples into groups as they come.

    A tuple goes to the closest group: the one to which all its tags together are closest, the oldest of several. If
    none matches, its first tag founds one. Contents that are close only by the objects that carry them are judged by
    the objects seen so far.
    """

    def __init__(self, function: TagFunction, dictionary: Dictionary, untagged: bool) -> None:
        self.groups: list[TagGroup] = []
        self._named = function.name == "dictionary"
        self._dictionary = dictionary
        self._untagged = untagged
        self._occurrences = Occurrences()
        self._closeness = closeness(function, dictionary, self._occurrences)

    def add(self, member: int, row: Row) -> TagGroup | None:
        """The group to which the tuple now belongs; None if it has no tags and such tuples are ignored."""
        for mark in row.marks:
            self._occurrences.add(member, mark)
        group = self._closest(row) if row.marks else self._of_untagged()
        if group is not None:
            matching = [mark for mark in row.marks if self._close(mark.tag.content, group) > 0]
            group.members[member] = row
            group.marks = merge_marks((*group.marks, *matching))
        return group

    def _closest(self, row: Row) -> TagGroup:
        contents = [mark.tag.content for mark in row.marks]
        rated = [(_added_up(self._close(content, group) for content in contents), group) for group in self.groups]
        best = max((rate for rate, _ in rated), default=0.0)
        if best > 0:
            return next(group for rate, group in rated if rate == best)
        founder = contents[0].strip()
        return self._found(founder, (self._dictionary.group_of(founder) if self._named else None) or founder)

    def _of_untagged(self) -> TagGroup | None:
        if not self._untagged:
            return None
        return next((group for group in self.groups if group.founder is None), None) or self._found(None, "")

    def _found(self, founder: str | None, label: str) -> TagGroup:
        self.groups.append(TagGroup(founder, label))
        return self.groups[-1]

    def _close(self, content: str, group: TagGroup) -> float:
        if group.founder is None:
            return 0.0
        close = self._closeness(content, group.founder)
        # a word is always close to itself, even if too few objects carry it to reach a threshold
        return max(close, 1.0) if word_of(content) == word_of(group.founder) else close


def _added_up(parts: Iterable[float]) -> float:
    """One after the other: sum() rounds in another way from Python 3.12 on, and ties must be the same everywhere."""
    total = 0.0
    for part in parts:
        total += part
    return total
