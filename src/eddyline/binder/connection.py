"""CREATE, DROP and SHOW CONNECTION POINT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from eddyline.algebra.radius import Radius, all_of, radius_of
from eddyline.binder.extent import retained_ticks
from eddyline.binder.plan import as_inputs
from eddyline.binder.position import position_of
from eddyline.catalog.catalog import BoundQuery, Catalog
from eddyline.catalog.connection import ConnectionPoint
from eddyline.errors import DuplicateName, InvalidDefinition, NotSupported, Position, UnknownName, nearest
from eddyline.language import syntax

#: what a radius is counted in
_PARTS = ("ticks", "rows")
#: who needs it, if it is queries of a template, of which there may be a million
_MANY = "db.queries"


@dataclass(frozen=True)
class Connect:
    """A connection point exists from here on."""

    point: ConnectionPoint


@dataclass(frozen=True)
class Disconnect:
    """A connection point is there no longer."""

    point: ConnectionPoint


@dataclass(frozen=True)
class ShowPoints:
    """The connection points are listed whose names are LIKE a pattern."""

    name: str  # of the list, points1, points2, …
    points: tuple[ConnectionPoint, ...]
    known: tuple[tuple[str | None, ...], ...]  # what follows from definitions alone
    columns: ClassVar[tuple[str, ...]] = ("name", "on", "retains", "radius", "needed_by")


def bind_point(node: syntax.CreatePoint, catalog: Catalog) -> ConnectionPoint | None:
    """The connection point that a statement creates; None if it is there already and IF NOT EXISTS was said."""
    name = node.this.text_form
    if name.lower() in catalog.points:
        if node.args.get("exists"):
            return None
        raise DuplicateName(f"there is a connection point {name} already", position_of(node.this))
    on, is_stream = _place(node.args["on"], catalog)
    retain = node.args.get("retain")
    ticks = retained_ticks(retain, catalog.tick_micros)
    if retain is not None and ticks == 0:
        hint = "without RETAIN it retains everything"
        raise InvalidDefinition("a connection point that retains nothing is none", position_of(retain), hint)
    return ConnectionPoint(name, on, is_stream, ticks)


def _place(name: syntax.Name, catalog: Catalog) -> tuple[str, bool]:
    text, position = name.text_form, position_of(name)
    extent = catalog.extent(text)
    if extent is not None:
        if not extent.is_stream:
            hint = "connection points are on streams and queries"
            raise InvalidDefinition(f"{extent.name} is a table: nobody revises its rows", position, hint)
        return extent.name, True
    query = catalog.query(text)
    if query is not None:
        if not query.streams:
            raise InvalidDefinition(f"{text} reads no stream, so nothing corrects its answer", position)
        return catalog.names[text.lower()], False
    if catalog.is_one_of_many(text):
        hint = "make it with CREATE QUERY, or say db.queries(…, revisions='downstream')"
        raise NotSupported(f"{text} is one of the queries that db.queries made", position, hint)
    guess = nearest(text, catalog.all_names())
    hint = f"did you mean {guess}?" if guess else "create it first"
    raise UnknownName(f"there is no stream or query {text}", position, hint)


def bound_drop(node: syntax.Drop, catalog: Catalog) -> ConnectionPoint | None:
    """The connection point that a statement drops; None if there is none and IF EXISTS was said."""
    name = node.this.text_form
    found = catalog.points.get(name.lower())
    if found is None and not node.args.get("exists"):
        guess = nearest(name, (point.name for point in catalog.points.values()))
        hint = f"did you mean {guess}?" if guess else None
        raise UnknownName(f"there is no connection point {name}", position_of(node.this), hint)
    return found


def check_free(names: Iterable[str], catalog: Catalog, position: Position | None = None) -> None:
    """Raise if a query that is to be dropped has a connection point."""
    for name in names:
        for point in catalog.points_on(name):
            raise InvalidDefinition(
                f"the connection point {point.name} is on {point.on}",
                position,
                f"drop it first, or write DROP QUERY {point.on} CASCADE",
            )


def shown(name: str, points: Iterable[ConnectionPoint], catalog: Catalog) -> ShowPoints:
    points = tuple(points)
    known = []
    for point in points:
        radius, needed_by = radius_at(point, catalog)
        known.append((point.name, point.on, point.retains, str(radius), needed_by))
    return ShowPoints(name, points, tuple(known))


def radius_at(point: ConnectionPoint, catalog: Catalog) -> tuple[Radius, str | None]:
    """How much history a correction that passes a point can need, and which query needs most; None: nobody any.

    One query may need most ticks and another one most tuples: then it is both.
    """
    found = [(name, radius_of(query.plan)) for name, query in _behind(point, catalog)]
    radius = all_of(one for _, one in found)
    if radius.unbounded:
        return radius, next(name for name, one in found if one.unbounded)
    wholly = [name for name, one in found if one == radius][:1]
    partly = [[name for name, one in found if getattr(one, part) == getattr(radius, part)][:1] for part in _PARTS]
    return radius, ", ".join(wholly or [name for names in partly for name in names]) or None


def _behind(point: ConnectionPoint, catalog: Catalog) -> list[tuple[str, BoundQuery]]:
    """The queries that a correction reaches which passes a point, that of the point itself too."""
    queries = [(catalog.names[name], query) for name, query in catalog.queries.items()]
    queries += [(_MANY, template) for template in catalog.templates()]
    if point.is_stream:
        return [(name, query) for name, query in queries if point.on in query.streams]
    own = catalog.query(point.on)
    assert own is not None
    made = as_inputs(own, point.on)
    return [(name, query) for name, query in queries if query is own or any(op in made for op in query.plan.walk())]
