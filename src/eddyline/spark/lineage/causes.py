"""What a query has corrected in a batch, and which revisions of its streams that came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.lineage import BATCH as SOME
from eddyline.algebra.lineage import PRECISIONS
from eddyline.algebra.schema import Schema
from eddyline.algebra.window import HopWindow
from eddyline.log.answers import NUMBER, QUERY, Seat, read_batches
from eddyline.log.journal import StreamState
from eddyline.log.results import Results
from eddyline.log.revision_log import Correction
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.log.storage import Storage
from eddyline.spark.lineage.finding import ANSWER, Finding, everything
from eddyline.spark.lineage.members import Inner
from eddyline.spark.lineage.shown import places_of, shown_last
from eddyline.spark.lineage.versions import Versions, of_stage, of_stream
from eddyline.spark.stages import LINEAR, RELATION, SLICES, STATE, WINDOWS, Stage

Array = Any
STREAM, OPERATION, PRECISION, CAME = "_stream", "_op", "_precision", "_came"
#: answers by number (of a window, a tuple, or a row of the batch) with the revisions that caused them; revisions came
#: with the entry up to which a query was answered then
CAUSES = pa.schema(
    [
        (ANSWER, pa.int64()),
        (STREAM, pa.string()),
        (INDEX, pa.int64()),
        (OPERATION, pa.string()),
        (CAME, pa.int64()),
        (PRECISION, pa.int8()),
    ]
)


@dataclass(frozen=True)
class Asked:
    """A query that somebody asks about: its stages as if it stood alone, and whose rows of which log are its own."""

    log: str
    stages: Sequence[Stage]
    seat: Seat | None = None
    inner: Mapping[str, Inner] | None = None  # of a member of a class, the streams inside; None: they cannot be told

    @cached_property
    def steps(self) -> list[Stage]:
        """Without those that only keep what was added up."""
        return [stage for stage in self.stages if stage.kind not in (SLICES, STATE)]

    @property
    def withholds(self) -> bool:
        """Whether it may show later what has been corrected before."""
        return any(stage.revise is not None for stage in self.steps)


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
        self._known: dict[tuple[str, int, int], Versions | None] = {}  # what was asked for before

    def corrections(self, log: str) -> list[Correction]:
        """When a query was answered over revisions, as far as that is remembered."""
        return [one for one in self.results.revisions.corrections if one.query == log]

    def revised(self, stream: str, correction: Correction) -> Versions | None:
        """The tuples of a stream that were revised when a query was corrected; None if none were."""
        at = stream, correction.after, correction.upto
        if at not in self._known:
            self._known[at] = self._read_revised(stream, correction)
        return self._known[at]

    def _read_revised(self, stream: str, correction: Correction) -> Versions | None:
        entries = [entry for entry in self.results.revisions.between(correction) if entry.stream == stream]
        state = self._streams.get(stream)
        if not entries or state is None:
            return None
        found = of_stream(self._storage, state.segments, self._schemas[stream], entries, correction)
        return found if found.rows.num_rows else None

    def told(self, asked: Asked, correction: Correction, about: pc.Expression | None = None) -> Told:
        """What a query has corrected; `about`: of which rows of its log somebody wants to know."""
        if asked.seat is not None and len(asked.steps) > 1 and asked.inner is None:
            return self._unknown(asked, correction, about)
        return self._stage(asked, len(asked.steps) - 1, correction, about)

    def speakers(self, correction: Correction, about: pc.Expression | None = None) -> list[int]:
        """The members of a class that have said something in the batch in which they were corrected, by number."""
        known = self.results.stages.get(correction.query)
        batches = correction.batch, correction.batch
        segments = () if known is None else known.segments
        table = read_batches(self._storage, segments, batches, rows=about, columns=[QUERY])
        return [] if table is None else pc.unique(table.column(QUERY).drop_null()).sort().to_pylist()

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

    def _stage(self, asked: Asked, number: int, correction: Correction, about: pc.Expression | None = None) -> Told:
        stage = asked.steps[number]
        sources = self._sources(asked, stage, correction)
        rows = self._said(asked, stage, correction.batch, about)
        corrected = _corrected(stage, rows, _revised(sources), correction)
        mine = rows.filter(pc.is_in(rows.column(ANSWER), pa.array(corrected, pa.int64())))
        if stage.revise is None and not _revised(sources):
            return Told(rows, corrected[:0], CAUSES.empty_table())
        parts = [_Part(mine, correction, sources)]
        if stage.revise is not None and mine.num_rows:
            parts += self._withheld(asked, stage, mine, correction)
        return Told(rows, corrected, _surest(self._causes(stage, corrected, parts)))

    def _withheld(self, asked: Asked, stage: Stage, mine: pa.Table, correction: Correction) -> list[_Part]:
        """Earlier corrections, with what was not shown of them until now."""
        batch = correction.batch
        earlier = self._read(asked, stage, (0, batch - 1), places_of(stage, mine))
        last = shown_last(stage, mine, earlier, batch, self._storage.root)
        found = []
        for one in self.corrections(asked.log):
            waiting = mine.filter(pa.array(last < one.batch)) if one.batch < batch else mine.slice(0, 0)
            if waiting.num_rows:
                found.append(_Part(waiting, one, self._sources(asked, stage, one)))
        return found

    def _causes(self, stage: Stage, missing: Array, parts: Sequence[_Part]) -> list[pa.Table]:
        """Which revisions are in some answers, by the surest way that finds any for an answer."""
        start = self.results.stages[stage.name].start if stage.name in self.results.stages else None
        about = start or 0, self._storage.root
        finding = [Finding(stage, p.rows, _revised(p.sources), p.correction, *about) for p in parts if p.answers.size]
        sources = [part.sources for part in parts if part.answers.size]
        found = []
        for ways in zip(*(one.ways() for one in finding), strict=True):
            known = []
            for way, one, theirs in zip(ways, finding, sources, strict=True):
                some = way(np.intersect1d(missing, one.rows.column(ANSWER).to_numpy()))
                found += [theirs[name].origins(pairs, precision) for name, pairs, precision in some]
                known += [pairs.column(ANSWER).to_numpy() for _, pairs, _ in some]
            missing = np.setdiff1d(missing, np.concatenate([np.empty(0, np.int64), *known]))
            if not len(missing):
                break
        return found

    def _sources(self, asked: Asked, stage: Stage, correction: Correction) -> dict[str, _Source]:
        return {name: self._source(asked, name, correction) for name in stage.streams}

    def _source(self, asked: Asked, name: str, correction: Correction) -> _Source:
        inner = next((place for place, stage in enumerate(asked.steps) if stage.name == name), None)
        if inner is None:
            return _Source(name, self.revised(name, correction), correction.upto)
        told, stage = self._stage(asked, inner, correction), asked.steps[inner]
        if not told.causes.num_rows:
            return _Source(name, None, correction.upto)
        there = np.unique(told.causes.column(ANSWER).to_numpy())
        return _Source(name, of_stage(told.rows, stage.columns, there), correction.upto, told.causes)

    def _said(self, asked: Asked, stage: Stage, batch: int, about: pc.Expression | None = None) -> pa.Table:
        """The rows of a stage in a batch, with the numbers of the answers that they are of."""
        table = self._read(asked, stage, (batch, batch), about)
        if table is None:
            return pa.table({ANSWER: pa.array([], pa.int64()), TICK: pa.array([], pa.int64())})
        if stage.kind == RELATION:
            table = table.sort_by([(TICK, "ascending"), (DIFF, "ascending")])
            return table.append_column(ANSWER, pa.array(np.arange(table.num_rows), pa.int64()))
        return table.append_column(ANSWER, table.column(NUMBER if stage.kind == WINDOWS else INDEX))

    def _read(
        self, asked: Asked, stage: Stage, batches: tuple[int, int], rows: pc.Expression | None
    ) -> pa.Table | None:
        """Rows of the log of a stage, of a member of a class its own."""
        known = self.results.stages.get(asked.log if stage is asked.steps[-1] else stage.name)
        segments = () if known is None else known.segments
        if asked.seat is None or stage is asked.steps[-1]:
            return read_batches(self._storage, segments, batches, asked.seat, rows)
        assert asked.inner is not None
        inner = asked.inner[stage.name]
        own = inner.rows_of(asked.seat)
        wanted = rows if own is None else own if rows is None else rows & own
        table = read_batches(self._storage, segments, batches, rows=wanted)
        return None if table is None else inner.own(table)

    def _unknown(self, asked: Asked, correction: Correction, about: pc.Expression | None) -> Told:
        """A member of a query class with streams inside: only what the batch brought is known."""
        stage = asked.steps[-1]
        streams = {name for one in asked.steps for name in one.streams}
        found = {name: versions for name in streams if (versions := self.revised(name, correction)) is not None}
        rows = self._said(asked, stage, correction.batch, about)
        corrected = _corrected(stage, rows, found, correction)
        pairs = everything(found, corrected)
        causes = [_Source(name, found[name], correction.upto).origins(some, SOME) for name, some in pairs]
        return Told(rows, corrected, _surest(causes))


@dataclass(frozen=True)
class _Source:
    """A stream that a stage reads, what was revised in it, and, if a stage makes it, why."""

    name: str
    versions: Versions | None
    came: int
    causes: pa.Table | None = None

    def origins(self, pairs: pa.Table, precision: str) -> pa.Table:
        """Answers and the revisions of this stream (`_answer`, `_index`) as answers and revisions of the input."""
        sure = PRECISIONS.index(precision)
        if self.causes is None:
            assert self.versions is not None
            indexes, operations = self.versions.operations
            index = pairs.column(INDEX).to_numpy()
            done = operations[np.searchsorted(indexes, index)]
            many = len(index)
            told = [index, done, np.full(many, self.came), np.full(many, sure, np.int8)]
            columns = [pairs.column(ANSWER), [self.name] * many, *told]
            return pa.table([_as(column, f.type) for column, f in zip(columns, CAUSES, strict=True)], schema=CAUSES)
        inner = self.causes.rename_columns(["_inner", *CAUSES.names[1:]])
        outer = pairs.rename_columns([ANSWER, "_inner"])
        both = outer.join(inner, "_inner", join_type="inner")
        worse = np.maximum(both.column(PRECISION).to_numpy(), sure).astype(np.int8)
        at = CAUSES.names.index(PRECISION)
        return both.select(CAUSES.names).set_column(at, PRECISION, pa.array(worse)).cast(CAUSES)


@dataclass(frozen=True)
class _Part:
    """Rows that a batch has said, and a correction that may have caused them, that of the batch or one before it."""

    rows: pa.Table
    correction: Correction
    sources: Mapping[str, _Source]

    @property
    def answers(self) -> Array:
        """Those that it may have caused: none if nothing was revised."""
        return np.unique(self.rows.column(ANSWER).to_numpy()) if _revised(self.sources) else np.empty(0, np.int64)


def _as(column: Any, type_: pa.DataType) -> Any:
    return column.cast(type_) if isinstance(column, pa.ChunkedArray) else pa.array(column, type_)


def _surest(found: Sequence[pa.Table]) -> pa.Table:
    """Each cause of an answer once, as sure as it is known to be."""
    table = pa.concat_tables([CAUSES.empty_table(), *found])
    keys = [name for name in CAUSES.names if name != PRECISION]
    once = table.group_by(keys).aggregate([(PRECISION, "min")])
    return once.select([*keys, f"{PRECISION}_min"]).rename_columns(CAUSES.names).cast(CAUSES)


def _revised(sources: Mapping[str, _Source]) -> dict[str, Versions]:
    return {name: source.versions for name, source in sources.items() if source.versions is not None}


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
        again = np.isin(rows.column(ANSWER).to_numpy(), np.concatenate([np.empty(0, np.int64), *known]))
        # what was withheld may be shown without any revision
        return again if stage.revise is None else again | np.isin(rows.column(ANSWER).to_numpy(), _gone(rows))
    goes = rows.column(DIFF).to_numpy() < 0
    if stage.kind == WINDOWS:
        return goes
    hops = any(isinstance(op, HopWindow) for op in stage.plan.walk())
    due = correction.reached if hops else correction.closed  # a hopping window is over before its tick is closed
    late = np.zeros(len(goes), bool) if due is None else rows.column(TICK).to_numpy() <= due
    return late if stage.kind == RELATION else goes | late


def _gone(rows: pa.Table) -> Array:
    """The answers of which something is taken back."""
    return rows.column(ANSWER).to_numpy()[rows.column(DIFF).to_numpy() < 0]
