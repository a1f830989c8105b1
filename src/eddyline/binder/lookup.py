"""CREATE TABLE … USING lookup: a table that a function of the user's is asked for, key by key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from eddyline.algebra.schema import Field
from eddyline.algebra.types import DATE, STRING, TIMESTAMP, is_integer
from eddyline.binder.duration import micros_of
from eddyline.binder.expression import position_of
from eddyline.binder.function import Declaration, Load
from eddyline.catalog.extent import STORED, Extent
from eddyline.catalog.lookup import Lookup
from eddyline.errors import EddylineError, InvalidDefinition, Position, TypeMismatch, UnknownColumn, nearest
from eddyline.language import syntax

LOOKUP = "lookup"
_OPTIONS = ("function", "key", "batch", "fresh", "patience", "size", "path", "format")
_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".parquet": "parquet"}
_WHERE = "write OPTIONS (function 'package.module:name', …) or OPTIONS (function 'file.py:name', …)"


def bind_lookup(node: syntax.Extent, extent: Extent, load: Load) -> Extent:
    """The table with what is known of its look-up; if it has a path it is as any other table beside that."""
    options = {option.args["this"].lower(): option for option in node.args.get("options") or ()}
    places = {name: position_of(option) for name, option in options.items()}
    values = dict(extent.options)
    if extent.kind != STORED:
        raise InvalidDefinition("a stream cannot be looked up", position_of(node), "write CREATE TABLE")
    for name, place in places.items() if "path" not in values else ():
        if name not in _OPTIONS or name == "format":
            guess = None if name == "format" else nearest(name, _OPTIONS)
            hint = f"did you mean {guess}?" if guess else f"it has {', '.join(_OPTIONS)}, and with a path what that has"
            raise InvalidDefinition(f"{extent.name}: USING lookup without a path has no option {name}", place, hint)
    key = _key(extent, values, places, position_of(node))
    function = load(_declaration(extent, key, values, places, position_of(node)))
    usual = Lookup(function, key.name)
    lookup = Lookup(
        function,
        key.name,
        _number(values, places, "batch", usual.batch),
        _seconds(values, places, "fresh", usual.fresh),
        _seconds(values, places, "patience", usual.patience),
        _number(values, places, "size", usual.size),
    )
    scanned = {name: value for name, value in values.items() if name not in _OPTIONS or name == "path"}
    return replace(extent, format=_format(extent, values, places), options=tuple(scanned.items()), lookup=lookup)


def _key(
    extent: Extent, values: Mapping[str, str], places: Mapping[str, Position | None], at: Position | None
) -> Field:
    if "key" not in values:
        hint = f"OPTIONS (key '{extent.schema.names[0]}', …) names the column by which rows are asked for"
        raise InvalidDefinition(f"{extent.name}: USING lookup needs a key", at, hint)
    found = next((f for f in extent.schema.fields if f.name.lower() == values["key"].lower()), None)
    if found is None:
        guess = nearest(values["key"], extent.schema.names)
        hint = f"did you mean {guess}?" if guess else f"it has {', '.join(extent.schema.names)}"
        raise UnknownColumn(f"{extent.name} has no column {values['key']}", places["key"], hint)
    if not is_integer(found.type) and found.type not in (STRING, DATE, TIMESTAMP):
        raise TypeMismatch(
            f"{extent.name} cannot be asked by {found.name}, which is {found.type}",
            places["key"],
            "a key is a whole number, a STRING, a DATE or a TIMESTAMP",
        )
    return found


def _declaration(
    extent: Extent, key: Field, values: Mapping[str, str], places: Mapping[str, Position | None], at: Position | None
) -> Declaration:
    if "function" not in values:
        raise InvalidDefinition(f"{extent.name}: USING lookup needs a function", at, _WHERE)
    place = places["function"]
    where, _, name = values["function"].rpartition(":")
    if not where or not name.isidentifier():
        raise InvalidDefinition(f"'{values['function']}' does not say which function it is", place, _WHERE)
    kind = "path" if where.endswith(".py") else "module"
    code = {kind: where, "name": name}
    at_option = dict.fromkeys(code, place)
    return Declaration(extent.name, (key.type,), key.type, code, at_option, extent.schema, key.name)


def _number(values: Mapping[str, str], places: Mapping[str, Position | None], name: str, usual: int) -> int:
    text = values.get(name)
    if text is None:
        return usual
    if not text.isdecimal() or int(text) < 1:
        raise InvalidDefinition(f"{name} is a whole number of at least 1, not {text}", places[name])
    return int(text)


def _seconds(values: Mapping[str, str], places: Mapping[str, Position | None], name: str, usual: float) -> float:
    text = values.get(name)
    return usual if text is None else micros_of(text, places[name], InvalidDefinition) / 1_000_000


def _format(extent: Extent, values: Mapping[str, str], places: Mapping[str, Position | None]) -> str | None:
    """How the file is read that can be scanned as well; None if there is none."""
    if "path" not in values:
        return None
    found: str | None
    if "format" in values:
        found = values["format"].lower()
        if found not in _FORMATS.values():
            hint = "it is csv, json or parquet"
            raise InvalidDefinition(f"{extent.name} cannot be scanned as {values['format']}", places["format"], hint)
        return found
    found = next((name for ending, name in _FORMATS.items() if values["path"].lower().endswith(ending)), None)
    if found is None:
        raise InvalidDefinition(
            f"{extent.name}: it is not said of which format {values['path']} is", places["path"], "add format 'csv'"
        )
    return found


def not_said(table: str, key: str, position: Position | None) -> EddylineError:
    """Why a table cannot be read in a query that does not say its key."""
    return InvalidDefinition(
        f"{table} can only be looked up by {key}, and this query does not say what {key} is",
        position,
        f"write WHERE … = {table}.{key} in a query over one stream without a window, or give the table a path to scan",
    )


def not_scannable(table: str, key: str, position: Position | None) -> EddylineError:
    """Why a table cannot be read in a query that asks for all of it, whatever its condition says."""
    return InvalidDefinition(
        f"{table} can only be looked up by {key}, for the tuples of one stream without a window; "
        "here all of it would have to be read",
        position,
        f"write WHERE … = {table}.{key} in a query over one stream without a window, and give that query's answers "
        "one; or give the table a path to scan",
    )
