"""Where versions of tuples are in the answers of a plan: in which windows or at which ticks, and in which group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eddyline.algebra.lineage import Trace
from eddyline.algebra.node import Operator, WindowOp
from eddyline.algebra.relational import RelationChanges, WindowProject, WindowSelect
from eddyline.algebra.stream import RStream
from eddyline.algebra.window import HopWindow, LatestRowsWindow, LoopWindow, RangeWindow, RowWindow, TimeWindow
from eddyline.kernels.sheet import Sheet
from eddyline.log.answers import PLACE
from eddyline.log.segment import INDEX, TICK
from eddyline.spark.evaluate import looped, relational
from eddyline.spark.evaluate.batch import Batch
from eddyline.spark.evaluate.frames import Frame, joined
from eddyline.spark.evaluate.timed import grid_of
from eddyline.spark.evaluate.tuples import apply_chain
from eddyline.spark.evaluate.windows import T, Windows
from eddyline.spark.lineage.versions import Versions
from eddyline.spark.spans import HIGH, LOW

#: a version is in the windows from one place to another; a place is a tick, or the number of a window in its log
FIRST, LAST = "_first", "_last"
_HEAD = (FIRST, LAST, INDEX, T)
_NO_TIME = f"CAST(NULL AS BIGINT) AS {T}"


def numbered(trace: Trace, root: Operator) -> bool:
    """Whether places are numbers of windows; ticks do not tell windows of rows or of loops apart."""
    return trace.alone and isinstance(trace.leaf, RowWindow | LoopWindow) and isinstance(root, WindowOp)


def is_exact(trace: Trace, root: Operator) -> bool:
    """Whether a version is in exactly the rows at its places that show its group."""
    leaf = trace.leaf
    if isinstance(leaf, LatestRowsWindow):
        return False  # which other tuples there are decides
    if not trace.alone and not (isinstance(leaf, TimeWindow | HopWindow) and isinstance(root, WindowOp | RStream)):
        return False  # where pairs come and go, or which window met which, is not told
    timed = isinstance(leaf, TimeWindow | HopWindow | LoopWindow)
    if not timed and any(_uses_time(op) for op in trace.plan.walk()):
        return False
    untold = isinstance(leaf, RowWindow) or (isinstance(leaf, LoopWindow) and not isinstance(root, RStream))
    if untold and not isinstance(root, WindowOp | RelationChanges):
        return False  # which window a tuple of a stream is of is told by its tick alone
    return trace.is_exact


def placed(trace: Trace, root: Operator, versions: Versions, view: Batch) -> Frame:
    """Each version with the places where it is: `_first`, `_last`, `_index`, and the group as c0, c1, …"""
    leaf = trace.leaf
    sheet = view.frames
    assert isinstance(sheet, Sheet)
    names = [f"`{name}` AS c{i}" for i, name in enumerate(versions.columns)]
    values = versions.rows.select([INDEX, TICK, *versions.columns])
    frame: Any = sheet.table(values).selectExpr(INDEX, TICK, *names)
    tuples = apply_chain(leaf.inputs[0], frame, view)
    rows = _assigned(trace, root, tuples, view)
    return _above(trace.plan, trace, Windows(rows, rows, _HEAD, len(leaf.schema))).rows


def _above(node: Operator, trace: Trace, leaf: Windows) -> Windows:
    if node is trace.leaf:
        return leaf
    below = _above(node.inputs[0], trace, leaf)
    if isinstance(node, WindowSelect):
        return relational.select(node, below)
    return relational.project(node, below) if isinstance(node, WindowProject) else below


def _assigned(trace: Trace, root: Operator, tuples: Frame, view: Batch) -> Frame:
    leaf = trace.leaf
    columns = [INDEX, *(f"c{i}" for i in range(len(leaf.schema)))]
    if isinstance(leaf, TimeWindow | HopWindow):
        return _on_grid(trace, root, tuples, view, columns)
    if isinstance(leaf, RangeWindow):
        return _living(trace, root, tuples, view, columns)
    if isinstance(leaf, LatestRowsWindow):
        return tuples.selectExpr(f"{TICK} AS {FIRST}", f"{HIGH}L AS {LAST}", _NO_TIME, *columns)
    if isinstance(leaf, LoopWindow) and trace.alone and isinstance(root, WindowOp | RStream):
        return _in_iterations(leaf, root, tuples, view, columns)
    if isinstance(leaf, RowWindow) and trace.alone and isinstance(root, WindowOp):
        soonest, latest, slide = f"({INDEX} - {leaf.scope.end})", f"({INDEX} - {leaf.scope.start})", leaf.slide
        first, last = f"({soonest} + pmod(-{soonest}, {slide}))", f"({latest} - pmod({latest}, {slide}))"
        each = tuples.where(f"{first} <= {last}").selectExpr(
            "*", f"explode(sequence({first}, {last}, {slide}L)) AS _at"
        )
        return each.selectExpr(f"_at AS {FIRST}", f"_at AS {LAST}", _NO_TIME, *columns)
    return tuples.selectExpr(f"{LOW}L AS {FIRST}", f"{HIGH}L AS {LAST}", _NO_TIME, *columns)


def _on_grid(trace: Trace, root: Operator, tuples: Frame, view: Batch, columns: list[str]) -> Frame:
    """Windows at regular ticks. In a product, one lasts until the next."""
    grid = grid_of(trace.leaf, view)
    soonest, latest = f"({TICK} - {grid.right})", f"({TICK} - {grid.left})"
    first = f"greatest({soonest} + pmod({grid.first} - {soonest}, {grid.step}), {grid.first}L)"
    last = f"least({latest} - pmod({latest} - {grid.first}, {grid.step}), {grid.at_or_before(grid.last)}L)"
    each = tuples.where(f"{first} <= {last}").selectExpr(
        "*", f"explode(sequence({first}, {last}, {grid.step}L)) AS {T}"
    )
    if not trace.alone:
        return each.selectExpr(f"{T} AS {FIRST}", f"{T} + {grid.step - 1} AS {LAST}", T, *columns)
    if isinstance(root, WindowOp | RStream):
        return each.selectExpr(f"{T} AS {FIRST}", f"{T} AS {LAST}", T, *columns)
    # ISTREAM and DSTREAM compare a window with the one before
    both = each.selectExpr(f"explode(array({T}, {T} + {grid.step})) AS _at", T, *columns)
    return both.selectExpr(f"_at AS {FIRST}", f"_at AS {LAST}", T, *columns)


def _living(trace: Trace, root: Operator, tuples: Frame, view: Batch, columns: list[str]) -> Frame:
    """A CQL relation changes where a tuple enters and leaves; a group, at any tick in between."""
    leaf = trace.leaf
    assert isinstance(leaf, RangeWindow)
    slide = leaf.slide or 1
    enters = f"({TICK} + pmod(-{TICK}, {slide}))"
    leaves = f"{HIGH}L"
    if leaf.range is not None:
        until = f"({TICK} + {leaf.range})"
        leaves = f"({until} - pmod({until}, {slide}) + {slide})"
    there = tuples.where(f"{enters} < {leaves} AND {leaves} > {view.start}")
    ends = there.selectExpr(f"greatest({enters}, {view.start}L) AS {FIRST}", f"{leaves} AS {LAST}", *columns)
    if isinstance(root, RStream) and trace.alone:
        return ends.selectExpr(FIRST, f"{LAST} - 1 AS {LAST}", _NO_TIME, *columns)
    if trace.whole or not trace.alone:
        return ends.selectExpr(FIRST, LAST, _NO_TIME, *columns)
    both = ends.selectExpr(f"explode(array({FIRST}, {LAST})) AS _at", *columns)
    return both.selectExpr(f"_at AS {FIRST}", f"_at AS {LAST}", _NO_TIME, *columns)


def _in_iterations(leaf: LoopWindow, root: Operator, tuples: Frame, view: Batch, columns: list[str]) -> Frame:
    known = looped.iterations(leaf, view)
    count = known.visible(view.now.closed)
    numbers = {"_at": np.arange(count), T: known.t[:count], "_left": known.left[:count], "_right": known.right[:count]}
    each = joined(tuples, view.frames.table(pa.table(numbers)), f"{TICK} BETWEEN _left AND _right")
    place = "_at" if isinstance(root, WindowOp) else T
    return each.selectExpr(f"{place} AS {FIRST}", f"{place} AS {LAST}", T, *columns)


def _uses_time(node: Operator) -> bool:
    if isinstance(node, WindowProject):
        return relational.uses_window_time(*node.columns)
    return isinstance(node, WindowSelect) and relational.uses_window_time(node.predicate)  # type: ignore[arg-type]


__all__ = ["FIRST", "LAST", "PLACE", "is_exact", "numbered", "placed"]
