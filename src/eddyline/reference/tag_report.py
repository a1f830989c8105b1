"""The tags of a stream as they stand: how many there are of each, which may still cover tuples, and which never did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from eddyline.algebra.answer import TagLine
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.tag import TickTag
from eddyline.reference.coverage import Coverage, covered
from eddyline.reference.detach import Detach
from eddyline.reference.element import Change, TagElement
from eddyline.reference.feed import Arrived, Feed
from eddyline.reference.tag import tagged


@dataclass
class Standing:
    """One tick-tag: what it is on, the tuples that carry it now, and whether any ever has."""

    tag: TickTag
    fields: frozenset[int] | None
    active: bool = False  # whether it may cover tuples that are to come
    rows: set[int] = field(default_factory=set)  # by index
    applied: bool = False


class TagReport:
    """What has been said about a stream, from all that has come.

    `arriving` is what the next batch will bring, as far as it is there: tags take their places at once.
    """

    def __init__(self, stream: StreamReceive, feed: Feed, arriving: Sequence[Arrived] = ()) -> None:
        self._stream = stream
        self._tags: dict[TickTag, Standing] = {}
        coverage = Coverage(stream.declared, stream.name, lateness=None)
        arrived = (element for batch in feed.batches for element in batch.elements.get(stream.name, ()))
        elements: Iterable[Any] = covered(chain(arrived, arriving), stream.declared, stream.name, coverage=coverage)
        for element in tagged(elements, stream.name, lambda: feed.taggers.of(stream.name)):
            self._take(element)
        alive = coverage.active_tags()  # a tag that a query has made is on its tuple alone
        for standing in self._tags.values():
            standing.active = standing.tag in alive
        self._waiting = coverage.waiting_contents()

    def lines(self) -> list[TagLine]:
        """The tags that rows carry, or may come to carry; those on most rows first."""
        groups: dict[tuple[str, str | None, str, str | None], list[Standing]] = {}
        for standing in self._tags.values():
            if standing.active or standing.rows:
                tag = standing.tag
                groups.setdefault((tag.content, tag.sign, tag.type, self._on(standing)), []).append(standing)
        found = []
        for key, group in groups.items():
            rows: set[int] = set().union(*(standing.rows for standing in group))
            active = sum(standing.active for standing in group)
            found.append(TagLine(self._stream.name, *key, len(group), active, len(rows)))
        return sorted(found, key=lambda line: (-line.rows, -line.tags, line.content, line.sign or "", line.on or ""))

    def never_applied(self) -> list[str]:
        """The contents of tags that no tuple has ever carried, those that still wait for their first one too."""
        return [s.tag.content for s in self._tags.values() if not s.applied] + self._waiting

    def _take(self, element: Any) -> None:
        if isinstance(element, TagElement):
            fields = element.tag.applies_to.positions(self._stream.declared)
            self._tags[element.tag] = Standing(element.tag, fields)
        elif isinstance(element, Detach) and element.condition is None:
            for standing in list(self._tags.values()):
                any_left, standing.fields = element.left(standing.tag, standing.fields)
                if not any_left:
                    del self._tags[standing.tag]
        elif isinstance(element, Change):
            for mark in () if element.old is None else element.old.row.marks:
                if mark.tag in self._tags:
                    self._tags[mark.tag].rows.discard(element.index)
            for mark in () if element.new is None else element.new.row.marks:
                # a tag that was made for a tuple which has moved in time since is another one now
                standing = self._tags.setdefault(mark.tag, Standing(mark.tag, mark.fields))
                standing.rows.add(element.index)
                standing.applied = True

    def _on(self, standing: Standing) -> str | None:
        if standing.fields is None:
            return None
        names = self._stream.declared.names
        suffix = ".value" if standing.tag.applies_to.by_value else ""
        return ", ".join(names[position] + suffix for position in sorted(standing.fields))
