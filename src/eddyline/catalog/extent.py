"""What the catalog knows about a stream or table: its schema, its clock and where its data comes from."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.retention import Further, horizon_of
from eddyline.algebra.schema import Schema
from eddyline.catalog.lookup import Lookup

SENSED, PUSHED, STORED = "sensed", "pushed", "stored"


@dataclass(frozen=True)
class Extent:
    """A declared extent. SNEEql's three kinds: sensed and pushed are streams, stored is a table."""

    name: str  # as declared; looked up without regard to case
    kind: str  # SENSED, PUSHED or STORED
    schema: Schema  # fields with relation None
    timestamp: str | None = None  # TIMESTAMP BY: a column of the schema
    sites: tuple[int, ...] = ()  # of a sensed extent
    interval: int | None = None  # of a sensed extent, in ticks
    format: str | None = None  # USING, lower case; None: fed by INSERT and pushes alone
    options: tuple[tuple[str, str], ...] = ()  # OPTIONS, keys lower case
    key: tuple[str, ...] = ()  # KEY: columns of the schema; no two tuples that stand have the same values in them
    retain: int | None = None  # how many ticks behind its latest tuple a stream takes rows and revisions; None: all
    further: Further = ()  # … and how far back its connection points do
    lookup: Lookup | None = None  # of a table that is asked by key; with a format it can be scanned, too

    @property
    def is_stream(self) -> bool:
        return self.kind != STORED

    @property
    def is_scannable(self) -> bool:
        """Whether all rows of a table can be had at once."""
        return self.lookup is None or self.format is not None

    @property
    def key_positions(self) -> tuple[int, ...]:
        return tuple(self.schema.names.index(name) for name in self.key)

    def horizon(self, top: int | None) -> int | None:
        """The smallest tick that it takes, given the largest it has taken; None if it takes all."""
        return horizon_of(top, self.retain, self.further)

    def option(self, key: str) -> str | None:
        return dict(self.options).get(key)
