"""Conditions that do not trust integers that wrap around, nor numbers that are none.

Everywhere else an integer that grows too large wraps around, as Spark's do. In a condition that bounds an error that
would break the bound: of -2,000,000,000 and 2,000,000,000 the INTEGER difference is 294,967,296, and of the ends of
BIGINT it is -1. Nor is there a bound on how far NaN or an infinity is from what it should be, although
`NaN > 0.01 * NaN` is not true.
"""

from __future__ import annotations

from dataclasses import replace

from eddyline.algebra.coercion import cast_implicitly
from eddyline.algebra.expression import Call, Column, Literal, TypedExpr
from eddyline.algebra.revision import NEW, OLD
from eddyline.algebra.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INTEGER_BITS, DataType, is_integer, is_numeric

#: what can leave the range of its integers; a remainder cannot, and a quotient is a DOUBLE
_GROWING = frozenset({"+", "-", "*", "neg", "abs", "div"})
#: what moves bits out of a number, which no DOUBLE tells: it is never trusted
_SHIFTING = "<<"
#: a DOUBLE is not exact up here: what comes so close to the end of BIGINT is taken for being beyond it
_NEARLY = 0.999


def widened(value: TypedExpr) -> TypedExpr:
    """An integer as a BIGINT, in which those of all other types can be added and multiplied."""
    return cast_implicitly(value, BIGINT) if is_integer(value.type) else value


def true_without_bound(condition: TypedExpr) -> TypedExpr:
    """The condition on `old` and `new`, which is true wherever integers in it wrap around or a number is none.

    Each operation is done once more with DOUBLEs. Its arguments are right, or their own operation has told already.
    """
    doubts = [_is_beyond(e) for e in condition.walk() if isinstance(e, Call) and _can_overflow(e)]
    columns = (e for e in condition.walk() if isinstance(e, Column) and e.type in (FLOAT, DOUBLE))
    doubts += [_has_no_measure(column) for column in dict.fromkeys(replace(e, relation=OLD) for e in columns)]
    if not doubts:
        return condition
    beyond: TypedExpr = doubts[0]
    for doubt in doubts[1:]:
        beyond = Call("or", (beyond, doubt), BOOLEAN)
    return Call("if", (beyond, Literal(True, BOOLEAN), condition), BOOLEAN)


def _has_no_measure(old: Column) -> TypedExpr:
    """Whether a number was or becomes NaN or infinite: no difference says how far that is from anything else."""
    new = replace(old, relation=NEW)
    odd = [Call("not", (_is_finite(value),), BOOLEAN) for value in (old, new)]
    same = Call("<=>", (old, new), BOOLEAN)
    return Call("and", (Call("or", (odd[0], odd[1]), BOOLEAN), Call("not", (same,), BOOLEAN)), BOOLEAN)


def _is_finite(value: Column) -> Call:
    nought = Call("-", (value, value), value.type)
    return Call("=", (nought, Literal(0.0, value.type)), BOOLEAN)


def _can_overflow(call: Call) -> bool:
    if not is_integer(call.type):
        return False
    return call.function in _GROWING or call.function == _SHIFTING or _is_narrower(call)


def _is_narrower(call: Call) -> bool:
    """Whether it is a cast to integers that are not as many as those that are cast."""
    if call.function != "cast":
        return False
    (given,) = call.arguments
    type_ = given.type  # type: ignore[attr-defined]
    return is_numeric(type_) and not (is_integer(type_) and INTEGER_BITS[type_] <= INTEGER_BITS[call.type])


def _is_beyond(call: Call) -> TypedExpr:
    if call.function == _SHIFTING:
        return Literal(True, BOOLEAN)
    doubles = tuple(cast_implicitly(argument, DOUBLE) for argument in call.arguments)  # type: ignore[arg-type]
    again: TypedExpr = doubles[0]  # what is cast
    if call.function != "cast":
        again = Call("/" if call.function == "div" else call.function, doubles, DOUBLE)
    size = Call("abs", (again,), DOUBLE)
    return Call(">=", (size, Literal(_largest(call.type), DOUBLE)), BOOLEAN)


def _largest(type_: DataType) -> float:
    """
    >>> _largest(BIGINT) < 2**63, _largest(BIGINT) > 9.2e18
    (True, True)
    """
    return _NEARLY * 2.0 ** (INTEGER_BITS[type_] - 1)
