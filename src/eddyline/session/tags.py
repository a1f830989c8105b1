"""Tags for Spark: what the reference engine knows of their meaning, for logs and plans."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from eddyline.algebra.answer import TagLine
from eddyline.algebra.dictionary import Dictionary
from eddyline.algebra.expression import TypedExpr, columns_of
from eddyline.algebra.literals import with_literals
from eddyline.algebra.marks import KIND, MARKS, Marks, MarkText
from eddyline.algebra.schema import Schema
from eddyline.algebra.tag import TAG_SCHEMA, TagPredicate, TickTag
from eddyline.algebra.tag_places import last_before
from eddyline.binder.detach import ShowTags
from eddyline.binder.statement import AttachOnce
from eddyline.catalog.catalog import TAGS, BoundQuery, like
from eddyline.catalog.extent import Extent
from eddyline.log.active_tag import Condition, ValueText
from eddyline.log.tag_texts import attachment_text, tag_text
from eddyline.reference.expression import compile_predicate
from eddyline.reference.functions.casting import to_text
from eddyline.reference.tag import tag_values
from eddyline.reference.tag_input import tick_tag
from eddyline.rules import optimize
from eddyline.session.tag_conditions import condition
from eddyline.sources.arrival import ATTACH_STATEMENT, TAG, Arrival
from eddyline.sources.chunk import chunk_of_arrivals
from eddyline.spark.tags.conditions import check
from eddyline.spark.tags.lowering import has_tags, lowered, lowered_tags
from eddyline.spark.tags.report import tag_lines
from eddyline.spark.tags.sharing import without_tags

if TYPE_CHECKING:
    from eddyline.spark.engine import Engine


@dataclass(frozen=True)
class Understanding:
    """How tags are understood that come in: the length of a tick, the dictionary, and who else tags, as they are at
    that moment."""

    tick_micros: Callable[[], int]
    dictionary: Callable[[], Dictionary]
    taggers: Callable[[], Collection[str]]  # those of queries, in lower case

    def tick_tag(self, fields: Mapping[str, Any], extent: Extent, tick: int, number: int) -> TickTag:
        known = self.tick_micros(), self.dictionary(), number, last_before(number), self.taggers()
        return tick_tag(fields, extent.name, extent.schema, tick, *known)

    def way(self) -> tuple[int, Dictionary, Collection[str]]:
        return self.tick_micros(), self.dictionary(), self.taggers()

    def texts(self, schema: Schema) -> Sequence[ValueText]:
        return [to_text(field.type) for field in schema.fields]

    def condition(self, where: TypedExpr, schema: Schema) -> Condition:
        return condition(where, schema)


@dataclass(frozen=True)
class TagSearch:
    """Whether one of some marks is of a tag that satisfies a predicate, on all attributes that it names.

    It goes to workers, and must pickle.
    """

    predicate: TagPredicate
    names: tuple[str, ...] | None  # of the fields, in lower case; None: what the tags themselves were said of

    def __call__(self, marks: Marks) -> bool:
        return any(self._on_all(mark) and self._found(mark.tick_tag) for mark in marks)

    def __getstate__(self) -> tuple[TagPredicate, tuple[str, ...] | None]:
        return self.predicate, self.names

    def __setstate__(self, state: tuple[TagPredicate, tuple[str, ...] | None]) -> None:
        self.__dict__["predicate"], self.__dict__["names"] = state

    @property
    def reads_time(self) -> bool:
        """Whether it matters when a tag came."""
        where = self.predicate.where
        return where is not None and any(column.name.upper() == "TAG_TIME" for column in columns_of(where))

    def _on_all(self, mark: MarkText) -> bool:
        wanted = self.predicate.attributes
        if self.predicate.whole and mark.fields is not None:
            return False
        if self.predicate.by_value and not mark.is_by_value:
            return False
        if self.names is None:
            return all(map(mark.tick_tag.applies_to.describes, wanted))
        on = {self.names[field] for field in mark.fields or ()}
        return on.issuperset(name.lower() for name in wanted)

    @cached_property
    def _found(self) -> Callable[[TickTag], bool]:
        if self.predicate.where is None:
            return lambda tag: True
        satisfied = compile_predicate(self.predicate.where, TAG_SCHEMA)
        return lambda tag: satisfied(tag_values(tag))


def searching(predicate: TagPredicate, schema: Schema | None) -> TagSearch:
    """Without a `schema`, tags are searched by what they were said of, not by what they are still on.

    Queries that ask the same have the same search, wherever in their texts it stands.
    """
    asked = with_literals(predicate, lambda literal: replace(literal, place=None))
    return TagSearch(asked, None if schema is None else tuple(name.lower() for name in schema.names))


def is_tagged(query: BoundQuery) -> bool:
    """Whether tags are anywhere in a query."""
    return has_tags(query.plan)


def on_spark(query: BoundQuery, without_rules: Collection[str] = frozenset()) -> BoundQuery:
    """A query as Spark runs it: where tags go, a column of marks goes, behind its own columns."""
    if not is_tagged(query):
        return query
    plan = optimize(query.plan, frozenset(without_rules)).plan
    if query.kind == TAGS:
        return replace(query, plan=lowered_tags(plan, searching), columns=(*query.columns, MARKS, KIND))
    plain, shown = lowered(without_tags(query.plan), searching, False), None
    if query.with_tags:
        shown = lowered(query.plan, searching, True)
        query = replace(query, columns=(*query.columns, MARKS))
    return replace(query, plan=lowered(plan, searching, query.with_tags), in_class=(plain, shown))


def shown_tags(engine: Engine, step: ShowTags) -> tuple[tuple[Any, ...], ...]:
    """What SHOW TAGS lists."""
    wanted = like(step.pattern)
    lines: list[TagLine] = []
    for stream in step.streams:
        lines += tag_lines(engine, engine.extent(stream))
    return tuple(astuple(line) for line in lines if wanted.fullmatch(line.content.lower()))


def attach(engine: Engine, step: AttachOnce) -> None:
    """An ad hoc tag takes its place: where the clock stands or, under a condition, before the first tuple to satisfy.

    It goes the way of all data, so that whoever comes back after a restart finds it.
    """
    tagger = step.tagger
    with engine.writing:
        reached = engine.ingest.clock.reached
        if tagger.condition is not None:
            check(tagger.condition, tagger.asked)
        waits = tagger.condition is not None or reached is None
        text = attachment_text(tagger) if waits else tag_text(tagger)
        arrival = Arrival(step.extent.name, 1, TAG, None, reached, file=ATTACH_STATEMENT, text=text)
        engine.append([chunk_of_arrivals(step.extent, ATTACH_STATEMENT, [arrival], [text], (), 0)])
