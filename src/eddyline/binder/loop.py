"""For-loops: their expressions, and whether they start and end."""

from __future__ import annotations

from sqlglot import exp

from eddyline.algebra.expression import Call, Expr, Literal
from eddyline.algebra.loop import ST, Loop, T, evaluate
from eddyline.algebra.types import BIGINT, BOOLEAN
from eddyline.binder.duration import countable
from eddyline.binder.expression import position_of
from eddyline.errors import InvalidLoop
from eddyline.language import syntax

_BINARY: dict[type[exp.Expr], tuple[str, bool]] = {
    exp.Add: ("+", False),
    exp.Sub: ("-", False),
    exp.Mul: ("*", False),
    exp.Div: ("div", False),
    exp.IntDiv: ("div", False),
    exp.Mod: ("%", False),
    exp.EQ: ("=", True),
    exp.NEQ: ("!=", True),
    exp.LT: ("<", True),
    exp.LTE: ("<=", True),
    exp.GT: (">", True),
    exp.GTE: (">=", True),
    exp.And: ("and", True),
    exp.Or: ("or", True),
}

#: how many steps a loop is tried, and the starts it is tried with, to see that it moves
_STEPS = 1_000
_STARTS = (0, 1, 1_000, 1_000_000_000)
_FAR_BACK = -(10**15)


def bind_loop(node: syntax.Loop) -> Loop:
    """The loop, checked: its condition holds at first, its variable moves, and it does not go back for ever."""
    variable = node.args["variable"]
    initial = loop_expression(node.args["initial"], variable) if node.args.get("initial") else Literal(0, BIGINT)
    condition = loop_expression(node.args["condition"], variable) if node.args.get("condition") else None
    position = position_of(node)
    if not node.args.get("change"):
        raise InvalidLoop(f"the for-loop never ends: nothing changes {variable}", position, f"write e.g. {variable}++")
    loop = Loop(initial, condition, loop_expression(node.args["change"], variable))
    try:
        _check_start(loop, variable, node)
        for start in _STARTS:
            _check_end(loop, variable, start)
    except InvalidLoop as problem:
        raise InvalidLoop(problem.message, problem.position or position, problem.hint) from None
    return loop


def loop_expression(node: exp.Expr, variable: str) -> Expr:
    """Whole numbers, the loop's variable, ST, arithmetic and comparisons."""
    if isinstance(node, exp.Paren):
        return loop_expression(node.this, variable)
    if isinstance(node, exp.Neg):
        return Call("neg", (loop_expression(node.this, variable),), BIGINT)
    if isinstance(node, exp.Not):
        return Call("not", (loop_expression(node.this, variable),), BOOLEAN)
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        return Literal(countable(int(node.this), position_of(node), InvalidLoop), BIGINT)
    if isinstance(node, exp.Boolean):
        return Literal(int(node.this), BIGINT)
    if isinstance(node, exp.Column) and not node.table:
        if node.name.lower() == variable.lower():
            return T
        if node.name.upper() == "ST":
            return ST
    if type(node) in _BINARY:
        function, is_condition = _BINARY[type(node)]
        arguments = (loop_expression(node.this, variable), loop_expression(node.expression, variable))
        return Call(function, arguments, BOOLEAN if is_condition else BIGINT)
    raise InvalidLoop(
        f"a for-loop computes with whole numbers, {variable} and ST only", position_of(node), "its ends are ticks"
    )


def _check_start(loop: Loop, variable: str, node: syntax.Loop) -> None:
    if loop.condition is None:
        return
    if not any(evaluate(loop.condition, evaluate(loop.initial, 0, start), start) for start in _STARTS):
        place = position_of(node.args["condition"]) or position_of(node)
        raise InvalidLoop(f"the for-loop never starts: its condition is false for the first {variable}", place)


def _check_end(loop: Loop, variable: str, start: int) -> None:
    t = evaluate(loop.initial, 0, start)
    first, seen = t, set()
    for _ in range(_STEPS):
        if loop.condition is not None and not evaluate(loop.condition, t, start):
            return
        if t in seen:
            raise InvalidLoop(f"the for-loop never ends: {variable} comes back to {t}")
        seen.add(t)
        t = evaluate(loop.change, t, start)
    if t < first and (loop.condition is None or evaluate(loop.condition, _FAR_BACK, start)):
        raise InvalidLoop(
            f"the for-loop never ends: {variable} goes back in time without a bound",
            hint=f"give it a condition such as {variable} > 0",
        )
