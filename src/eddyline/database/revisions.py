"""What a database tells of its corrections: SHOW REVISIONS, causes of an answer, effects of a revision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from eddyline.algebra.answer import Answer
from eddyline.algebra.lineage import Cause
from eddyline.algebra.revision_report import OF_QUERY, OF_STREAM, OVERVIEW
from eddyline.binder.revisions import ShowRevisions
from eddyline.catalog.catalog import BoundQuery
from eddyline.database.definitions import StandingQuery
from eddyline.database.rows import Rows
from eddyline.log.results import ResultLog
from eddyline.spark.lineage.causes import Asked, Lineage
from eddyline.spark.lineage.report import MOST_MEMBERS, Known, Report
from eddyline.spark.stages import cut

if TYPE_CHECKING:
    from eddyline.database.core import Core

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

    def show(self, asked: ShowRevisions) -> Rows:
        report = self._report(asked.since, asked.limit)
        core = self._core
        if asked.query is not None:
            rows = report.of_query(self._known(core.definitions.standing(asked.query)))
        elif asked.stream is not None:
            rows = report.of_stream(asked.stream, self._readers(asked.stream))
        else:
            stages = {standing.name: standing.stages for standing in core.engine.executor.queries()}
            names = {query.record.log: query.record.name for query in core.definitions.queries.values()
                     if query.record.seat is None}
            rows = report.overview(stages, lambda log: names.get(log, log))
        return Rows(as_table(asked.columns, rows))

    def causes(self, query: StandingQuery, answer: Answer) -> tuple[Cause, ...]:
        return self._report().causes(self._known(query), answer)

    def effects(self, stream: str, index: int) -> list[Effect]:
        found = self._report().effects(stream, index, self._readers(stream))
        return [Effect(answer.query, answer, cause.op, cause.precision) for cause, answer in found]

    # -- what is asked ------------------------------------------------------------------------------------------------

    def _report(self, since: int | None = None, limit: int | None = None) -> Report:
        core = self._core
        schemas = {extent.name: extent.schema for extent in core.definitions.catalog.extents.values()}
        results = ResultLog(core.storage).load()
        return Report(Lineage(core.storage, results, dict(core.engine.journal.streams), schemas), since, limit)

    def _known(self, query: StandingQuery) -> Known:
        record, bound = query.record, query.query
        if self._core.definitions.queries.get(record.name.lower()) is not query:
            bound = self._core.definitions.catalog.one_of_many(record.name) or bound
        stages = cut(record.log, self._core.plan(bound), bound.columns)
        return Known(record.name, Asked(record.log, stages, record.seat), record.reading)

    def _readers(self, stream: str) -> list[Known]:
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


def as_table(columns: tuple[str, ...], rows: tuple[tuple[Any, ...], ...]) -> pa.Table:
    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    return pa.table([pa.array(list(v), _TYPES[name]) for name, v in zip(columns, values, strict=True)], list(columns))


__all__ = ["BoundQuery", "Effect", "Revisions"]
