"""From the syntax of an expression to a typed expression of the algebra.

The way of an expression: `bind` walks sqlglot's tree; every kind of node has its handler in `_HANDLERS`; names go to
the `Scope`, calls to `call` (which checks and casts the arguments), and what is only another way of writing something
(NULLIF, DATE_PART, TRIM(BOTH …)) to `rewrite`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sqlglot import exp

from eddyline.algebra.coercion import can_cast, cast_implicitly
from eddyline.algebra.expression import Call, Literal, TypedExpr
from eddyline.algebra.spelling import SpeltCall
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_integer,
    is_numeric,
)
from eddyline.binder import call, literal, rewrite
from eddyline.binder.datatype import data_type
from eddyline.binder.interval import Span, span_of
from eddyline.binder.position import position_of
from eddyline.errors import InvalidGrouping, NotSupported, Position, TypeMismatch

__all__ = ["Scope", "bind", "bind_predicate", "coerce", "data_type", "position_of"]


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
    return cast_implicitly(expr, to)


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

    def constant(self, node: exp.Expr) -> TypedExpr:
        assert isinstance(node, exp.Literal)
        return literal.text(node) if node.is_string else literal.number(node)

    def text(self, node: exp.Expr) -> TypedExpr:
        if literal.text_of(node) is None:
            return call.apply("concat", self.bind_all(node.expressions), position_of(node))
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

    # -- operators ----------------------------------------------------------------------------------------------------

    def paren(self, node: exp.Expr) -> TypedExpr:
        return self.bind(node.this)

    def operator(self, name: str, node: exp.Expr) -> TypedExpr:
        return call.apply(name, (self.bind(node.this), self.bind(node.expression)), position_of(node))

    def negation(self, node: exp.Expr) -> TypedExpr:
        """A minus sign before a number belongs to the number: -2147483648 is an INTEGER."""
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return literal.number(inner, negative=True)
        if isinstance(inner, exp.Cast) and literal.has_suffix(inner.this):
            return literal.with_suffix(inner.this, data_type(inner.to), negative=True)
        return call.apply("neg", (self.bind(inner),), position_of(node))

    def sum(self, node: exp.Expr) -> TypedExpr:
        """+ and -, also with intervals and dates."""
        sign = "+" if isinstance(node, exp.Add) else "-"
        if span_of(node) is not None:
            return self.interval(node)
        spans = span_of(node.this), span_of(node.expression)
        if spans[1] is not None:
            return self.moved(node, self.bind(node.this), spans[1] if sign == "+" else -spans[1], spans[1], sign)
        if spans[0] is not None and sign == "+":
            return self.moved(node, self.bind(node.expression), spans[0], spans[0], sign)
        left, right = self.bind(node.this), self.bind(node.expression)
        position = position_of(node)
        if left.type == DATE and is_integer(right.type) and right.type != BIGINT:
            return call.apply("date_add" if sign == "+" else "date_sub", (left, right), position)
        if sign == "+" and right.type == DATE and is_integer(left.type) and left.type != BIGINT:
            return call.apply("date_add", (right, left), position)
        if left.type == DATE and _is_days(right):
            assert isinstance(right, Call)
            days = Call("datediff", right.arguments, INTEGER)
            return call.apply("date_add" if sign == "+" else "date_sub", (left, days), position)
        return call.apply(sign, (left, right), position)

    def moved(self, node: exp.Expr, moment: TypedExpr, by: Span, written: Span, sign: str) -> TypedExpr:
        """A point in time plus or minus a constant interval: a DATE stays one as long as whole days are added."""
        position = position_of(node)
        if moment.type == DATE and by.days_only:
            if by.months:
                moment = _spelt(call.apply("add_months", (moment, Literal(by.months, INTEGER)), position))
            if by.length or not by.months:
                moment = _spelt(call.apply("date_add", (moment, Literal(by.length.days, INTEGER)), position))
            return moment
        if by.months:
            arguments = (Literal("MONTH", STRING), Literal(by.months, INTEGER), moment)
            moment = _spelt(call.apply("timestampadd", arguments, position))
            if not by.length:
                return moment
        return call.apply(sign, (moment, Literal(written.length, INTERVAL)), position)

    def not_(self, node: exp.Expr) -> TypedExpr:
        return call.apply("not", (self.bind(node.this),), position_of(node))

    def is_(self, node: exp.Expr) -> TypedExpr:
        if isinstance(node.expression, exp.Null):
            return call.apply("is null", (self.bind(node.this),), position_of(node))
        if isinstance(node.expression, exp.Boolean):
            return self.operator("<=>", node)
        raise NotSupported("after IS come NULL, TRUE, FALSE or DISTINCT FROM", position_of(node))

    def distinct_from(self, node: exp.Expr) -> TypedExpr:
        return call.apply("not", (self.operator("<=>", node),), position_of(node))

    def between(self, node: exp.Expr) -> TypedExpr:
        position = position_of(node)
        value, low, high = (self.bind(node.args[part]) for part in ("this", "low", "high"))
        bounds = call.apply(">=", (value, low), position), call.apply("<=", (value, high), position)
        return SpeltCall("and", bounds, BOOLEAN, "between")

    def in_(self, node: exp.Expr) -> TypedExpr:
        choices = node.expressions
        if not choices and isinstance(field := node.args.get("field"), exp.Expr):
            choices = [field]
        if not choices:
            raise NotSupported("IN takes a list of values here, not a query", position_of(node))
        return call.apply("in", (self.bind(node.this), *self.bind_all(choices)), position_of(node))

    def pattern(self, name: str, node: exp.Expr, escape: tuple[TypedExpr, ...] = ()) -> TypedExpr:
        """LIKE, ILIKE and RLIKE, with NOT, ESCAPE, ANY and ALL."""
        position = position_of(node)
        value, wanted = self.bind(node.this), node.expression
        if isinstance(wanted, exp.Any | exp.All):
            patterns = wanted.this.expressions if isinstance(wanted.this, exp.Tuple) else [wanted.this.unnest()]
            tests = [call.apply(name, (value, self.bind(pattern), *escape), position) for pattern in patterns]
            joined = tests[0]
            for test in tests[1:]:
                joined = call.apply("or" if isinstance(wanted, exp.Any) else "and", (joined, test), position)
        else:
            joined = call.apply(name, (value, self.bind(wanted), *escape), position)
        return call.apply("not", (joined,), position) if node.args.get("negate") else joined

    def escape(self, node: exp.Expr) -> TypedExpr:
        name = "ilike" if isinstance(node.this, exp.ILike) else "like"
        character = literal.text_of(node.expression)
        if character is None or len(character) != 1:
            raise TypeMismatch("ESCAPE takes one character", position_of(node.expression))
        return self.pattern(name, node.this, (Literal(character, STRING),))

    def case(self, node: exp.Expr) -> TypedExpr:
        """Both forms; `CASE x WHEN 1 …` compares x anew in every branch."""
        position = position_of(node)
        subject = self.bind(node.this) if node.this is not None else None
        arguments: list[TypedExpr] = []
        for branch in node.args["ifs"]:
            condition = self.bind(branch.this)
            if subject is not None:
                condition = call.apply("=", (subject, condition), position_of(branch))
            arguments += [condition, self.bind(branch.args["true"])]
        default = node.args.get("default")
        if default is not None:
            arguments.append(self.bind(default))
        return call.apply("case", tuple(arguments), position)

    def if_(self, node: exp.Expr) -> TypedExpr:
        parts = [node.this, node.args["true"], node.args.get("false") or exp.Null()]
        return call.apply("if", self.bind_all(parts), position_of(node))

    def cast(self, node: exp.Expr) -> TypedExpr:
        assert isinstance(node, exp.Cast)
        to = data_type(node.to)
        constant = literal.constant_cast(node.this, to)
        if constant is not None:
            return constant
        value = self.bind(node.this)
        self.check_cast(value, to, node)
        return Call("cast", (value,), to)

    def check_cast(self, value: TypedExpr, to: DataType, node: exp.Expr) -> None:
        if not can_cast(value.type, to):
            raise TypeMismatch(f"a value of type {value.type} cannot be cast to {to}", position_of(node))

    def extract(self, node: exp.Expr) -> TypedExpr:
        return rewrite.extract(node.this.name, self.bind(node.expression), position_of(node))

    def subscript(self, node: exp.Expr) -> TypedExpr:
        if len(node.expressions) != 1:
            raise NotSupported("an array takes one position", position_of(node))
        return call.apply("[]", (self.bind(node.this), self.bind(node.expressions[0])), position_of(node))

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
        position = position_of(node)
        rewriter = rewrite.REWRITES.get(name.lower())
        if rewriter is not None and condition is None:
            rewritten = rewriter(self, arguments, node)
            if rewritten is not None:
                return rewritten
        function = call.find(name, position, frozenset(rewrite.REWRITES))
        if function.aggregate:
            return self.aggregate(name, arguments, node, condition)
        if condition is not None:
            raise NotSupported(f"FILTER belongs to aggregates, {name.lower()} is none", position)
        if any(isinstance(argument, exp.Distinct) for argument in arguments):
            raise NotSupported(f"DISTINCT belongs to aggregates, {name.lower()} is none", position)
        return call.scalar(function, name, self.bind_all(arguments), position)

    def aggregate(self, name: str, arguments: list[exp.Expr], node: exp.Expr, condition: exp.Expr | None) -> TypedExpr:
        position = position_of(node)
        lower = name.lower()
        if self.within is not None:
            raise InvalidGrouping(f"{lower} stands inside {self.within}: aggregates cannot be nested", position)
        if not self.aggregates:
            hint = "conditions on aggregates belong into HAVING"
            raise InvalidGrouping(f"{lower} is an aggregate, which is not allowed here", position, hint)
        function = call.find(name, position)
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
        return call.aggregate(function, name, bound, position, distinct, test)

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
        inner, condition = node.this, node.expression.this
        if not isinstance(inner, exp.Anonymous):
            raise NotSupported("FILTER follows an aggregate", position_of(node))
        name = inner.this if isinstance(inner.this, str) else inner.this.name
        return self.call(name, list(inner.expressions), inner, condition)

    def ignore_nulls(self, node: exp.Expr) -> TypedExpr:
        """`first(x) IGNORE NULLS`."""
        inner = node.this
        if not isinstance(inner, exp.Anonymous) or len(inner.expressions) != 1:
            raise NotSupported("IGNORE NULLS follows first, last or any_value", position_of(node))
        return self.call(inner.name, [*inner.expressions, exp.true()], inner)


def _spelt(moved: TypedExpr) -> TypedExpr:
    """A time that was moved by an INTERVAL is shown that way."""
    assert isinstance(moved, Call)
    return SpeltCall(moved.function, moved.arguments, moved.type, "interval")


def _is_days(expr: TypedExpr) -> bool:
    """The difference of two dates is a whole number of days."""
    return isinstance(expr, Call) and expr.function == "-" and {a.type for a in expr.arguments} == {DATE}  # type: ignore[attr-defined]


Handler = Callable[[Binder, exp.Expr], TypedExpr]


def _operator(name: str) -> Handler:
    return lambda binder, node: binder.operator(name, node)


def _pattern(name: str) -> Handler:
    return lambda binder, node: binder.pattern(name, node)


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
    exp.RawString: Binder.text,
    exp.Concat: Binder.text,
    exp.Null: Binder.null,
    exp.Boolean: Binder.boolean,
    exp.Interval: Binder.interval,
    exp.Paren: Binder.paren,
    exp.Neg: Binder.negation,
    exp.Add: Binder.sum,
    exp.Sub: Binder.sum,
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
    exp.NullSafeNEQ: Binder.distinct_from,
    exp.And: _operator("and"),
    exp.Or: _operator("or"),
    exp.Not: Binder.not_,
    exp.Is: Binder.is_,
    exp.Between: Binder.between,
    exp.In: Binder.in_,
    exp.Like: _pattern("like"),
    exp.ILike: _pattern("ilike"),
    exp.RegexpLike: _pattern("rlike"),
    exp.Escape: Binder.escape,
    exp.DPipe: _operator("||"),
    exp.BitwiseAnd: _operator("&"),
    exp.BitwiseOr: _operator("|"),
    exp.BitwiseXor: _operator("^"),
    exp.BitwiseNot: lambda binder, node: call.apply("~", (binder.bind(node.this),), position_of(node)),
    exp.BitwiseLeftShift: _operator("<<"),
    exp.BitwiseRightShift: _operator(">>"),
    exp.Case: Binder.case,
    exp.If: Binder.if_,
    exp.Cast: Binder.cast,
    exp.TryCast: Binder.cast,
    exp.Extract: Binder.extract,
    exp.Bracket: Binder.subscript,
    exp.Anonymous: Binder.anonymous,
    exp.Filter: Binder.filter,
    exp.IgnoreNulls: Binder.ignore_nulls,
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
    (exp.Query, "a query cannot stand inside an expression"),
    (exp.Exists, "EXISTS is not supported"),
    (exp.SubqueryPredicate, "a query cannot stand inside an expression"),
    (exp.Lambda, "functions written with -> are not supported"),
    (exp.Distinct, "DISTINCT belongs behind SELECT or inside an aggregate"),
    (exp.WithinGroup, "WITHIN GROUP is not supported; use percentile(x, share)"),
    (exp.Placeholder, "parameters are not supported"),
    (exp.Tuple, "a list of values cannot stand here"),
    (exp.Alias, "a name cannot be given inside an expression"),
)


def _refusal(node: exp.Expr) -> str:
    for kind, message in _REFUSALS:
        if isinstance(node, kind):
            return message
    return f"{node.key.upper()} is not supported in expressions"
