"""What a standing query says to its reader. Rows are tuples in the order of the query's columns.

What a database has answered knows the `batch` that said it. The same thing said in two batches is the same answer
nevertheless, so the batch does not take part in comparing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from eddyline.algebra.tag import TickTag

Values = tuple[Any, ...]


@dataclass(frozen=True)
class TagView:
    """A tag as a `WITH TAGS` row shows it. `attributes` names output columns; none for the tuple as a whole."""

    content: str
    sign: str | None
    attributes: tuple[str, ...]


@dataclass(frozen=True)
class TupleAnswer:
    """A tuple of a stream: `op` is + (new), - (`row` is withdrawn) or = (`row` replaces `old`)."""

    query: str
    tick: int
    index: int
    op: str
    row: Values
    old: Values | None = None
    tags: tuple[TagView, ...] | None = None  # None unless the query is WITH TAGS
    stix: str | None = None
    batch: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class WindowAnswer:
    """A window: + (created), = (`rows` replace `old_rows`) or - (`old_rows` are withdrawn, `rows` is empty)."""

    query: str
    tick: int
    window: int
    op: str
    rows: tuple[Values, ...]
    old_rows: tuple[Values, ...] | None = None
    old_tick: int | None = None  # only if a revision moved the window
    tags: tuple[tuple[TagView, ...], ...] | None = None  # one entry for each of `rows`
    stix: tuple[str | None, ...] | None = None
    batch: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class RelationAnswer:
    """A change of a relation: + inserted, - deleted."""

    query: str
    tick: int
    op: str
    row: Values
    tags: tuple[TagView, ...] | None = None
    batch: int | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class TagAnswer:
    """A tick-tag in the output."""

    query: str
    tick: int
    tag: TickTag


@dataclass(frozen=True)
class StixAnswer:
    """A stix in the output of a tag join: which of the following objects each of the following tags applies to."""

    query: str
    tick: int
    stix: str


@dataclass(frozen=True)
class TextAnswer:
    """The text that a statement such as EXPLAIN prints."""

    query: str
    text: str


Answer = TupleAnswer | WindowAnswer | RelationAnswer | TagAnswer | StixAnswer | TextAnswer


@dataclass(frozen=True)
class TagLine:
    """The tags of one stream that say the same of the same objects."""

    stream: str
    content: str
    sign: str | None
    type: str
    on: str | None  # attributes, or `attribute.value`; None: whole rows
    tags: int
    active: int
    rows: int
