"""SNEEql's Figure 7: at each tick at which either side has a window, the latest windows of both, and joins of them."""

from __future__ import annotations

from eddyline.algebra.expression import Column, TypedExpr
from eddyline.algebra.relational import WindowCrossProduct, WindowJoin
from eddyline.algebra.schema import Schema
from eddyline.spark.evaluate.frames import Frame, few, grouped, joined
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.literal import back_quoted
from eddyline.spark.spans import Spans

Product = WindowCrossProduct | WindowJoin
_LEFT, _RIGHT = "_lt", "_rt"
_KINDS = {"INNER": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}


def product(node: Product, left: Windows, right: Windows, ticks: Spans) -> Windows:
    """`left` and `right` reach back to the latest windows at or before the first tick of each stretch."""
    width = left.width + right.width
    if left.always and right.always:
        return Windows(_joined(node, left.rows, right.rows, [], left.width, right.width), None, (), width)
    if left.always or right.always:
        timed = right if left.always else left
        assert timed.listed is not None
        listed = timed.listed.where(ticks.condition(T))
        rows = timed.rows.where(ticks.condition(T))
        lefts = _everywhere(left, listed, timed) if left.always else rows
        rights = _everywhere(right, listed, timed) if right.always else rows
        rows = _joined(node, lefts, rights, timed.head, left.width, right.width)
        return Windows(rows, listed, timed.keys, width, timed.grid)
    if left.listed is right.listed:  # made of one list: every window has its counterpart
        return Windows(
            _joined(node, left.rows, right.rows, left.head, left.width, right.width), left.listed, left.keys, width
        )
    if left.grid is not None and left.grid == right.grid and left.keys == right.keys == (T,):
        assert left.listed is not None
        listed = left.listed.where(ticks.condition(T))
        lefts, rights = (side.rows.where(ticks.condition(T)) for side in (left, right))
        return Windows(_joined(node, lefts, rights, [T], left.width, right.width), listed, (T,), width, left.grid)
    return _paired(node, left, right, ticks)


def _everywhere(table: Windows, listed: Frame, timed: Windows) -> Frame:
    """What was always there, in every window."""
    return table.rows.crossJoin(few(listed.select(*timed.head)))


def _paired(node: Product, left: Windows, right: Windows, ticks: Spans) -> Windows:
    """Windows of both sides that stand at different ticks: each tick looks back for the latest ones."""
    assert left.listed is not None and right.listed is not None
    on_grids = left.keys == right.keys == (T,) and left.grid is not None and right.grid is not None
    pairs = _latest_on_grids(left, right, ticks) if on_grids else _latest(left.listed, right.listed, ticks)
    lefts, left_keys = _renamed(left, "l")
    rights, right_keys = _renamed(right, "r")
    left_list = left.listed.selectExpr(f"{T} AS {_LEFT}", *_as(left, "l"))
    right_list = right.listed.selectExpr(f"{T} AS {_RIGHT}", *_as(right, "r"))
    listed = pairs if on_grids else pairs.join(left_list, _LEFT).join(right_list, _RIGHT)
    head = [T, *left_keys, *right_keys]
    # every row stands beside the other side's windows, so that unmatched rows can be padded in each pair
    left_rows = lefts.join(listed.select(_LEFT, *head), [_LEFT, *left_keys])
    right_rows = rights.join(listed.select(_RIGHT, *head), [_RIGHT, *right_keys])
    rows = _joined(
        node,
        left_rows.select(*head, *left.columns),
        right_rows.select(*head, *right.columns),
        head,
        left.width,
        right.width,
    )
    renaming = [f"{key} AS _k{i}" for i, key in enumerate([*left_keys, *right_keys])]
    keys = (T, *(f"_k{i}" for i in range(len(renaming))))
    width = left.width + right.width
    rows = rows.selectExpr(T, *renaming, *(f"c{i}" for i in range(width)))
    return Windows(rows, listed.selectExpr(T, *renaming), keys, width)


def _latest_on_grids(left: Windows, right: Windows, ticks: Spans) -> Frame:
    """The same where the windows stand at regular ticks: no look at either list is needed to find the latest."""
    assert left.listed is not None and right.listed is not None and left.grid is not None and right.grid is not None
    either = left.listed.select(T).unionAll(right.listed.select(T)).distinct().where(ticks.condition(T))
    (first, step), (second, pace) = left.grid, right.grid
    latest = [f"{T} - pmod({T} - {first}, {step}) AS {_LEFT}", f"{T} - pmod({T} - {second}, {pace}) AS {_RIGHT}"]
    return either.where(f"{T} >= {max(first, second)}").selectExpr(T, *latest)


def _latest(left: Frame, right: Frame, ticks: Spans) -> Frame:
    """For every tick with a window the ticks of the latest windows of both sides: `_t`, `_lt`, `_rt`."""
    nothing = "CAST(NULL AS BIGINT)"
    both = left.selectExpr(T, f"{T} AS {_LEFT}", f"{nothing} AS {_RIGHT}").unionAll(
        right.selectExpr(T, f"{nothing} AS {_LEFT}", f"{T} AS {_RIGHT}")
    )
    at = grouped(both, [T], [f"max({side}) AS {side}" for side in (_LEFT, _RIGHT)])
    upto = f"OVER (ORDER BY {T} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    seen = at.selectExpr(T, *(f"max({side}) {upto} AS {side}" for side in (_LEFT, _RIGHT)))
    return seen.where(f"{_LEFT} IS NOT NULL AND {_RIGHT} IS NOT NULL AND {ticks.condition(T)}")


def _as(windows: Windows, side: str) -> list[str]:
    """A window's keys beside its tick, which the pair has already."""
    return [f"{key} AS _{side}{i}" for i, key in enumerate(k for k in windows.keys if k != T)]


def _renamed(windows: Windows, side: str) -> tuple[Frame, list[str]]:
    tick = _LEFT if side == "l" else _RIGHT
    renaming = _as(windows, side)
    rows = windows.rows.selectExpr(f"{T} AS {tick}", *renaming, *windows.columns)
    return rows, [text.rpartition(" ")[2] for text in renaming]


def _joined(node: Product, left: Frame, right: Frame, on: list[str], first: int, second: int) -> Frame:
    """The rows of both sides that are in the same window (the columns `on`) and satisfy the predicate."""
    lefts = left.selectExpr(*(f"{key} AS l{key}" for key in on), *(f"c{i}" for i in range(first)))
    rights = right.selectExpr(*(f"{key} AS r{key}" for key in on), *(f"c{i} AS c{i + first}" for i in range(second)))
    conditions = [f"l{key} = r{key}" for key in on]
    kind = "INNER"
    if isinstance(node, WindowJoin):
        kind = node.kind
        conditions.append(predicate_sql(node.predicate, node.schema, on))
    together = " AND ".join(conditions)
    made = joined(lefts, rights, together, _KINDS[kind]) if together else lefts.crossJoin(rights)
    head = [f"coalesce(l{key}, r{key}) AS {key}" for key in on]
    return made.selectExpr(*head, *(f"c{i}" for i in range(first + second)))


def predicate_sql(predicate: TypedExpr, schema: Schema, on: list[str]) -> str:
    """The join's condition; inside it the window's own tick is that of either side."""
    names = names_of(schema, [f"c{i}" for i in range(len(schema))])

    def named(column: Column) -> str:
        text = names(column)
        return f"l{T}" if T in on and text == back_quoted(T) else text

    return spark_sql(predicate, named)
