"""From select lists with aggregates to a WindowAggregation and expressions over its output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eddyline.algebra.expression import Aggregate, Column, Expr, Named, TypedExpr, columns_of
from eddyline.algebra.naming import spark_name
from eddyline.algebra.node import WINDOW, WindowOp
from eddyline.algebra.relational import WindowAggregation
from eddyline.errors import InvalidGrouping, Position


def has_aggregate(expr: Expr) -> bool:
    return any(isinstance(e, Aggregate) for e in expr.walk())


@dataclass(frozen=True)
class Grouping:
    """The aggregation, and how to say over its output what was said over its input."""

    operator: WindowOp
    replacements: dict[Expr, Column]

    def over_output(self, expr: TypedExpr, shown: str, position: Position | None) -> TypedExpr:
        """The expression with keys and aggregates replaced by the columns that hold them."""
        rewritten = expr.rewrite(self.replacements.get)
        outputs = set(self.replacements.values())
        for column in columns_of(rewritten):
            if column not in outputs and column.relation != WINDOW:
                raise InvalidGrouping(
                    f"{column.label} in {shown} is neither in GROUP BY nor inside an aggregate",
                    position,
                    f"group by {column.label}, or write e.g. max({column.label})",
                )
        return rewritten  # type: ignore[return-value]


def group(
    source: WindowOp, keys: Sequence[TypedExpr], expressions: Iterable[TypedExpr], names: dict[Expr, str]
) -> Grouping:
    """Aggregate over `keys` everything that `expressions` need. `names` says what results are called in the end."""
    aggregates = dict.fromkeys(e for expr in expressions for e in expr.walk() if isinstance(e, Aggregate))
    taken: set[str] = set()
    replacements: dict[Expr, Column] = {}

    def named(expr: TypedExpr) -> Named:
        wanted = names.get(expr) or (expr.name if isinstance(expr, Column) else spark_name(expr))
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        taken.add(name)
        replacements[expr] = Column(name, expr.type)
        return Named(expr, name)

    group_keys = tuple(named(key) for key in dict.fromkeys(keys))
    results = tuple(named(aggregate) for aggregate in aggregates)
    return Grouping(WindowAggregation(group_keys, results, source), replacements)
