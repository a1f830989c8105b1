"""A predicate of a query class as ranges of attributes, which the grouped filter has an index for.

The ranges may say less than the predicate: a tuple that satisfies it satisfies them. Where they say the same, nothing
else has to be looked at; else the predicate itself is checked on what the filter has found.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import cast

from eddyline.algebra.expression import Call, Column, Expr, Literal, TypedExpr, columns_of, conjunction, conjuncts
from eddyline.algebra.node import WINDOW
from eddyline.algebra.sharing import MEMBER
from eddyline.algebra.types import BIGINT, DOUBLE, DataType, is_integer
from eddyline.algebra.user_function import is_expensive
from eddyline.kernels.grouped.form import Bound, Form, Range

#: a condition that is spread out into more alternatives would be looked up more often than it is worth
_MOST_ALTERNATIVES = 16
#: what a comparison is if its sides change places
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!=", "<=>": "<=>"}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
Alternatives = list[tuple[Range, ...]]


@dataclass(frozen=True)
class Ranges:
    """What the filter looks for. `attributes` are computed from each tuple, `casts` are columns of members as others.

    `rest`: what the predicate says and the form does not; None: nothing.
    """

    form: Form
    attributes: dict[str, TypedExpr]
    casts: dict[str, DataType]
    rest: TypedExpr | None


def ranges_of(predicate: TypedExpr, since: tuple[Column, Column] | None = None) -> Ranges | None:
    """None if an index would not help. `since`: an attribute that must be greater than a column of the member."""
    reading = _Reading()
    found: Alternatives = [()]
    rest: list[TypedExpr] = []
    for part in conjuncts(predicate):
        reading.exact = True
        more = reading.alternatives(part, True)
        if len(found) * len(more) > _MOST_ALTERNATIVES:
            reading.exact = False  # leaving a part out finds more, never less
        else:
            found = [(*left, *right) for left, right in product(found, more)]
        if not reading.exact:
            rest.append(part)
    if not found or any(not alternative for alternative in found):
        return None
    if since is not None:
        attribute, constant = since
        later = reading.range_of(">", attribute, constant)
        assert later is not None
        found = [(*alternative, later) for alternative in found]
    used = {range_.attribute for alternative in found for range_ in alternative}
    attributes = {name: expr for name, expr in reading.attributes.items() if name in used}
    return Ranges(Form(tuple(found)), attributes, reading.casts, conjunction(tuple(rest)))


class _Reading:
    def __init__(self) -> None:
        self.attributes: dict[str, TypedExpr] = {}
        self.casts: dict[str, DataType] = {}
        self.exact = True

    def alternatives(self, expr: Expr, wanted: bool) -> Alternatives:
        """The ways in which an expression can be true, or with `wanted` false, be false; NULL is neither."""
        if isinstance(expr, Literal):
            return [()] if expr.value is wanted else []
        if isinstance(expr, Call) and expr.function in ("and", "or"):
            parts = [self.alternatives(argument, wanted) for argument in expr.arguments]
            if (expr.function == "and") == wanted:
                return self._all_of(parts)
            return [alternative for part in parts for alternative in part]
        if isinstance(expr, Call) and expr.function == "not":
            return self.alternatives(expr.arguments[0], not wanted)
        found = self._atom(expr, wanted) if isinstance(expr, Call) else None
        if found is None and is_expensive(expr):  # looked at once for a tuple, not once for each candidate
            found = self._truth(expr, wanted)
        if found is None:  # anything may satisfy it
            self.exact = False
            return [()]
        return found

    def _all_of(self, parts: list[Alternatives]) -> Alternatives:
        made: Alternatives = [()]
        for part in parts:
            if len(made) * len(part) > _MOST_ALTERNATIVES:
                self.exact = False  # leaving a part out finds more, never less
                continue
            made = [(*left, *right) for left, right in product(made, part)]
        return made

    def _truth(self, expr: Expr, wanted: bool) -> Alternatives | None:
        """The condition itself as an attribute, if it is the same for all members."""
        name = self._attribute(expr)
        bound = Bound(None, wanted)
        return None if name is None else [(Range(name, bound, bound),)]

    def _atom(self, call: Call, wanted: bool) -> Alternatives | None:
        if call.function == "is null":
            name = self._attribute(call.arguments[0])
            return None if name is None else [(Range(name, is_null=wanted),)]
        if call.function == "in":
            value, *choices = call.arguments
            parts = [self._compared("=", value, choice, wanted) for choice in choices]
            if any(part is None for part in parts):
                return None
            known = [cast(Alternatives, part) for part in parts]
            return [a for part in known for a in part] if wanted else self._all_of(known)
        if call.function in FLIPPED:
            left, right = call.arguments
            return self._compared(call.function, left, right, wanted)
        return None

    def _compared(self, function: str, left: Expr, right: Expr, wanted: bool) -> Alternatives | None:
        if _is_constant(left):
            left, right, function = right, left, FLIPPED[function]
        if not _is_constant(right):
            return None
        if function == "<=>":
            return None  # a NULL is equal to a NULL then, and no range says so
        function = function if wanted else _OPPOSITE[function]
        operators = ("<", ">") if function == "!=" else (function,)
        ranges = [self.range_of(operator, left, right) for operator in operators]
        return None if any(r is None for r in ranges) else [(cast(Range, r),) for r in ranges]

    def range_of(self, function: str, attribute: Expr, constant: Expr) -> Range | None:
        type_ = _common(cast(TypedExpr, attribute).type, cast(TypedExpr, constant).type)
        if type_ is None:
            return None
        name = self._attribute(attribute, type_)
        bound = self._bound(cast(Column | Literal, constant), type_, "=" in function)
        if name is None:
            return None
        low = bound if function in (">", ">=", "=") else None
        high = bound if function in ("<", "<=", "=") else None
        return Range(name, low, high)

    def _bound(self, constant: Column | Literal, type_: DataType, inclusive: bool) -> Bound:
        if isinstance(constant, Literal):
            value = float(constant.value) if type_ == DOUBLE else constant.value
            return Bound(None, value, inclusive)
        name = f"_{constant.name}" if constant.type == type_ else f"_{constant.name} AS {type_}"
        self.casts[name] = type_
        return Bound(name, None, inclusive)

    def _attribute(self, expr: Expr, type_: DataType | None = None) -> str | None:
        """The name under which the filter knows an expression over tuples."""
        if any(column.relation in (MEMBER, WINDOW) for column in columns_of(expr)) or not columns_of(expr):
            return None
        given = cast(TypedExpr, expr)
        if type_ is not None and given.type != type_:
            given = Call("cast", (given,), type_)
        for name, known in self.attributes.items():
            if known == given:
                return name
        name = f"_x{len(self.attributes)}"
        self.attributes[name] = given
        return name


def _is_constant(expr: Expr) -> bool:
    if isinstance(expr, Literal):
        return expr.value is not None
    return isinstance(expr, Column) and expr.relation == MEMBER


def _common(attribute: DataType, constant: DataType) -> DataType | None:
    """The type in which both are compared; None if that is not known here."""
    if attribute == constant:
        return attribute
    if is_integer(attribute) and is_integer(constant):
        return BIGINT
    if {attribute, constant} <= {DOUBLE} or (is_integer(attribute) and constant == DOUBLE):
        return DOUBLE
    return DOUBLE if attribute == DOUBLE and is_integer(constant) else None
