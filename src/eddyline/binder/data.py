"""INSERT, UPDATE and DELETE: rows for a stream or table, and corrections of a stream's past."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from eddyline.algebra.expression import Call, Literal, TypedExpr
from eddyline.algebra.schema import Schema
from eddyline.algebra.stream import StreamReceive
from eddyline.binder.expression import bind, bind_predicate, coerce, position_of
from eddyline.binder.scope import FromScope, Relation
from eddyline.catalog.catalog import Catalog
from eddyline.catalog.extent import Extent
from eddyline.errors import (
    DuplicateName,
    InvalidDefinition,
    MissingKey,
    MissingTime,
    NotSupported,
    UnknownColumn,
    UnknownExtent,
    nearest,
)
from eddyline.language import syntax


@dataclass(frozen=True)
class Insert:
    """Rows of constants for a stream or table."""

    extent: Extent
    rows: tuple[tuple[TypedExpr, ...], ...]


@dataclass(frozen=True)
class Revise:
    """A replacement (`values`: one expression per column) or deletion (None) of the past tuples that satisfy `where`.

    Expressions read `schema`: the stream's columns, tick and index.
    """

    extent: Extent
    schema: Schema
    where: TypedExpr | None
    values: tuple[TypedExpr, ...] | None


def bind_data(node: syntax.InsertRows | syntax.UpdateRows | syntax.DeleteRows, catalog: Catalog) -> Insert | Revise:
    if isinstance(node, syntax.InsertRows):
        return _insert(node, catalog)
    return _update(node, catalog) if isinstance(node, syntax.UpdateRows) else _delete(node, catalog)


def _known_extent(catalog: Catalog, name: syntax.Name) -> Extent:
    extent = catalog.extent(name.text_form)
    if extent is None and catalog.query(name.text_form) is not None:
        raise NotSupported(
            f"{name.text_form} is a query: its answers follow from what it reads",
            position_of(name),
            "correct the streams that it reads",
        )
    if extent is None:
        guess = nearest(name.text_form, [e.name for e in catalog.extents.values()])
        hint = f"did you mean {guess}?" if guess else None
        raise UnknownExtent(f"there is no stream or table {name.text_form}", position_of(name), hint)
    return extent


def _insert(node: syntax.InsertRows, catalog: Catalog) -> Insert:
    extent = _known_extent(catalog, node.this)
    if not extent.is_stream and (extent.format is not None or extent.lookup is not None):
        raise NotSupported(
            f"{extent.name} is stored elsewhere ({extent.format or 'lookup'})",
            position_of(node.this),
            "change it there",
        )
    fields = extent.schema.fields
    places = list(range(len(fields)))
    if node.args.get("columns"):
        places = [_column_place(extent, column) for column in node.args["columns"]]
        if len(set(places)) < len(places):
            raise DuplicateName("a column is listed twice", position_of(node.args["columns"][0]))
    rows = []
    for row in node.args["rows"]:
        if len(row.expressions) != len(places):
            raise InvalidDefinition(
                f"{len(places)} values are needed, here are {len(row.expressions)}", position_of(row)
            )
        values: list[TypedExpr] = [bind(exp.Null(), FromScope()) for _ in fields]
        for place, value in zip(places, row.expressions, strict=True):
            values[place] = coerce(bind(value, FromScope()), fields[place].type, position_of(value))
        _check_present(extent, values, row)
        rows.append(tuple(values))
    return Insert(extent, tuple(rows))


def _check_present(extent: Extent, values: list[TypedExpr], row: exp.Expr) -> None:
    """That the values without which a row is no tuple are not simply NULL."""
    if extent.timestamp is not None and _is_null(values[extent.schema.names.index(extent.timestamp)]):
        raise MissingTime(f"{extent.timestamp} is NULL, but a tuple's time is taken from it", position_of(row))
    for name, place in zip(extent.key, extent.key_positions, strict=True):
        if _is_null(values[place]):
            raise MissingKey(f"{name} is NULL, but it is a KEY column", position_of(row))


def _column_place(extent: Extent, column: exp.Expr) -> int:
    for place, found in enumerate(extent.schema.fields):
        if found.name.lower() == column.name.lower():
            return place
    guess = nearest(column.name, extent.schema.names)
    hint = f"did you mean {guess}?" if guess else None
    raise UnknownColumn(f"{extent.name} has no column {column.name}", position_of(column), hint)


def _revised_stream(catalog: Catalog, name: syntax.Name, what: str) -> tuple[Extent, FromScope, Schema]:
    extent = _known_extent(catalog, name)
    if not extent.is_stream:
        raise NotSupported(f"{what} sends revisions of a stream's tuples; {extent.name} is a table", position_of(name))
    alias = extent.name.rsplit(".", 1)[-1]
    declared = extent.schema.renamed(alias)
    scope = FromScope([Relation(alias, name.parts, declared, has_implicit=True)])
    return extent, scope, StreamReceive(extent.name, declared, implicit=True).schema


def _where(node: exp.Expr, scope: FromScope) -> TypedExpr | None:
    where = node.args.get("where")
    return None if where is None else bind_predicate(where, scope)


def _update(node: syntax.UpdateRows, catalog: Catalog) -> Revise:
    extent, scope, schema = _revised_stream(catalog, node.this, "UPDATE")
    values: list[TypedExpr] = [scope.resolve((f.name,), None) for f in extent.schema.fields]
    assigned: set[int] = set()
    for assignment in node.args["assignments"]:
        place = _column_place(extent, assignment.this)
        if place in assigned:
            raise DuplicateName(f"{assignment.this.name} is set twice", position_of(assignment))
        assigned.add(place)
        value = bind(assignment.expression, scope)
        values[place] = coerce(value, extent.schema.fields[place].type, position_of(assignment.expression))
    return Revise(extent, schema, _where(node, scope), tuple(values))


def _delete(node: syntax.DeleteRows, catalog: Catalog) -> Revise:
    extent, scope, schema = _revised_stream(catalog, node.this, "DELETE")
    return Revise(extent, schema, _where(node, scope), None)


def _is_null(value: TypedExpr) -> bool:
    constant = value.arguments[0] if isinstance(value, Call) and value.function == "cast" else value
    return isinstance(constant, Literal) and constant.value is None
