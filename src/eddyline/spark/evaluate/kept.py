"""Aggregates from slices that were kept: a correction costs as much as its slices, however many tuples they have.

Each batch adds to a log what its tuples change in the parts of their slices, those that go with the weight -1. A window
is then put together from slices, old and new. Where that cannot give the answer (a MAX has lost its largest value), the
tuples of this window are asked after all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from eddyline.algebra.expression import Aggregate
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import WindowAggregation, WindowProject, WindowSelect, WindowSort
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.sharing import NUMBER, QUERY, MemberWindow
from eddyline.algebra.stream import DStream, IStream, RStream
from eddyline.algebra.types import BIGINT
from eddyline.log.segment import DIFF, TICK
from eddyline.spark.evaluate.batch import Batch, KeptSlices, columns_of
from eddyline.spark.evaluate.frames import Frame, few, grouped
from eddyline.spark.evaluate.relational import in_every_window, names_in
from eddyline.spark.evaluate.slices import SLICE, Sliced, chained, keys_of, slice_start, sliced_or_reason
from eddyline.spark.evaluate.timed import assign, grid_of, needed, window_list
from eddyline.spark.evaluate.tuples import apply_chain, log_of
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.literal import back_quoted, spark_type
from eddyline.spark.signed import ALWAYS, Signed, signed_or_reason
from eddyline.spark.spans import HIGH, LOW, Spans
from eddyline.spark.stages import SLICES, Stage

#: how many tuples a group has; the names of columns tell how they are added up (`log/adding.py`)
_COUNT = "sum_n"


@dataclass(frozen=True)
class Correctable:
    """An aggregation whose windows can be put together from kept slices."""

    node: WindowAggregation
    sliced: Sliced
    aggregates: tuple[Signed, ...]

    @property
    def keys(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.node.keys))]

    @property
    def parts(self) -> list[list[str]]:
        """The names of the parts of each aggregate."""
        return [
            [f"{part.merge}{a}_{i}" for i, part in enumerate(signed.parts)] for a, signed in enumerate(self.aggregates)
        ]

    @property
    def columns(self) -> tuple[str, ...]:
        """What the log of slices has for each slice and group."""
        return (*self.keys, _COUNT, *(name for names in self.parts for name in names))

    @property
    def schema(self) -> Schema:
        types = [
            *(key.expr.type for key in self.node.keys),
            BIGINT,
            *(part.type for signed in self.aggregates for part in signed.parts),
        ]
        return Schema(tuple(Field(name, type_) for name, type_ in zip(self.columns, types, strict=True)))


def correctable_or_reason(plan: Operator) -> Correctable | str:
    """How the windows of a stage can be corrected without their tuples, or why they cannot."""
    while isinstance(plan, RStream | IStream | DStream | WindowSort | WindowProject | WindowSelect):
        plan = plan.input
    if not isinstance(plan, WindowAggregation):
        return "it is not an aggregation over one stream"
    sliced = sliced_or_reason(plan, whole=True)
    if isinstance(sliced, str):
        return sliced
    if isinstance(sliced.leaf, MemberWindow):
        return "the members of its class have windows of their own"
    found = []
    names = names_in(plan.input.schema)
    for column in plan.aggregates:
        assert isinstance(column.expr, Aggregate)
        signed = signed_or_reason(column.expr, names)
        if isinstance(signed, str):
            return signed
        found.append(signed)
    return Correctable(plan, sliced, tuple(found))


def with_slices(stages: list[Stage]) -> list[Stage]:
    """The stages of a query, with one more that keeps the slices of the last one if that can be corrected so."""
    *others, last = stages
    found = correctable_or_reason(last.plan)
    if isinstance(found, str):
        return stages
    return [*others, Stage(slices_of(last.name), SLICES, found.node, found.columns, found.schema), last]


def slices_of(query: str) -> str:
    """The name of the log of slices beside that of a query."""
    return f"{query}/{SLICES}"


def changes_of_slices(plan: Correctable, batch: Batch) -> Frame | None:
    """What the batch changes in its slices: `_tick` (of the slice), `_diff`, c0, …; None if nothing can change."""
    assert batch.slices is not None
    if not log_of(plan.sliced.leaf.input, batch).fresh:
        return None
    frame = _changed(plan, batch, Spans.of([(batch.slices.first, HIGH)]))
    named = [f"{name} AS c{i}" for i, name in enumerate(plan.columns)]
    return frame.selectExpr(f"{SLICE} AS {TICK}", f"1 AS {DIFF}", *named)


def _changed(plan: Correctable, batch: Batch, ticks: Spans) -> Frame:
    """What the batch changes in the slices of some ticks: the slice, keys and parts."""
    leaf = plan.sliced.leaf
    log = log_of(leaf.input, batch)
    fresh = [segment for segment in log.fresh if ticks.meets(*segment.tick)]
    rows = batch.read(log, fresh).where(f"{DIFF} <> 0 AND {ticks.condition(TICK)}")
    frame = chained(plan.sliced, apply_chain(leaf.input, rows, batch, (DIFF,)), batch, (DIFF,))
    start = slice_start(grid_of(leaf, batch))
    inputs = columns_of(len(plan.node.input.schema))
    keyed = frame.selectExpr(f"{start} AS {SLICE}", DIFF, *keys_of(plan.node), *inputs)
    made = [part.made for signed in plan.aggregates for part in signed.parts]
    names = [name for names in plan.parts for name in names]
    return grouped(
        keyed,
        [SLICE, *plan.keys],
        [f"CAST(sum({DIFF}) AS BIGINT) AS {_COUNT}", *(f"{m} AS {n}" for m, n in zip(made, names, strict=True))],
    )


def _merges(plan: Correctable) -> list[str]:
    merged = [f"CAST(sum({_COUNT}) AS BIGINT) AS {_COUNT}"]
    for signed, names in zip(plan.aggregates, plan.parts, strict=True):
        merged += [f"{part.merged(name)} AS {name}" for part, name in zip(signed.parts, names, strict=True)]
    return merged


def windows_of_slices(
    plan: Correctable, kept: KeptSlices, batch: Batch, asked: Spans, from_tuples: Callable[[Batch, Spans], Windows]
) -> Windows:
    """The windows at some ticks, those of which all slices are known put together from them."""
    grid = grid_of(plan.sliced.leaf, batch)
    known = asked.within(kept.first - grid.left if kept.first > LOW else LOW, HIGH)
    if not known:
        return from_tuples(batch, asked)
    ticks = needed(grid, known)
    old = _read(plan, kept, batch, ticks)
    slices = grouped(
        old.unionAll(_changed(plan, batch, ticks).select(*old.columns)), [SLICE, *plan.keys], _merges(plan)
    )
    merged = grouped(assign(slices, grid, known, SLICE), [T, *plan.keys], _merges(plan))
    if plan.node.keys and not plan.node.members:
        merged = _standing(plan, merged.where(f"{_COUNT} > 0"), batch)
    else:  # an empty window has a row too
        every = in_every_window(plan.node, window_list(grid, known, batch), batch, "k")
        merged = every.join(merged, [T, *plan.keys], "left")
    rows = merged.selectExpr(T, *(f"k{i} AS c{i}" for i in range(len(plan.keys))), *_finals(plan))
    doubt = _doubt(plan)
    if doubt is not None:
        doubted = merged.where(doubt).select(T).distinct()
        if batch.doubts is not None:
            batch.doubts.append(doubted)
    if doubt is not None and batch.doubts is None:
        rows = rows.join(doubted, [T], "left_anti")
        seldom = replace(batch, on_read=lambda rows: None)  # as a rule nothing is in doubt, and then nothing is read
        asked_again = from_tuples(seldom, known).rows.join(doubted, [T], "left_semi")
        rows = rows.unionAll(asked_again.select(*rows.columns))
    before = asked.within(LOW, known.low - 1)
    if before:
        rows = rows.unionAll(from_tuples(batch, before).rows.select(*rows.columns))
    width = len(plan.node.schema)
    return Windows(rows, window_list(grid, asked, batch), (T,), width, (grid.first, grid.step))


def _standing(plan: Correctable, merged: Frame, batch: Batch) -> Frame:
    """Without members of the class who have left: their slices may still be there."""
    if batch.members is None:
        return merged
    member = next(f"k{i}" for i, key in enumerate(plan.node.keys) if key.name == NUMBER)
    return merged.join(
        few(batch.members.everyone(batch.frames).selectExpr(f"{QUERY} AS {member}")), [member], "left_semi"
    )


def _finals(plan: Correctable) -> list[str]:
    finals = [signed.final(names) for signed, names in zip(plan.aggregates, plan.parts, strict=True)]
    return [f"{final} AS c{i}" for i, final in enumerate(finals, len(plan.keys))]


def _doubt(plan: Correctable) -> str | None:
    """When the tuples have to be asked; None: never."""
    sure = [signed.sure(names) for signed, names in zip(plan.aggregates, plan.parts, strict=True)]
    doubts = [f"NOT {text}" for text in dict.fromkeys(sure) if text != ALWAYS]
    return " OR ".join(doubts) or None


def _read(plan: Correctable, kept: KeptSlices, batch: Batch, ticks: Spans) -> Frame:
    segments = [segment for segment in kept.segments if ticks.meets(*segment.tick)]
    own = {name: spark_type(f.type) for name, f in zip(kept.columns, kept.schema.fields, strict=True)}
    batch.on_read(sum(segment.rows for segment in segments))
    columns = [f"{TICK} AS {SLICE}", *(back_quoted(name) for name in plan.columns)]
    frame = batch.frames.read([segment.path for segment in segments], {TICK: "BIGINT", **own}, [TICK, *columns])
    return frame.where(ticks.condition(TICK)).drop(TICK)
