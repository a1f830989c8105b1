"""Operators on single windows, for all windows of a list at once: the window is one more column to group by."""

from __future__ import annotations

from eddyline.algebra.expression import Aggregate, Call, Named, columns_of
from eddyline.algebra.node import WINDOW
from eddyline.algebra.relational import SortKey, WindowAggregation, WindowProject, WindowSelect, WindowSort
from eddyline.algebra.schema import Schema
from eddyline.algebra.sharing import ASKS as MEMBER_ASKS
from eddyline.algebra.sharing import QUERY, MemberWindow, WindowMatch
from eddyline.algebra.window import TimeWindow
from eddyline.log.segment import TICK
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.batch import columns_of as numbered
from eddyline.spark.evaluate.frames import Frame, joined, sliced
from eddyline.spark.evaluate.matching import matched
from eddyline.spark.evaluate.members import ASKS
from eddyline.spark.evaluate.selecting import selected
from eddyline.spark.evaluate.timed import assign, assign_own, grid_of, needed, window_list
from eddyline.spark.evaluate.tuples import tuples
from eddyline.spark.evaluate.windows import WHOSE, T, Windows
from eddyline.spark.expression import Names, aggregate_sql, names_of, spark_sql
from eddyline.spark.spans import Spans

#: marks the row that stands for an empty window, so that aggregates over nothing are computed by Spark itself
_GHOST = "_ghost"


def names_in(schema: Schema) -> Names:
    return names_of(schema, numbered(len(schema)))


def select(node: WindowSelect, windows: Windows) -> Windows:
    return windows.with_rows(selected(windows.rows, node.predicate, names_in(node.input.schema)))


def project(node: WindowProject, windows: Windows) -> Windows:
    columns = projected(node.columns, names_in(node.input.schema))
    return windows.with_rows(windows.rows.selectExpr(*windows.head, *columns), len(columns))


def projected(columns: tuple[Named, ...], names: Names, first: int = 0) -> list[str]:
    return [f"{spark_sql(column.expr, names)} AS c{i}" for i, column in enumerate(columns, first)]


def match(node: WindowMatch, windows: Windows, batch: Batch) -> Windows:
    """Each row of each window once for every member of the query class that wants it."""
    assert batch.members is not None
    names = names_in(node.input.schema)
    rows = matched(node, windows.rows, windows.head, names, batch.members, batch.frames)
    return windows.with_rows(rows, len(node.schema))


def match_and_assign(node: WindowMatch, batch: Batch, ticks: Spans) -> Windows:
    """The same over windows of time, where a tuple is matched once, not once for each window that it is in.

    Where every member has windows of its own, a row must know its member before it can be put into them.
    """
    leaf = node.input
    assert isinstance(leaf, TimeWindow) and batch.members is not None
    grid = grid_of(leaf, batch)
    frame = tuples(leaf.input, batch, needed(grid, ticks))
    rows = matched(node, frame, [TICK], names_in(leaf.schema), batch.members, batch.frames)
    width = len(node.schema)
    own = numbered(width)
    listed = window_list(grid, ticks, batch)
    if isinstance(leaf, MemberWindow):
        placed = assign_own(rows, own[-3:], ticks.within(grid.first, grid.last))
        return Windows(placed.select(T, *own), listed, (T,), width)
    return Windows(assign(rows, grid, ticks).select(T, *own), listed, (T,), width, (grid.first, grid.step))


def distinct(windows: Windows) -> Windows:
    return windows.with_rows(windows.rows.distinct())


def aggregate(node: WindowAggregation, windows: Windows, batch: Batch) -> Windows:
    """Without GROUP BY an empty window has a row too: a ghost keeps its group alive without being counted."""
    names = names_in(node.input.schema)
    keys = projected(node.keys, names)
    width = len(node.keys) + len(node.aggregates)
    head, rows = windows.head, windows.rows
    group = [*head, *(f"c{i}" for i in range(len(keys)))]
    inputs = [f"c{i} AS i{i}" for i in range(windows.width)]
    inner = names_of(node.input.schema, [f"i{i}" for i in range(windows.width)])
    prepared = rows.selectExpr(*head, *keys, *inputs)
    if (node.keys and not node.members) or windows.listed is None:
        texts = [_aggregate(column, inner, ghosts=False) for column in node.aggregates]
    else:
        ghosts = in_every_window(node, windows.listed, batch).selectExpr("*", f"true AS {_GHOST}")
        prepared = prepared.selectExpr("*", f"false AS {_GHOST}").unionByName(ghosts, allowMissingColumns=True)
        texts = [_aggregate(column, inner, ghosts=True) for column in node.aggregates]
    made = [f"{text} AS c{i}" for i, text in enumerate(texts, len(node.keys))]
    return windows.with_rows(sliced(prepared, group, made), width)


def in_every_window(node: WindowAggregation, listed: Frame, batch: Batch, prefix: str = "c") -> Frame:
    """Each window of a list once; for a query class once for every member, with the keys that tell it."""
    if not node.members:
        return listed
    assert batch.members is not None
    asks = [ASKS] if any(key.name == MEMBER_ASKS for key in node.keys) else []
    keys = [QUERY, *asks, *(f"_a{i}" for i in range(len(node.keys) - len(asks) - 1))]
    everyone = batch.members.everyone(batch.frames)
    named = everyone.selectExpr(*(f"{key} AS {prefix}{i}" for i, key in enumerate(keys)))
    if WHOSE in listed.columns:
        return joined(listed, named, f"{WHOSE} = {prefix}0")
    every = listed.crossJoin(named)
    own = any(isinstance(operator, MemberWindow) for operator in node.walk())
    return every.where(f"pmod({T}, {prefix}{len(keys) - 1}) = 0") if own else every


def _aggregate(column: Named, names: Names, ghosts: bool) -> str:
    expr = column.expr
    assert isinstance(expr, Aggregate)
    return aggregate_sql(expr, names, among=f"NOT {_GHOST}" if ghosts else "")


def sort(node: WindowSort, windows: Windows) -> Windows:
    """A window is a bag; its order matters for LIMIT and OFFSET, and for how it is shown at last."""
    if node.limit is None and not node.offset:
        return windows
    names = names_in(node.input.schema)
    counted = windows.head if node.member is None else [*windows.head, names(node.member)]
    ranked = with_rank(node, windows.rows, counted, windows.width)
    last = "" if node.limit is None else f" AND _rank <= {node.offset + node.limit}"
    return windows.with_rows(ranked.where(f"_rank > {node.offset}{last}").drop("_rank"))


def with_rank(node: WindowSort, rows: Frame, head: list[str], width: int) -> Frame:
    """Each row with its place in its window; ties are decided by the whole tuple."""
    order = ", ".join([*order_of(node), *numbered(width)]) or "1"
    partition = f"PARTITION BY {', '.join(head)} " if head else ""
    return rows.selectExpr("*", f"row_number() OVER ({partition}ORDER BY {order}) AS _rank")


def order_of(node: WindowSort) -> list[str]:
    names = names_in(node.input.schema)
    return [_order(key, names) for key in node.keys]


def _order(key: SortKey, names: Names) -> str:
    direction = "DESC" if key.descending else "ASC"
    return f"{spark_sql(key.expr, names)} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def uses_window_time(*columns: Named | Call) -> bool:
    """Whether an expression asks for the window's own time, which differs from window to window."""
    exprs = [column.expr if isinstance(column, Named) else column for column in columns]
    return any(column.relation == WINDOW for expr in exprs for column in columns_of(expr))


__all__ = [
    "aggregate",
    "distinct",
    "in_every_window",
    "match",
    "match_and_assign",
    "names_in",
    "order_of",
    "project",
    "projected",
    "select",
    "sort",
    "uses_window_time",
    "with_rank",
]
