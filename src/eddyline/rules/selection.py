"""Selections move down: below joins, below windows, to the streams."""

from __future__ import annotations

from eddyline.algebra.expression import Column, Expr, TypedExpr, conjunction, conjuncts
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.relational import Instants, RelationChanges, WindowCrossProduct, WindowJoin, WindowSelect
from eddyline.algebra.stream import DStream, IStream, StreamAlias, StreamProject, StreamSelect
from eddyline.algebra.window import HopWindow, LatestRowsWindow, LoopWindow, RangeWindow, RowWindow, Scan, TimeWindow
from eddyline.rules.reading import reads_only

#: windows whose number and ticks do not depend on which tuples there are
_BY_CLOCK = (TimeWindow, HopWindow, LoopWindow)
#: windows that stand wherever their contents can change
_BY_CONTENTS = (RangeWindow, LatestRowsWindow, RowWindow)


def push_selections(plan: Operator) -> Operator:
    """Move every conjunct of a selection as far down as it keeps its meaning.

    - into the side of a cross product or inner join that has all its columns; into the preserved side of an outer join;
    - below TimeWindow, HopWindow and LoopWindow: their windows stand at the same ticks whatever tuples there are;
    - below RangeWindow only where nobody counts windows but only looks at what changes (a CQL relation): with fewer
      tuples it has fewer windows. Never below RowWindow or CQL's ROWS, which count the tuples.
    """
    return _pushed(plan, counted=True)


def _pushed(plan: Operator, counted: bool) -> Operator:
    """`counted`: whether the windows of this operator's output are seen one by one, so that none may disappear."""
    if isinstance(plan, IStream | DStream | RelationChanges | Instants):
        counted = False
    elif isinstance(plan, StreamOp) or not isinstance(plan, WindowOp):
        counted = True
    counted = counted or mixes(plan)
    if isinstance(plan, WindowSelect):
        parts = conjuncts(plan.predicate)
        below: Operator = plan.input
        kept: list[TypedExpr] = []
        for part in parts:
            moved = _into(below, part, counted)
            if moved is None:
                kept.append(part)
            else:
                below = moved
        below = _pushed(below, counted)
        predicate = conjunction(tuple(kept))
        assert isinstance(below, WindowOp)
        return below if predicate is None else WindowSelect(predicate, below)
    if isinstance(plan, StreamSelect):
        swapped = _below_projection(plan)
        if swapped is not None:
            return _pushed(swapped, True)
    return plan.with_inputs(*(_pushed(operator, counted) for operator in plan.inputs))


def mixes(plan: Operator) -> bool:
    """Whether windows that follow the clock meet windows that follow their contents: then all of them are counted."""
    if not isinstance(plan, WindowCrossProduct | WindowJoin):
        return False
    return any(isinstance(operator, (*_BY_CLOCK, RowWindow)) or _is_scanned(operator) for operator in _windows_of(plan))


def _is_scanned(operator: Operator) -> bool:
    return isinstance(operator, Scan) and operator.interval is not None


def _windows_of(plan: Operator) -> list[Operator]:
    """The operators that make the windows of a plan, not those inside nested streams."""
    if isinstance(plan, (*_BY_CLOCK, *_BY_CONTENTS, Scan)):
        return [plan]
    return [found for operator in plan.inputs if isinstance(operator, WindowOp) for found in _windows_of(operator)]


def _into(node: Operator, part: TypedExpr, counted: bool) -> WindowOp | None:
    """The operator with the predicate inside it, or None if it has to stay above."""
    if isinstance(node, WindowSelect):
        inner = _into(node.input, part, counted)
        return None if inner is None else WindowSelect(node.predicate, inner)
    if isinstance(node, WindowCrossProduct | WindowJoin):
        return _into_side(node, part, counted or mixes(node))
    may_pass = isinstance(node, _BY_CLOCK) or (isinstance(node, RangeWindow) and not counted)
    if may_pass and reads_only(part, node.schema):
        source = node.inputs[0]
        assert isinstance(source, StreamOp)
        return node.with_inputs(StreamSelect(part, source))  # type: ignore[return-value]
    return None


def _into_side(node: WindowCrossProduct | WindowJoin, part: TypedExpr, counted: bool) -> WindowOp | None:
    kind = node.kind if isinstance(node, WindowJoin) else "INNER"
    left, right = node.left, node.right
    if kind in ("INNER", "LEFT") and reads_only(part, left.schema):
        return node.with_inputs(_into(left, part, counted) or WindowSelect(part, left), right)
    if kind in ("INNER", "RIGHT") and reads_only(part, right.schema):
        return node.with_inputs(left, _into(right, part, counted) or WindowSelect(part, right))
    return None


def _below_projection(node: StreamSelect) -> StreamOp | None:
    """A selection over a sub-query's projection, said over the sub-query's input instead."""
    alias = node.input
    if not isinstance(alias, StreamAlias) or not isinstance(alias.input, StreamProject):
        return None
    project = alias.input
    if project.tagged:
        return None  # which tags a tuple carries is decided where the selection stands
    columns = {Column(c.name, c.expr.type, alias.relation): c.expr for c in project.columns}

    def inside(expr: Expr) -> Expr | None:
        return columns.get(expr) if isinstance(expr, Column) else None

    predicate = node.predicate.rewrite(inside)
    return StreamAlias(alias.relation, project.with_inputs(StreamSelect(predicate, project.input)))  # type: ignore[arg-type]
