"""ATTACH TAG: the tags that a statement puts on a stream."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from eddyline.algebra.expression import TypedExpr
from eddyline.algebra.node import StreamOp
from eddyline.algebra.schema import Schema
from eddyline.algebra.stream import StreamReceive
from eddyline.algebra.tag import (
    USER,
    Tagger,
    TagSpec,
    wrong_content,
)
from eddyline.binder.duration import duration_ticks, text_in_ticks
from eddyline.binder.environment import Environment
from eddyline.binder.expression import bind, bind_predicate, position_of
from eddyline.binder.scope import FromScope, Relation
from eddyline.catalog.catalog import TAGS, BoundQuery, Catalog
from eddyline.catalog.extent import Extent
from eddyline.errors import (
    EddylineError,
    InvalidDefinition,
    InvalidTag,
    NotSupported,
    UnknownExtent,
    nearest,
)
from eddyline.language import syntax


def bind_attach(node: syntax.AttachTag, env: Environment, tagger: str) -> tuple[Extent, Tagger]:
    """The tagger that an ATTACH statement stands for, over the bare stream, and the stream's extent."""
    extent, attributes, by_value = target_of(node.args["targets"], env.catalog)
    alias = extent.name.rsplit(".", 1)[-1]
    declared = extent.schema.renamed(alias)
    continuous = bool(node.args.get("continuously"))
    upto = tagger if continuous else None  # a query that tags shows the tags of those before it, and its own
    stream: StreamOp = StreamReceive(extent.name, declared, tick_tags=True, taggers_upto=upto)
    condition = _condition(node, extent, alias, declared)
    spec = _spec(node, attributes, by_value, env)
    return extent, Tagger(spec, tagger, condition, continuous, stream)


def target_of(targets: Sequence[syntax.Name], catalog: Catalog) -> tuple[Extent, tuple[str, ...] | None, bool]:
    """The stream, the attributes (none: the tuples) and whether their values are meant."""
    extent: Extent | None = None
    attributes: list[str] = []
    by_value: set[bool] = set()
    for target in targets:
        found, attribute, value = _one_target(target, catalog)
        if extent is not None and found.name != extent.name:
            raise InvalidTag("a tag is attached to one stream", position_of(target))
        extent = found
        if attribute is not None:
            attributes.append(attribute)
        by_value.add(value)
        if len(by_value) > 1:
            raise InvalidTag("a tag is either on attributes or on their values", position_of(target))
    assert extent is not None
    if attributes and len(attributes) < len(targets):
        raise InvalidTag("a tag is either on whole rows or on attributes", position_of(targets[-1]))
    return extent, tuple(attributes) or None, by_value == {True}


def _one_target(target: syntax.Name, catalog: Catalog) -> tuple[Extent, str | None, bool]:
    parts = target.parts
    position = position_of(target)
    for length in range(len(parts), 0, -1):
        extent = catalog.extent(".".join(parts[:length]))
        if extent is not None:
            break
    else:
        guess = nearest(parts[0], [e.name for e in catalog.extents.values() if e.is_stream])
        hint = f"did you mean {guess}?" if guess else "create it first with CREATE STREAM"
        raise UnknownExtent(f"there is no stream {parts[0]}", position, hint)
    if not extent.is_stream:
        raise InvalidTag(f"{extent.name} is a table; tags are attached to streams", position)
    rest = parts[length:]
    if not rest:
        return extent, None, False
    names = {field.name.lower(): field.name for field in extent.schema.fields}
    if rest[0].lower() not in names:
        guess = nearest(rest[0], names.values())
        hint = f"did you mean {extent.name}.{guess}?" if guess else f"it has {', '.join(names.values())}"
        raise InvalidTag(f"{extent.name} has no attribute {rest[0]}", position, hint)
    if len(rest) > 2 or (len(rest) == 2 and rest[1].lower() != "value"):
        raise InvalidTag(f"{target.text_form} is neither a stream, an attribute nor attribute.value", position)
    return extent, names[rest[0].lower()], len(rest) == 2


def _condition(node: syntax.AttachTag, extent: Extent, alias: str, declared: Schema) -> TypedExpr | None:
    where = node.args.get("where")
    if where is None:
        return None
    scope = FromScope([Relation(alias, (extent.name,), declared, has_implicit=True)])
    if not isinstance(where, syntax.Query):
        return bind_predicate(where, scope)
    return _subquery_condition(where, extent, alias, declared)


def _subquery_condition(query: syntax.Query, extent: Extent, alias: str, declared: Schema) -> TypedExpr | None:
    """A sub-query selects, from the tagged stream itself, the tuples to be tagged: its WHERE is the condition."""
    position = position_of(query)
    plain = isinstance(query, syntax.SelectQuery) and not any(
        query.args.get(key) for key in ("ctes", "distinct", "group", "having", "order", "limit", "offset", "loops")
    )
    plain = plain and not isinstance(query.expressions[0], syntax.Tags | syntax.TaggedObjects)
    sources = query.args.get("sources") or []
    if not plain or len(sources) != 1 or isinstance(sources[0].this, syntax.Query) or sources[0].args.get("window"):
        hint = "write (SELECT attribute FROM stream WHERE condition)"
        raise NotSupported("a tagging condition's sub-query selects from the tagged stream alone", position, hint)
    name = sources[0].this.text_form
    if name.lower() != extent.name.lower():
        raise InvalidTag(f"the sub-query reads {name}, but the tag is for {extent.name}", position_of(sources[0]))
    known = sources[0].args["alias"].name if sources[0].args.get("alias") else alias
    scope = FromScope([Relation(known, (extent.name,), declared, has_implicit=True)])
    for item in query.expressions:
        if not isinstance(item, exp.Star):
            bind(item, scope)
    condition = query.args.get("where")
    return None if condition is None else bind_predicate(condition, scope)


def _spec(node: syntax.AttachTag, attributes: tuple[str, ...] | None, by_value: bool, env: Environment) -> TagSpec:
    content = content_of(node.this)
    sign, mode, lifespan = node.args.get("sign"), node.args.get("mode"), node.args.get("lifespan")
    try:
        return TagSpec(
            content,
            attributes,
            by_value,
            sign.name if sign is not None else None,
            _lifespan(lifespan, env.tick_micros),
            {"OVERWRITE": "O", "COMBINE": "C"}.get(mode.name, mode.name) if mode is not None else "O",
            env.catalog.dictionary.classify(content),
        )
    except EddylineError as problem:
        if problem.position is not None:
            raise
        culprit = sign if "sign" in problem.message else mode if "mode" in problem.message else lifespan
        raise InvalidTag(problem.message, position_of(culprit if culprit is not None else node)) from None


def content_of(node: exp.Expr) -> str:
    """What a tag says, as it is written."""
    content: str = node.name
    problem = wrong_content(content)
    if problem is not None:
        raise InvalidTag(problem, position_of(node))
    return content


def _lifespan(node: exp.Expr | None, tick_micros: int) -> int | None:
    if node is None or (isinstance(node, exp.Literal) and node.name == "I"):
        return None
    if isinstance(node, syntax.Duration):
        return duration_ticks(node, tick_micros, position_of(node), InvalidTag)
    if node.name.strip().startswith(("-", "−")):
        raise InvalidTag(f"a tag cannot live for a negative time: {node.name!r}", position_of(node))
    try:
        return text_in_ticks(node.name, tick_micros, position_of(node))
    except EddylineError as problem:
        raise InvalidTag(problem.message, problem.position, problem.hint) from None


def bind_continuous(node: syntax.AttachTag, env: Environment, name: str) -> tuple[Extent, Tagger, BoundQuery]:
    """A continuous tagging query: its answer is the stream with its tags."""
    if name.lower() == USER:
        raise InvalidDefinition(f"{USER} is the tagger of statements", position_of(node), "give the query another name")
    extent, tagger = bind_attach(node, env, name)
    return extent, tagger, BoundQuery(tagger, TAGS, extent.schema.names, False, (extent.name,))
