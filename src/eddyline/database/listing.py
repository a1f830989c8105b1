"""SHOW QUERIES: the queries that stand, and what each of them shares with others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.catalog.catalog import BoundQuery
from eddyline.database.definitions import Definitions
from eddyline.database.sets import lower
from eddyline.spark.engine import Engine
from eddyline.spark.explain_class import filter_mates, form_text
from eddyline.spark.join_report import shares_text
from eddyline.spark.shapes import shape_of_query

#: so many classes are named; the rest is counted
_NAMED = 4
#: class: where it is answered together with others; members: how many these are; reads: the streams; form: what WHERE
#: asks, p0, p1, … for the constants in which members of one form differ, and whether tags are shown; shares: other
#: classes whose members are found by the same filter, or the states of its join that other queries read; state: live,
#: behind, backfill with how much of it, or stopped; revise_if: which corrections are shown; withheld: of how many
#: results, those of its class included, there are corrections that are not, about
COLUMNS = {
    "name": pa.string(),
    "kind": pa.string(),
    "class": pa.string(),
    "members": pa.int64(),
    "reads": pa.string(),
    "form": pa.string(),
    "shares": pa.string(),
    "priority": pa.int64(),
    "state": pa.string(),
    "revise_if": pa.string(),
    "withheld": pa.int64(),
}


def listed(definitions: Definitions, engine: Engine, state_of: Callable[[str], str], pattern: str) -> pa.Table:
    """The queries whose names are LIKE a pattern; `state_of` tells that of a log."""

    @cache
    def size(log: str) -> int:
        return len(engine.classes.named(log))

    state = cache(state_of)
    standing = engine.executor.queries()
    withheld = cache(engine.withheld)

    @cache
    def shares(log: str) -> str | None:
        mates = filter_mates(engine.classes.named(log), standing)
        more = [f"{len(mates) - _NAMED:,} more"] if len(mates) > _NAMED else []
        return f"its filter with {', '.join([*(mate.name for mate in mates[:_NAMED]), *more])}" if mates else None

    alone = {one.name: one for one in standing if one.join is not None}

    def own_shares(log: str) -> str | None:
        return shares_text(engine, alone[log]) if log in alone else None

    rows = []
    for query in definitions.queries.values():
        record = query.record
        shared = (None, 1) if record.seat is None else (record.log, size(record.log))
        asks = (None, own_shares(record.log)) if record.seat is None else (_form(query.query), shares(record.log))
        about = _about(query.query, asks, state(record.log), withheld(record.log))
        rows.append((record.name, record.kind, *shared, *about))
    columns = zip(*rows, strict=True) if rows else [[]] * len(COLUMNS)
    tables = [pa.table([pa.array(c, t) for c, t in zip(columns, COLUMNS.values(), strict=True)], list(COLUMNS))]
    for many in definitions.sets:
        members, log = many.members, many.members.seat.log
        about = _about(many.query, (_form(many.query), shares(log)), state(log), withheld(log))
        tables.append(_repeated(members.names, (members.record.query.kind, log, size(log), *about)))
    table = pa.concat_tables(tables)
    return table.filter(pc.match_like(pc.utf8_lower(table.column("name")), lower(pattern)))


def _about(
    query: BoundQuery, asks: tuple[str | None, str | None], state: str, withheld: int
) -> tuple[str | int | None, ...]:
    """What is said of a query behind where it is answered; `asks`: its form, and what its class shares."""
    held = None if query.revise_if is None else withheld
    return ", ".join(query.streams), *asks, query.priority, state, query.revise_if, held


def _repeated(names: pa.Array, same: Sequence[str | int | None]) -> pa.Table:
    """The rows of queries that differ in nothing but their names."""
    types = list(COLUMNS.values())[1:]
    columns = [pa.repeat(pa.scalar(value, type_), len(names)) for value, type_ in zip(same, types, strict=True)]
    return pa.table([names, *columns], list(COLUMNS))


def _form(query: BoundQuery) -> str | None:
    shape = shape_of_query(query)
    if shape is None:
        return None
    return f"{form_text(shape.predicate)} WITH TAGS" if shape.asks else form_text(shape.predicate)
