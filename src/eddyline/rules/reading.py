"""Which columns a predicate reads: what every rule that moves one asks."""

from __future__ import annotations

from eddyline.algebra.expression import Expr, columns_of
from eddyline.algebra.schema import Schema


def reads_only(expr: Expr, schema: Schema) -> bool:
    """Whether everything an expression reads is in a schema (and it does read something)."""
    columns = columns_of(expr)
    return bool(columns) and all(schema.has(column.name, column.relation) for column in columns)


def reads_both(expr: Expr, left: Schema, right: Schema) -> bool:
    columns = columns_of(expr)
    return any(left.has(c.name, c.relation) for c in columns) and any(right.has(c.name, c.relation) for c in columns)
