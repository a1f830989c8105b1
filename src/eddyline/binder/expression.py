"""From the syntax of an expression to a typed expression of the algebra.

The way of an expression: `bind` walks sqlglot's tree; every kind of node has its handler in `_HANDLERS`; names go to
the `Scope`, calls to `call` (which checks and casts the arguments), and what is only another way of writing something
(NULLIF, DATE_PART, TRIM(BOTH …)) to `rewrite`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Protocol, cast

from sqlglot import exp

from eddyline.algebra.coercion import can_cast, cast_implicitly
from eddyline.algebra.expression import Call, Literal, Parameter, TypedExpr
from eddyline.algebra.types import (
    BOOLEAN,
    DATE,
    INTEGER_BITS,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_integer,
    is_numeric,
)
from eddyline.binder import call, literal, operation, rewrite
from eddyline.binder.datatype import data_type
from eddyline.binder.interval import span_of
from eddyline.binder.position import position_of
from eddyline.binder.special import TAG_COUNT, TAG_SCORE
from eddyline.errors import InvalidGrouping, NotSupported, Position, TypeMismatch
from eddyline.language import syntax

#: of a placeholder, in its meta: the type of what will be put in its place
TYPE = "parameter"
#: of a call, in its meta: the user's function that it means, or the names of those there are
FUNCTION, FUNCTIONS = "function", "functions"

__all__ = ["FUNCTION", "FUNCTIONS", "TYPE", "Scope", "bind", "bind_predicate", "coerce", "data_type", "position_of"]


class Scope(Protocol):
    """What the names of an expression mean."""

    def resolve(self, parts: tuple[str, ...], position: Position | None) -> TypedExpr:
        """The column with these name parts; raises UnknownColumn or AmbiguousColumn."""


def bind(expr: exp.Expr, scope: Scope, *, aggregates: bool = False) -> TypedExpr:
    """The typed expression that a piece of syntax means; aggregates only where they are allowed."""
    return Binder(scope, aggregates).bind(expr)


def bind_predicate(expr: exp.Expr, scope: Scope, *, aggregates: bool = False) -> TypedExpr:
    """As `bind`, for a condition: it must be BOOLEAN."""
    return Binder(scope, aggregates).predicate(expr)


def coerce(expr: TypedExpr, to: DataType, position: Position | None = None) -> TypedExpr:
    """The value as it is stored in a column of type `to` (INSERT, UPDATE).

    Stricter than a function's argument: text does not become a number by itself, because a typing mistake would be
    stored as NULL.
    """
    if not _is_storable(expr.type, to):
        hint = f"write CAST(… AS {to})" if can_cast(expr.type, to) else None
        raise TypeMismatch(f"a value of type {expr.type} cannot be stored as {to}", position, hint)
    number = _whole_constant(expr)
    most = 2 ** (INTEGER_BITS[to] - 1) if is_integer(to) else None
    if number is not None and most is not None and not -most <= number < most:
        raise TypeMismatch(f"{number} does not fit {to}", position)  # a cast would wrap it around
    return cast_implicitly(expr, to)


def _whole_constant(expr: TypedExpr) -> int | None:
    """The number that an expression is, if it is one without a point."""
    if isinstance(expr, Call) and expr.function == "neg":
        number = _whole_constant(cast(TypedExpr, expr.arguments[0]))
        return None if number is None else -number
    if not isinstance(expr, Literal) or isinstance(expr.value, bool):
        return None
    value = expr.value
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)  # longer than a BIGINT
    return value if isinstance(value, int) else None


def _is_storable(given: DataType, to: DataType) -> bool:
    if given in (to, NULL) or (to == STRING and given.element is None):
        return True
    if to in (DATE, TIMESTAMP):
        return given in (DATE, TIMESTAMP, STRING)
    if given.element and to.element:
        return _is_storable(given.element, to.element)
    return is_numeric(given) and is_numeric(to)


class Binder:
    """Binds one expression. `within` names the aggregate whose arguments are being bound, if any."""

    def __init__(self, scope: Scope, aggregates: bool) -> None:
        self.scope = scope
        self.aggregates = aggregates
        self.within: str | None = None

    def bind(self, node: exp.Expr) -> TypedExpr:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise NotSupported(_refusal(node), position_of(node))
        return handler(self, node)

    def bind_all(self, nodes: list[exp.Expr]) -> tuple[TypedExpr, ...]:
        return tuple(self.bind(node) for node in nodes)

    def predicate(self, node: exp.Expr) -> TypedExpr:
        bound = self.bind(node)
        if bound.type not in (BOOLEAN, NULL):
            raise TypeMismatch(f"a condition must be BOOLEAN, this is {bound.type}", position_of(node))
        return cast_implicitly(bound, BOOLEAN)

    # -- names and constants ------------------------------------------------------------------------------------------

    def column(self, node: exp.Expr) -> TypedExpr:
        assert isinstance(node, exp.Column)
        if isinstance(node.this, exp.Star):
            return self.star(node)
        parts = tuple(part.name for part in node.parts)
        return self.scope.resolve(parts, position_of(node))

    def dotted(self, node: exp.Expr) -> TypedExpr:
        parts = list(node.flatten())
        if not all(isinstance(part, exp.Identifier | exp.Column) for part in parts):
            raise NotSupported("only names can be joined by dots", position_of(node))
        names = [name.name for part in parts for name in (part.parts if isinstance(part, exp.Column) else [part])]
        return self.scope.resolve(tuple(names), position_of(node))

    def star(self, node: exp.Expr) -> TypedExpr:
        raise NotSupported("* is no value; it stands alone in SELECT, or in COUNT(*)", position_of(node))

    def parameter(self, node: exp.Expr) -> TypedExpr:
        """What a template leaves open; who binds it has said of which type it will be."""
        type_ = node.meta.get(TYPE)
        if type_ is None:
            hint = "db.queries(template, constants) takes a template with parameters and a table of their values"
            raise NotSupported(f"nothing is given for the parameter :{node.name}", position_of(node), hint)
        return Literal(Parameter(node.name, position_of(node)), type_)

    def constant(self, node: exp.Expr) -> TypedExpr:
        assert isinstance(node, exp.Literal)
        return literal.text(node) if node.is_string else literal.number(node)

    def text(self, node: exp.Expr) -> TypedExpr:
        if literal.text_of(node) is None:
            return call.apply("concat", self.bind_all(node.expressions), node)
        return literal.text(node)

    def null(self, node: exp.Expr) -> TypedExpr:
        return Literal(None, NULL)

    def boolean(self, node: exp.Expr) -> TypedExpr:
        return Literal(bool(node.this), BOOLEAN)

    def interval(self, node: exp.Expr) -> TypedExpr:
        span = span_of(node)
        assert span is not None
        if span.months:
            hint = "write t + INTERVAL '1' MONTH, or add_months(d, 1)"
            raise NotSupported("months have no fixed length; they can only be added to a time", position_of(node), hint)
        return Literal(span.length, INTERVAL)

    # -- calls --------------------------------------------------------------------------------------------------------

    def anonymous(self, node: exp.Expr) -> TypedExpr:
        name = node.this if isinstance(node.this, str) else node.this.name
        return self.call(name, list(node.expressions), node)

    def call(
        self,
        name: str,
        arguments: list[exp.Expr],
        node: exp.Expr,
        condition: exp.Expr | None = None,
    ) -> TypedExpr:
        """A call by name. The arguments are still syntax, because aggregates and some rewrites look at it."""
        own = node.meta.get(FUNCTION)
        rewriter = None if own is not None else rewrite.REWRITES.get(name.lower())
        if condition is not None and name.lower() in (TAG_COUNT, TAG_SCORE):
            hint = "let a sub-query in FROM filter the rows"
            raise NotSupported(f"{name.lower()} takes no FILTER", position_of(node), hint)
        if rewriter is not None and condition is None:
            rewritten = rewriter(self, arguments, node)
            if rewritten is not None:
                return rewritten
        if own is None:
            function = call.find(name, node, frozenset(rewrite.REWRITES) | node.meta.get(FUNCTIONS, frozenset()))
        if own is None and function.aggregate:
            return self.aggregate(name, arguments, node, condition)
        if condition is not None:
            raise NotSupported(f"FILTER belongs to aggregates, {name.lower()} is none", position_of(node))
        if any(isinstance(argument, exp.Distinct) for argument in arguments):
            raise NotSupported(f"DISTINCT belongs to aggregates, {name.lower()} is none", position_of(node))
        bound = self.bind_all(arguments)
        return call.scalar(function, name, bound, node) if own is None else call.own(own, bound, node)

    def aggregate(self, name: str, arguments: list[exp.Expr], node: exp.Expr, condition: exp.Expr | None) -> TypedExpr:
        lower = name.lower()
        if self.within is not None:
            raise InvalidGrouping(
                f"{lower} stands inside {self.within}: aggregates cannot be nested", position_of(node)
            )
        if not self.aggregates:
            hint = "conditions on aggregates belong into HAVING"
            raise InvalidGrouping(f"{lower} is an aggregate, which is not allowed here", position_of(node), hint)
        function = call.find(name, node)
        distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
        if distinct:
            arguments = list(arguments[0].expressions)
        self.within = lower
        try:
            bound = self.aggregate_arguments(lower, arguments, node)
            self.within = f"the FILTER of {lower}"
            test = None if condition is None else self.predicate(condition)
        finally:
            self.within = None
        return call.aggregate(function, name, bound, node, distinct, test)

    def aggregate_arguments(self, name: str, arguments: list[exp.Expr], node: exp.Expr) -> tuple[TypedExpr, ...]:
        """COUNT(*) has none; `first(x IGNORE NULLS)` is `first(x, true)`."""
        if name == "count":
            if not arguments:
                raise TypeMismatch("count takes * or at least one value", position_of(node))
            if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
                return ()
        if len(arguments) == 1 and isinstance(arguments[0], exp.IgnoreNulls):
            return self.bind(arguments[0].this), Literal(True, BOOLEAN)
        return self.bind_all(arguments)

    def filter(self, node: exp.Expr) -> TypedExpr:
        return self.modified(node.this, node.expression.this)

    def ignore_nulls(self, node: exp.Expr) -> TypedExpr:
        """`first(x) IGNORE NULLS`."""
        return self.modified(node, None)

    def modified(self, node: exp.Expr, condition: exp.Expr | None) -> TypedExpr:
        """An aggregate with what may follow it: IGNORE NULLS, FILTER."""
        inner = node.this if isinstance(node, exp.IgnoreNulls) else node
        if not isinstance(inner, exp.Anonymous):
            raise NotSupported("FILTER and IGNORE NULLS follow an aggregate", position_of(node))
        name = inner.this if isinstance(inner.this, str) else inner.this.name
        ignoring = [exp.true()] if isinstance(node, exp.IgnoreNulls) else []
        return self.call(name, [*inner.expressions, *ignoring], inner, condition)


Handler = Callable[[Binder, exp.Expr], TypedExpr]


def _operator(name: str) -> Handler:
    return lambda binder, node: operation.operator(binder, name, node)


def _pattern(name: str) -> Handler:
    return lambda binder, node: operation.pattern(binder, name, node)


def _called(name: str, *parts: str) -> Handler:
    """A function for which sqlglot has a node of its own; `parts` are its arguments in our order."""

    def handle(binder: Binder, node: exp.Expr) -> TypedExpr:
        arguments = [node.args[part] for part in parts if node.args.get(part) is not None]
        return binder.call(name, arguments, node)

    return handle


_HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Column: Binder.column,
    exp.Dot: Binder.dotted,
    exp.Star: Binder.star,
    exp.Literal: Binder.constant,
    exp.Placeholder: Binder.parameter,
    exp.RawString: Binder.text,
    exp.Concat: Binder.text,
    exp.Null: Binder.null,
    exp.Boolean: Binder.boolean,
    exp.Interval: Binder.interval,
    exp.Paren: operation.paren,
    exp.Neg: operation.negation,
    exp.Add: operation.addition,
    exp.Sub: operation.addition,
    exp.Mul: _operator("*"),
    exp.Div: _operator("/"),
    exp.Mod: _operator("%"),
    exp.IntDiv: _operator("div"),
    exp.EQ: _operator("="),
    exp.NEQ: _operator("!="),
    exp.LT: _operator("<"),
    exp.LTE: _operator("<="),
    exp.GT: _operator(">"),
    exp.GTE: _operator(">="),
    exp.NullSafeEQ: _operator("<=>"),
    exp.NullSafeNEQ: operation.distinct_from,
    exp.And: _operator("and"),
    exp.Or: _operator("or"),
    exp.Not: operation.not_,
    exp.Is: operation.is_,
    exp.Between: operation.between,
    exp.In: operation.in_,
    exp.Like: _pattern("like"),
    exp.ILike: _pattern("ilike"),
    exp.RegexpLike: _pattern("rlike"),
    exp.Escape: operation.escape,
    exp.DPipe: _operator("||"),
    exp.BitwiseAnd: _operator("&"),
    exp.BitwiseOr: _operator("|"),
    exp.BitwiseXor: _operator("^"),
    exp.BitwiseNot: lambda binder, node: call.apply("~", (binder.bind(node.this),), node),
    exp.BitwiseLeftShift: _operator("<<"),
    exp.BitwiseRightShift: _operator(">>"),
    exp.Case: operation.case,
    exp.If: operation.if_,
    exp.Cast: operation.cast,
    exp.TryCast: operation.cast,
    exp.Extract: operation.extract,
    exp.Bracket: operation.subscript,
    exp.Anonymous: Binder.anonymous,
    exp.Filter: Binder.filter,
    exp.IgnoreNulls: Binder.ignore_nulls,
    exp.RespectNulls: operation.paren,
    exp.Array: lambda binder, node: binder.call("array", node.expressions, node),
    exp.Any: lambda binder, node: binder.call("any", [node.this], node),
    exp.CurrentTimestamp: _called("current_timestamp"),
    exp.CurrentDate: _called("current_date"),
    exp.Trim: rewrite.trim,
    exp.Substring: _called("substring", "this", "start", "length"),
    exp.StrPosition: _called("locate", "substr", "this", "position"),
    exp.Overlay: _called("overlay", "this", "expression", "from_", "for_"),
    exp.Quantile: _called("percentile", "this", "quantile"),
    exp.GroupConcat: _called("listagg", "this", "separator"),
    exp.Chr: lambda binder, node: binder.call("chr", node.expressions, node),
}

_REFUSALS: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.Window, "window functions (OVER) are not supported: windows belong to the FROM clause"),
    (syntax.Query, "a query cannot stand inside an expression"),
    (exp.Query, "a query cannot stand inside an expression"),
    (exp.Exists, "EXISTS is not supported"),
    (exp.SubqueryPredicate, "a query cannot stand inside an expression"),
    (exp.Lambda, "functions written with -> are not supported"),
    (exp.Distinct, "DISTINCT belongs behind SELECT or inside an aggregate"),
    (exp.WithinGroup, "WITHIN GROUP is not supported; use percentile(x, share)"),
    (exp.Tuple, "a list of values cannot stand here"),
    (exp.Alias, "a name cannot be given inside an expression"),
)


def _refusal(node: exp.Expr) -> str:
    for kind, message in _REFUSALS:
        if isinstance(node, kind):
            return message
    return f"{node.key.upper()} is not supported in expressions"
