"""TAG-QL queries: tags and tagged objects, tag joins, grouping by tag."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from eddyline.algebra.expression import Aggregate, Column, Expr, Named, TypedExpr, conjunction
from eddyline.algebra.naming import spark_name
from eddyline.algebra.node import StreamOp, WindowOp
from eddyline.algebra.relational import RelationChanges, WindowProject, WindowSelect
from eddyline.algebra.stream import IStream, StreamProject, StreamSelect
from eddyline.algebra.tag import (
    GROUP_LABEL,
    TAG_RELATION,
    TAG_SCHEMA,
    TagAggregation,
    TaggedObjectSelection,
    TagHistory,
    TagJoin,
    TagPredicate,
    TagSelection,
    WindowTagAggregation,
)
from eddyline.algebra.types import STRING
from eddyline.binder.duration import duration_ticks
from eddyline.binder.environment import Environment
from eddyline.binder.expression import bind, bind_predicate, position_of
from eddyline.binder.output import Item, output_names
from eddyline.binder.scope import FromScope, Relation
from eddyline.binder.source import Input, bind_inputs
from eddyline.binder.tag_function import tag_function
from eddyline.catalog.catalog import RELATION, STREAM, TAGS, WINDOWS, BoundQuery
from eddyline.errors import (
    InvalidTag,
    NotSupported,
    Position,
    Unbounded,
    UnknownColumn,
    nearest,
)
from eddyline.language import syntax


def is_tag_query(node: syntax.Query) -> bool:
    """Whether a query selects tags or tagged objects, joins by tags, or groups by them."""
    if not isinstance(node, syntax.SelectQuery):
        return False
    groups_by_tag = any(isinstance(g, syntax.TagCondition) for g in node.args.get("group") or ())
    return groups_by_tag or isinstance(node.expressions[0], syntax.Tags | syntax.TaggedObjects)


def bind_tag_query(node: syntax.SelectQuery, env: Environment) -> BoundQuery:
    sources = node.args.get("sources")
    if not sources:
        raise NotSupported("a query needs FROM", position_of(node))
    tagged = env.with_tags(True)
    inputs = bind_inputs(sources, node.args.get("loops") or (), tagged)
    if any(isinstance(g, syntax.TagCondition) for g in node.args.get("group") or ()):
        return _group_by_tag(node, inputs, tagged)
    for key in ("distinct", "group", "having", "order", "limit", "offset"):
        if node.args.get(key):
            message = f"SELECT TAGS and TAGGED OBJECTS take no {key.upper()}"
            raise NotSupported(message, _position_of_clause(node, key))
    if len(inputs) == 2 and isinstance(inputs[1].clause.args.get("on"), syntax.TagCondition):
        return _tag_join(node, inputs, tagged)
    if isinstance(inputs[0].operator, TagHistory):
        hint = "they are rows themselves: SELECT * FROM TAGS OF …"
        raise InvalidTag("tags have no tags", inputs[0].position, hint)
    if len(inputs) != 1 or not inputs[0].is_bare_stream:
        raise NotSupported(
            "tags are selected from one stream without a window", inputs[0].position, "or joined: … JOIN … ON TAGS …"
        )
    return _selection(node, inputs[0], env)


def _position_of_clause(node: syntax.SelectQuery, key: str) -> Position | None:
    clause = node.args[key]
    first = clause[0] if isinstance(clause, list) else clause
    return position_of(first if isinstance(first, exp.Expr) else node)


def _selection(node: syntax.SelectQuery, source: Input, env: Environment) -> BoundQuery:
    where = node.args.get("where")
    predicate, condition = _split(where, source) if where is not None else (TagPredicate(), None)
    stream = source.build(env.tick_micros)
    assert isinstance(stream, StreamOp)
    if condition is not None:
        stream = StreamSelect(condition, stream)
    with_tags = bool(node.args.get("with_tags"))
    columns = source.relation.schema.names
    if isinstance(node.expressions[0], syntax.Tags):
        return BoundQuery(TagSelection(predicate, stream), TAGS, columns, True, source.streams)
    selected = TaggedObjectSelection(predicate, with_tags or env.tagged, stream)  # who reads it may read tags
    return BoundQuery(selected, STREAM, columns, with_tags, source.streams)


_TAG_FIELDS = {field.name.replace("_", ""): field for field in TAG_SCHEMA.fields}


class _TagScope:
    """Names of a tag query's WHERE: the fields of a tag, and the columns of the stream."""

    def __init__(self, relation: Relation) -> None:
        self.columns = FromScope([relation])

    def resolve(self, parts: tuple[str, ...], position: Position | None) -> TypedExpr:
        field = _TAG_FIELDS.get(parts[0].upper().replace("_", "")) if len(parts) == 1 else None
        if field is not None:
            return Column(field.name, field.type, TAG_RELATION)
        try:
            return self.columns.resolve(parts, position)
        except UnknownColumn as problem:
            if len(parts) > 1:
                raise
            guess = nearest(parts[0], TAG_SCHEMA.names)
            told = ", ".join(TAG_SCHEMA.names)
            hint = f"did you mean {guess}?" if guess else f"{problem.hint or ''}; of a tag there are {told} and OBJECT"
            raise UnknownColumn(problem.message, position, hint) from None


def _split(where: exp.Expr, source: Input) -> tuple[TagPredicate, TypedExpr | None]:
    """The conditions on tags and those on tuples; no condition may mix them."""
    scope = _TagScope(source.relation)
    on_tags: list[TypedExpr] = []
    on_tuples: list[TypedExpr] = []
    objects: list[_Object] = []
    for part in _conjunct_nodes(where):
        found = _object_of(part, source)
        if found is not None:
            objects.append(found)
            continue
        _refuse_object(part, source)
        bound = bind_predicate(part, scope)
        relations = {column.relation for column in bound.walk() if isinstance(column, Column)}
        if TAG_RELATION in relations and len(relations) > 1:
            raise NotSupported(
                "one condition is about a tag and a tuple at once", position_of(part), "join the two by AND"
            )
        (on_tags if TAG_RELATION in relations else on_tuples).append(bound)
    attributes = tuple(found.attribute for found in objects if found.attribute is not None)
    whole = any(found.attribute is None for found in objects)
    by_value = any(found.by_value for found in objects)
    return TagPredicate(conjunction(tuple(on_tags)), attributes, whole, by_value), conjunction(tuple(on_tuples))


def _refuse_object(condition: exp.Expr, source: Input) -> None:
    """Raise if a condition says of OBJECT what cannot be asked."""
    for column in condition.find_all(exp.Column):
        if _is_object(column) and source.relation.column(column.name) is None:
            alias = source.relation.alias
            hint = f"write OBJECT = {alias}.a AND …, or OBJECT = {alias} for tags on whole rows"
            message = "OBJECT is compared by = alone, and this is joined to other conditions by AND"
            raise NotSupported(message, position_of(column), hint)


def _is_object(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and not node.table and node.name.upper() == "OBJECT"


def _conjunct_nodes(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Paren):
        return _conjunct_nodes(node.this)
    if isinstance(node, exp.And):
        return _conjunct_nodes(node.this) + _conjunct_nodes(node.expression)
    return [node]


@dataclass(frozen=True)
class _Object:
    """What `OBJECT = …` names."""

    attribute: str | None  # none: whole tuples
    by_value: bool = False


def _object_of(node: exp.Expr, source: Input) -> _Object | None:
    """The object that a condition names, or None if it is about anything else."""
    if not isinstance(node, exp.EQ):
        return None
    for this, other in ((node.this, node.expression), (node.expression, node.this)):
        if _is_object(this):
            if not isinstance(other, exp.Column):
                raise InvalidTag("OBJECT is compared with an attribute, e.g. OBJECT = s.a", position_of(other))
            parts = tuple(part.name for part in other.parts)
            if source.relation.answers_to(parts):
                return _Object(None)
            by_value = _names_value(parts, source.relation)
            column = FromScope([source.relation]).resolve(parts[:-1] if by_value else parts, position_of(other))
            return _Object(column.name, by_value) if isinstance(column, Column) else _Object(None)
    return None


def _names_value(parts: tuple[str, ...], relation: Relation) -> bool:
    """Whether `.value` stands behind an attribute; an attribute may be called value itself."""
    if len(parts) < 2 or parts[-1].lower() != "value":
        return False
    return not (relation.answers_to(parts[:-1]) and relation.column(parts[-1]) is not None)


def _tag_join(node: syntax.SelectQuery, inputs: list[Input], env: Environment) -> BoundQuery:
    if not isinstance(node.expressions[0], syntax.TaggedObjects):
        raise NotSupported("a tag join gives tagged objects", position_of(node), "write SELECT TAGGED OBJECTS")
    outer = inputs[1].clause.args.get("join")
    if outer in ("LEFT", "RIGHT", "FULL"):
        message = f"a tag join sends the objects whose tags match: there is no {outer} JOIN by tags"
        raise NotSupported(message, inputs[1].position, "write JOIN")
    if node.args.get("where"):
        raise NotSupported("a tag join takes no WHERE", position_of(node.args["where"]), "use sub-queries in FROM")
    ranges = []
    for source in inputs:
        clause = source.window
        sliding = isinstance(clause, syntax.RecentWindow | syntax.RangeWindow) and not clause.args.get("slide")
        if not sliding or clause is None:
            alias = source.relation.alias
            raise Unbounded(
                "a tag join needs a sliding window on both streams", source.position, f"write e.g. {alias} [1 MIN]"
            )
        ranges.append(duration_ticks(clause.this, env.tick_micros, position_of(clause)))
    left, right = (source.operator for source in inputs)
    assert isinstance(left, StreamOp) and isinstance(right, StreamOp)
    function = tag_function(inputs[1].clause.args["on"], env.catalog)
    plan = TagJoin(function, ranges[0], ranges[1], left, right)
    items = [Item(Column(f.name, f.type, f.relation), None, node) for f in plan.schema.fields]
    streams = tuple(dict.fromkeys(name for source in inputs for name in source.streams))
    return BoundQuery(plan, TAGS, tuple(output_names(items)), False, streams)


# -- GROUP BY TAG -----------------------------------------------------------------------------------------------------


class _GroupScope:
    """Names of a query grouped by tag: TAG is the group's label; columns are for aggregates only."""

    def __init__(self, columns: FromScope) -> None:
        self.columns = columns

    def resolve(self, parts: tuple[str, ...], position: Position | None) -> TypedExpr:
        if len(parts) == 1 and parts[0].lower() == GROUP_LABEL:
            return Column(GROUP_LABEL, STRING)
        return self.columns.resolve(parts, position)


def _group_by_tag(node: syntax.SelectQuery, inputs: list[Input], env: Environment) -> BoundQuery:
    if len(inputs) != 1:
        raise NotSupported("GROUP BY TAG is over one input", inputs[1].position)
    for key in ("distinct", "having", "order", "limit", "offset"):
        if node.args.get(key):
            raise NotSupported(f"GROUP BY TAG takes no {key.upper()}", _position_of_clause(node, key))
    source = inputs[0]
    scope = FromScope([source.relation])
    items = []
    for item in node.expressions:
        alias = item.alias if isinstance(item, exp.Alias) else None
        inner = item.this if isinstance(item, exp.Alias) else item
        items.append(Item(_item(inner, scope), alias, inner))
    where = node.args.get("where")
    predicate = None if where is None else bind_predicate(where, scope)
    condition: syntax.TagCondition = node.args["group"][0]
    function, untagged = tag_function(condition, env.catalog), bool(condition.args.get("untagged"))
    aggregates, rewritten = _aggregates_of(items)
    operator = source.build(env.tick_micros)
    names = output_names(items)
    columns = tuple(Named(e, n) for e, n in zip(rewritten, names, strict=True))
    with_tags = bool(node.args.get("with_tags"))
    if isinstance(operator, StreamOp):
        if predicate is not None:
            operator = StreamSelect(predicate, operator)
        running = TagAggregation(function, aggregates, untagged, operator)
        return BoundQuery(StreamProject(columns, running), STREAM, tuple(names), with_tags, source.streams)
    assert isinstance(operator, WindowOp)
    if predicate is not None:
        operator = WindowSelect(predicate, operator)
    grouped = WindowProject(columns, WindowTagAggregation(function, aggregates, untagged, operator))
    if source.recent:
        return BoundQuery(IStream(grouped), STREAM, tuple(names), with_tags, source.streams)
    if source.cql:
        return BoundQuery(RelationChanges(grouped), RELATION, tuple(names), with_tags, source.streams)
    return BoundQuery(grouped, WINDOWS, tuple(names), with_tags, source.streams)


def _item(node: exp.Expr, columns: FromScope) -> TypedExpr:
    """What is selected. Inside an aggregate, TAG is a column that is called so."""
    bound = bind(node, _GroupScope(columns), aggregates=True)
    aggregated = (inside for each in bound.walk() if isinstance(each, Aggregate) for inside in each.walk())
    return bind(node, columns, aggregates=True) if Column(GROUP_LABEL, STRING) in aggregated else bound


def _aggregates_of(items: list[Item]) -> tuple[tuple[Named, ...], list[TypedExpr]]:
    """The aggregates of a select list, named, and the list over their results."""
    names: dict[Expr, Column] = {}
    for item in items:
        for expr in item.expr.walk():
            if isinstance(expr, Aggregate) and expr not in names:
                names[expr] = Column(f"{spark_name(expr)}#{len(names) + 1}", expr.type)
    rewritten = []
    for item in items:
        over = item.expr.rewrite(names.get)
        stray = next((e for e in over.walk() if isinstance(e, Column) and e.relation is not None), None)
        if stray is not None:
            raise NotSupported(
                f"{stray.label} is neither TAG nor inside an aggregate", position_of(item.node), "group by TAG alone"
            )
        rewritten.append(over)
    aggregates = tuple(Named(expr, column.name) for expr, column in names.items())  # type: ignore[arg-type]
    return aggregates, rewritten  # type: ignore[return-value]
