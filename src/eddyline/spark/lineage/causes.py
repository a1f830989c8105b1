"""What a query has corrected in a batch, and which revisions of its streams that came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.lineage import BATCH as SOME
from eddyline.algebra.lineage import PRECISIONS, ROW, WINDOW, Trace, traces
from eddyline.algebra.node import StreamOp
from eddyline.algebra.schema import Schema
from eddyline.algebra.user_function import functions_of
from eddyline.algebra.window import HopWindow
from eddyline.kernels.dialect import Untranslatable
from eddyline.kernels.fits import why_not
from eddyline.kernels.sheet import Sheet
from eddyline.kernels.task import Work, answered
from eddyline.log.answers import BATCH, HEADER, NUMBER, QUERY, Seat, read_segments
from eddyline.log.journal import StreamState
from eddyline.log.results import Results
from eddyline.log.revision_log import Correction
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.log.storage import Storage
from eddyline.spark.evaluate.batch import Batch, Clock
from eddyline.spark.evaluate.frames import Frame, grouped, joined
from eddyline.spark.lineage.places import FIRST, LAST, PLACE, is_exact, numbered, placed
from eddyline.spark.lineage.versions import Versions, of_stage, of_stream
from eddyline.spark.stages import LINEAR, LOOKUP, RELATION, SLICES, WINDOWS, Stage

Array = Any
#: where nothing is known but that they came together, so many answers beside revisions are told
_MOST_PAIRS = 1_000_000
ANSWER, STREAM, OPERATION, PRECISION = "_answer", "_stream", "_op", "_precision"
#: answers by number (of a window, a tuple, or a row of the batch) with the revisions that caused them
CAUSES = pa.schema(
    [(ANSWER, pa.int64()), (STREAM, pa.string()), (INDEX, pa.int64()), (OPERATION, pa.string()), (PRECISION, pa.int8())]
)


@dataclass(frozen=True)
class Asked:
    """A query that somebody asks about: its stages as if it stood alone, and whose rows of which log are its own."""

    log: str
    stages: Sequence[Stage]
    seat: Seat | None = None

    @cached_property
    def steps(self) -> list[Stage]:
        """Without those that only keep what was added up."""
        return [stage for stage in self.stages if stage.kind != SLICES]


@dataclass(frozen=True)
class Told:
    """What a stage has said in a batch, which answers correct earlier ones, and why."""

    rows: pa.Table  # with `_answer`
    corrected: Array  # the numbers of the answers
    causes: pa.Table


class Lineage:
    """The logs of a database, as far as they are read for lineage."""

    def __init__(
        self, storage: Storage, results: Results, streams: Mapping[str, StreamState], schemas: Mapping[str, Schema]
    ) -> None:
        self._storage, self.results, self._streams, self._schemas = storage, results, streams, schemas

    def corrections(self, log: str) -> list[Correction]:
        """When a query was answered over revisions, as far as that is remembered."""
        return [one for one in self.results.revisions.corrections if one.query == log]

    def revised(self, stream: str, correction: Correction) -> Versions | None:
        """The tuples of a stream that were revised when a query was corrected; None if none were."""
        entries = [entry for entry in self.results.revisions.between(correction) if entry.stream == stream]
        state = self._streams.get(stream)
        if not entries or state is None:
            return None
        found = of_stream(self._storage, state.segments, self._schemas[stream], entries, correction)
        return found if found.rows.num_rows else None

    def told(self, asked: Asked, correction: Correction) -> Told:
        """What a query has corrected."""
        if asked.seat is not None and len(asked.steps) > 1:
            return self._unknown(asked, correction)
        return self._stage(asked, len(asked.steps) - 1, correction)

    def said(self, asked: Asked, correction: Correction) -> pa.Table:
        """Everything that a query has said in the batch in which it was corrected."""
        return self._said(asked, asked.steps[-1], correction.batch)

    def changes(self, stages: Sequence[Stage], correction: Correction) -> int:
        """How many answers a query has corrected, or all members of a query class together."""
        asked = Asked(correction.query, stages)
        stage = asked.steps[-1]
        if stage.kind == LINEAR and any(inner.name in stage.streams for inner in asked.steps):
            return len(self._stage(asked, len(asked.steps) - 1, correction).corrected)
        rows = self._said(asked, stage, correction.batch)
        known = {name: self.revised(name, correction) for name in stage.streams} if stage.kind == LINEAR else {}
        mask = _correcting(stage, rows, {name: one for name, one in known.items() if one is not None}, correction)
        names = [name for name in (QUERY, ANSWER) if name in rows.column_names]
        some = rows.filter(pa.array(mask)).select(names).drop_null()
        return int(some.group_by(names).aggregate([]).num_rows)

    # -- one stage ----------------------------------------------------------------------------------------------------

    def _stage(self, asked: Asked, number: int, correction: Correction) -> Told:
        stage = asked.steps[number]
        sources = {name: self._source(asked, name, correction) for name in stage.streams}
        rows = self._said(asked, stage, correction.batch)
        revised = {name: source.versions for name, source in sources.items() if source.versions is not None}
        corrected = _corrected(stage, rows, revised, correction)
        if not len(corrected) or not revised:
            return Told(rows, corrected[:0], CAUSES.empty_table())
        mine = rows.filter(pc.is_in(rows.column(ANSWER), pa.array(corrected, pa.int64())))
        found, missing = [], corrected
        start = self.results.stages[stage.name].start if stage.name in self.results.stages else None
        for finder in _finders(stage, revised, mine, correction, start or 0, self._storage.root):
            some = finder(missing)
            found += [sources[name].origins(pairs, precision) for name, pairs, precision in some]
            known = pa.concat_tables([pairs for _, pairs, _ in some]) if some else None
            missing = missing if known is None else np.setdiff1d(missing, known.column(ANSWER).to_numpy())
            if not len(missing):
                break
        return Told(rows, corrected, _surest(found))

    def _source(self, asked: Asked, name: str, correction: Correction) -> _Source:
        inner = next((place for place, stage in enumerate(asked.steps) if stage.name == name), None)
        if inner is None:
            return _Source(name, self.revised(name, correction))
        told, stage = self._stage(asked, inner, correction), asked.steps[inner]
        if not told.causes.num_rows:
            return _Source(name, None)
        there = np.unique(told.causes.column(ANSWER).to_numpy())
        return _Source(name, of_stage(told.rows, stage.columns, there), told.causes)

    def _said(self, asked: Asked, stage: Stage, batch: int) -> pa.Table:
        """The rows of a stage in a batch, with the numbers of the answers that they are of."""
        log = asked.log if stage is asked.steps[-1] else stage.name
        known = self.results.stages.get(log)
        segments = [s for s in known.segments if s.seq[0] <= batch <= s.seq[1]] if known is not None else []
        table = read_segments(self._storage, segments, batch - 1, asked.seat)
        if table is None:
            return pa.table({ANSWER: pa.array([], pa.int64()), TICK: pa.array([], pa.int64())})
        table = table.filter(pc.equal(table.column(BATCH), batch))
        if stage.kind == RELATION:
            table = table.sort_by([(TICK, "ascending"), (DIFF, "ascending")])
            return table.append_column(ANSWER, pa.array(np.arange(table.num_rows), pa.int64()))
        return table.append_column(ANSWER, table.column(NUMBER if stage.kind == WINDOWS else INDEX))

    def _unknown(self, asked: Asked, correction: Correction) -> Told:
        """A member of a query class with streams inside: only what the batch brought is known."""
        stage = asked.steps[-1]
        streams = {name for one in asked.steps for name in one.streams}
        found = {name: versions for name in streams if (versions := self.revised(name, correction)) is not None}
        rows = self._said(asked, stage, correction.batch)
        corrected = _corrected(stage, rows, found, correction)
        pairs = _everything(found, corrected)
        return Told(rows, corrected, _surest([_Source(n, found[n]).origins(p, SOME) for n, p in pairs]))


@dataclass(frozen=True)
class _Source:
    """A stream that a stage reads, what was revised in it, and, if a stage makes it, why."""

    name: str
    versions: Versions | None
    causes: pa.Table | None = None

    def origins(self, pairs: pa.Table, precision: str) -> pa.Table:
        """Answers and the revisions of this stream (`_answer`, `_index`) as answers and revisions of the input."""
        sure = PRECISIONS.index(precision)
        if self.causes is None:
            assert self.versions is not None
            indexes, operations = self.versions.operations
            index = pairs.column(INDEX).to_numpy()
            done = operations[np.searchsorted(indexes, index)]
            columns = [pairs.column(ANSWER), [self.name] * len(index), index, done, np.full(len(index), sure, np.int8)]
            return pa.table([_as(column, f.type) for column, f in zip(columns, CAUSES, strict=True)], schema=CAUSES)
        inner = self.causes.rename_columns(["_inner", *CAUSES.names[1:]])
        outer = pairs.rename_columns([ANSWER, "_inner"])
        both = outer.join(inner, "_inner", join_type="inner")
        worse = np.maximum(both.column(PRECISION).to_numpy(), sure).astype(np.int8)
        return both.select(CAUSES.names).set_column(4, PRECISION, pa.array(worse)).cast(CAUSES)


def _as(column: Any, type_: pa.DataType) -> Any:
    return column.cast(type_) if isinstance(column, pa.ChunkedArray) else pa.array(column, type_)


def _surest(found: Sequence[pa.Table]) -> pa.Table:
    """Each cause of an answer once, as sure as it is known to be."""
    table = pa.concat_tables([CAUSES.empty_table(), *found])
    keys = CAUSES.names[:4]
    once = table.group_by(keys).aggregate([(PRECISION, "min")])
    return once.select([*keys, f"{PRECISION}_min"]).rename_columns(CAUSES.names).cast(CAUSES)


def _corrected(stage: Stage, rows: pa.Table, revised: Mapping[str, Versions], correction: Correction) -> Array:
    """The numbers of the answers that are about something that was answered before."""
    answer = rows.column(ANSWER).to_numpy()
    return np.unique(answer[_correcting(stage, rows, revised, correction)])


def _correcting(stage: Stage, rows: pa.Table, revised: Mapping[str, Versions], correction: Correction) -> Array:
    """Which rows take something back, or add something to what was answered before."""
    if not rows.num_rows:
        return np.zeros(0, bool)
    if stage.kind == LINEAR:
        known = [versions.rows.column(INDEX).to_numpy() for versions in revised.values()]
        return np.isin(rows.column(ANSWER).to_numpy(), np.concatenate([np.empty(0, np.int64), *known]))
    goes = rows.column(DIFF).to_numpy() < 0
    if stage.kind == WINDOWS:
        return goes
    hops = any(isinstance(op, HopWindow) for op in stage.plan.walk())
    due = correction.reached if hops else correction.closed  # a hopping window is over before its tick is closed
    late = np.zeros(len(goes), bool) if due is None else rows.column(TICK).to_numpy() <= due
    return late if stage.kind == RELATION else goes | late


# -- ways to find causes, the surest first ----------------------------------------------------------------------------

Found = list[tuple[str, pa.Table, str]]  # streams, with answers and indexes, and how sure that is


def _finders(
    stage: Stage, revised: Mapping[str, Versions], rows: pa.Table, correction: Correction, start: int, root: str
) -> list[Callable[[Array], Found]]:
    def everything(missing: Array) -> Found:
        return [(name, pairs, SOME) for name, pairs in _everything(revised, missing)]

    if stage.kind in (LINEAR, LOOKUP):
        column = ANSWER if stage.kind == LINEAR else PLACE  # a look-up tells which tuple a row was made for

        def by_index(missing: Array) -> Found:
            pairs = pa.table([rows.column(ANSWER), rows.column(column)], [ANSWER, INDEX])
            pairs = pairs.group_by([ANSWER, INDEX]).aggregate([])
            return [
                (name, pairs.filter(pc.is_in(pairs.column(INDEX), versions.rows.column(INDEX).combine_chunks())), ROW)
                for name, versions in revised.items()
            ]

        return [by_index, everything]
    plan = stage.plan.inputs[0] if isinstance(stage.plan, StreamOp) else stage.plan
    ways = [(trace, name) for trace in traces(plan) if (name := _log_name(trace)) in revised]

    def by_row(missing: Array) -> Found:
        found = []
        for trace, name in ways:
            pairs = _pairs(stage, trace, revised[name], rows, correction, start, root, shown=True)
            if pairs is not None and pairs.num_rows:
                found.append((name, pairs, ROW if is_exact(trace, stage.plan) else WINDOW))
        return found

    def by_window(missing: Array) -> Found:
        mine = rows.filter(pc.is_in(rows.column(ANSWER), pa.array(missing, pa.int64())))
        found = []
        for trace, name in ways:
            pairs = _pairs(stage, trace, revised[name], mine, correction, start, root, shown=False)
            if pairs is not None and pairs.num_rows:
                found.append((name, pairs, WINDOW))
        return found

    return [by_row, by_window, everything]


def _log_name(trace: Trace) -> str:
    return next(str(op.name) for op in trace.leaf.walk() if hasattr(op, "name") and not op.inputs)


def _everything(revised: Mapping[str, Versions], answers: Array) -> list[tuple[str, pa.Table]]:
    """Each of some answers beside every revision that there was, as far as somebody would read that."""
    found = []
    for name, versions in revised.items():
        indexes = versions.operations[0][: max(1, _MOST_PAIRS // max(1, len(answers)))]
        pairs = [np.repeat(answers, len(indexes)), np.tile(indexes, len(answers))]
        found.append((name, pa.table([pa.array(column, pa.int64()) for column in pairs], [ANSWER, INDEX])))
    return found


def _pairs(
    stage: Stage,
    trace: Trace,
    versions: Versions,
    rows: pa.Table,
    correction: Correction,
    start: int,
    root: str,
    shown: bool,
) -> pa.Table | None:
    """Answers and the tuples that are in them: at the same places and, if it is `shown`, in the same groups.

    None if the kernel cannot tell.
    """
    if why_not(trace.plan) is not None:
        return None
    sheet, now = Sheet(), Clock(correction.now or 0, correction.now or 0)
    view = Batch(sheet, {}, now, now, start, lambda table, frames: frames.range(0, 0))  # type: ignore[arg-type]
    place = PLACE if numbered(trace, stage.plan) else TICK
    try:
        there = placed(trace, stage.plan, versions, view)
        said = _changed_rows(stage, sheet, rows, place) if shown else _all_rows(sheet, rows, place)
        agree = [f"_place BETWEEN {FIRST} AND {LAST}"]
        agree += [f"v{at} <=> c{column}" for at, column in trace.shown] if shown else []
        both: Any = joined(said, there, " AND ".join(agree)).selectExpr(ANSWER, INDEX).distinct()
        work = Work(stage.name, correction.batch, root, both.statement(), tables=sheet.tables, found=sheet.found)
        found = answered(replace(work, functions=functions_of(trace.plan)))
    except Untranslatable:
        return None
    return None if found is None else found.cast(pa.schema([(ANSWER, pa.int64()), (INDEX, pa.int64())]))


def _changed_rows(stage: Stage, sheet: Sheet, rows: pa.Table, place: str) -> Frame:
    """The rows that were there only before or only after: a window that is revised is said anew as a whole."""
    if HEADER in rows.column_names:
        rows = rows.filter(pc.invert(rows.column(HEADER)))
    values = rows.select(list(stage.columns)).rename_columns([f"v{i}" for i in range(len(stage.columns))])
    head = pa.table([rows.column(ANSWER), rows.column(place), rows.column(DIFF)], [ANSWER, "_place", DIFF])
    table = pa.table([*head.columns, *values.columns], [*head.column_names, *values.column_names])
    net: Any = grouped(
        sheet.table(table),  # type: ignore[arg-type]
        [ANSWER, "_place", *values.column_names],
        [f"CAST(sum({DIFF}) AS BIGINT) AS _n"],
    )
    changed: Frame = net.where("_n <> 0").drop("_n")
    return changed


def _all_rows(sheet: Sheet, rows: pa.Table, place: str) -> Frame:
    places = pa.table([rows.column(ANSWER), rows.column(place)], [ANSWER, "_place"])
    frame: Any = sheet.table(places)
    distinct: Frame = frame.distinct()
    return distinct
