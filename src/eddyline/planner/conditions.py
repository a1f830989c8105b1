"""What kind of predicate a condition of a join is, and how selective it is if nobody knows.

A key finds equal tuples (equi). An order finds those that are less, greater or near (band): `l < r`, `l BETWEEN r AND r
+ 5`. For anything else, and for conditions that need three inputs, all pairs are compared (theta); so does the kernel
for `abs(l - r) <= 5`, which takes four times as long as BETWEEN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import geometric_mean

from eddyline.algebra.expression import Call, Column, Expr, TypedExpr, columns_of
from eddyline.algebra.printing import sql_text
from eddyline.planner.graph import BAND, EQUI, THETA, Key, Predicate
from eddyline.planner.statistics import Statistics

_ORDERED = ("<", "<=", ">", ">=")
Reads = Callable[[Expr], frozenset[int]]


@dataclass(frozen=True)
class Condition:
    """One part of a join's predicate, and the inputs that it reads."""

    expr: TypedExpr
    inputs: frozenset[int]
    kind: str
    assumed: float  # its selectivity, if nobody knows better
    sides: tuple[int, ...] = ()  # the input of each side, if it compares one with another

    @property
    def text(self) -> str:
        return sql_text(self.expr)


def condition(expr: TypedExpr, reads: Reads, statistics: Statistics) -> Condition:
    """`reads` tells the inputs of an expression."""
    inputs = reads(expr)
    assume = statistics.assumptions
    if len(inputs) == 2 and isinstance(expr, Call):
        if expr.function in ("=", "<=>") and _is_apart(expr.arguments, reads):
            sides = tuple(at for side in expr.arguments for at in reads(side))
            return Condition(expr, inputs, EQUI, assume.equal, sides)
        if expr.function in _ORDERED and _is_apart(expr.arguments, reads):
            return Condition(expr, inputs, BAND, assume.ordered)
        if expr.function in _ORDERED and (distance := _distance(expr)) and _is_apart(distance.arguments, reads):
            if distance is not _side(expr):
                return Condition(expr, inputs, THETA, assume.near if _is_within(expr) else 1 - assume.near)
            return Condition(expr, inputs, BAND, assume.ordered)
    if isinstance(expr, Call) and expr.function == "!=":
        return Condition(expr, inputs, THETA, 1 - assume.equal)
    is_equal = isinstance(expr, Call) and expr.function in ("=", "<=>")
    return Condition(expr, inputs, THETA, assume.equal if is_equal else assume.other)


def _is_apart(sides: tuple[Expr, ...], reads: Reads) -> bool:
    """Whether each side reads one input, and not the same."""
    left, right = map(reads, sides)
    return len(left) == len(right) == 1 and left != right


def _side(comparison: Call) -> Expr | None:
    """What is compared with a constant."""
    left, right = comparison.arguments
    if not columns_of(right):
        return left
    return None if columns_of(left) else right


def _is_within(comparison: Call) -> bool:
    """Whether what is compared with a constant is less than that."""
    return comparison.function.startswith("<" if columns_of(comparison.arguments[0]) else ">")


def _distance(comparison: Call) -> Call | None:
    """The difference that is compared with a constant, with or without its sign."""
    side = _side(comparison)
    if isinstance(side, Call) and side.function == "abs":
        (side,) = side.arguments
    return side if isinstance(side, Call) and side.function == "-" and len(side.arguments) == 2 else None


def predicates(conditions: list[Condition], statistics: Statistics) -> tuple[list[Predicate], list[str]]:
    """As predicates of a graph; and what was assumed. Two orders on the same inputs are one band."""
    found: list[Predicate] = []
    assumed: list[str] = []
    bands: dict[frozenset[int], list[Condition]] = {}
    for one in conditions:
        known = statistics.selectivities.get(one.text)
        if known is not None:
            found.append(Predicate(one.inputs, known, one.kind, one.text))
        elif one.kind == BAND:
            bands.setdefault(one.inputs, []).append(one)
        else:
            found.append(Predicate(one.inputs, one.assumed, one.kind, one.text))
            assumed.append(_assumed(one.text, one.assumed))
    for inputs, several in bands.items():
        text = " AND ".join(one.text for one in several)
        selectivity = several[0].assumed if len(several) == 1 else statistics.assumptions.near
        found.append(Predicate(inputs, selectivity, BAND, text))
        assumed.append(_assumed(text, selectivity))
    return found, assumed


def keys(conditions: list[Condition], statistics: Statistics) -> tuple[list[Key], list[Condition], list[str]]:
    """Columns of three inputs or more that must all be equal, as keys; the other conditions; and what was assumed.

    That A.k = C.k follows from A.k = B.k and B.k = C.k makes more orders good ones; and if the query says it, too, it
    is no less probable for that.
    """
    groups: list[dict[Column, int]] = []  # the columns that are equal, with their inputs
    members: list[list[Condition]] = []
    for one in conditions:
        columns = _equal_columns(one)
        if columns is None:
            continue
        touched = [at for at, group in enumerate(groups) if group.keys() & columns.keys()]
        merged, said = dict(columns), [one]
        for at in reversed(touched):
            merged |= groups.pop(at)
            said = [*members.pop(at), *said]
        groups.append(merged)
        members.append(said)
    found: list[Key] = []
    assumed: list[str] = []
    used: list[Condition] = []
    for group, said in zip(groups, members, strict=True):
        inputs = list(group.values())
        if len(inputs) > 2 and len(set(inputs)) == len(inputs):
            text = " = ".join(column.label for column in sorted(group, key=lambda column: group[column]))
            known = [statistics.selectivities.get(one.text) for one in said]
            parts = [said[0].assumed if one is None else one for one in known]
            selectivity = geometric_mean(parts)
            pairs = tuple((one.sides[0], one.sides[1], part) for one, part in zip(said, parts, strict=True))
            if None in known:
                assumed.append(f"{text} holds for {selectivity:.3g} of the pairs")
            found.append(Key(frozenset(inputs), selectivity, text, pairs if len(set(parts)) > 1 else ()))
            used += said
    return found, [one for one in conditions if one not in used], assumed


def _equal_columns(one: Condition) -> dict[Column, int] | None:
    """The two columns of different inputs that a condition says are equal, with their inputs."""
    if one.kind != EQUI or not isinstance(one.expr, Call) or one.expr.function != "=":
        return None
    sides = one.expr.arguments
    columns = {side: at for side, at in zip(sides, one.sides, strict=True) if isinstance(side, Column)}
    return columns if len(columns) == 2 else None


def _assumed(text: str, selectivity: float) -> str:
    return f"{text} holds for {selectivity:.3g} of the pairs"
