"""Rows that satisfy a condition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from eddyline.algebra.expression import Call, Column, Expr, Literal, TypedExpr, columns_of, conjunction, conjuncts
from eddyline.algebra.notation import predicate_text
from eddyline.algebra.types import BOOLEAN, DOUBLE, STRING, DataType, is_integer
from eddyline.algebra.user_function import UserCall, is_expensive
from eddyline.kernels import sheet
from eddyline.kernels.costly import Called, Comparison, Computed, Costly
from eddyline.kernels.dialect import kernel_sql
from eddyline.kernels.ranges import FLIPPED
from eddyline.sharing.constants import folded
from eddyline.spark.evaluate.frames import Frame, as_frame
from eddyline.spark.expression import Names, spark_sql


def selected(frame: Frame, predicate: TypedExpr, names: Names) -> Frame:
    """What costs little is asked first; in which order the rest is asked, the kernel's eddy finds out by itself."""
    parts = conjuncts(predicate)
    cheap = conjunction(tuple(part for part in parts if not is_expensive(part)))
    costly = [part for part in parts if is_expensive(part)]
    if cheap is not None:
        frame = frame.where(spark_sql(cheap, names))
    if len(costly) > 1 and isinstance(frame, sheet.Frame):
        asked = AskedFor(names)
        conditions = {predicate_text(part): asked.condition(part) for part in costly}
        given = frame.selectExpr(*frame.columns, *asked.inputs)
        return as_frame(given.selected(" AND ".join(conditions), conditions, frame.columns))
    for part in costly:
        frame = frame.where(spark_sql(part, names))
    return frame


@dataclass
class AskedFor:
    """Expressions that cost much, for the kernel, and what has to stand beside the rows for them."""

    names: Names
    _columns: dict[str, str] = field(default_factory=dict)  # by the text of an argument, the column that it is

    @property
    def inputs(self) -> list[str]:
        """Arguments that are no columns of the rows, with the names they get."""
        return [f"{text} AS {name}" for text, name in self._columns.items()]

    def condition(self, expr: TypedExpr) -> Costly:
        compared = _compared(expr)
        if compared is None:
            return self.value(expr)
        call, comparison = compared
        return Costly(predicate_text(expr), self._called(call), comparison)

    def value(self, expr: TypedExpr) -> Costly:
        if isinstance(expr, UserCall) and not any(map(is_expensive, expr.arguments)):
            return Costly(predicate_text(expr), self._called(expr))
        columns = sorted({self.names(column).strip("`") for column in columns_of(expr)})
        return Costly(predicate_text(expr), Computed(kernel_sql(spark_sql(expr, self.names))[0], tuple(columns)))

    def _called(self, call: UserCall) -> Called:
        return Called(call.definition, tuple(self._input(argument) for argument in call.arguments))

    def _input(self, argument: Expr) -> str:
        text = spark_sql(argument, self.names)
        if isinstance(argument, Column):
            return text.strip("`")
        return self._columns.setdefault(text, f"_u{len(self._columns)}")


def _compared(expr: Expr) -> tuple[UserCall, Comparison] | None:
    """A call that is compared with a constant of its own type; None for anything else."""
    if not isinstance(expr, Call) or expr.function not in FLIPPED or expr.function == "<=>":
        return None
    left, right = expr.arguments
    operator = expr.function
    if isinstance(left, Literal):
        left, right, operator = right, left, FLIPPED[operator]
    if not isinstance(left, UserCall) or any(map(is_expensive, left.arguments)):
        return None
    constant = _constant(right, left.type)
    return None if constant is None else (left, Comparison(operator, constant))


def _constant(expr: Expr, type_: DataType) -> Any:
    """The constant of that type that an expression is; None if it is none, or compared in a way of its own."""
    found = folded(expr)
    if found is None or found.type != type_ or found.value != found.value:  # NaN is equal to NaN here
        return None
    return found.value if is_integer(type_) or type_ in (DOUBLE, STRING, BOOLEAN) else None
