"""The log of definitions: a small file for every statement, or run of such, that changed what there is, in order.

A file is there as a whole or not at all, so a definition either has happened or has not. Queries keep with their text
when they were created, because that decides what they answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eddyline.catalog.catalog import AUTO
from eddyline.log.answers import Reading, Seat
from eddyline.log.journal import Flush
from eddyline.log.storage import Storage

FOLDER = "catalog"
EXTENT, QUERY, DROP, TICK, QUERIES, DROP_LIKE = "extent", "query", "drop", "tick", "queries", "drop like"
FUNCTION, POINT, WORDS, LIMIT = "function", "connection point", "words", "limit"


@dataclass(frozen=True)
class QueryRecord:
    """What must be known of a query beside its text; the fields after `columns` are the moment of its creation."""

    name: str
    log: str  # the name of its result log, which no other query has had
    kind: str
    columns: tuple[str, ...]
    reached: int | None = None
    closed: int | None = None
    entry: int = 0
    arrived: dict[str, int] = field(default_factory=dict)
    seat: Seat | None = None  # in a query class, whose log it shares
    history: bool = False  # whether it first answers over what had passed
    joins: bool = False  # whether its rows come from more than one tuple, if they show tags

    @property
    def reading(self) -> Reading:
        return Reading.of(self.name, self.kind, self.columns, self.seat, self.joins)

    @property
    def flush(self) -> Flush:
        """What has all that is withheld of its answer shown."""
        return Flush(self.name, self.log, None if self.seat is None else self.seat.number)

    @property
    def key(self) -> str:
        """What no other query has had: the name of its log, with its number if others have the same log."""
        return self.log if self.seat is None else f"{self.log}#{self.seat.number}"


@dataclass(frozen=True)
class SetRecord:
    """Many queries that were made of one template: `query` is the first of them, the others have the next numbers.

    `values` is the file with a name and the values of the parameters for each.
    """

    query: QueryRecord
    count: int
    values: str
    looks_back: bool = False
    since: int | None = None
    priority: int = 1
    revisions: str = AUTO
    revise_if: str | None = None


@dataclass(frozen=True)
class Definition:
    """One statement of the log. `base` is the folder that its relative paths start from."""

    number: int
    kind: str
    text: str
    base: str
    query: QueryRecord | None = None
    dropped: str | None = None  # the key of the query that DROP ended
    many: SetRecord | None = None
    function: str | None = None  # the hash of the code of the function that it creates
    #: by stream that queries tag, the last index that had come when DROP came: whom it ended tagged up to there
    arrived: dict[str, int] | None = None
    floor: int | None = None  # the tick behind which a stream took nothing when a connection point was created on it

    def to_json(self) -> dict[str, Any]:
        query = None if self.query is None else _as_json(self.query)
        many = None if self.many is None else {**self.many.__dict__, "query": _as_json(self.many.query)}
        return {**self.__dict__, "query": query, "many": many}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Definition:
        query, many = value["query"], value.get("many")
        known = None if query is None else _record(query)
        of_many = None if many is None else SetRecord(**{**many, "query": _record(many["query"])})
        return cls(**{**value, "query": known, "many": of_many})


def _as_json(query: QueryRecord) -> dict[str, Any]:
    return {**query.__dict__, "seat": None if query.seat is None else query.seat.__dict__}


def _record(value: dict[str, Any]) -> QueryRecord:
    seat = value.get("seat")
    seat = None if seat is None else Seat(**seat)
    return QueryRecord(**{**value, "columns": tuple(value["columns"]), "seat": seat})


class StatementLog:
    """One process appends, any number may read."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._last = 0

    def read(self) -> list[Definition]:
        """All definitions; whoever reads them first knows where the next one goes."""
        names = [name for name in self._storage.names(FOLDER) if name.removesuffix(".json").isdigit()]
        contents = [self._storage.read_json(f"{FOLDER}/{name}") for name in names]
        found = [Definition.from_json(value) for content in contents for value in _listed(content)]
        self._last = max((definition.number for definition in found), default=0)
        return found

    @property
    def next_number(self) -> int:
        return self._last + 1

    def append(self, definition: Definition) -> None:
        """When this returns, the definition is there for good."""
        self._storage.write_json(f"{FOLDER}/{definition.number:012d}.json", definition.to_json())
        self._last = definition.number

    def append_all(self, definitions: Sequence[Definition]) -> None:
        """The same for several, in one file that is named after the first."""
        name = f"{FOLDER}/{definitions[0].number:012d}.json"
        self._storage.write_json(name, [definition.to_json() for definition in definitions])
        self._last = definitions[-1].number


def _listed(content: Any) -> list[dict[str, Any]]:
    """The definitions of a file: one, or several that were made together."""
    return content if isinstance(content, list) else [content]
