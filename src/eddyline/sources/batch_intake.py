"""From converted columns to chunks: which rows are sure, their kinds and ticks, and the others taken row by row.

The rules are `intake`'s. Whatever this module is not sure of goes through `Intake` itself, so there is one place only
that says what is wrong with a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from eddyline.catalog.extent import Extent
from eddyline.columnar.types import arrow_schema
from eddyline.sources.arrival import DELETE, INSERT, REPLACE, TAG, Arrival, Reject
from eddyline.sources.chunk import Chunk, chunk_of_arrivals, in_order_of_lines, tag_text
from eddyline.sources.conversion import RowConversion
from eddyline.sources.converted import Converted, Mask, mask
from eddyline.sources.in_place import kind_of, ticks_of
from eddyline.sources.intake import BadRow, Intake, time_position
from eddyline.sources.kinds import Kinds
from eddyline.sources.usual_tags import are_usual, numbered

Positions = npt.NDArray[np.int64]


class BatchIntake(Intake):
    """An intake whose count of turns can be moved on by a whole stretch, and which keeps the text of a tag."""

    def __init__(self, extent: Extent, conversion: RowConversion, tick_micros: int, turns: int = 0) -> None:
        super().__init__(extent, conversion, tick_micros)
        self.extent = extent
        self.tick_micros = tick_micros
        self.time = time_position(extent)
        self.turns = turns
        self._raw_tag: Any = None

    @property
    def turns(self) -> int:
        """How many rows have taken their site's turn in an acquisition."""
        return self._insertions

    @turns.setter
    def turns(self, count: int) -> None:
        self._insertions = count

    @property
    def acquires(self) -> bool:
        """Whether the tick of a tuple is its turn and not a time of its own."""
        return self._sites is not None

    def acquired_ticks(self, turns: Positions) -> Positions:
        return turns // (self._sites or 1) * self._interval

    def row(self, line: int, op: Any, ref: Any, tag: Any, raw: Sequence[Any]) -> Arrival:
        self._raw_tag = tag
        return super().row(line, op, ref, tag, raw)

    def tag_text(self, arrival: Arrival) -> str | None:
        """The text of the latest row's tag."""
        return None if arrival.tag is None else tag_text(self._raw_tag, arrival.tag)


@dataclass
class Stretch:
    """The rows of a stretch of a file that are taken one by one, in any order, until `chunk` puts all in order."""

    intake: BatchIntake
    file: str
    arrivals: list[tuple[Arrival, str | None]] = field(default_factory=list)  # with the texts of their tags
    rejects: list[Reject] = field(default_factory=list)
    lost_turns: list[int] = field(default_factory=list)  # lines of rejects that nevertheless took their turn

    def __post_init__(self) -> None:
        self._turns_before = self.intake.turns

    def take(self, line: int, arrival: Callable[[], Arrival], text: Callable[[], str]) -> None:
        intake = self.intake
        before = intake.turns
        try:
            taken = arrival()
        except BadRow as problem:
            self.rejects.append(Reject(intake.extent.name, self.file, line, text(), str(problem)))
            if intake.turns > before:
                self.lost_turns.append(line)
        else:
            self.arrivals.append((taken, intake.tag_text(taken)))

    def chunk(self, sure: Sequence[Chunk], bytes_read: int) -> Chunk:
        """These rows and the sure ones in the order of their lines."""
        self.rejects.sort(key=lambda reject: reject.line)
        self.arrivals.sort(key=lambda arrival: arrival[0].line)
        arrivals, tags = [arrival for arrival, _ in self.arrivals], [tag for _, tag in self.arrivals]
        others = chunk_of_arrivals(self.intake.extent, self.file, arrivals, tags, self.rejects, bytes_read)
        whole = in_order_of_lines([*sure, others])
        return self._acquired(whole) if self.intake.acquires else whole

    def _acquired(self, chunk: Chunk) -> Chunk:
        """With the ticks of a sensed stream: the turns count in the order of the file, the lost ones too."""
        inserted = mask(pc.equal(chunk.op, INSERT))
        lost = np.array(sorted(self.lost_turns), np.int64)
        turns = self._turns_before + np.cumsum(inserted) - 1 + np.searchsorted(lost, chunk.line.to_numpy())
        self.intake.turns = self._turns_before + int(inserted.sum()) + len(lost)
        return replace(chunk, tick=pa.array(self.intake.acquired_ticks(turns), mask=~inserted))


@dataclass(frozen=True)
class Columns:
    """The rows of a stretch as converted columns, before it is known which rows are sure."""

    line: Positions
    values: Sequence[Converted]  # in the order of the schema
    op: pa.Array | None = None  # text; None if the file has tuples only
    ref: Converted | None = None  # None: rows that need one are in doubt; where it may be missing, null is sure
    text: Callable[[Positions], pa.Array] | None = None  # what the rows at these positions say
    tag: pa.Array | None = None  # text; None: tags are in doubt
    says: Mask | None = None  # which rows have a `_tag`, whatever kind they are of


def sure_rows(columns: Columns, intake: BatchIntake, file: str) -> tuple[Chunk, Positions]:
    """The rows that are sure, and the positions of the others."""
    extent = intake.extent
    count = len(columns.line)
    kinds = _Kinds(columns, count)
    # A deletion needs no values, and its own may be anything; its time is looked at, and its key if it has no index.
    # Neither does a tag.
    empty = kinds.delete | kinds.tag
    key, needs_all = frozenset(extent.key_positions), ~empty
    needs_key = needs_all | (mask(pc.is_null(kinds.ref)) & ~kinds.tag) if key else needs_all
    doubt = kinds.doubt
    for at, column in enumerate(columns.values):
        needs = needs_key if at in key else needs_all
        if column.doubt is not None:
            doubt = doubt | (column.doubt if at == intake.time else column.doubt & needs)
        if column.values.null_count and (at == intake.time or at in key):
            doubt = doubt | (mask(pc.is_null(column.values)) & needs)
    arrays = [column.values for column in columns.values]
    tick = _ticks(arrays[intake.time], intake) if intake.time is not None else pa.nulls(count, pa.int64())
    if kinds.delete.any():  # the values of a tag nobody looks at
        gone, nameless = pa.array(empty), pa.array(~needs_key)
        arrays = [
            pc.if_else(nameless if at in key else gone, pa.scalar(None, array.type), array)
            for at, array in enumerate(arrays)
        ]
    chunk = Chunk(
        extent.name,
        file,
        pa.Table.from_arrays(arrays, schema=arrow_schema(extent.schema)),
        tick,
        kinds.op,
        kinds.ref,
        _tags(kinds.tags, kinds.tag),
        pa.array(columns.line),
        pa.nulls(count, pa.string()),
        (),
        0,
    )
    doubtful = np.flatnonzero(doubt)
    if len(doubtful):
        chunk = filtered(chunk, pa.array(~doubt))
    may_not_fit = kinds.revises if extent.retain is None else ~doubt
    if columns.text is not None and may_not_fit.any():
        said = may_not_fit & ~doubt
        chunk = replace(chunk, text=_at(said[~doubt], columns.text(np.flatnonzero(said))))
    return chunk, doubtful


def _tags(texts: pa.Array | None, tags: Mask) -> pa.Array:
    """The texts of tags; what others say there is nothing."""
    if texts is None or not tags.any():
        return pa.nulls(len(tags), pa.string())
    if np.array_equal(mask(pc.is_valid(texts)), tags):
        return texts
    return pc.if_else(pa.array(tags), texts, pa.scalar(None, pa.string()))


class _Kinds:
    """What kind of row each is. Tags are in doubt unless they say the usual in the usual way."""

    def __init__(self, columns: Columns, count: int) -> None:
        none = np.zeros(count, np.bool_)
        self.delete: Mask = none
        self.revises: Mask = none  # deletes or replaces
        self.tag: Mask = none  # that is not in doubt
        self.tags: pa.DictionaryArray | None = None  # what they say
        self.doubt: Mask = none
        self.ref = pa.nulls(count, pa.int64())
        kinds = None if columns.op is None else Kinds(columns.op)
        if columns.op is None or kinds is None or (insert := kinds.which("", INSERT)).all():
            self.op = _inserts(count)
            self.doubt = none if columns.says is None else columns.says
            return
        if DELETE in kinds:
            self.delete = kinds.which(DELETE)
        if DELETE in kinds or REPLACE in kinds:
            self.revises = kinds.which(DELETE, REPLACE)
        if columns.tag is not None and TAG in kinds:
            self.tags = numbered(columns.tag)
            self.tag = kinds.which(TAG) & are_usual(self.tags)
        self.doubt = ~(insert | self.revises | self.tag)
        self.op = columns.op if "" not in kinds else pc.if_else(pa.array(insert), INSERT, columns.op)
        if columns.ref is None:
            self.doubt = ~(insert | self.tag)
        elif self.revises.any():
            if columns.ref.doubt is not None:
                self.doubt = self.doubt | (self.revises & columns.ref.doubt)
            self.ref = pc.if_else(pa.array(self.revises), columns.ref.values, pa.scalar(None, pa.int64()))
        if columns.says is not None:
            self.doubt = self.doubt | (columns.says & ~self.tag)


def _inserts(count: int) -> pa.Array:
    return pa.repeat(INSERT, count)


def _ticks(times: pa.Array, intake: BatchIntake) -> pa.Array:
    assert intake.time is not None
    return ticks_of(times, kind_of(intake.extent.schema.fields[intake.time].type), intake.tick_micros)


def filtered(chunk: Chunk, keep: pa.Array) -> Chunk:
    """Some of the rows."""
    return replace(
        chunk,
        values=chunk.values.filter(keep),
        tick=chunk.tick.filter(keep),
        op=chunk.op.filter(keep),
        ref=chunk.ref.filter(keep),
        tag=chunk.tag.filter(keep),
        line=chunk.line.filter(keep),
        text=chunk.text.filter(keep),
    )


def _at(where: Mask, texts: pa.Array) -> pa.Array:
    """Texts at the places where the mask is true, null elsewhere."""
    places = np.where(where, np.cumsum(where) - 1, 0)
    return pc.take(texts, pa.array(places, mask=~where)) if len(texts) else pa.nulls(len(where), pa.string())
