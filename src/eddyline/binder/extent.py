"""CREATE STREAM and CREATE TABLE."""

from __future__ import annotations

from sqlglot import exp

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.tag import USER
from eddyline.algebra.types import DATE, TIMESTAMP, is_integer
from eddyline.binder.duration import duration_ticks, interval_ticks, text_in_ticks
from eddyline.binder.expression import data_type, position_of
from eddyline.binder.function import Load
from eddyline.binder.lookup import LOOKUP, bind_lookup
from eddyline.binder.output import OWN
from eddyline.catalog.catalog import Catalog
from eddyline.catalog.extent import SENSED, STORED, Extent
from eddyline.errors import DuplicateName, InvalidDefinition, TypeMismatch, UnknownColumn, nearest
from eddyline.language import syntax

#: ticks are integers of 64 bits
_LONGEST = 2**63 - 1
#: what rows say beside their values, and what is kept beside them
RESERVED = ("_op", "_ref", "_tag", *OWN)


def bind_extent(node: syntax.Extent, catalog: Catalog, load: Load) -> Extent | None:
    """The extent that a statement declares; None if it is there already and IF NOT EXISTS was said."""
    name = node.this.text_form
    if catalog.is_taken(name):
        if node.args.get("exists"):
            return None
        raise DuplicateName(f"{name} exists already", position_of(node.this))
    schema = _schema(node)
    kind = node.args["kind"]
    if kind != STORED and name.lower() == USER:
        raise InvalidDefinition(
            f"no stream is called {name}: tags in it would be by the tagger of statements",
            position_of(node.this),
            "give the stream another name",
        )
    extent = Extent(
        name=name,
        kind=kind,
        schema=schema,
        timestamp=_timestamp(node, schema),
        key=_key(node, schema),
        sites=tuple(node.args.get("sites") or ()),
        interval=_interval(node, catalog.tick_micros),
        retain=retained_ticks(node.args.get("retain"), catalog.tick_micros),
        format=node.args.get("using"),
        options=tuple((option.args["this"].lower(), option.args["value"]) for option in node.args.get("options") or ()),
    )
    _check_kind(node, extent)
    return bind_lookup(node, extent, load) if extent.format == LOOKUP else extent


def _schema(node: syntax.Extent) -> Schema:
    fields: list[Field] = []
    for attribute in node.args["columns"]:
        name = attribute.this.name
        if name.lower() in RESERVED:
            raise InvalidDefinition(f"{name} is a reserved column", position_of(attribute.this))
        if any(field.name.lower() == name.lower() for field in fields):
            raise DuplicateName(f"the column {name} is declared twice", position_of(attribute.this))
        fields.append(Field(name, data_type(attribute.args["type_"])))
    return Schema(tuple(fields))


def _timestamp(node: syntax.Extent, schema: Schema) -> str | None:
    column = node.args.get("timestamp")
    if column is None:
        return None
    found = _column(node, schema, column)
    if not is_integer(found.type) and found.type not in (TIMESTAMP, DATE):
        raise TypeMismatch(
            f"TIMESTAMP BY needs an integer (ticks) or a TIMESTAMP; {found.name} is {found.type}", position_of(column)
        )
    return found.name


def _key(node: syntax.Extent, schema: Schema) -> tuple[str, ...]:
    names: list[str] = []
    for column in node.args.get("key") or ():
        found = _column(node, schema, column)
        if found.name in names:
            raise DuplicateName(f"the key names {found.name} twice", position_of(column))
        if found.type.element is not None:
            raise TypeMismatch(
                f"a KEY has single values; {found.name} is {found.type}",
                position_of(column),
                "name the columns that tell one tuple from another",
            )
        names.append(found.name)
    return tuple(names)


def _column(node: syntax.Extent, schema: Schema, column: exp.Expr) -> Field:
    found = next((field for field in schema.fields if field.name.lower() == column.name.lower()), None)
    if found is None:
        guess = nearest(column.name, schema.names)
        hint = f"did you mean {guess}?" if guess else None
        raise UnknownColumn(f"{node.this.text_form} has no column {column.name}", position_of(column), hint)
    return found


def _interval(node: syntax.Extent, tick_micros: int) -> int | None:
    every = node.args.get("every")
    if every is None:
        return None
    ticks = duration_ticks(every, tick_micros, position_of(every), InvalidDefinition)
    if ticks <= 0:
        raise InvalidDefinition("a stream cannot be acquired every 0 ticks", position_of(every))
    return ticks


def retained_ticks(retain: exp.Expr | None, tick_micros: int) -> int | None:
    """RETAIN in ticks. None is retained for ever; 0 takes nothing that is late in its stream."""
    if retain is None:
        return None
    position = position_of(retain)
    if isinstance(retain, syntax.Duration):
        ticks = duration_ticks(retain, tick_micros, position, InvalidDefinition)
    elif isinstance(retain, exp.Interval):
        ticks = interval_ticks(retain, tick_micros, position, InvalidDefinition)
    elif retain.is_string:
        ticks = text_in_ticks(retain.name, tick_micros, position, InvalidDefinition)
    else:
        ticks = int(retain.name)
    if ticks < 0:
        raise InvalidDefinition("nothing can be retained for a negative time", position)
    if ticks > _LONGEST:
        raise InvalidDefinition(
            f"{ticks} ticks are more than a clock can count", position, "without RETAIN it is retained for ever"
        )
    return ticks


def _check_kind(node: syntax.Extent, extent: Extent) -> None:
    position = position_of(node)
    if extent.kind != SENSED and (extent.sites or extent.interval):
        raise InvalidDefinition("SITES and EVERY are for sensed streams", position, "write CREATE SENSED STREAM")
    if extent.kind == SENSED and bool(extent.sites) != bool(extent.interval):
        raise InvalidDefinition("a sensed stream has both SITES and EVERY", position)
    if extent.kind == STORED and extent.timestamp:
        raise InvalidDefinition("a table has no TIMESTAMP BY", position_of(node.args["timestamp"]))
    if extent.kind == STORED and extent.retain is not None:
        raise InvalidDefinition("a table has no RETAIN: its rows have no time", position_of(node.args["retain"]))
    if extent.kind == STORED and extent.key:
        raise InvalidDefinition("a table has no KEY: nobody revises its rows", position_of(node.args["key"][0]))
    if extent.kind == SENSED and extent.key and not extent.timestamp:
        raise InvalidDefinition(
            "a sensed stream with a KEY needs TIMESTAMP BY",
            position_of(node.args["key"][0]),
            "without it a row's time is its turn, which the new version of a tuple has not",
        )
    if len(set(extent.sites)) < len(extent.sites):
        raise InvalidDefinition("a site is listed twice", position)
