"""Joins that are corrected by differences: what revised tuples change in windows that were answered before.

From the windows to the answer such a plan is linear: joins multiply weights, selections and projections keep them. So
the pairs that come and go are those of the tuples that came and went (`joining.changed_lives`), and no other pair is
made again. Nothing is compared with what was said: that is read only to find what a row that goes was called there.
"""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.node import Operator
from eddyline.algebra.relational import (
    Instants,
    RelationChanges,
    WindowAlias,
    WindowProject,
    WindowSelect,
    WindowSort,
)
from eddyline.algebra.sharing import WindowMatch
from eddyline.algebra.stream import RStream
from eddyline.log.segment import DIFF, TICK
from eddyline.spark.evaluate import relational
from eddyline.spark.evaluate.batch import Batch, columns_of
from eddyline.spark.evaluate.frames import Frame, few, grouped, joined
from eddyline.spark.evaluate.joining import changed_life_of, changed_lives, expanded, known_from, placed
from eddyline.spark.evaluate.lives import FROM, LIFE, UNTIL, WEIGHT
from eddyline.spark.evaluate.matching import matched
from eddyline.spark.evaluate.selecting import selected
from eddyline.spark.evaluate.windows import T
from eddyline.spark.join_inputs import JoinInputs, JoinNode
from eddyline.spark.spans import NOTHING, Spans

#: how many more of a row there are than before
MORE = "_n"


@dataclass(frozen=True)
class Changed:
    """Windows whose changes are told by differences: where they are, and the rows of which there are more or fewer.

    Each row (`_t`, c0, …, `_n`) is there once; None if nothing can have changed.
    """

    at: Spans = NOTHING
    rows: Frame | None = None


def is_linear(plan: Operator, join: JoinInputs) -> bool:
    """Whether there is nothing between a join and the answer but what looks at each row by itself."""
    if not isinstance(plan, RStream | RelationChanges):
        return False
    (plan,) = plan.inputs
    while plan is not join.node:
        if isinstance(plan, WindowSort) and (plan.limit is not None or plan.offset):
            return False
        if not isinstance(plan, WindowSelect | WindowProject | WindowAlias | WindowMatch | WindowSort | Instants):
            return False
        if join.is_relation and _asks_for_time(plan):
            return False
        plan = plan.input
    return True


def _asks_for_time(plan: Operator) -> bool:
    if isinstance(plan, WindowProject):
        return relational.uses_window_time(*plan.columns)
    return isinstance(plan, WindowSelect) and relational.uses_window_time(plan.predicate)  # type: ignore[arg-type]


def where_told(node: JoinNode, batch: Batch) -> Spans:
    """The ticks of windows that were answered, and whose changes the inputs of a join can tell.

    What was due before the query, or one of its class, was created may not have been answered. What states do not know
    comes from tuples. At its first tick a relation has all that lives then, and what goes at a tick must be known at
    the one before.
    """
    known = max(batch.start, known_from(expanded(node, batch), batch))
    over = batch.over if batch.members is None else max(batch.over, batch.members.begin)
    first = max(over + 1, known + node.of.is_relation)
    return Spans.of([(first, batch.before.closed)])


def touched_by(node: JoinNode, batch: Batch) -> Spans:
    """Where in these something can have changed."""
    return changed_life_of(node, node.tree.mask, batch) & where_told(node, batch)


def changed_windows(plan: Operator, batch: Batch, again: Spans) -> Changed:
    """What changes in windows at some ticks: of those that differences can tell."""
    node = batch.differences
    at = NOTHING if node is None else again & where_told(node, batch)
    if node is None or not at:
        return Changed()
    lives = changed_lives(node, batch, at)
    if lives is None:
        return Changed(at)
    columns = [WEIGHT, *columns_of(len(node.of.schema))]
    rows, _, _ = placed(node, batch, lives, at, at, columns)
    return Changed(at, _netted(_above(plan, node, rows, [T, WEIGHT], batch), len(plan.schema)))


def changed_relation(plan: Operator, batch: Batch, again: Spans) -> Changed:
    """The same for a relation of CQL: what changes in what comes and goes at each tick, or in what is there for
    RSTREAM."""
    node = batch.differences
    at = NOTHING if node is None else again & where_told(node, batch)
    if node is None or not at:
        return Changed()
    lives = changed_lives(node, batch, at.grown(before=1))  # what goes at a tick has lived before it
    if lives is None:
        return Changed(at)
    rows = _above(plan.inputs[0], node, lives, [*LIFE, WEIGHT], batch)
    columns = columns_of(len(plan.schema))
    if isinstance(plan, RStream):
        life = f"explode(sequence(greatest({FROM}, {at.low}L), least({UNTIL}, {at.high}L), 1L)) AS {T}"
        rows = rows.where(f"{FROM} <= {at.high} AND {UNTIL} >= {at.low}").selectExpr(life, WEIGHT, *columns)
    else:
        ends = f"struct({FROM} AS t, {WEIGHT} AS w), struct({UNTIL} + 1 AS t, -{WEIGHT} AS w)"
        edges = rows.selectExpr(f"explode(array({ends})) AS _edge", *columns)
        rows = edges.selectExpr(f"_edge.t AS {T}", f"_edge.w AS {WEIGHT}", *columns)
    return Changed(at, _netted(rows.where(at.condition(T)), len(columns)))


def _above(plan: Operator, node: JoinNode, rows: Frame, head: list[str], batch: Batch) -> Frame:
    """What selections and projections over a join make of its rows; the columns of the head stay."""
    if plan is node.of.node:
        return rows.select(*head, *columns_of(len(plan.schema)))
    (below,) = plan.inputs
    made, names = _above(below, node, rows, head, batch), relational.names_in(below.schema)
    if isinstance(plan, WindowSelect):
        return selected(made, plan.predicate, names)
    if isinstance(plan, WindowProject):
        return made.selectExpr(*head, *relational.projected(plan.columns, names))
    if isinstance(plan, WindowMatch):
        assert batch.members is not None
        return matched(plan, made, head, names, batch.members, batch.frames)
    return made


def _netted(rows: Frame, width: int) -> Frame:
    sums = [f"CAST(sum({WEIGHT}) AS BIGINT) AS {MORE}"]
    return grouped(rows, [T, *columns_of(width)], sums).where(f"{MORE} <> 0")


def nothing_like(rows: Frame, width: int) -> Frame:
    """No row, in place of windows that are answered from their tuples: `_t`, c0, …"""
    return rows.where("false").select(T, *columns_of(width))


# -- beside what was said ---------------------------------------------------------------------------------------------


def said_of_changed(said: Frame, changed: Changed, again: Spans, width: int) -> Frame:
    """What was said of windows: of those whose changes are told by differences only the rows that have changed."""
    assert changed.rows is not None
    here = said if not again - changed.at else said.where(changed.at.condition(TICK))
    columns = columns_of(width)
    # each of them is there once, so nothing is found twice
    wanted = changed.rows.selectExpr(f"{T} AS _wt", *(f"{name} AS _w{name}" for name in columns))
    alike = " AND ".join([f"{TICK} = _wt", *(f"{name} <=> _w{name}" for name in columns)])
    found = joined(here, few(wanted), alike).select(*said.columns)
    return found if here is said else found.unionAll(said.where(f"NOT {changed.at.condition(TICK)}"))


def rows_after(changed: Changed, said: Frame | None, width: int) -> Frame:
    """The rows that should be said now, of those that have changed: `_t`, c0, …

    `said` are those that were said of them, as weights with their indexes.
    """
    assert changed.rows is not None
    columns = columns_of(width)
    counted = changed.rows.select(T, MORE, *columns)
    if said is not None:
        here = said.where(changed.at.condition(TICK))
        counted = counted.unionAll(here.selectExpr(f"{TICK} AS {T}", f"CAST({DIFF} AS BIGINT) AS {MORE}", *columns))
    count = grouped(counted, [T, *columns], [f"CAST(sum({MORE}) AS BIGINT) AS {MORE}"]).where(f"{MORE} > 0")
    return count.selectExpr(T, *columns, f"explode(sequence(1L, {MORE})) AS _copy").drop("_copy")
