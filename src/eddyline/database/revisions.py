"""What a database tells of its corrections: SHOW REVISIONS, causes of an answer, effects of a revision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from eddyline.algebra.answer import Answer
from eddyline.algebra.lineage import Cause
from eddyline.algebra.node import Operator
from eddyline.algebra.revision_report import OF_QUERY, OF_STREAM, OVERVIEW
from eddyline.algebra.revision_report import Rows as Lines
from eddyline.algebra.schema import Schema
from eddyline.binder.revisions import ShowRevisions, revisions_of
from eddyline.database.definitions import StandingQuery
from eddyline.database.given import checked_number, checked_text, checked_tick
from eddyline.database.rows import Rows
from eddyline.database.statements import QueryRecord
from eddyline.errors import InvalidDefinition, StorageUnusable
from eddyline.log.journal import StreamState
from eddyline.log.results import ResultLog
from eddyline.log.storage import Storage
from eddyline.spark.lineage.causes import Asked, Lineage
from eddyline.spark.lineage.report import MOST_MEMBERS, Known, Report
from eddyline.spark.stages import cut

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
                return report.of_stream(asked.stream, self._readers(asked.stream))
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
            pairs = report.effects(stream, index, self._readers(stream))
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
        return known(record, self._core.plan(bound))

    def _readers(self, stream: str) -> Sequence[Known]:
        """The queries that read a stream. Of query classes with very many members, none."""
        return [self._known(query) for query in self._reading(stream)]

    def _reading(self, stream: str) -> Iterator[StandingQuery]:
        members = []
        for query in list(self._core.definitions.queries.values()):
            if stream in query.query.streams:
                if query.record.seat is None:
                    yield query
                else:
                    members.append(query)
        if len(members) <= MOST_MEMBERS:
            yield from members


def known(record: QueryRecord, plan: Operator) -> Known:
    """A query that is asked about. Of a member of a query class its own plan counts: only it is looked at."""
    stages = cut(record.log, plan, record.columns)
    return Known(record.name, Asked(record.log, stages, record.seat), record.reading)


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
