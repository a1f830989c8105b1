"""SHOW REVISIONS on the reference engine: every query is asked again, over all that has come, and tells why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from eddyline.algebra.node import Operator
from eddyline.algebra.revision_report import MOST, Batch, Corrected, Effects, Revision, Rows, Summary, rows_of_query
from eddyline.algebra.stream import StreamAcquire, StreamReceive
from eddyline.binder.revisions import ShowRevisions
from eddyline.catalog.catalog import BoundQuery
from eddyline.reference.answers import Reporter
from eddyline.reference.element import Change
from eddyline.reference.engine import Context
from eddyline.reference.lineage import operation, revisions, told

Standing = tuple[Operator, Context, BoundQuery]


def revisions_of(step: ShowRevisions, queries: Mapping[str, Standing]) -> Rows:
    """The lines of SHOW REVISIONS; the latest, if there are too many."""
    most = MOST if step.limit is None else step.limit
    lines = _lines(step, queries)
    return lines[len(lines) - most :] if len(lines) > most else lines


def _lines(step: ShowRevisions, queries: Mapping[str, Standing]) -> Rows:
    if step.query is not None:
        return rows_of_query(_batches(step, step.query, queries[step.query])) if step.query in queries else ()
    if step.stream is not None:
        effects = Effects()
        for name, standing in queries.items():
            for batch in _batches(step, name, standing):
                effects.take(step.stream, name, batch)
        return effects.rows
    batches = [(batch, name) for name, one in queries.items() for batch in _batches(step, name, one)]
    return tuple(_summary(batch, name).row for batch, name in sorted(batches, key=lambda pair: pair[0].number))


def _batches(step: ShowRevisions, name: str, standing: Standing) -> Iterator[Batch]:
    """The batches in which something was revised that a query reads."""
    plan, context, query = standing
    reporter = Reporter(name, query.plan.schema, query.columns)
    said: dict[int, list[Corrected]] = {}
    for one in told(plan, context):
        for answer in reporter.report([one.element]):
            if one.causes is not None:
                at = context.feed.batches[one.batch].clock.reached
                said.setdefault(one.batch, []).append(Corrected(at, answer, one.causes))
    streams = [op.name for op in plan.walk() if isinstance(op, StreamReceive | StreamAcquire)]
    closed: int | None = None
    found: dict[tuple[int, str, int], Revision] = {}
    for number, batch in enumerate(context.feed.batches):
        at, had = batch.clock.reached, len(found)
        for stream in streams:
            for index, change in revisions(batch, stream, closed).items():
                found[number, stream, index] = _revision(at, stream, change)
        if (len(found) > had or number in said) and (step.since is None or (at is not None and at >= step.since)):
            yield Batch(number, at, dict(found), said.get(number, ()))
        closed = batch.clock.closed


def _revision(at: int | None, stream: str, change: Change) -> Revision:
    now = change.new or change.old
    assert now is not None
    old, new = (None if version is None else version.row.values for version in (change.old, change.new))
    return Revision(at, stream, change.index, operation(change), now.tick, old, new)


def _summary(batch: Batch, query: str) -> Summary:
    kinds = Counter(revision.op for revision in batch.own)
    streams = tuple(sorted({revision.stream for revision in batch.own}))
    return Summary(batch.at, streams, kinds["+"], kinds["-"], kinds["="], query, len(batch.corrected))
