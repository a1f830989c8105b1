"""Whether the tuples of a plan have an order in which they came, and what puts them in order if they have none."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any, Protocol

from eddyline.algebra.node import Operator
from eddyline.algebra.relational import WindowAlias, WindowProject, WindowSelect
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamProject, StreamReceive, StreamSelect
from eddyline.algebra.tag import TaggedObjectSelection, Tagger
from eddyline.algebra.window import HopWindow, LatestRowsWindow, LoopWindow, RangeWindow, RowWindow, TimeWindow

_STREAMS = (StreamReceive, StreamAcquire, StreamAlias, StreamProject, StreamSelect, Tagger, TaggedObjectSelection)
_WINDOWS = (TimeWindow, HopWindow, RowWindow, LoopWindow, RangeWindow, LatestRowsWindow)
_OF_ONE_STREAM = (*_STREAMS, *_WINDOWS, WindowAlias, WindowProject, WindowSelect)


def by_arrival(plan: Operator) -> bool:
    """Whether each tuple is one of a stream, and so has its place there. What is joined or aggregated has none."""
    return all(isinstance(operator, _OF_ONE_STREAM) for operator in plan.walk())


class Said(Protocol):
    """What a tag says; that is the same in every engine, while its number is not."""

    @property
    def timestamp(self) -> int: ...
    @property
    def content(self) -> str: ...
    @property
    def tagger(self) -> str: ...
    @property
    def sign(self) -> str | None: ...
    @property
    def type(self) -> str: ...
    @property
    def lifespan(self) -> int | None: ...
    @property
    def mode(self) -> str: ...


def saying(tag: Said, fields: Collection[int] | None) -> tuple[Any, ...]:
    """What a tag on some fields of a tuple says, the time first: the order of tags that have no other."""
    lifespan = -1 if tag.lifespan is None else tag.lifespan
    words = tag.content, tag.tagger, tag.sign or "", tag.type, lifespan, tag.mode
    return (tag.timestamp, *words, sorted(fields or ()), fields is None)


def text_of_sayings(sayings: Iterable[tuple[Any, ...]]) -> str:
    """A text by which tuples with equal values are put in order; it is empty if they carry no tags."""
    found = sorted(sayings)
    return json.dumps(found) if found else ""
