"""What a tuple of an operator's output looks like: named, typed fields, each from one relation of the FROM clause."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.types import DataType
from eddyline.errors import InvalidAlgebra


@dataclass(frozen=True)
class Field:
    """One attribute. `relation` is the alias under which the FROM clause knows it, None for a computed column."""

    name: str
    type: DataType
    relation: str | None = None

    @property
    def label(self) -> str:
        return f"{self.relation}.{self.name}" if self.relation else self.name


@dataclass(frozen=True)
class Schema:
    """An ordered list of fields; a tuple of the operator is a Python tuple in this order."""

    fields: tuple[Field, ...]

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def position(self, name: str, relation: str | None) -> int:
        """Where the field with this exact name and relation stands."""
        for i, field in enumerate(self.fields):
            if field.name == name and field.relation == relation:
                return i
        wanted = f"{relation}.{name}" if relation else name
        have = ", ".join(field.label for field in self.fields)
        raise InvalidAlgebra(f"no field {wanted} in ({have})")

    def has(self, name: str, relation: str | None) -> bool:
        return any(field.name == name and field.relation == relation for field in self.fields)

    def renamed(self, relation: str) -> Schema:
        """The same fields, all known under another alias."""
        return Schema(tuple(Field(field.name, field.type, relation) for field in self.fields))

    def __add__(self, other: Schema) -> Schema:
        return Schema(self.fields + other.fields)
