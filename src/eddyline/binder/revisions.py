"""SHOW REVISIONS: whose corrections are asked for, and since when."""

from __future__ import annotations

from dataclasses import dataclass

from eddyline.algebra.revision_report import OF_QUERY, OF_STREAM, OVERVIEW
from eddyline.binder.position import position_of
from eddyline.binder.window import tick_of
from eddyline.catalog.catalog import Catalog
from eddyline.errors import InvalidDefinition, Position, UnknownName, nearest
from eddyline.language import syntax


@dataclass(frozen=True)
class ShowRevisions:
    """The latest corrections are listed: of all queries, of one, or the revisions of a stream."""

    name: str  # of the list, revisions1, revisions2, …
    stream: str | None = None
    query: str | None = None
    since: int | None = None  # the clock's tick from which on
    limit: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return OF_STREAM if self.stream is not None else OVERVIEW if self.query is None else OF_QUERY


def bind_show_revisions(node: syntax.ShowRevisions, catalog: Catalog, name: str) -> ShowRevisions:
    since, limit = node.args.get("since"), node.args.get("limit")
    asked = None if since is None else tick_of(since, catalog.tick_micros)
    most = None if limit is None else int(limit.name)
    if node.this is None:
        return ShowRevisions(name, since=asked, limit=most)
    return revisions_of(node.this.text_form, catalog, name, asked, most, position_of(node.this))


def revisions_of(
    of: str, catalog: Catalog, name: str, since: int | None, limit: int | None, position: Position | None = None
) -> ShowRevisions:
    """The same of a stream or a query, by its name."""
    extent = catalog.extent(of)
    if extent is not None:
        if not extent.is_stream:
            hint = "tables are not corrected: queries see them as they are"
            raise InvalidDefinition(f"{extent.name} is a table", position, hint)
        return ShowRevisions(name, stream=extent.name, since=since, limit=limit)
    if catalog.query(of) is not None:
        return ShowRevisions(name, query=catalog.names[of.lower()], since=since, limit=limit)
    if catalog.is_one_of_many(of):
        return ShowRevisions(name, query=of, since=since, limit=limit)
    guess = nearest(of, list(catalog.all_names()))
    raise UnknownName(f"there is no stream or query {of}", position, f"did you mean {guess}?" if guess else None)
