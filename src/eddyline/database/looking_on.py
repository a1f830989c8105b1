"""Causes of answers for one who only looks on: the query is bound from the log of definitions, nothing is started."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from eddyline.algebra.answer import Answer
from eddyline.algebra.lineage import Cause
from eddyline.algebra.revision_report import identity
from eddyline.binder.statement import NAMES, Register
from eddyline.catalog.catalog import BoundQuery
from eddyline.columnar.types import language_type
from eddyline.database.definitions import Definitions
from eddyline.database.functions import Functions
from eddyline.database.revisions import asked, known
from eddyline.database.statements import QUERY, Definition, QueryRecord, StatementLog
from eddyline.errors import EddylineError
from eddyline.log.journal import Journal, StreamState
from eddyline.log.storage import Storage
from eddyline.rules import optimize
from eddyline.spark.lineage.report import Report
from eddyline.spark.templates import with_values


class Causes:
    """Why a query has corrected its answers, batch by batch."""

    def __init__(self, storage: Storage, record: QueryRecord) -> None:
        self._storage, self._record = storage, record
        self._seen, self._corrected = -1, frozenset[int]()
        query = self._found(with_members=False) or self._found(with_members=True)
        assert query is not None
        self._known = known(record, optimize(query.plan, frozenset()).plan, query)
        self._schemas = {extent.name: extent.schema for extent in self._definitions.catalog.extents.values()}

    def _found(self, with_members: bool) -> BoundQuery | None:
        """The query; None if it reads members of query classes, of which there may be very many, and they are left out.

        What is wrong in other definitions is none of its business.
        """
        functions = Functions(self._storage)
        self._definitions = Definitions(frozenset(), functions.load)
        query: BoundQuery | None = None
        for definition in StatementLog(self._storage).read():
            if with_members or not _is_another_member(definition, self._record):
                with functions.known(definition.function), contextlib.suppress(EddylineError):
                    query = self._bound(definition) or query
        return query

    def of_batch(self, batch: int) -> Callable[[Answer], tuple[Cause, ...] | None]:
        """Gives the causes of a batch's corrections; of none if it corrected nothing, or is no longer remembered."""
        if batch > self._seen:
            self._seen, self._corrected = asked(self._storage, self._streams, self._schemas, self._corrections)
        if batch not in self._corrected:
            return lambda _: None

        def question(report: Report) -> dict[tuple[Any, ...], tuple[Cause, ...]]:
            found = [one for one in report.lineage.corrections(self._record.log) if one.batch == batch]
            return {identity(c.answer): c.causes for one in found for c in report.batch(self._known, one).corrected}

        causes = asked(self._storage, self._streams, self._schemas, question)
        return lambda answer: causes.get(identity(answer))

    def _corrections(self, report: Report) -> tuple[int, frozenset[int]]:
        """The last batch that there is, and those in which the query was corrected."""
        found = frozenset(one.batch for one in report.lineage.corrections(self._record.log))
        return report.lineage.results.last.batch, found

    def _streams(self) -> dict[str, StreamState]:
        return Journal(self._storage).streams

    def _bound(self, definition: Definition) -> BoundQuery | None:
        """What a definition defines, if it is the query."""
        if definition.many is not None:
            return self._one_of_many(definition)
        for step in self._definitions.replay(definition.text):
            if isinstance(step, Register) and definition.query == self._record:
                return step.query
        return None

    def _one_of_many(self, definition: Definition) -> BoundQuery | None:
        many, seat = definition.many, self._record.seat
        first = None if many is None else many.query.seat
        if many is None or seat is None or first is None or first.log != seat.log:
            return None
        place = seat.number - first.number
        if not 0 <= place < many.count:
            return None
        values = self._storage.read_table(many.values)
        types = {field.name: language_type(field.type) for field in values.schema if field.name != NAMES}
        about = many.looks_back, many.since, many.priority, many.revisions, many.revise_if
        template = self._definitions.bind_template(definition.text, types, *about)
        return with_values(template, values.slice(place, 1))


def _is_another_member(definition: Definition, record: QueryRecord) -> bool:
    """Whether it is one of perhaps very many queries that have nothing to do with this one."""
    query = definition.query
    return definition.kind == QUERY and query is not None and query.seat is not None and query != record
