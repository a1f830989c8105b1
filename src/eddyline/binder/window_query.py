"""Window queries: joins, grouping, order and projection, window by window (SNEEql section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from eddyline.algebra.expression import Column, Expr, Literal, Named, TypedExpr, conjunction
from eddyline.algebra.node import WindowOp
from eddyline.algebra.relational import (
    SortKey,
    WindowCrossProduct,
    WindowDistinct,
    WindowJoin,
    WindowProject,
    WindowSelect,
    WindowSort,
)
from eddyline.algebra.types import BOOLEAN
from eddyline.algebra.window import OneRow
from eddyline.binder.expression import bind, bind_predicate, position_of
from eddyline.binder.grouping import Grouping, group, has_aggregate
from eddyline.binder.output import Item, output_names
from eddyline.binder.scope import FromScope
from eddyline.binder.select import Select
from eddyline.errors import InvalidDefinition, NotSupported, Position, UnknownColumn
from eddyline.language import syntax


def window_plan(select: Select) -> WindowOp:
    return _WindowQuery(select).plan()


@dataclass(frozen=True)
class _WindowQuery:
    select: Select

    def plan(self) -> WindowOp:
        items = self.select.items
        operator, remaining = self._joined(self.select.conditions)
        where = conjunction(tuple(c for c in (*remaining, self.select.predicate) if c is not None))
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
            places = [position_of(node) for node in self.select.node.args.get("order") or ()]
            keys = [
                SortKey(grouping.over_output(k.expr, "ORDER BY", place), k.descending, k.nulls_first)
                for k, place in zip(keys, places, strict=True)
            ]
            if having is not None:
                place = position_of(self.select.node.args["having"])
                operator = WindowSelect(grouping.over_output(having, "HAVING", place), operator)
        elif having is not None:
            raise InvalidDefinition(
                "HAVING needs GROUP BY or an aggregate", position_of(self.select.node.args["having"]), "use WHERE"
            )
        return self._projected(operator, items, names, keys)

    def _joined(self, conditions: list[TypedExpr | None]) -> tuple[WindowOp, list[TypedExpr]]:
        """The inputs side by side; conditions of inner joins are left for the selection above."""
        operators = [i.build(self.select.env.tick_micros) for i in self.select.inputs] or [OneRow()]
        operator = operators[0]
        remaining: list[TypedExpr] = []
        assert isinstance(operator, WindowOp)
        for item, right, condition in zip(self.select.inputs[1:], operators[1:], conditions[1:], strict=True):
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
        node = self.select.node.args.get("having")
        if node is None:
            return None
        return bind_predicate(node, _WithOutputs(self.select.scope, outputs), aggregates=True)

    def _sort_keys(self, items: list[Item], outputs: dict[str, TypedExpr]) -> list[SortKey]:
        keys = []
        for node in self.select.node.args.get("order") or ():
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
                expr = bind(inner, _OutputsFirst(self.select.scope, outputs), aggregates=True)
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
        nodes = self.select.node.args.get("group")
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
        return bind(node, _WithOutputs(self.select.scope, outputs))

    def _projected(self, operator: WindowOp, items: list[Item], names: list[str], keys: list[SortKey]) -> WindowOp:
        columns = tuple(Named(i.expr, n) for i, n in zip(items, names, strict=True))
        limit, offset = self.select.node.args.get("limit"), self.select.node.args.get("offset") or 0
        distinct = bool(self.select.node.args.get("distinct"))
        sorting = bool(keys) or limit is not None or bool(offset)
        by_expr = {column.expr: Column(column.name, column.expr.type) for column in reversed(columns)}
        above = all(key.expr in by_expr for key in keys)
        if sorting and not above:
            if distinct:
                raise InvalidDefinition(
                    "with DISTINCT, ORDER BY can use selected columns only",
                    position_of(self.select.node.args["order"][0]),
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

    def resolve(self, parts: tuple[str, ...], position: Position | None) -> TypedExpr:
        try:
            return self.scope.resolve(parts, position)
        except UnknownColumn:
            if len(parts) == 1 and parts[0].lower() in self.outputs:
                return self.outputs[parts[0].lower()]
            raise


@dataclass(frozen=True)
class _OutputsFirst:
    """Columns of the select list first, as ORDER BY has it."""

    scope: FromScope
    outputs: dict[str, TypedExpr]

    def resolve(self, parts: tuple[str, ...], position: Position | None) -> TypedExpr:
        if len(parts) == 1 and parts[0].lower() in self.outputs:
            return self.outputs[parts[0].lower()]
        return self.scope.resolve(parts, position)
