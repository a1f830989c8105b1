"""Stretches of streams: the standing tuples of a log, and selections and projections over them."""

from __future__ import annotations

from collections.abc import Sequence

from eddyline.algebra.node import Operator
from eddyline.algebra.sharing import StreamMatch
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamProject, StreamReceive, StreamSelect
from eddyline.errors import InvalidAlgebra
from eddyline.log.segment import DIFF, INDEX, TICK, Segment
from eddyline.spark.evaluate.batch import Batch, Log, columns_of
from eddyline.spark.evaluate.frames import Frame, few, grouped
from eddyline.spark.evaluate.matching import matched
from eddyline.spark.evaluate.selecting import selected
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.spans import EVERYTHING, Spans

#: as many revised tuples can go to all tasks, by way of the driver
_FEW = 1_000_000
#: how often a version of a tuple stands, once all weights are added up
NET = f"CAST(sum({DIFF}) AS BIGINT) AS {DIFF}"


def log_of(plan: Operator, batch: Batch) -> Log:
    """The log at the bottom of a chain of selections and projections."""
    while isinstance(plan, StreamSelect | StreamProject | StreamAlias | StreamMatch):
        plan = plan.input
    assert isinstance(plan, StreamReceive | StreamAcquire)
    return batch.logs[plan.name]


def _more(plan: Operator, log: Log) -> int:
    """How many columns the plan wants behind the values: marks, and whether a row is a tuple."""
    *_, leaf = plan.walk()
    assert isinstance(leaf, StreamReceive | StreamAcquire)
    return len(leaf.declared) - len(log.schema)


def tuples(plan: Operator, batch: Batch, ticks: Spans = EVERYTHING, indexes: Spans = EVERYTHING) -> Frame:
    """The standing tuples with these ticks and indexes: `_index`, `_tick` and c0, c1, …"""
    log = log_of(plan, batch)
    needed = [s for s in log.segments if ticks.meets(*s.tick) and indexes.meets(*s.index)]
    frame = batch.read(log, needed, _more(plan, log)).where(f"{ticks.condition(TICK)} AND {indexes.condition(INDEX)}")
    return apply_chain(plan, standing(frame, needed), batch, first=_first(needed))


def changes(plan: Operator, batch: Batch) -> Frame:
    """What the batch brings, selected and projected: also `_diff`."""
    log = log_of(plan, batch)
    frame = batch.read(log, log.fresh, _more(plan, log)).where(f"{DIFF} <> 0")
    if since := batch.since.get(log.name):
        frame = frame.where(f"{INDEX} > {since}")  # who came before the query was created is none of its business
    if batch.indexes != EVERYTHING:
        frame = frame.where(batch.indexes.condition(INDEX))
    return apply_chain(plan, frame, batch, (DIFF,), _first(log.fresh))


def standing(frame: Frame, segments: Sequence[Segment]) -> Frame:
    """The tuples that are there once all weights are added up. Only tuples that were ever revised cost a grouping."""
    if not any(segment.minus for segment in segments):
        return frame.where(f"{DIFF} > 0").drop(DIFF)
    plain = frame.where(f"{DIFF} <> 0")
    revised = plain.where(f"{DIFF} < 0").select(INDEX).distinct()
    if sum(segment.minus for segment in segments) <= _FEW:
        revised = few(revised)
    untouched = plain.join(revised, INDEX, "left_anti").drop(DIFF)
    versions = plain.join(revised, INDEX, "left_semi")
    columns = [column for column in frame.columns if column != DIFF]
    weights = grouped(versions, columns, [NET])
    return untouched.select(*columns).unionAll(weights.where(f"{DIFF} > 0").select(*columns))


def _first(segments: Sequence[Segment]) -> int:
    return min((segment.index[0] for segment in segments), default=0)


def apply_chain(plan: Operator, frame: Frame, batch: Batch, more: tuple[str, ...] = (), first: int = 0) -> Frame:
    """Selections and projections over the rows of a log; `_index`, `_tick` and the columns of `more` stay.

    `first`: no index is smaller.
    """
    kept = [INDEX, TICK, *more]
    if isinstance(plan, StreamReceive | StreamAcquire):
        width = len(plan.declared)
        columns = [f"c{i}" for i in range(width)]
        if plan.implicit:
            columns += [f"{TICK} AS c{width}", f"{INDEX} AS c{width + 1}"]
        return frame.selectExpr(*kept, *columns)
    if isinstance(plan, StreamAlias):
        return apply_chain(plan.input, frame, batch, more, first)
    if isinstance(plan, StreamSelect | StreamProject | StreamMatch):
        below = apply_chain(plan.input, frame, batch, more, first)
        names = names_of(plan.input.schema, columns_of(len(plan.input.schema)))
        if isinstance(plan, StreamSelect):
            return selected(below, plan.predicate, names)
        if isinstance(plan, StreamMatch):
            assert batch.members is not None
            return matched(plan, below, kept, names, batch.members, batch.frames, first)
        columns = [f"{spark_sql(column.expr, names)} AS c{i}" for i, column in enumerate(plan.columns)]
        return below.selectExpr(*kept, *columns)
    raise InvalidAlgebra(f"{type(plan).__name__} is not computed tuple by tuple")
