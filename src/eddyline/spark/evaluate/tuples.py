"""Stretches of streams: the standing tuples of a log, and selections and projections over them."""

from __future__ import annotations

from collections.abc import Sequence

from eddyline.algebra.marks import KIND, MADE_ROLE, MARKS_ROLE, role_of
from eddyline.algebra.node import Operator
from eddyline.algebra.sharing import StreamMatch
from eddyline.algebra.stream import StreamAcquire, StreamAlias, StreamProject, StreamReceive, StreamSelect
from eddyline.algebra.tagging import NUMBERS
from eddyline.errors import InvalidAlgebra
from eddyline.log.segment import DIFF, INDEX, TICK, Segment
from eddyline.spark.evaluate.batch import Batch, Log, columns_of
from eddyline.spark.evaluate.frames import Frame, few, grouped
from eddyline.spark.evaluate.matching import matched
from eddyline.spark.evaluate.selecting import selected
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.spans import EVERYTHING, Spans
from eddyline.spark.tags.made import at_work, made_mark, text_of

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


def _more(plan: Operator, log: Log) -> tuple[str, ...]:
    """The columns of ours that the plan wants behind the values."""
    return _leaf(plan).declared.names[len(log.schema) :]


def _leaf(plan: Operator) -> StreamReceive | StreamAcquire:
    *_, leaf = plan.walk()
    assert isinstance(leaf, StreamReceive | StreamAcquire)
    return leaf


def _with_made(plan: Operator, log: Log, frame: Frame, segments: Sequence[Segment]) -> Frame:
    """Rows with what continuous taggers make for them, behind their own marks or, where tags are shown, by itself."""
    more = _more(plan, log)
    if not more or not log.taggers:
        return frame
    shown = KIND in more
    roles = list(map(role_of, more))
    marks = f"c{len(log.schema) + roles.index(MADE_ROLE if shown else MARKS_ROLE)}"
    low, high = _first(segments), max((segment.index[1] for segment in segments), default=0)
    leaf = _leaf(plan)
    for tagger in at_work(leaf, log.taggers, low, high):
        text = text_of(made_mark(tagger, leaf.whole_tags or shown), tagger, marks)
        if shown:
            text = f"CASE WHEN c{len(log.schema) + more.index(KIND)} = '+' THEN {text} END"
        frame = frame.selectExpr(*(f"{text} AS {name}" if name == marks else name for name in frame.columns))
    return frame


def tuples(plan: Operator, batch: Batch, ticks: Spans = EVERYTHING, indexes: Spans = EVERYTHING) -> Frame:
    """The standing tuples with these ticks and indexes: `_index`, `_tick` and c0, c1, …"""
    log = log_of(plan, batch)
    needed = [s for s in log.segments if ticks.meets(*s.tick) and indexes.meets(*s.index)]
    frame = batch.read(log, needed, _more(plan, log)).where(f"{ticks.condition(TICK)} AND {indexes.condition(INDEX)}")
    frame = _with_made(plan, log, standing(frame, needed), needed)
    return apply_chain(plan, frame, batch, first=_first(needed))


def changes(plan: Operator, batch: Batch) -> Frame:
    """What the batch brings, selected and projected: also `_diff`."""
    log = log_of(plan, batch)
    more = _more(plan, log)
    frame = batch.read(log, log.fresh, more).where(f"{DIFF} <> 0")
    if batch.since.get(log.name) or log.made_of is not None:
        frame = frame.where(_is_new(log, batch, more))
    if batch.indexes != EVERYTHING:
        frame = frame.where(batch.indexes.condition(INDEX))
    frame = _with_made(plan, log, frame, log.fresh)
    return apply_chain(plan, frame, batch, (DIFF,), _first(log.fresh))


def _is_new(log: Log, batch: Batch, more: Sequence[str]) -> str:
    """Who came before the query was created is none of its business; a tag stands behind the last tuple before it."""
    own = f"{INDEX} > {batch.since.get(log.name, 0)}"
    if KIND in more:
        return f"{own} OR c{len(log.schema) + more.index(KIND)} = '#'"
    if log.made_of is None:
        return own
    made = f"{INDEX} % {NUMBERS}L > {batch.since.get(log.made_of.name, 0)}"
    return f"CASE WHEN {INDEX} < {NUMBERS}L THEN {own} ELSE {made} END"


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
