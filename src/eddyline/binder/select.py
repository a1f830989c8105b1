"""What stream queries and window queries have in common: FROM, the select list and WHERE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlglot import exp

from eddyline.algebra.expression import Column, TypedExpr, conjunction
from eddyline.algebra.tag import GROUP_LABEL
from eddyline.algebra.types import DATE, TIMESTAMP
from eddyline.binder import call
from eddyline.binder.environment import Environment
from eddyline.binder.expression import bind, bind_predicate, position_of
from eddyline.binder.output import Item
from eddyline.binder.scope import FromScope
from eddyline.binder.source import Input, bind_inputs
from eddyline.binder.wtime import WindowScope
from eddyline.errors import EddylineError, NotSupported, Unbounded, UnknownColumn
from eddyline.language import syntax


@dataclass
class Select:
    """One SELECT, bound clause by clause. `conditions` are those under which each input joins the ones before it."""

    node: syntax.SelectQuery
    env: Environment
    inputs: list[Input] = field(default_factory=list)
    scope: FromScope = field(default_factory=FromScope)
    conditions: list[TypedExpr | None] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    predicate: TypedExpr | None = None
    is_stream: bool = False
    _problems: list[EddylineError] = field(default_factory=list)

    def bind(self) -> None:
        sources = self.node.args.get("sources")
        if sources:
            self.inputs = bind_inputs(sources, self.node.args.get("loops") or (), self.env)
            self.is_stream = self._is_stream_query()
            self.scope = self._from_scope()
            self._refuse_tag_among_keys()
        self.conditions = self._join_conditions()
        self.items = self._select_items()
        self.predicate = self._where()
        self._report_problems()

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for i in self.inputs for name in i.streams))

    @property
    def is_relation(self) -> bool:
        """Whether all inputs are CQL relations and tables: then so is the result."""
        return bool(self.inputs) and all(i.cql for i in self.inputs)

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

    def refuse_blocking(self, what: str, place: exp.Expr) -> None:
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

    def _refuse_tag_among_keys(self) -> None:
        """GROUP BY TAG, b: without a column of that name, tags are meant."""
        for key in self.node.args.get("group") or ():
            is_tag = isinstance(key, exp.Column) and not key.table and key.name.lower() == GROUP_LABEL
            if is_tag and not any(each.column(GROUP_LABEL) for each in self.scope.relations):
                raise NotSupported("tags and columns are not grouped at once", position_of(key), "group by TAG alone")

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

    def _select_items(self) -> list[Item]:
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
            self._problems.append(problem)

    def _report_problems(self) -> None:
        if self._problems:
            first, *others = self._problems
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


def _conjuncts_of(node: exp.Expr) -> list[exp.Expr]:
    return _conjuncts_of(node.this) + _conjuncts_of(node.expression) if isinstance(node, exp.And) else [node]
