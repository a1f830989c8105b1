"""Selections over cross products become joins."""

from __future__ import annotations

from eddyline.algebra.expression import conjunction, conjuncts
from eddyline.algebra.node import Operator
from eddyline.algebra.relational import WindowCrossProduct, WindowJoin, WindowSelect
from eddyline.rules.reading import reads_both


def select_into_join(plan: Operator) -> Operator:
    """`WindowSelect p (WindowCrossProduct l r)` is `WindowJoin p l r`, for the parts of p that read both sides.

    A pair of windows exists whether or not any of its tuples match, so windows stay as many as they were.
    """
    plan = plan.with_inputs(*(select_into_join(operator) for operator in plan.inputs))
    if not isinstance(plan, WindowSelect) or not isinstance(plan.input, WindowCrossProduct):
        return plan
    product = plan.input
    parts = conjuncts(plan.predicate)
    across = tuple(part for part in parts if reads_both(part, product.left.schema, product.right.schema))
    on = conjunction(across)
    if on is None:
        return plan
    joined = WindowJoin(on, product.left, product.right)
    rest = conjunction(tuple(part for part in parts if part not in across))
    return joined if rest is None else WindowSelect(rest, joined)
