"""Queries: from SELECT to the algebra (SNEEql section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlglot import exp

from eddyline.algebra.expression import Column, Expr, Literal, Named, TypedExpr, conjunction
from eddyline.algebra.node import Operator, StreamOp, WindowOp
from eddyline.algebra.relational import (
    Instants,
    RelationChanges,
    SortKey,
    WindowCrossProduct,
    WindowDistinct,
    WindowJoin,
    WindowProject,
    WindowSelect,
    WindowSort,
)
from eddyline.algebra.stream import DStream, IStream, RStream, StreamLookup, StreamProject, StreamSelect
from eddyline.algebra.tag import TagSelection
from eddyline.algebra.types import BOOLEAN, DATE, TIMESTAMP
from eddyline.algebra.window import OneRow
from eddyline.binder import call
from eddyline.binder.environment import Environment
from eddyline.binder.expression import bind, bind_predicate, position_of
from eddyline.binder.grouping import Grouping, group, has_aggregate
from eddyline.binder.output import Item, output_names
from eddyline.binder.scope import FromScope
from eddyline.binder.source import Input, bind_inputs
from eddyline.binder.special import counts_tags
from eddyline.binder.tag import bind_tag_query, is_tag_query
from eddyline.binder.wtime import WindowScope
from eddyline.catalog.catalog import RELATION, STREAM, WINDOWS, BoundQuery
from eddyline.errors import EddylineError, InvalidDefinition, NotSupported, Position, Unbounded, UnknownColumn
from eddyline.language import syntax


@dataclass(frozen=True)
class Plan:
    """A bound query before it is known whether it stands alone or inside another."""

    operator: Operator
    streams: tuple[str, ...]
    relation: bool = False  # windows that stand for a CQL relation
    recent: bool = False  # a relation over the tag paper's windows: shown as the stream of its insertions


def bind_query(node: syntax.Query, env: Environment) -> BoundQuery:
    """A query that stands alone: how its answers are shown follows from its inputs."""
    if is_tag_query(node):
        return bind_tag_query(node, env)  # type: ignore[arg-type]
    with_tags = _wants_tags(node)
    plan = bind_plan(node, env.with_tags(with_tags))
    operator, kind = plan.operator, STREAM
    if isinstance(operator, WindowOp):
        kind = WINDOWS
        if plan.relation and plan.streams:
            operator, kind = (IStream(operator), STREAM) if plan.recent else (RelationChanges(operator), RELATION)
    return BoundQuery(operator, kind, operator.schema.names, with_tags, plan.streams)


def _wants_tags(node: syntax.Query) -> bool:
    while isinstance(node, syntax.ToStream):
        node = node.this
    return bool(node.args.get("with_tags"))


def plan_of_query(query: BoundQuery, position: Position | None) -> Plan:
    """A standing query as the input of another one."""
    operator = query.plan
    if isinstance(operator, TagSelection):
        hint = "SELECT TAGGED OBJECTS gives the tuples"
        raise NotSupported("SELECT TAGS gives tags without tuples; no query can read it", position, hint)
    if isinstance(operator, RelationChanges):
        return Plan(operator.input, query.streams, relation=True)
    return Plan(operator, query.streams)


def bind_plan(node: syntax.Query, env: Environment) -> Plan:
    if isinstance(node, syntax.ToStream):
        return _to_stream(node, env)
    assert isinstance(node, syntax.SelectQuery)
    for definition in node.args.get("ctes") or ():
        env = env.defining(definition.this.name, bind_plan(definition.args["query"], env))
    if is_tag_query(node):
        return plan_of_query(bind_tag_query(node, env), position_of(node))
    return _Select(node, env.with_tags(bool(node.args.get("with_tags")) or counts_tags(node))).plan()


def _to_stream(node: syntax.ToStream, env: Environment) -> Plan:
    plan = bind_plan(node.this, env)
    operator, kind = plan.operator, node.args["kind"]
    if not isinstance(operator, WindowOp):
        hint = "give its stream a window, e.g. [FROM NOW-10 TO NOW SLIDE 1 MIN], or leave the wrapper out"
        raise Unbounded(
            f"{kind} turns windows into a stream, but this query is a stream already", position_of(node), hint
        )
    if kind == "RSTREAM":
        return Plan(RStream(Instants(operator) if plan.relation and plan.streams else operator), plan.streams)
    return Plan({"ISTREAM": IStream, "DSTREAM": DStream}[kind](operator), plan.streams)


@dataclass
class _Select:
    """One SELECT, bound clause by clause."""

    node: syntax.SelectQuery
    env: Environment
    inputs: list[Input] = field(default_factory=list)
    scope: FromScope = field(default_factory=FromScope)
    problems: list[EddylineError] = field(default_factory=list)

    def plan(self) -> Plan:
        if not self.node.args.get("sources"):
            items, predicate = self._items(), self._where()
            self._report_problems()
            return Plan(self._window_plan([None], predicate, items), ())
        self.inputs = bind_inputs(self.node.args["sources"], self.node.args.get("loops") or (), self.env)
        is_stream = self._is_stream_query()
        self.scope = self._from_scope()
        join_conditions = self._join_conditions()
        items = self._items()
        predicate = self._where()
        self._report_problems()
        streams = tuple(dict.fromkeys(name for i in self.inputs for name in i.streams))
        if is_stream:
            return Plan(self._stream_plan(join_conditions, predicate, items), streams)
        relation = all(i.cql for i in self.inputs)
        recent = relation and any(i.recent for i in self.inputs)
        return Plan(self._window_plan(join_conditions, predicate, items), streams, relation, recent)

    # -- which kind of query -------------------------------------------------------------------------------------------

    def _is_stream_query(self) -> bool:
        """SNEEql section 4: one stream without a window, or all inputs bounded."""
        bare = [i for i in self.inputs if i.is_bare_stream]
        if not bare:
            return False
        windowed = [i for i in self.inputs if not i.is_bare_stream and not i.is_table]
        if len(bare) > 1 or windowed:
            culprit = bare[-1] if len(bare) > 1 else bare[0]
            alias = culprit.relation.alias
            raise Unbounded(
                f"a cross product needs a window on every stream, and {alias} has none",
                culprit.position,
                f"write e.g. {alias} [FROM NOW-10 TO NOW SLIDE 1 MIN] or {alias} [RANGE 10 MIN]",
            )
        scanned = next((i for i in self.inputs if i.is_table and not i.static), None)
        if scanned is not None:
            raise Unbounded(
                f"{scanned.relation.alias} is scanned into windows, but {bare[0].relation.alias} has no window",
                bare[0].position,
                f"give {bare[0].relation.alias} a window, or leave SCAN out: each tuple then meets the table as it is",
            )
        return True

    def _refuse_blocking(self, what: str, place: exp.Expr) -> None:
        alias = next(i.relation.alias for i in self.inputs if i.is_bare_stream)
        raise Unbounded(
            f"{what} over a stream without a window never ends",
            position_of(place),
            f"give {alias} a window, e.g. {alias} [FROM NOW-10 TO NOW SLIDE 1 MIN]",
        )

    # -- FROM ----------------------------------------------------------------------------------------------------------

    def _from_scope(self) -> FromScope:
        relations = [i.relation for i in self.inputs]
        if any(i.is_bare_stream for i in self.inputs):
            return FromScope(relations)
        counted = not all(i.cql for i in self.inputs)
        return WindowScope(relations, clock_micros=self._clock_micros(), counted=counted)

    def _clock_micros(self) -> int | None:
        """The length of a tick, if the first stream is stamped by points in time and not by ticks."""
        for name in (name for i in self.inputs for name in i.streams):
            extent = self.env.catalog.extent(name)
            stamp = extent.timestamp if extent is not None else None
            if extent is not None and stamp is not None:
                types = {f.name.lower(): f.type for f in extent.schema.fields}
                return self.env.tick_micros if types[stamp.lower()] in (TIMESTAMP, DATE) else None
        return None

    def _join_conditions(self) -> list[TypedExpr | None]:
        """For each input the condition under which it joins those before it. USING merges columns on the way."""
        conditions: list[TypedExpr | None] = [None]
        for i, item in enumerate(self.inputs[1:], start=1):
            before = FromScope([other.relation for other in self.inputs[:i]], dict(self.scope.merged))
            upto = FromScope([other.relation for other in self.inputs[: i + 1]], dict(self.scope.merged))
            on = item.clause.args.get("on")
            if isinstance(on, syntax.TagCondition):
                raise NotSupported(
                    "a tag join gives tagged objects", position_of(on), "write SELECT TAGGED OBJECTS FROM … ON TAGS …"
                )
            if on is not None:
                conditions.append(bind_predicate(on, upto))
                continue
            conditions.append(conjunction(tuple(self._merge(before, item))))
        return conditions

    def _merge(self, before: FromScope, item: Input) -> list[TypedExpr]:
        join = item.clause.args.get("join")
        names = [identifier.name for identifier in item.clause.args.get("using") or ()]
        if join == "NATURAL":
            earlier = {f.name.lower() for relation in before.relations for f in relation.schema.fields}
            names = [f.name for f in item.relation.schema.fields if f.name.lower() in earlier]
        equalities: list[TypedExpr] = []
        for name in names:
            place = next((n for n in item.clause.args.get("using") or () if n.name == name), None)
            position = position_of(place) if place is not None else item.position
            left = before.resolve((name,), position)
            right = item.relation.column(name)
            if right is None:
                raise UnknownColumn(f"{item.relation.alias} has no column {name}", position)
            equalities.append(call.apply("=", (left, right), position))
            self.scope.merge(name, left, right, join or "INNER")
        return equalities

    # -- the select list -----------------------------------------------------------------------------------------------

    def _items(self) -> list[Item]:
        items: list[Item] = []
        for node in self.node.expressions:
            alias = node.alias if isinstance(node, exp.Alias) else None
            inner = node.this if isinstance(node, exp.Alias) else node
            if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
                items += self._star(inner)
                continue
            with self._noting():
                expr = bind(inner, self.scope, aggregates=True)
                items.append(Item(expr, alias or self._merged_name(inner), inner))
        return items

    def _merged_name(self, node: exp.Expr) -> str | None:
        """The name of a column that USING made of two."""
        is_merged = isinstance(node, exp.Column) and not node.table and node.name.lower() in self.scope.merged
        return self._declared_name(node.name.lower()) if is_merged else None

    def _where(self) -> TypedExpr | None:
        """The condition, part by part, so that a mistake in one part does not hide those in others."""
        where = self.node.args.get("where")
        for part in _conjuncts_of(where) if where is not None else ():
            with self._noting():
                bind_predicate(part, self.scope)
        self._report_problems()
        return None if where is None else bind_predicate(where, self.scope)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Go on after an error: the statement has to be wrong only once, but all its errors are to be known."""
        try:
            yield
        except EddylineError as problem:
            self.problems.append(problem)

    def _report_problems(self) -> None:
        if self.problems:
            first, *others = self.problems
            first.others = [*first.others, *others]
            raise first

    def _star(self, node: exp.Expr) -> list[Item]:
        star = node if isinstance(node, exp.Star) else node.this
        if any(star.args.values()):
            raise NotSupported("* takes no EXCEPT or REPLACE", position_of(node))
        relations = [i.relation for i in self.inputs]
        if isinstance(node, exp.Column):
            qualifier = tuple(part.name for part in node.parts[:-1])
            relation = self.scope.relation(qualifier)
            if relation is None:
                raise UnknownColumn(f"there is no {'.'.join(qualifier)} in FROM", position_of(node))
            return [Item(Column(f.name, f.type, f.relation), None, node) for f in relation.schema.fields]
        merged = [Item(expr, self._declared_name(name), node) for name, expr in self.scope.merged.items()]
        rest = [
            Item(Column(f.name, f.type, f.relation), None, node)
            for relation in relations
            for f in relation.schema.fields
            if f.name.lower() not in self.scope.merged
        ]
        return merged + rest

    def _declared_name(self, name: str) -> str:
        fields = (f for i in self.inputs for f in i.relation.schema.fields)
        return next(f.name for f in fields if f.name.lower() == name)

    # -- stream queries ------------------------------------------------------------------------------------------------

    def _stream_plan(
        self, conditions: list[TypedExpr | None], predicate: TypedExpr | None, items: list[Item]
    ) -> Operator:
        blocking = (
            ("DISTINCT", "distinct"),
            ("ORDER BY", "order"),
            ("LIMIT", "limit"),
            ("OFFSET", "offset"),
            ("HAVING", "having"),
            ("GROUP BY", "group"),
        )
        for what, key in blocking:
            value = self.node.args.get(key)
            if value is not None:
                self._refuse_blocking(what, value[0] if isinstance(value, list) else self.node)
        for item in items:
            if has_aggregate(item.expr):
                self._refuse_blocking("an aggregate", item.node)
        ordered = sorted(self.inputs, key=lambda i: i.is_table)
        for item_input in self.inputs:
            if item_input.clause.args.get("join") in ("LEFT", "RIGHT", "FULL"):
                raise NotSupported("an outer join needs windows", item_input.position, "give the stream a window")
        operator = ordered[0].build(self.env.tick_micros)
        assert isinstance(operator, StreamOp)
        where = conjunction(tuple(c for c in (*conditions, predicate) if c is not None))
        for table in ordered[1:]:
            scan = table.build(self.env.tick_micros)
            assert isinstance(scan, WindowOp)
            # the last look-up sees all columns; inside it, the condition decides what gets an index
            operator = StreamLookup(operator, scan, where if table is ordered[-1] else None)
        if where is not None and len(ordered) == 1:
            operator = StreamSelect(where, operator)
        names = output_names(items)
        return StreamProject(tuple(Named(i.expr, n) for i, n in zip(items, names, strict=True)), operator)

    # -- window queries ------------------------------------------------------------------------------------------------

    def _window_plan(
        self, conditions: list[TypedExpr | None], predicate: TypedExpr | None, items: list[Item]
    ) -> Operator:
        operator, remaining = self._joined(conditions)
        where = conjunction(tuple(c for c in (*remaining, predicate) if c is not None))
        if where is not None:
            operator = WindowSelect(where, operator)
        names = output_names(items)
        outputs = {name.lower(): item.expr for item, name in zip(items, names, strict=True)}
        having = self._having(outputs)
        keys = self._sort_keys(items, outputs)
        grouping = self._grouping(operator, items, names, having, keys)
        if grouping is not None:
            operator = grouping.operator
            items = [Item(grouping.over_output(i.expr, i.shown, position_of(i.node)), i.alias, i.node) for i in items]
            places = [position_of(node) for node in self.node.args.get("order") or ()]
            keys = [
                SortKey(grouping.over_output(k.expr, "ORDER BY", place), k.descending, k.nulls_first)
                for k, place in zip(keys, places, strict=True)
            ]
            if having is not None:
                place = position_of(self.node.args["having"])
                operator = WindowSelect(grouping.over_output(having, "HAVING", place), operator)
        elif having is not None:
            raise InvalidDefinition(
                "HAVING needs GROUP BY or an aggregate", position_of(self.node.args["having"]), "use WHERE"
            )
        return self._projected(operator, items, names, keys)

    def _joined(self, conditions: list[TypedExpr | None]) -> tuple[WindowOp, list[TypedExpr]]:
        """The inputs side by side; conditions of inner joins are left for the selection above."""
        operators = [i.build(self.env.tick_micros) for i in self.inputs] or [OneRow()]
        operator = operators[0]
        remaining: list[TypedExpr] = []
        assert isinstance(operator, WindowOp)
        for item, right, condition in zip(self.inputs[1:], operators[1:], conditions[1:], strict=True):
            assert isinstance(right, WindowOp)
            join = item.clause.args.get("join")
            if join in ("LEFT", "RIGHT", "FULL"):
                on = condition or Literal(True, BOOLEAN)
                operator = WindowJoin(on, operator, right, join)
                continue
            operator = WindowCrossProduct(operator, right)
            if condition is not None:
                remaining.append(condition)
        return operator, remaining

    def _having(self, outputs: dict[str, TypedExpr]) -> TypedExpr | None:
        node = self.node.args.get("having")
        if node is None:
            return None
        return bind_predicate(node, _WithOutputs(self.scope, outputs), aggregates=True)

    def _sort_keys(self, items: list[Item], outputs: dict[str, TypedExpr]) -> list[SortKey]:
        keys = []
        for node in self.node.args.get("order") or ():
            inner = node.this
            expr: TypedExpr
            if isinstance(inner, exp.Literal) and not inner.is_string:
                place = int(inner.this) if inner.this.isdigit() else 0
                if not 1 <= place <= len(items):
                    raise InvalidDefinition(
                        f"ORDER BY {inner.this}: the select list has columns 1 to {len(items)}", position_of(inner)
                    )
                expr = items[place - 1].expr
            else:
                expr = bind(inner, _OutputsFirst(self.scope, outputs), aggregates=True)
            keys.append(SortKey(expr, bool(node.args.get("descending")), bool(node.args.get("nulls_first"))))
        return keys

    def _grouping(
        self,
        operator: WindowOp,
        items: list[Item],
        names: list[str],
        having: TypedExpr | None,
        keys: list[SortKey],
    ) -> Grouping | None:
        nodes = self.node.args.get("group")
        expressions = [i.expr for i in items] + [k.expr for k in keys] + ([having] if having is not None else [])
        if nodes is None and not any(has_aggregate(e) for e in expressions):
            return None
        outputs = {name.lower(): item.expr for item, name in zip(items, names, strict=True)}
        group_keys = [self._group_key(node, items, outputs) for node in nodes or ()]
        final: dict[Expr, str] = {}
        for item, name in zip(items, names, strict=True):
            final.setdefault(item.expr, name)
        return group(operator, group_keys, expressions, final)

    def _group_key(self, node: exp.Expr, items: list[Item], outputs: dict[str, TypedExpr]) -> TypedExpr:
        if isinstance(node, syntax.TagCondition):
            raise NotSupported("GROUP BY TAG needs TAG in the select list", position_of(node))
        if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
            place = int(node.this)
            if not 1 <= place <= len(items):
                raise InvalidDefinition(
                    f"GROUP BY {place}: the select list has columns 1 to {len(items)}", position_of(node)
                )
            key = items[place - 1].expr
            if has_aggregate(key):
                raise InvalidDefinition(f"GROUP BY {place} is an aggregate", position_of(node))
            return key
        return bind(node, _WithOutputs(self.scope, outputs))

    def _projected(self, operator: WindowOp, items: list[Item], names: list[str], keys: list[SortKey]) -> Operator:
        columns = tuple(Named(i.expr, n) for i, n in zip(items, names, strict=True))
        limit, offset = self.node.args.get("limit"), self.node.args.get("offset") or 0
        distinct = bool(self.node.args.get("distinct"))
        sorting = bool(keys) or limit is not None or bool(offset)
        by_expr = {column.expr: Column(column.name, column.expr.type) for column in reversed(columns)}
        above = all(key.expr in by_expr for key in keys)
        if sorting and not above:
            if distinct:
                raise InvalidDefinition(
                    "with DISTINCT, ORDER BY can use selected columns only", position_of(self.node.args["order"][0])
                )
            operator = WindowSort(tuple(keys), limit, offset, operator)
        identity = tuple((Column(f.name, f.type, f.relation), f.name) for f in operator.schema.fields)
        if tuple((c.expr, c.name) for c in columns) != identity or any(f.relation for f in operator.schema.fields):
            operator = WindowProject(columns, operator)
        if distinct:
            operator = WindowDistinct(operator)
        if sorting and above:
            over = tuple(SortKey(by_expr[k.expr], k.descending, k.nulls_first) for k in keys)
            operator = WindowSort(over, limit, offset, operator)
        return operator


@dataclass(frozen=True)
class _WithOutputs:
    """Columns of the input; what is not there may be a column of the select list (HAVING, GROUP BY)."""

    scope: FromScope
    outputs: dict[str, TypedExpr]

    def resolve(self, parts: tuple[str, ...], position: object) -> TypedExpr:
        try:
            return self.scope.resolve(parts, position)  # type: ignore[arg-type]
        except UnknownColumn:
            if len(parts) == 1 and parts[0].lower() in self.outputs:
                return self.outputs[parts[0].lower()]
            raise


@dataclass(frozen=True)
class _OutputsFirst:
    """Columns of the select list first, as ORDER BY has it."""

    scope: FromScope
    outputs: dict[str, TypedExpr]

    def resolve(self, parts: tuple[str, ...], position: object) -> TypedExpr:
        if len(parts) == 1 and parts[0].lower() in self.outputs:
            return self.outputs[parts[0].lower()]
        return self.scope.resolve(parts, position)  # type: ignore[arg-type]


def _conjuncts_of(node: exp.Expr) -> list[exp.Expr]:
    return _conjuncts_of(node.this) + _conjuncts_of(node.expression) if isinstance(node, exp.And) else [node]
