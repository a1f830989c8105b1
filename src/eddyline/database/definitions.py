"""What there is, by name: statements are bound one by one, and one that fails leaves nothing behind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eddyline.algebra.expression import Parameter
from eddyline.algebra.literals import literals_of
from eddyline.algebra.marks import KIND, MARKS
from eddyline.algebra.node import Operator
from eddyline.algebra.tag import TaggedObjectSelection
from eddyline.algebra.types import DataType
from eddyline.binder.function import Load
from eddyline.binder.history import from_history
from eddyline.binder.revise_if import with_revise_if
from eddyline.binder.setting import checked_priority
from eddyline.binder.statement import StatementBinder, Step
from eddyline.catalog.catalog import AUTO, TAGS, BoundQuery, Catalog
from eddyline.catalog.extent import Extent
from eddyline.database.sets import QuerySet
from eddyline.database.statements import QueryRecord
from eddyline.errors import NotSupported, UnknownExtent, UnknownName, nearest
from eddyline.language import Statement, parse_statement
from eddyline.log.answers import Seat
from eddyline.rules import optimize

if TYPE_CHECKING:
    from eddyline.spark.moment import Moment


@dataclass(frozen=True)
class StandingQuery:
    """A query at work: what it is, and how its answers are kept."""

    record: QueryRecord
    query: BoundQuery


@dataclass(frozen=True)
class StandingSet:
    """The queries of a template at work."""

    members: QuerySet
    template: BoundQuery  # with parameters
    query: BoundQuery  # the same as Spark runs it

    def find(self, name: str) -> StandingQuery | None:
        record = self.members.find(name)
        return None if record is None else StandingQuery(record, self.query)


class Definitions:
    """The catalog of a database and the queries that stand."""

    def __init__(self, without_rules: frozenset[str], load: Load) -> None:
        self._without_rules = without_rules
        self._binder = StatementBinder(without_rules=without_rules, load=load)
        self._logs: set[str] = set()  # names of result logs that are or were in use
        self.queries: dict[str, StandingQuery] = {}  # by name in lower case
        self.sets: list[StandingSet] = []
        self.catalog.templates = lambda: [many.query for many in self.sets]
        self.catalog.is_one_of_many = lambda name: self.one_of_many(name) is not None

    @property
    def catalog(self) -> Catalog:
        return self._binder.catalog

    @contextmanager
    def attempt(self, statement: Statement) -> Iterator[list[Step]]:
        """Bind a statement; whatever fails before the block ends, the catalog is as it was."""
        catalog, bare, explained = self.catalog, self._binder._bare_queries, self._binder._explained
        limits = catalog.cpu_limit, catalog.memory_limit
        kept = (catalog.tick_micros, dict(catalog.extents), dict(catalog.queries), dict(catalog.names))
        functions, points = dict(catalog.functions), dict(catalog.points)
        words, tag_functions = dict(catalog.words), dict(catalog.tag_functions)
        taggers = {stream: list(found) for stream, found in catalog.taggers.items()}
        ended_taggers = catalog.ended_taggers
        try:
            yield self._binder.bind(statement.tree)
        except BaseException:
            catalog.tick_micros, catalog.extents, catalog.queries, catalog.names = kept
            catalog.taggers, catalog.functions, catalog.points = taggers, functions, points
            catalog.words, catalog.tag_functions = words, tag_functions
            catalog.ended_taggers = ended_taggers
            catalog.cpu_limit, catalog.memory_limit = limits
            self._binder._bare_queries, self._binder._explained = bare, explained
            raise

    def replay(self, text: str) -> list[Step]:
        """Bind a statement that was bound before."""
        return self._binder.bind(parse_statement(text))

    def bind_template(
        self,
        text: str,
        types: Mapping[str, DataType],
        looks_back: bool = False,
        since: int | None = None,
        priority: int = 1,
        revisions: str = AUTO,
        revise_if: str | None = None,
    ) -> BoundQuery:
        """A query with parameters, of which these types are known."""
        query = self._binder.template(parse_statement(text), types)
        query = replace(query, priority=checked_priority(priority), revisions=revisions)
        if revise_if is not None:
            query = with_revise_if(query, revise_if)
        _check_tag_predicates(query)
        return from_history(query, since) if looks_back else query

    # -- queries ------------------------------------------------------------------------------------------------------

    def record(self, name: str, query: BoundQuery, number: int, moment: Moment, seat: Seat | None) -> QueryRecord:
        """What is to be remembered of a new query; `number` is that of its statement."""
        from eddyline.spark.tags.lowering import joins_in  # takes a moment to load

        created = (moment.reached, moment.closed, moment.entry, dict(moment.arrived))
        looks_back = query.history and moment.reached is not None  # else there is nothing to look back at
        joins = query.with_tags and joins_in(query.plan)
        if seat is not None:
            return QueryRecord(name, seat.log, query.kind, query.columns, *created, seat, looks_back, joins)
        log = re.sub(r"[^\w.-]", "_", name)
        if log != name or log.startswith(".") or log.lower() in self._logs:
            log = f"{log.lstrip('.')}~{number}"  # no statement has been or will be given the same
        return QueryRecord(name, log, query.kind, query.columns, *created, None, looks_back, joins)

    def for_spark(self, query: BoundQuery) -> BoundQuery:
        """A query as Spark runs it: with tags as columns."""
        from eddyline.session.tags import on_spark

        return on_spark(query, self._without_rules)

    def plan(self, query: BoundQuery) -> Operator:
        """The plan of a query made cheaper; one with tags as columns was, before they became columns."""
        if query.columns[-1:] in ((MARKS,), (KIND,)):
            return query.plan
        return optimize(query.plan, self._without_rules).plan

    def stand(self, record: QueryRecord, query: BoundQuery) -> None:
        self._logs.add(record.log.lower())
        self.queries[record.name.lower()] = StandingQuery(record, query)

    def withdraw(self, name: str) -> StandingQuery | None:
        return self.queries.pop(name.lower(), None)

    def find(self, name: str) -> StandingQuery | None:
        found = self.queries.get(name.lower())
        if found is not None:
            return found
        many = self.one_of_many(name)
        return None if many is None else many.find(name)

    def one_of_many(self, name: str) -> StandingSet | None:
        """The queries of a template of which one has this name."""
        return next((many for many in self.sets if many.members.find(name) is not None), None)

    def is_standing(self, query: StandingQuery) -> bool:
        if self.queries.get(query.record.name.lower()) is query:
            return True
        seat = query.record.seat
        many = [many.members for many in self.sets if many.query is query.query]
        return seat is not None and any(members.is_standing(seat.number) for members in many)

    def standing(self, name: str) -> StandingQuery:
        found = self.find(name)
        if found is None:
            guess = nearest(name, (query.record.name for query in self.queries.values()))
            raise UnknownName(f"there is no query {name}", hint=f"did you mean {guess}?" if guess else None)
        return found

    # -- streams ------------------------------------------------------------------------------------------------------

    def stream(self, name: str) -> Extent:
        extent = self.catalog.extent(name)
        if extent is None or not extent.is_stream:
            streams = [extent.name for extent in self.catalog.extents.values() if extent.is_stream]
            guess = nearest(name, streams)
            hint = f"did you mean {guess}?" if guess else "create it first with CREATE STREAM"
            what = "there is no stream" if extent is None else "this is a table, not a stream:"
            raise UnknownExtent(f"{what} {name}", hint=hint)
        return extent


def _check_tag_predicates(template: BoundQuery) -> None:
    """What is asked of tags becomes code that goes to workers, the same for all queries of a template."""
    if template.kind == TAGS:
        raise NotSupported("SELECT TAGS is not made many at a time", hint="create such queries one by one")
    asked = [op.predicate for op in template.plan.walk() if isinstance(op, TaggedObjectSelection)]
    left = [literal.value.name for literal in literals_of(tuple(asked)) if isinstance(literal.value, Parameter)]
    if left:
        raise NotSupported(
            f"the parameter :{left[0]} stands among what is asked of tags, where the queries cannot differ",
            hint="make a template for each, or ask it of the tuples",
        )
