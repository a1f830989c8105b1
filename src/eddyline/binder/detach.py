"""DETACH TAG and SHOW TAGS: tags that are taken back, and those that are there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from eddyline.algebra.schema import Schema
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.tag import USER, Withdrawal
from eddyline.binder.attach import content_of, target_of
from eddyline.binder.expression import bind_predicate, position_of
from eddyline.binder.scope import FromScope, Relation
from eddyline.catalog.catalog import Catalog
from eddyline.catalog.extent import Extent
from eddyline.errors import InvalidTag, UnknownExtent, nearest
from eddyline.language import syntax


@dataclass(frozen=True)
class DetachOnce:
    """Tags that statements have attached are taken back. The condition reads `schema`: columns, tick and index."""

    extent: Extent
    withdrawal: Withdrawal
    schema: Schema


@dataclass(frozen=True)
class ShowTags:
    """The tags of one stream or of all are listed, those whose contents are LIKE a pattern."""

    name: str  # of the list, tags1, tags2, …
    streams: tuple[str, ...]
    pattern: str
    columns: ClassVar[tuple[str, ...]] = ("stream", "tag", "sign", "type", "on", "tags", "active", "rows")


def bind_detach(node: syntax.DetachTag, catalog: Catalog) -> DetachOnce:
    extent, attributes, by_value = target_of(node.args["targets"], catalog)
    alias = extent.name.rsplit(".", 1)[-1]
    declared = extent.schema.renamed(alias)
    where = node.args.get("where")
    condition = None
    if where is not None:
        parts = tuple(extent.name.split("."))
        condition = bind_predicate(where, FromScope([Relation(alias, parts, declared, has_implicit=True)]))
    withdrawal = Withdrawal(content_of(node.this), USER, attributes, by_value, condition)
    return DetachOnce(extent, withdrawal, StreamReceive(extent.name, declared, implicit=True).schema)


def bind_show_tags(node: syntax.ShowTags, catalog: Catalog, name: str) -> ShowTags:
    streams = [extent.name for extent in catalog.extents.values() if extent.is_stream]
    pattern = node.args["pattern"].name if node.args.get("pattern") else "%"
    if node.this is None:
        return ShowTags(name, tuple(streams), pattern)
    return ShowTags(name, (tagged_stream(node.this, catalog).name,), pattern)


def tagged_stream(name: syntax.Name, catalog: Catalog) -> Extent:
    """The stream that a name means: only streams have tags of their own."""
    extent = catalog.extent(name.text_form)
    if extent is None and catalog.query(name.text_form) is not None:
        hint = "name a stream that it reads, or read its answers WITH TAGS"
        raise InvalidTag(f"{name.text_form} is a query: tags are attached to streams", position_of(name), hint)
    if extent is None:
        guess = nearest(name.text_form, [e.name for e in catalog.extents.values() if e.is_stream])
        hint_ = f"did you mean {guess}?" if guess else "create it first with CREATE STREAM"
        raise UnknownExtent(f"there is no stream {name.text_form}", position_of(name), hint_)
    if not extent.is_stream:
        raise InvalidTag(f"{extent.name} is a table; tags are attached to streams", position_of(name))
    return extent
