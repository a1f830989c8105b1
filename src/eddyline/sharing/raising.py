"""Conditions with constants that stand inside of a sub-query move up, to where queries that differ in them can share.

It is the opposite of what a rule does to make a plan cheaper, and keeps its meaning for the same reasons: windows that
follow the clock stand where they stand whatever tuples there are, and of a relation only the changes are seen. Windows
that count tuples are another matter: what stands below them stays there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from eddyline.algebra.expression import Column, Expr, Named, TypedExpr, columns_of, conjunction, conjuncts
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.relational import WindowAlias, WindowCrossProduct, WindowJoin, WindowProject, WindowSelect
from eddyline.algebra.stream import StreamAlias, StreamProject, StreamSelect
from eddyline.algebra.window import HopWindow, LoopWindow, RangeWindow, TimeWindow
from eddyline.rules.selection import mixes
from eddyline.sharing.constants import has_constants

#: what a projection is given so that a condition can be asked above it
_HIDDEN = "$raised"
_Parts = tuple[TypedExpr, ...]
_Passed = TimeWindow | HopWindow | LoopWindow | RangeWindow


def raised(plan: Operator) -> Operator:
    """The plan with every condition that has constants above its window, and above inner joins."""
    return _raised(plan, counted=False)


def _raised(plan: Operator, counted: bool) -> Operator:
    """`counted`: whether the windows of relations are seen one by one, beside those that follow the clock."""
    if isinstance(plan, WindowCrossProduct | WindowJoin):
        counted = counted or mixes(plan)
        sides = [_raised(side, counted) for side in plan.inputs]
        return _above_product(plan, sides)
    made = plan.with_inputs(
        *(_raised(operator, counted and isinstance(operator, WindowOp)) for operator in plan.inputs)
    )
    may_pass = isinstance(made, TimeWindow | HopWindow | LoopWindow) or (isinstance(made, RangeWindow) and not counted)
    return _above_window(cast(_Passed, made)) if may_pass else made


def _above_window(window: _Passed) -> WindowOp:
    below, parts, hidden = _taken_from(window.input)
    predicate = conjunction(parts)
    if predicate is None:
        return window
    selected = WindowSelect(predicate, replace(window, input=below))
    if not hidden:
        return selected
    own = [Named(Column(f.name, f.type, f.relation), f.name) for f in window.schema.fields]
    relation = window.schema.fields[0].relation
    shown = WindowProject(tuple(own), selected)
    return shown if relation is None else WindowAlias(relation, shown)


def _taken_from(stream: StreamOp) -> tuple[StreamOp, _Parts, bool]:
    """The stream without its conditions on constants, these over its columns, and whether it has more columns now."""
    if isinstance(stream, StreamSelect):
        below, parts, hidden = _taken_from(stream.input)
        own = conjuncts(stream.predicate)
        stays = conjunction(tuple(part for part in own if not has_constants(part)))
        made = below if stays is None else StreamSelect(stays, below)
        return made, (*parts, *(part for part in own if has_constants(part))), hidden
    if isinstance(stream, StreamAlias):
        below, parts, hidden = _taken_from(stream.input)
        alias = stream.relation
        renamed = tuple(_over(part, lambda column: replace(column, relation=alias)) for part in parts)
        return (stream, (), False) if not parts else (StreamAlias(alias, below), renamed, hidden)
    if isinstance(stream, StreamProject):
        below, parts, _ = _taken_from(stream.input)
        return (stream, (), False) if not parts else _through(stream, below, parts)
    return stream, (), False


def _through(project: StreamProject, below: StreamOp, parts: _Parts) -> tuple[StreamOp, _Parts, bool]:
    """Conditions on the input of a projection as conditions on its output, which is given what they need."""
    names = [column.name for column in project.columns]
    known = {c.expr: c.name for c in project.columns if isinstance(c.expr, Column) and names.count(c.name) == 1}
    more: list[Named] = []
    for part in parts:
        for column in sorted(columns_of(part), key=lambda column: column.label):
            if column not in known:
                known[column] = f"{_HIDDEN}{len(more)}"
                more.append(Named(column, known[column]))
    made = StreamProject((*project.columns, *more), below)
    return made, tuple(_over(part, lambda c: Column(known[c], c.type)) for part in parts), bool(more)


def _over(part: TypedExpr, renamed: Callable[[Column], Column]) -> TypedExpr:
    def inside(expr: Expr) -> Expr | None:
        return renamed(expr) if isinstance(expr, Column) else None

    return cast(TypedExpr, part.rewrite(inside))


def _above_product(plan: WindowCrossProduct | WindowJoin, sides: Sequence[Operator]) -> Operator:
    """What was raised in a side whose rows are never padded is asked of the pairs."""
    kind = plan.kind if isinstance(plan, WindowJoin) else "INNER"
    parts: list[TypedExpr] = []
    kept: list[Operator] = []
    for side, kinds in zip(sides, (("INNER", "LEFT"), ("INNER", "RIGHT")), strict=True):
        if isinstance(side, WindowSelect) and kind in kinds:
            stays = conjunction(tuple(part for part in conjuncts(side.predicate) if not has_constants(part)))
            parts += [part for part in conjuncts(side.predicate) if has_constants(part)]
            kept.append(side.input if stays is None else WindowSelect(stays, side.input))
        else:
            kept.append(side)
    made = plan.with_inputs(*kept)
    predicate = conjunction(tuple(parts))
    return made if predicate is None else WindowSelect(predicate, made)
