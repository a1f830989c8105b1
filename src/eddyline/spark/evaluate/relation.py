"""CQL relations as rows with lifetimes: each row stands from the tick `_from` to the tick `_until`, both inclusive.

A relation is asked for over a few stretches of ticks; lifetimes are cut to them. Selection, projection and inner joins
work on lifetimes directly (a joined row lives while both its parts do). Whatever must look at a whole relation (groups,
DISTINCT, LIMIT, outer joins) is computed at the ticks where something changes, and stands until the next of them. In a
query class each member has a relation of its own, which is looked at where that one changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from eddyline.algebra.node import Operator
from eddyline.algebra.relational import (
    Instants,
    WindowAggregation,
    WindowAlias,
    WindowCrossProduct,
    WindowDistinct,
    WindowJoin,
    WindowProject,
    WindowSelect,
    WindowSort,
)
from eddyline.algebra.sharing import NUMBER, QUERY, WindowMatch
from eddyline.algebra.tag_groups import WindowTagGroups
from eddyline.algebra.window import LatestRowsWindow, OneRow, RangeWindow, Scan
from eddyline.errors import InvalidAlgebra
from eddyline.log.segment import INDEX, TICK
from eddyline.spark.evaluate import relational
from eddyline.spark.evaluate.alike import net_of_alike
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.frames import Frame, few, grouped, joined
from eddyline.spark.evaluate.joining import cut_lives, known_from
from eddyline.spark.evaluate.lives import FROM, LIFE, UNTIL, range_lifetime
from eddyline.spark.evaluate.matching import matched
from eddyline.spark.evaluate.members import BEGIN
from eddyline.spark.evaluate.product import predicate_sql, product
from eddyline.spark.evaluate.selecting import selected
from eddyline.spark.evaluate.tables import scan_grid, scanned_rows
from eddyline.spark.evaluate.tag_groups import tag_groups
from eddyline.spark.evaluate.timed import window_list
from eddyline.spark.evaluate.tuples import log_of, tuples
from eddyline.spark.evaluate.windows import WHOSE, T, Windows
from eddyline.spark.expression import spark_sql
from eddyline.spark.join_inputs import JoinNode
from eddyline.spark.spans import EVERYTHING, HIGH, LOW, Spans

_NEXT = "_next"  # the tick of the next window


@dataclass(frozen=True)
class Asked:
    """The stretches of ticks over which a relation is wanted."""

    parts: Spans

    def clipped(self, frame: Frame) -> Frame:
        """Lifetimes cut to the stretches; what does not live in any of them is dropped."""
        if len(self.parts.parts) == 1:
            ((low, high),) = self.parts.parts
            others = [column for column in frame.columns if column not in LIFE]
            return frame.where(f"{FROM} <= {high} AND {UNTIL} >= {low} AND {FROM} <= {UNTIL}").selectExpr(
                f"greatest({FROM}, {low}L) AS {FROM}", f"least({UNTIL}, {high}L) AS {UNTIL}", *others
            )
        stretches = ", ".join(f"named_struct('a', {low}L, 'b', {high}L)" for low, high in self.parts)
        others = [column for column in frame.columns if column not in LIFE]
        return (
            frame.selectExpr("*", f"explode(array({stretches})) AS _part")
            .where(f"{FROM} <= _part.b AND {UNTIL} >= _part.a AND {FROM} <= {UNTIL}")
            .selectExpr(f"greatest({FROM}, _part.a) AS {FROM}", f"least({UNTIL}, _part.b) AS {UNTIL}", *others)
        )


def relation(node: Operator, batch: Batch, asked: Asked) -> Frame:
    """`_from`, `_until` and c0, c1, …"""
    if batch.join is not None and node is batch.join.of.node:
        return _by_tree(batch.join, batch, asked)
    if isinstance(node, RangeWindow):
        return asked.clipped(_range(node, batch, asked))
    if isinstance(node, LatestRowsWindow):
        return asked.clipped(_latest_rows(node, batch, asked))
    if isinstance(node, Scan):
        return asked.clipped(_scanned(node, batch, asked))
    if isinstance(node, OneRow):
        return asked.clipped(batch.frames.range(0, 1).selectExpr(f"{LOW}L AS {FROM}", f"{HIGH}L AS {UNTIL}"))
    if isinstance(node, WindowAlias | Instants):
        return relation(node.input, batch, asked)
    if isinstance(node, WindowSelect):
        below = relation(node.input, batch, asked)
        return selected(below, node.predicate, relational.names_in(node.input.schema))
    if isinstance(node, WindowProject):
        below = relation(node.input, batch, asked)
        return below.selectExpr(*LIFE, *relational.projected(node.columns, relational.names_in(node.input.schema)))
    if isinstance(node, WindowCrossProduct | WindowJoin):
        return _product(node, batch, asked)
    if isinstance(node, WindowMatch):
        assert batch.members is not None
        below, names = relation(node.input, batch, asked), relational.names_in(node.input.schema)
        return matched(node, below, LIFE, names, batch.members, batch.frames)
    if isinstance(node, WindowAggregation):
        every = node.members or not node.keys  # then there is a row also where nothing is
        return _at_changes(
            [node.input], batch, asked, lambda windows: relational.aggregate(node, windows[0], batch), every
        )
    if isinstance(node, WindowDistinct):
        return _at_changes([node.input], batch, asked, lambda windows: relational.distinct(windows[0]))
    if isinstance(node, WindowTagGroups):
        return _at_changes([node.input], batch, asked, lambda windows: tag_groups(node, windows[0]))
    if isinstance(node, WindowSort):
        if node.limit is None and not node.offset:
            return relation(node.input, batch, asked)
        return _at_changes([node.input], batch, asked, lambda windows: relational.sort(node, windows[0]))
    raise InvalidAlgebra(f"a CQL relation cannot be computed through {type(node).__name__}")


def of_members(frame: Frame, batch: Batch, width: int) -> Frame:
    """The relations of the members of a class, whose numbers are the last column: each from its own beginning on."""
    if batch.members is None or batch.members.begin <= batch.start:
        return frame
    columns = [f"c{i}" for i in range(width)]
    numbered = frame.selectExpr(*LIFE, *columns, f"{columns[-1]} AS {QUERY}")
    begun = numbered.join(batch.members.begins(batch.frames), QUERY).where(f"{UNTIL} >= {BEGIN}")
    return begun.selectExpr(f"greatest({FROM}, {BEGIN}) AS {FROM}", UNTIL, *columns)


# -- leaves -----------------------------------------------------------------------------------------------------------


def _range(node: RangeWindow, batch: Batch, asked: Asked) -> Frame:
    slide = node.slide or 1
    back = HIGH if node.range is None else node.range + slide
    frame = tuples(node.input, batch, asked.parts.grown(before=back))
    enters, last = range_lifetime(node)
    width = len(node.schema)
    return frame.selectExpr(f"{enters} AS {FROM}", f"{last} AS {UNTIL}", *(f"c{i}" for i in range(width)))


def _latest_rows(node: LatestRowsWindow, batch: Batch, asked: Asked) -> Frame:
    """A tuple stands until `rows` later ones of its partition have come."""
    width = len(node.schema)
    ticks = Spans.of([(_reach_back(node, batch, asked.parts.low), asked.parts.high)])
    frame = tuples(node.input, batch, ticks)
    names = relational.names_in(node.input.schema)
    keys = ", ".join(spark_sql(column, names) for column in node.partition) or "1"
    pushed_out = f"lead({TICK}, {node.rows}) OVER (PARTITION BY {keys} ORDER BY {TICK}, {INDEX})"
    return frame.selectExpr(
        f"{TICK} AS {FROM}", f"coalesce({pushed_out} - 1, {HIGH}L) AS {UNTIL}", *(f"c{i}" for i in range(width))
    )


def _reach_back(node: LatestRowsWindow, batch: Batch, tick: int) -> int:
    """A tick from which on there are surely `rows` tuples at or before the given one, if there ever were."""
    log = log_of(node.input, batch)
    from eddyline.algebra.stream import StreamSelect

    plan: Operator = node.input
    while plan.inputs:
        if isinstance(plan, StreamSelect):
            return LOW
        plan = plan.inputs[0]
    if node.partition:
        return LOW
    found = 0
    for segment in sorted((s for s in log.segments if s.tick[1] <= tick), key=lambda s: s.tick, reverse=True):
        found += max(0, segment.rows - segment.tags - 2 * segment.minus)
        if found >= node.rows and not any(s.minus for s in log.segments):
            return segment.tick[0]
    return LOW


def _scanned(node: Scan, batch: Batch, asked: Asked) -> Frame:
    width = len(node.schema)
    columns = [f"c{i}" for i in range(width)]
    if node.interval is None:
        (snapshot,) = batch.snapshots(node.table, None)
        return snapshot.rows(batch.frames).selectExpr(f"{LOW}L AS {FROM}", f"{HIGH}L AS {UNTIL}", *columns)
    ticks = asked.parts.grown(before=node.interval)
    listed = window_list(scan_grid(node, batch), ticks, batch)
    rows = scanned_rows(node, batch, ticks, listed)
    return rows.selectExpr(f"{T} AS {FROM}", f"{T} + {node.interval - 1} AS {UNTIL}", *columns)


# -- joins ------------------------------------------------------------------------------------------------------------


def _product(node: WindowCrossProduct | WindowJoin, batch: Batch, asked: Asked) -> Frame:
    if isinstance(node, WindowJoin) and node.kind != "INNER":
        return _at_changes(
            [node.left, node.right], batch, asked, lambda windows: product(node, windows[0], windows[1], EVERYTHING)
        )
    first, second = len(node.left.schema), len(node.right.schema)
    left = relation(node.left, batch, asked).selectExpr(
        f"{FROM} AS _lf", f"{UNTIL} AS _lu", *(f"c{i}" for i in range(first))
    )
    right = relation(node.right, batch, asked).selectExpr(
        f"{FROM} AS _rf", f"{UNTIL} AS _ru", *(f"c{i} AS c{i + first}" for i in range(second))
    )
    conditions = ["_lf <= _ru", "_rf <= _lu"]
    if isinstance(node, WindowJoin):
        conditions.append(predicate_sql(node.predicate, node.schema, []))
    made = joined(left, right, " AND ".join(conditions))
    columns = [f"c{i}" for i in range(first + second)]
    return made.selectExpr(f"greatest(_lf, _rf) AS {FROM}", f"least(_lu, _ru) AS {UNTIL}", *columns)


def _by_tree(join: JoinNode, batch: Batch, asked: Asked) -> Frame:
    """A join whose tree has stored what some of its inputs give; what is older than that comes from tuples."""
    first = known_from(join, batch)
    known, before = asked.parts.within(first, HIGH), asked.parts.within(LOW, first - 1)
    from_tuples = replace(batch, join=None)
    if not known:
        return relation(join.of.node, from_tuples, asked)
    cut = Asked(known)
    rows = cut_lives(join, batch, known, lambda node, batch, life: relation(node, batch, Asked(life)), cut.clipped)
    if not before:
        return rows
    return rows.unionAll(relation(join.of.node, from_tuples, Asked(before)).select(*rows.columns))


# -- whole relations --------------------------------------------------------------------------------------------------


def _at_changes(
    inputs: Sequence[Operator],
    batch: Batch,
    asked: Asked,
    compute: Callable[[list[Windows]], Windows],
    every: bool = False,
) -> Frame:
    """Compute something at every tick where an input changes; its result stands until the next such tick.

    `every`: it has a result also where the input is empty.
    """
    frames = [relation(node, batch, asked) for node in inputs]
    names = inputs[0].schema.names
    whose = f"c{names.index(NUMBER)}" if NUMBER in names else None
    own = None if whose is None else _stops_of_members(frames[0], whose, batch, asked, every)
    stops = _stops(frames, batch, asked) if own is None else own
    made = compute(
        [_windows_at(frame, stops, len(node.schema), whose) for frame, node in zip(frames, inputs, strict=True)]
    )
    return made.rows.selectExpr(f"{T} AS {FROM}", f"{_NEXT} - 1 AS {UNTIL}", *made.columns)


def windows_at(frame: Frame, stops: Frame, width: int) -> Windows:
    """A relation as windows at some ticks."""
    made = _windows_at(frame, stops, width)
    return Windows(made.rows.drop(_NEXT), stops, (T,), width)


def _windows_at(frame: Frame, stops: Frame, width: int, whose: str | None = None) -> Windows:
    """Each window also knows the tick of the next one, if the stops do."""
    head = stops.columns
    condition = f"{T} BETWEEN {FROM} AND {UNTIL}"
    if whose is not None:
        condition = f"{whose} = {WHOSE} AND {condition}"
    made = joined(frame, few(stops), condition)
    return Windows(made.selectExpr(*head, *(f"c{i}" for i in range(width))), stops, tuple(head), width)


def _stops(frames: list[Frame], batch: Batch, asked: Asked) -> Frame:
    """The ticks at which something may change, `_t`, each with the next one or the end of its stretch, `_next`."""
    edges = ", ".join(f"{low}L, {high + 1}L" for low, high in asked.parts)
    ticks = batch.frames.range(0, 1).selectExpr(f"explode(array({edges})) AS {T}")
    for frame in frames:
        ticks = ticks.unionAll(frame.selectExpr(f"explode(array({FROM}, {UNTIL} + 1)) AS {T}"))
    following = f"lead({T}) OVER (ORDER BY {T}) AS {_NEXT}"
    return ticks.distinct().selectExpr(T, following).where(asked.parts.condition(T))


def _stops_of_members(frame: Frame, whose: str, batch: Batch, asked: Asked, every: bool) -> Frame:
    """The same for the relation of each member of a query class, with `_whose` it is; of `every` one, also if empty."""
    ticks = frame.selectExpr(f"{whose} AS {WHOSE}", f"explode(array({FROM}, {UNTIL} + 1)) AS {T}")
    if every:  # where a relation is empty, nothing but the edges of its stretches tells
        assert batch.members is not None
        edges = ", ".join(f"{low}L, {high + 1}L" for low, high in asked.parts)
        everyone = batch.members.everyone(batch.frames)
        ticks = ticks.unionAll(everyone.selectExpr(f"{QUERY} AS {WHOSE}", f"explode(array({edges})) AS {T}"))
    following = f"lead({T}) OVER (PARTITION BY {WHOSE} ORDER BY {T}) AS {_NEXT}"
    return ticks.distinct().selectExpr(WHOSE, T, following).where(asked.parts.condition(T))


# -- results ----------------------------------------------------------------------------------------------------------


def net_changes(frame: Frame, emitted: Spans, width: int, marks: str | None = None) -> Frame:
    """What enters (+n) and leaves (−n) at each of the ticks: `_t`, `_n` and the values.

    `marks` do not tell rows apart; those of what enters or leaves go with it.
    """
    columns = [f"c{i}" for i in range(width)]
    edges = f"explode(array(struct({FROM} AS t, 1 AS w), struct({UNTIL} + 1 AS t, -1 AS w))) AS _edge"
    both = frame.selectExpr(edges, *columns).selectExpr(f"_edge.t AS {T}", "_edge.w AS _w", *columns)
    wanted = both.where(emitted.condition(T))
    if marks is None:
        return grouped(wanted, [T, *columns], ["CAST(sum(_w) AS BIGINT) AS _n"]).where("_n <> 0")
    values = [column for column in columns if column != marks]
    return net_of_alike(wanted, [T, *values], marks).select(T, *columns, "_n")


def at_every_tick(frame: Frame, emitted: Spans, width: int) -> Frame:
    """The relation at each single tick: `_t` and the values."""
    columns = [f"c{i}" for i in range(width)]
    exploded = frame.selectExpr(f"explode(sequence({FROM}, {UNTIL}, 1L)) AS {T}", *columns)
    return exploded.where(emitted.condition(T))
