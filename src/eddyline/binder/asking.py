"""A stream beside tables of which some are asked by key: what decides about a tuple is asked before the table is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from eddyline.algebra.expression import Call, TypedExpr, columns_of, conjunction, conjuncts
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.remote import Remote, asked_with, is_remote
from eddyline.algebra.stream import StreamLookup, StreamSelect
from eddyline.algebra.tag import TagAggregation, TagJoin
from eddyline.algebra.window import LatestRowsWindow, RowWindow, Scan
from eddyline.binder.lookup import not_said
from eddyline.binder.source import Input
from eddyline.errors import NotSupported, Position, TypeMismatch


def remote_of(table: Input) -> Remote | None:
    """The table as one that is asked by key, if it is one and the query does not want it to be scanned."""
    scan = table.operator
    if table.extent is None or table.extent.lookup is None or not isinstance(scan, Scan) or scan.interval is not None:
        return None
    return Remote(scan.table, scan.declared, table.extent.lookup.key)


def asking_plan(
    stream: StreamOp, plain: Sequence[Operator], remote: Sequence[Input], where: TypedExpr | None
) -> StreamOp:
    """Every part of the condition stands where all that it reads is known, so that no key is asked for in vain.

    Tables that are at hand come first: they may say the keys. One of which the query does not say the key is scanned
    if it can be.
    """
    parts = [] if where is None else list(conjuncts(where))
    operator: StreamOp = stream
    if known := _decided(parts, operator):
        operator = StreamSelect(_all(known), operator)
    for scan in plain:
        operator = _beside(operator, scan, parts)
    left = list(remote)
    while left:
        table = next((each for each in left if _is_said(each, operator, parts)), left[0])
        left.remove(table)
        operator = _beside(operator, _way(table, operator, parts), parts)
    return operator


def check_order(plan: Operator, position: Position | None) -> None:
    """Refuse what counts tuples as they come, if when they come depends on how long a table takes to answer."""
    for operator in plan.walk():
        counts = isinstance(operator, RowWindow | LatestRowsWindow | TagJoin | TagAggregation)
        if not counts or not any(map(is_remote, operator.walk())):
            continue
        if isinstance(operator, TagAggregation):
            raise NotSupported(
                "groups by tag are founded by tuples as they come, and those that wait for a look-up come in no order",
                position,
                "give its input a window of time",
            )
        if isinstance(operator, TagJoin):
            raise NotSupported(
                "a tag join sends objects in the order in which they come, and those that wait for a look-up have none",
                position,
                "join the tags before the look-up",
            )
        raise NotSupported(
            "a window of rows counts tuples as they come, and those that wait for a look-up come in no order",
            position,
            "give it a window of time, or count rows before the look-up",
        )


def _way(table: Input, operator: StreamOp, parts: Sequence[TypedExpr]) -> Operator:
    remote = remote_of(table)
    assert remote is not None and table.extent is not None
    if _is_said(table, operator, parts):
        return remote
    if table.extent.is_scannable:
        return table.operator
    for part in parts:
        _check_types(remote, part, table)
    raise not_said(table.relation.alias, remote.key, table.position)


def _beside(operator: StreamOp, table: Operator, parts: list[TypedExpr]) -> StreamOp:
    assert isinstance(table, WindowOp)
    beside = StreamLookup(operator, table)
    return StreamLookup(operator, table, conjunction(tuple(_decided(parts, beside))))


def _decided(parts: list[TypedExpr], operator: StreamOp) -> list[TypedExpr]:
    """The parts that can be asked of an operator's tuples; they are not asked again above."""
    schema = operator.schema
    found = [part for part in parts if all(schema.has(c.name, c.relation) for c in columns_of(part))]
    parts[:] = [part for part in parts if part not in found]
    return found


def _all(parts: Sequence[TypedExpr]) -> TypedExpr:
    whole = conjunction(tuple(parts))
    assert whole is not None
    return whole


def _is_said(table: Input, operator: StreamOp, parts: Sequence[TypedExpr]) -> bool:
    """Whether the condition says the key in terms of what is known by then."""
    remote = remote_of(table)
    assert remote is not None
    found = (asked_with(remote, part) for part in parts)
    known = operator.schema
    return any(
        key is not None and all(known.has(column.name, column.relation) for column in columns_of(key)) for key in found
    )


def _check_types(remote: Remote, part: TypedExpr, table: Input) -> None:
    """A comparison that means the key, but with a value of another type: nobody could be asked for that."""
    if not isinstance(part, Call) or part.function != "=":
        return
    for one, other in (part.arguments, part.arguments[::-1]):
        inner = one.arguments[0] if isinstance(one, Call) and one.function == "cast" else one
        own = any(remote.schema.has(column.name, column.relation) for column in columns_of(other))
        if inner == remote.key_column and not own and asked_with(remote, part) is None:
            type_, given = remote.key_column.type, cast(TypedExpr, other).type
            raise TypeMismatch(
                f"{table.relation.alias} is asked by {remote.key}, which is {type_}, not by a value of type {given}",
                table.position,
                f"write CAST(… AS {type_}) around the other side",
            )
