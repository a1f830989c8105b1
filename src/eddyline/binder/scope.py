"""Which columns an expression of a query can name."""

from __future__ import annotations

from dataclasses import dataclass, field

from eddyline.algebra.expression import Call, Column, TypedExpr
from eddyline.algebra.schema import Schema
from eddyline.algebra.stream import INDEX, TICK
from eddyline.algebra.types import BIGINT
from eddyline.errors import AmbiguousColumn, Position, UnknownColumn, nearest


@dataclass
class Relation:
    """An input of FROM: the alias its fields are known by, the name it was declared with, its fields."""

    alias: str
    name: tuple[str, ...]  # empty for a sub-query, or if the query gave an alias
    schema: Schema
    has_implicit: bool = False  # whether tick and index may be named
    uses_implicit: bool = False  # whether they were

    def answers_to(self, qualifier: tuple[str, ...]) -> bool:
        wanted = tuple(part.lower() for part in qualifier)
        return wanted == (self.alias.lower(),) or wanted == tuple(part.lower() for part in self.name)

    def column(self, name: str) -> Column | None:
        for found in self.schema.fields:
            if found.name.lower() == name.lower():
                return Column(found.name, found.type, found.relation)
        if self.has_implicit and name.lower() in (TICK, INDEX):
            self.uses_implicit = True
            return Column(name.lower(), BIGINT, self.schema.fields[0].relation)
        return None


@dataclass
class FromScope:
    """The inputs of a query, and the columns that USING has merged."""

    relations: list[Relation] = field(default_factory=list)
    merged: dict[str, TypedExpr] = field(default_factory=dict)  # lower-case name → the column of the result

    def resolve(self, parts: tuple[str, ...], position: Position | None) -> TypedExpr:
        *qualifier, name = parts
        if qualifier:
            return self._qualified(tuple(qualifier), name, position)
        if name.lower() in self.merged:
            return self.merged[name.lower()]
        declared = [r for r in self.relations if any(f.name.lower() == name.lower() for f in r.schema.fields)]
        found = [(r, column) for r in declared or self.relations if (column := r.column(name)) is not None]
        if len(found) > 1:
            places = " and ".join(relation.alias for relation, _ in found)
            hint = "write " + " or ".join(column.label for _, column in found)
            raise AmbiguousColumn(f"{name} is in {places}", position, hint)
        if not found:
            raise self._unknown(name, position)
        return found[0][1]

    def _qualified(self, qualifier: tuple[str, ...], name: str, position: Position | None) -> TypedExpr:
        shown = ".".join(qualifier)
        relation = self.relation(qualifier)
        if relation is None:
            guess = nearest(shown, [r.alias for r in self.relations])
            known = ", ".join(r.alias for r in self.relations)
            hint = f"did you mean {guess}.{name}?" if guess else f"FROM has {known}"
            raise UnknownColumn(f"there is no {shown} in FROM", position, hint)
        column = relation.column(name)
        if column is None:
            names = relation.schema.names
            guess = nearest(name, names)
            hint = f"did you mean {relation.alias}.{guess}?" if guess else f"it has {', '.join(names)}"
            raise UnknownColumn(f"{shown} has no column {name}", position, hint)
        return column

    def relation(self, qualifier: tuple[str, ...]) -> Relation | None:
        return next((r for r in self.relations if r.answers_to(qualifier)), None)

    def _unknown(self, name: str, position: Position | None) -> UnknownColumn:
        names = [f.name for relation in self.relations for f in relation.schema.fields]
        guess = nearest(name, names)
        hint = f"did you mean {guess}?" if guess else (f"there are {', '.join(names)}" if names else None)
        return UnknownColumn(f"there is no column {name}", position, hint)

    def merge(self, name: str, left: TypedExpr, right: TypedExpr, kind: str) -> None:
        """USING: one column stands for both. It comes from both, and so do its tags."""
        both = (right, left) if kind == "RIGHT" else (left, right)
        self.merged[name.lower()] = Call("coalesce", both, left.type)
