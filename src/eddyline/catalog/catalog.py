"""The extents and standing queries that exist, found by name without regard to case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from eddyline.algebra.dictionary import Dictionary, Words, extended
from eddyline.algebra.node import Operator
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.tag import Tagger
from eddyline.algebra.user_function import UserFunction, functions_of
from eddyline.catalog.connection import ConnectionPoint
from eddyline.catalog.extent import Extent

STREAM, WINDOWS, RELATION, TAGS = "stream", "windows", "relation", "tags"
#: how answers are corrected: from the tuples of their windows, from what was added up before, or as costs less
UPSTREAM, DOWNSTREAM, AUTO = "upstream", "downstream", "auto"


@dataclass(frozen=True)
class BoundQuery:
    """A query whose names and types are resolved: what it computes and how its answers are shown.

    `kind`: a STREAM of tuples, WINDOWS, the changes of a RELATION, or TAGS (with the tuples they precede).
    """

    plan: Operator
    kind: str
    columns: tuple[str, ...]
    with_tags: bool = False
    streams: tuple[str, ...] = ()  # the extents it reads, whose smallest tick is its start
    history: bool = False  # whether it first answers over what has passed
    since: int | None = None  # the first tick of the past that counts
    priority: int = 1  # its share of the machine, beside those of other queries
    revise_if: str | None = None  # which corrections are shown, as written; the plan knows what it means
    revisions: str = AUTO  # how its answers are corrected
    cpu_limit: float | None = None  # processors that its joins may take; None: as the system has it
    memory_limit: float | None = None  # bytes that the states of its joins may take
    join_tree: str | None = None  # by which its join runs, as written; None: as the planner finds
    #: of one with tags, as Spark runs it: its plan without showing them and, if it does, with; as they were before
    #: rules made one plan of them: those of many queries are the same but for constants
    in_class: tuple[Operator, Operator | None] | None = None

    @cached_property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user's functions that it calls."""
        return functions_of(self.plan)

    @cached_property
    def leaves(self) -> frozenset[str]:
        """The streams in its plan, which may be others than those it names: histories of tags, for one."""
        return frozenset(leaf.name for leaf in self.plan.walk() if isinstance(leaf, StreamReceive))

    def started(self, tick: int | None) -> int | None:
        """Its start, if by its streams it would be a given tick."""
        return tick if tick is None or self.since is None else max(tick, self.since)


@dataclass
class Catalog:
    """What CREATE has made so far. `tick_micros` is the length of a tick."""

    tick_micros: int = 1_000_000
    cpu_limit: float | None = None  # processors that a join may take; None: as many as the machine has
    memory_limit: float | None = None  # bytes that the states of a join may take
    extents: dict[str, Extent] = field(default_factory=dict)
    queries: dict[str, BoundQuery] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # lower case → as declared, of queries
    taggers: dict[str, list[tuple[str, Tagger]]] = field(default_factory=dict)  # extent → continuous taggers
    ended_taggers: tuple[Tagger, ...] = ()  # whose conditions are still asked of tuples that are revised
    functions: dict[str, UserFunction] = field(default_factory=dict)  # by lower-case name
    tag_functions: dict[str, UserFunction] = field(default_factory=dict)  # by lower-case name
    words: dict[tuple[str, str], Words] = field(default_factory=dict)  # of the dictionary, the user's own, by key
    points: dict[str, ConnectionPoint] = field(default_factory=dict)  # by lower-case name
    #: whether there is a query with this name among those that were made many at a time
    is_one_of_many: Callable[[str], bool] = lambda name: False
    #: that query, as if it had been made by itself
    one_of_many: Callable[[str], BoundQuery | None] = lambda name: None

    #: the templates of queries that were made many at a time
    templates: Callable[[], Iterable[BoundQuery]] = tuple

    @property
    def dictionary(self) -> Dictionary:
        """The dictionary of tags as it stands now."""
        return extended(tuple(self.words.values()))

    def extent(self, name: str) -> Extent | None:
        return self.extents.get(name.lower())

    def query(self, name: str) -> BoundQuery | None:
        return self.queries.get(name.lower())

    def is_taken(self, name: str) -> bool:
        """Whether there is something of this name, of whatever kind."""
        return self.query(name) is not None or self.extent(name) is not None or self.is_one_of_many(name)

    def add_extent(self, extent: Extent) -> None:
        self.extents[extent.name.lower()] = extent

    def add_query(self, name: str, query: BoundQuery) -> None:
        self.queries[name.lower()] = query
        self.names[name.lower()] = name

    def queries_like(self, pattern: str) -> list[str]:
        """The names of queries that are LIKE a pattern."""
        wanted = like(pattern)
        return [self.names[name] for name in self.queries if wanted.fullmatch(name)]

    def all_functions(self) -> list[UserFunction]:
        """The user's functions of every kind: their code must be there."""
        return [*self.functions.values(), *self.tag_functions.values()]

    def code_in_use(self) -> list[UserFunction]:
        """The same, and those that tables are asked with."""
        asked = [extent.lookup.function for extent in self.extents.values() if extent.lookup is not None]
        return [*self.all_functions(), *asked]

    def functions_like(self, pattern: str) -> list[UserFunction]:
        """The user's functions with names that are LIKE a pattern."""
        wanted = like(pattern)
        return [function for name, function in self.functions.items() if wanted.fullmatch(name)]

    def points_like(self, pattern: str) -> list[ConnectionPoint]:
        """The connection points with names that are LIKE a pattern."""
        wanted = like(pattern)
        return [point for name, point in self.points.items() if wanted.fullmatch(name)]

    def points_on(self, name: str) -> list[ConnectionPoint]:
        """The connection points on a stream or a query."""
        return [point for point in self.points.values() if point.on.lower() == name.lower()]

    def user_of(self, function: UserFunction) -> str | None:
        """Some query that calls a function, in words; None if none does."""
        for name, query in self.queries.items():
            if function in query.functions:
                return f"the query {self.names[name]}"
        for tagger in self.ended_taggers:
            if function in functions_of(tagger):
                return f"the query {tagger.tagger}, which is dropped but has tagged rows,"
        called = any(function in template.functions for template in self.templates())
        return "a query that db.queries made" if called else None

    def drop_query(self, name: str) -> None:
        del self.queries[name.lower()]
        for taggers in self.taggers.values():
            self.ended_taggers += tuple(tagger for query, tagger in taggers if query.lower() == name.lower())
            taggers[:] = [(query, tagger) for query, tagger in taggers if query.lower() != name.lower()]

    def add_tagger(self, stream: str, query: str, tagger: Tagger) -> None:
        self.taggers.setdefault(stream.lower(), []).append((query, tagger))

    def all_names(self) -> Iterator[str]:
        """Everything that FROM can name."""
        yield from (extent.name for extent in self.extents.values())
        yield from (self.names[name] for name in self.queries)


def like(pattern: str) -> re.Pattern[str]:
    """What a pattern of LIKE means for names in lower case: % is anything, _ any one character."""
    parts = {"%": ".*", "_": "."}
    return re.compile("".join(parts.get(c, re.escape(c)) for c in pattern.lower()), re.DOTALL)
