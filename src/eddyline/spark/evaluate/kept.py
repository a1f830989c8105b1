"""Aggregates from slices that were kept: a correction costs as much as its slices, however many tuples they have.

Each batch adds to a log what its tuples change in the parts of their slices, those that go with the weight -1. A window
is then put together from slices, old and new. Where that cannot give the answer (a MAX has lost its largest value), it
says so, is asked again, and takes the tuples of this window.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import cast

from eddyline.algebra.expression import Aggregate, TypedExpr
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import (
    Instants,
    RelationChanges,
    WindowAggregation,
    WindowAlias,
    WindowCrossProduct,
    WindowDistinct,
    WindowJoin,
    WindowProject,
    WindowSelect,
    WindowSort,
)
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.sharing import NUMBER, QUERY, MemberWindow
from eddyline.algebra.stream import DStream, IStream, RStream
from eddyline.algebra.types import BIGINT
from eddyline.algebra.window import LatestRowsWindow, LoopWindow, RangeWindow, RowWindow
from eddyline.log.remade import Remade, later_than
from eddyline.log.segment import DIFF, INDEX, TICK
from eddyline.spark.evaluate.batch import Batch, KeptSlices, columns_of
from eddyline.spark.evaluate.frames import Frame, few, grouped
from eddyline.spark.evaluate.placing import Placing, is_placed, placing
from eddyline.spark.evaluate.relational import in_every_window, names_in
from eddyline.spark.evaluate.slices import SLICE, Below, below_or_reason, chained, keys_of
from eddyline.spark.evaluate.tuples import NET, apply_chain, log_of
from eddyline.spark.evaluate.windows import Windows
from eddyline.spark.literal import back_quoted, spark_type
from eddyline.spark.parts import ALWAYS, Centred, Signed
from eddyline.spark.signed import COUNT, VALUE, signed_or_reason
from eddyline.spark.spans import EVERYTHING, HIGH, NOTHING, Spans
from eddyline.spark.stages import SLICES, Stage

#: what is asked of distinct values, by aggregate
_OF_VALUES = "of_values"
_COLUMN = re.compile(r"\bc\d+\b")
#: where windows are that slices cannot answer
DOUBTED = "_doubted"


@dataclass(frozen=True)
class Correctable:
    """An aggregation whose windows can be put together from kept slices.

    The names of the columns tell how they are added up (`log/adding.py`).
    """

    node: WindowAggregation
    sliced: Below
    aggregates: tuple[Signed, ...]
    value: TypedExpr | None = None  # of which there is a row for each, if something is asked of distinct ones

    @property
    def keys(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.node.keys))]

    @property
    def apart(self) -> list[str]:
        """The columns that tell rows of a slice apart."""
        return self.keys if self.value is None else [*self.keys, VALUE]

    @property
    def by(self) -> list[str]:
        """The text of that value."""
        return list(dict.fromkeys(signed.by for signed in self.aggregates if signed.by))

    @property
    def over_values(self) -> list[tuple[int, Signed]]:
        return [(a, signed) for a, signed in enumerate(self.aggregates) if signed.by]

    @property
    def centred(self) -> list[Centred]:
        return [signed.centred for signed in self.aggregates if signed.centred is not None]

    @property
    def used(self) -> list[str]:
        """The columns that aggregates look at; there may be others among them."""
        texts = [part.made for signed in self.aggregates for part in signed.parts]
        texts += [number for centred in self.centred for number in centred.numbers]
        named = {name for text in texts for name in _COLUMN.findall(text)}
        return [name for name in columns_of(len(self.node.input.schema)) if name in named]

    @property
    def tells_versions_apart(self) -> bool:
        """Whether rows can be grouped by all that aggregates look at: a MAP equals nothing."""
        types = dict(zip(columns_of(len(self.node.input.schema)), self.node.input.schema.fields, strict=True))
        return not any("MAP" in str(types[name].type) for name in self.used)

    @property
    def parts(self) -> list[list[str]]:
        """The names of the parts of each aggregate."""
        return [
            [part.name or f"{part.merge}{a}_{i}" for i, part in enumerate(signed.parts)]
            for a, signed in enumerate(self.aggregates)
        ]

    @property
    def columns(self) -> tuple[str, ...]:
        """What the log of slices has for each slice and group."""
        return (*self.apart, COUNT, *(name for names in self.parts for name in names))

    @property
    def schema(self) -> Schema:
        types = [
            *(key.expr.type for key in self.node.keys),
            *([] if self.value is None else [self.value.type]),
            BIGINT,
            *(part.type for signed in self.aggregates for part in signed.parts),
        ]
        return Schema(tuple(Field(name, type_) for name, type_ in zip(self.columns, types, strict=True)))


def correctable_or_reason(plan: Operator) -> Correctable | str:
    """How the windows of a stage can be corrected without their tuples, or why they cannot."""
    while isinstance(plan, _ABOVE) or _is_outer(plan):
        (plan,) = plan.inputs
    if not isinstance(plan, WindowAggregation):
        return _reason(plan)
    below = below_or_reason(plan)
    if isinstance(below, str):
        return below
    if not is_placed(below.leaf):
        return _reason(below.leaf)
    found = []
    names = names_in(plan.input.schema)
    values: dict[str, TypedExpr] = {}
    for place, column in enumerate(plan.aggregates):
        assert isinstance(column.expr, Aggregate)
        signed = signed_or_reason(column.expr, names, place)
        if isinstance(signed, str):
            return signed
        if signed.by:
            values[signed.by] = cast(TypedExpr, column.expr.arguments[0])
        found.append(signed)
    if len(values) > 1:
        return "the DISTINCT values of several expressions need all of its tuples"
    return Correctable(plan, below, tuple(found), next(iter(values.values()), None))


#: what is computed from windows as they are, whatever these are put together from
_ABOVE = (
    RStream,
    IStream,
    DStream,
    RelationChanges,
    Instants,
    *(WindowSort, WindowProject, WindowSelect, WindowAlias, WindowDistinct),
)


def _is_outer(plan: Operator) -> bool:
    """Whether a plan aggregates what another aggregation answers."""
    if not isinstance(plan, WindowAggregation):
        return False
    below: Operator = plan.input
    while isinstance(below, _ABOVE):
        (below,) = below.inputs
    return isinstance(below, WindowAggregation)


def _reason(plan: Operator) -> str:
    """Why there is nothing that slices could keep of a plan."""
    for operator in plan.walk():
        for kinds, reason in _REASONS:
            if isinstance(operator, kinds):
                return reason
    return "it is not an aggregation over one stream"


_REASONS: tuple[tuple[tuple[type[Operator], ...], str], ...] = (
    (
        (RelationChanges, Instants, RangeWindow),
        "a relation of CQL has an answer at every tick where a tuple enters or leaves",
    ),
    ((RowWindow, LatestRowsWindow), "a tuple that comes or goes moves the windows of rows behind it"),
    ((WindowJoin, WindowCrossProduct), "which pairs a joined tuple is in, only the tuples themselves tell"),
    ((LoopWindow,), "the windows of its loop begin and end anywhere"),
)


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
    """What the batch changes in its slices: `_tick` (of the slice), `_diff`, c0, …; None if nothing can change.

    Slices that are made anew are those of all tuples there are.
    """
    assert batch.slices is not None
    log = log_of(plan.sliced.leaf.inputs[0], batch)
    if not log.fresh and not batch.remade:
        return None
    frame = _changed(plan, batch, Spans.of([(batch.slices.first, HIGH)]) - batch.remade)
    if batch.remade:
        whole = replace(batch, logs={**batch.logs, log.name: replace(log, fresh=log.segments)})
        frame = frame.unionAll(_changed(plan, whole, batch.remade).select(*frame.columns))
    named = [f"{name} AS c{i}" for i, name in enumerate(plan.columns)]
    return frame.selectExpr(f"{SLICE} AS {TICK}", f"1 AS {DIFF}", *named)


def _changed(plan: Correctable, batch: Batch, ticks: Spans) -> Frame:
    """What the batch changes in the slices of some ticks: the slice, keys and parts."""
    leaf = plan.sliced.leaf
    log = log_of(leaf.inputs[0], batch)
    fresh = [segment for segment in log.fresh if ticks.meets(*segment.tick)]
    rows = batch.read(log, fresh).where(f"{DIFF} <> 0 AND {ticks.condition(TICK)}")
    if batch.indexes != EVERYTHING:  # it is a piece of the past
        rows = rows.where(batch.indexes.condition(INDEX))
    frame = chained(plan.sliced, apply_chain(leaf.inputs[0], rows, batch, (DIFF,)), batch, (INDEX, DIFF))
    start = placing(leaf, batch).start
    keys = [*keys_of(plan.node), *(f"{text} AS {VALUE}" for text in plan.by)]
    numbers = [number for centred in plan.centred for number in centred.numbers]
    group = [SLICE, *plan.apart]
    if any(segment.minus for segment in fresh) and plan.tells_versions_apart:
        versions = frame.selectExpr(INDEX, f"{start} AS {SLICE}", DIFF, *keys, *plan.used)
        keyed = _net(versions, [INDEX, *group, *plan.used]).selectExpr("*", *numbers)
    else:
        keyed = frame.selectExpr(f"{start} AS {SLICE}", DIFF, *keys, *plan.used, *numbers)
    for centred in plan.centred:
        keyed = keyed.selectExpr("*", *centred.around_tuples(", ".join(group)))
    made = [part.made for signed in plan.aggregates for part in signed.parts]
    names = [name for names in plan.parts for name in names]
    return grouped(
        keyed,
        group,
        [f"CAST(sum({DIFF}) AS BIGINT) AS {COUNT}", *(f"{m} AS {n}" for m, n in zip(made, names, strict=True))],
    )


def slices_in_doubt(plan: Correctable, batch: Batch, doubted: Spans) -> Spans:
    """The ticks of slices that are made anew because windows could not be answered from them; none if they cannot be.

    Members with windows of their own may have had longer slices once, which begin before a window and end in it.
    """
    assert batch.slices is not None
    if isinstance(plan.sliced.leaf, MemberWindow) or not plan.tells_versions_apart:
        return NOTHING
    return placing(plan.sliced.leaf, batch).ticks(doubted).within(batch.slices.first, HIGH)


def _net(rows: Frame, version: list[str]) -> Frame:
    """Without tuples that come and go alike, as far as the aggregates can see: a replacement may leave what they look
    at as it is, and one that goes in the batch in which it came has never been there."""
    revised = rows.where(f"{DIFF} < 0").select(INDEX).distinct()
    untouched = rows.join(revised, [INDEX], "left_anti").select(*version, DIFF)
    weights = grouped(rows.join(revised, [INDEX], "left_semi"), version, [NET]).where(f"{DIFF} <> 0")
    return untouched.unionAll(weights.select(*version, DIFF))


def _together(plan: Correctable, rows: Frame, group: Sequence[str], more: Sequence[str] = ()) -> Frame:
    """Rows of the state as one row for each group."""
    merged = [f"CAST(sum({COUNT}) AS BIGINT) AS {COUNT}"]
    for signed, names in zip(plan.aggregates, plan.parts, strict=True):
        merged += [f"{part.merged(name)} AS {name}" for part, name in zip(signed.parts, names, strict=True)]
    for centred in plan.centred:
        rows = rows.selectExpr("*", *centred.around_rows(", ".join(group)))
    return grouped(rows, group, [*merged, *more])


def windows_of_slices(
    plan: Correctable, kept: KeptSlices, batch: Batch, asked: Spans, from_tuples: Callable[[Batch, Spans], Windows]
) -> Windows:
    """The windows at some places, those of which all slices are known put together from them."""
    place = placing(plan.sliced.leaf, batch)
    whole, before = place.known(asked, kept.first)
    known, others = whole - batch.doubted, before | (whole & batch.doubted)
    ticks = place.ticks(known) if known else NOTHING
    batch.sliced.append(bool(ticks))
    if not ticks:
        return from_tuples(batch, asked)
    merged = _merged(plan, place, _slices(plan, kept, batch, ticks), known)
    if plan.node.keys and not plan.node.members:
        merged = _standing(plan, merged.where(f"{COUNT} > 0"), batch)
    else:  # an empty window has a row too
        every = in_every_window(plan.node, place.listed(known), batch, "k")
        merged = every.join(merged, [*place.head, *plan.keys], "left")
    rows = merged.selectExpr(*place.head, *(f"k{i} AS c{i}" for i in range(len(plan.keys))), *_finals(plan))
    doubt = _doubt(plan)
    if doubt is not None and batch.doubts is not None:
        batch.doubts.append(merged.where(doubt).selectExpr(f"{place.keys[0]} AS {DOUBTED}").distinct())
    if others:
        rows = rows.unionAll(from_tuples(batch, others).rows.select(*rows.columns))
    return Windows(rows, place.listed(asked), place.keys, len(plan.node.schema), place.grid)


def _slices(plan: Correctable, kept: KeptSlices, batch: Batch, ticks: Spans) -> Frame:
    """The slices of some ticks as they stand: those of earlier batches, and what this one changes."""
    old = _read(plan, kept, batch, ticks)
    both = old.unionAll(_changed(plan, batch, ticks).select(*old.columns))
    return _together(plan, both, [SLICE, *plan.apart])


def _merged(plan: Correctable, place: Placing, slices: Frame, places: Spans) -> Frame:
    """Windows put together from slices, a row for each group."""
    merged = _together(plan, place.assigned(slices, plan.keys, places), [*place.head, *plan.apart])
    if plan.value is None:
        return merged
    of_values = [f"{signed.of_values} AS {_OF_VALUES}{a}" for a, signed in plan.over_values]
    return _together(plan, merged, [*place.head, *plan.keys], of_values)


def _standing(plan: Correctable, merged: Frame, batch: Batch) -> Frame:
    """Without members of the class who have left: their slices may still be there."""
    if batch.members is None:
        return merged
    member = next(f"k{i}" for i, key in enumerate(plan.node.keys) if key.name == NUMBER)
    return merged.join(
        few(batch.members.everyone(batch.frames).selectExpr(f"{QUERY} AS {member}")), [member], "left_semi"
    )


def _finals(plan: Correctable) -> list[str]:
    over_values = {a: [f"{_OF_VALUES}{a}"] for a, _ in plan.over_values}
    columns = [over_values.get(a, names) for a, names in enumerate(plan.parts)]
    finals = [signed.final(names) for signed, names in zip(plan.aggregates, columns, strict=True)]
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
    # what was made anew since a segment was written is not taken from it
    alike: dict[Remade, list[str]] = {}
    for segment in segments:
        alike.setdefault(later_than(segment, kept.remade), []).append(segment.path)
    frames = []
    for remade, paths in (alike or {(): []}).items():
        wanted = ticks - Spans.of((low, high) for low, high, _ in remade)
        frame = batch.frames.read(paths, {TICK: "BIGINT", **own}, [TICK, *columns])
        frames.append(frame.where(wanted.condition(TICK)).drop(TICK))
    return reduce(lambda one, other: one.unionAll(other), frames)
