"""The columns of a result and their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from eddyline.algebra.expression import Column, TypedExpr
from eddyline.algebra.naming import spark_name
from eddyline.binder.position import position_of
from eddyline.errors import InvalidDefinition

#: the columns that logs and answers have beside those of the user, and that of the tags that plans carry
OWN = ("_seq", "_index", "_tick", "_diff", "_tags", "_tag_places", "_batch", "$tags")


@dataclass(frozen=True)
class Item:
    """An item of a select list: what it computes, the name it was given, the text it came from."""

    expr: TypedExpr
    alias: str | None
    node: exp.Expr

    @property
    def name(self) -> str:
        if self.alias is not None:
            return self.alias
        return self.expr.name if isinstance(self.expr, Column) else spark_name(self.expr)

    @property
    def shown(self) -> str:
        return "the select list" if isinstance(self.node, exp.Star) else self.name


def output_names(items: Sequence[Item]) -> list[str]:
    """One name for each item, no two alike: a JSON object cannot hold a name twice.

    Plain columns that collide are shown with their relation, whatever still collides is numbered.
    """
    count = Counter(item.name.lower() for item in items)
    labels = Counter(item.expr.label.lower() for item in items if isinstance(item.expr, Column))
    names: list[str] = []
    taken: set[str] = set()
    for item in items:
        name = item.name
        if name.lower() in OWN:
            raise InvalidDefinition(f"{name} is a reserved column", position_of(item.node), "give it another name")
        collides = count[name.lower()] > 1 and item.alias is None
        if collides and isinstance(item.expr, Column) and labels[item.expr.label.lower()] == 1:
            name = item.expr.label
        unique, number = name, 2
        while unique.lower() in taken:
            unique, number = f"{name}_{number}", number + 1
        taken.add(unique.lower())
        names.append(unique)
    return names
