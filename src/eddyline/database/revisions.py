"""What a database tells of its corrections: SHOW REVISIONS, causes of an answer, effects of a revision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from eddyline.algebra.answer import Answer
from eddyline.algebra.lineage import Cause
from eddyline.algebra.node import Operator
from eddyline.algebra.revision_report import OF_QUERY, OF_STREAM, OVERVIEW
from eddyline.algebra.revision_report import Rows as Lines
from eddyline.algebra.schema import Schema
from eddyline.binder.revisions import ShowRevisions, revisions_of
from eddyline.catalog.catalog import BoundQuery
from eddyline.database.definitions import StandingQuery, StandingSet
from eddyline.database.given import checked_number, checked_text, checked_tick
from eddyline.database.rows import Rows
from eddyline.database.statements import QueryRecord
from eddyline.errors import InvalidDefinition, StorageUnusable
from eddyline.log.journal import StreamState
from eddyline.log.results import ResultLog
from eddyline.log.storage import Storage
from eddyline.spark.lineage.causes import Asked, Lineage
from eddyline.spark.lineage.members import inner_logs
from eddyline.spark.lineage.report import Known, KnownClass, Report
from eddyline.spark.stages import LINEAR, cut
from eddyline.spark.templates import with_values

if TYPE_CHECKING:
    from eddyline.database.core import Core

Told = TypeVar("Told")
_TYPES = {
    **dict.fromkeys((*OVERVIEW, *OF_STREAM, *OF_QUERY), pa.int64()),
    **dict.fromkeys(("streams", "query", "way", "revision", "old", "new", "queries", "op", "stream"), pa.string()),
    "precision": pa.string(),
    "seconds": pa.float64(),
}


@dataclass(frozen=True)
class Effect:
    """An answer that a revision of a tuple has changed. `precision`: see `Cause`."""

    query: str
    answer: Answer
    op: str  # of the revision
    precision: str


class Revisions:
    """The corrections of a database, read from its logs when somebody asks."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def list(self, of: str | None, since: int | None, limit: int | None) -> Rows:
        if since is not None:
            checked_tick(since, "since")
        if limit is not None:
            checked_number(limit, "limit", least=0)
        if of is None:
            return self.show(ShowRevisions("", since=since, limit=limit))
        checked_text(of, "the name of a stream or a query")
        return self.show(revisions_of(of, self._core.definitions.catalog, "", since, limit))

    def show(self, asked: ShowRevisions) -> Rows:
        def rows(report: Report) -> Lines:
            if asked.query is not None:
                return report.of_query(self._known(self._core.definitions.standing(asked.query)))
            if asked.stream is not None:
                return report.of_stream(asked.stream, *self._readers(asked.stream))
            stages = {standing.name: standing.stages for standing in self._core.engine.executor.queries()}
            standing = list(self._core.definitions.queries.values())
            names = {query.record.log: query.record.name for query in standing if query.record.seat is None}
            return report.overview(stages, lambda log: names.get(log, log))

        return Rows(_as_table(asked.columns, self._asked(rows, asked.since, asked.limit)))

    def causes(self, query: StandingQuery, answer: Answer) -> tuple[Cause, ...]:
        if not isinstance(answer, Answer):
            hint = "fetch() gives answers, and so does iterating over a query"
            raise InvalidDefinition(f"what has causes is an answer that was fetched, not {answer!r:.60}", hint=hint)
        return self._asked(lambda report: report.causes(self._known(query), answer))

    def effects(self, stream: str, index: int) -> Sequence[Effect]:
        checked_number(index, "the index of a tuple", least=1)

        def found(report: Report) -> Sequence[Effect]:
            pairs = report.effects(stream, index, *self._readers(stream))
            return [Effect(answer.query, answer, cause.op, cause.precision) for cause, answer in pairs]

        return self._asked(found)

    # -- what is asked ------------------------------------------------------------------------------------------------

    def _asked(self, question: Callable[[Report], Told], since: int | None = None, limit: int | None = None) -> Told:
        core = self._core
        schemas = {extent.name: extent.schema for extent in core.definitions.catalog.extents.values()}
        return asked(core.storage, lambda: core.engine.journal.streams, schemas, question, since, limit)

    def _known(self, query: StandingQuery) -> Known:
        record, bound = query.record, query.query
        if self._core.definitions.queries.get(record.name.lower()) is not query:
            bound = self._core.definitions.catalog.one_of_many(record.name) or bound
        return known(record, self._core.definitions.plan(bound), bound)

    def _readers(self, stream: str) -> tuple[Sequence[Known], Sequence[KnownClass]]:
        """The queries that read a stream, and the classes with members that do."""
        alone, members = [], dict[str, dict[int, StandingQuery]]()
        for query in list(self._core.definitions.queries.values()):
            seat = query.record.seat
            if stream in query.query.streams and seat is not None:
                members.setdefault(seat.log, {})[seat.number] = query
            elif stream in query.query.streams:
                alone.append(self._known(query))
        sets = [many for many in list(self._core.definitions.sets) if stream in many.query.streams]
        logs = dict.fromkeys((*members, *(many.members.seat.log for many in sets)))
        return alone, [self._class(log, members.get(log, {}), sets) for log in logs]

    def _class(self, log: str, members: Mapping[int, StandingQuery], sets: Sequence[StandingSet]) -> KnownClass:
        mine = [many for many in sets if many.members.seat.log == log]
        values = cache(lambda path: self._core.storage.read_table(path))  # of a template, for all that are asked about

        def member(number: int) -> Known | None:
            if number in members:
                return self._known(members[number])
            for many in mine:
                record = many.members.at(number)
                if record is not None:
                    row = values(many.members.record.values).slice(number - many.members.seat.number, 1)
                    bound = with_values(many.query, row)
                    return known(record, self._core.definitions.plan(bound), bound)
            return None

        stages = self._core.engine.classes.named(log).stages
        return KnownClass(log, member, len(stages) == 1 and stages[0].kind == LINEAR)


def known(record: QueryRecord, plan: Operator, query: BoundQuery) -> Known:
    """A query that is asked about. Of a member of a query class its own plan counts: only it is looked at."""
    stages = cut(record.log, plan, record.columns)
    inner = inner_logs(stages, query, record.log) if record.seat is not None and len(stages) > 1 else None
    return Known(record.name, Asked(record.log, stages, record.seat, inner), record.reading)


def asked(
    storage: Storage,
    streams: Callable[[], Mapping[str, StreamState]],
    schemas: Mapping[str, Schema],
    question: Callable[[Report], Told],
    since: int | None = None,
    limit: int | None = None,
) -> Told:
    """Ask the logs as they are; again, if segments were merged into others meanwhile."""
    for patience in (2, 1, 0):
        lineage = Lineage(storage, ResultLog(storage).load(), dict(streams()), schemas)
        try:
            return question(Report(lineage, since, limit))
        except StorageUnusable:
            if not patience:
                raise
    raise AssertionError("it was asked, or has failed")


def _as_table(columns: tuple[str, ...], rows: Lines) -> pa.Table:
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    return pa.table([pa.array(list(v), _TYPES[name]) for name, v in zip(columns, values, strict=True)], list(columns))


__all__ = ["Effect", "Revisions", "asked", "known"]
