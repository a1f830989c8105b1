"""Operators, CASE and CAST: the syntax that is not a call by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eddyline.algebra.expression import Call, Literal, TypedExpr
from eddyline.algebra.spelling import SpeltCall
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INTEGER,
    INTERVAL,
    STRING,
    is_integer,
)
from eddyline.binder import call, literal, rewrite
from eddyline.binder.datatype import data_type
from eddyline.binder.interval import Span, span_of
from eddyline.binder.position import position_of
from eddyline.errors import InvalidDefinition, NotSupported, TypeMismatch
from eddyline.language import syntax
from eddyline.language.suffix import has_suffix

if TYPE_CHECKING:
    from eddyline.binder.expression import Binder


def paren(binder: Binder, node: exp.Expr) -> TypedExpr:
    return binder.bind(node.this)


def operator(binder: Binder, name: str, node: exp.Expr) -> TypedExpr:
    return call.apply(name, (binder.bind(node.this), binder.bind(node.expression)), node)


def negation(binder: Binder, node: exp.Expr) -> TypedExpr:
    """A minus sign before a number belongs to the number: -2147483648 is an INTEGER."""
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return literal.number(inner, negative=True)
    if isinstance(inner, exp.Cast) and has_suffix(inner.this):
        return literal.with_suffix(inner.this, data_type(inner.to), negative=True)
    return call.apply("neg", (binder.bind(inner),), node)


def addition(binder: Binder, node: exp.Expr) -> TypedExpr:
    """+ and -, also with intervals and dates."""
    sign = "+" if isinstance(node, exp.Add) else "-"
    if span_of(node) is not None:
        return binder.interval(node)
    spans = span_of(node.this), span_of(node.expression)
    if spans[1] is not None:
        return moved(node, binder.bind(node.this), spans[1] if sign == "+" else -spans[1], spans[1], sign)
    if spans[0] is not None and sign == "+":
        return moved(node, binder.bind(node.expression), spans[0], spans[0], sign)
    left, right = binder.bind(node.this), binder.bind(node.expression)
    if left.type == DATE and is_integer(right.type) and right.type != BIGINT:
        return call.apply("date_add" if sign == "+" else "date_sub", (left, right), node)
    if sign == "+" and right.type == DATE and is_integer(left.type) and left.type != BIGINT:
        return call.apply("date_add", (right, left), node)
    if left.type == DATE and _is_days(right):
        assert isinstance(right, Call)
        days = Call("datediff", right.arguments, INTEGER)
        return call.apply("date_add" if sign == "+" else "date_sub", (left, days), node)
    return call.apply(sign, (left, right), node)


def moved(node: exp.Expr, moment: TypedExpr, by: Span, written: Span, sign: str) -> TypedExpr:
    """A point in time plus or minus a constant interval: a DATE stays one as long as whole days are added."""
    if moment.type == DATE and by.days_only:
        if by.months:
            moment = _spelt(call.apply("add_months", (moment, Literal(by.months, INTEGER)), node))
        if by.length or not by.months:
            moment = _spelt(call.apply("date_add", (moment, Literal(by.length.days, INTEGER)), node))
        return moment
    if by.months:
        arguments = (Literal("MONTH", STRING), Literal(by.months, INTEGER), moment)
        moment = _spelt(call.apply("timestampadd", arguments, node))
        if not by.length:
            return moment
    return call.apply(sign, (moment, Literal(written.length, INTERVAL)), node)


def not_(binder: Binder, node: exp.Expr) -> TypedExpr:
    return call.apply("not", (binder.bind(node.this),), node)


def is_(binder: Binder, node: exp.Expr) -> TypedExpr:
    if isinstance(node.expression, exp.Null):
        return call.apply("is null", (binder.bind(node.this),), node)
    if isinstance(node.expression, exp.Boolean):
        return operator(binder, "<=>", node)
    raise NotSupported("after IS come NULL, TRUE, FALSE or DISTINCT FROM", position_of(node))


def distinct_from(binder: Binder, node: exp.Expr) -> TypedExpr:
    return call.apply("not", (operator(binder, "<=>", node),), node)


def between(binder: Binder, node: exp.Expr) -> TypedExpr:
    value, low, high = (binder.bind(node.args[part]) for part in ("this", "low", "high"))
    bounds = call.apply(">=", (value, low), node), call.apply("<=", (value, high), node)
    return SpeltCall("and", bounds, BOOLEAN, "between")


def in_(binder: Binder, node: exp.Expr) -> TypedExpr:
    choices = node.expressions
    if not choices and isinstance(field := node.args.get("field"), exp.Expr):
        choices = [field]
    if not choices and node.args.get("query") is None:
        raise InvalidDefinition("IN needs a value to compare with, and this list has none", position_of(node))
    if not choices or isinstance(choices[0], syntax.Query):
        raise NotSupported("IN takes a list of values, not a query", position_of(node))
    return call.apply("in", (binder.bind(node.this), *binder.bind_all(choices)), node)


def pattern(binder: Binder, name: str, node: exp.Expr, escape: tuple[TypedExpr, ...] = ()) -> TypedExpr:
    """LIKE, ILIKE and RLIKE, with NOT, ESCAPE, ANY and ALL."""
    value, wanted = binder.bind(node.this), node.expression
    if isinstance(wanted, exp.Any | exp.All):
        patterns = wanted.this.expressions if isinstance(wanted.this, exp.Tuple) else [wanted.this.unnest()]
        tests = [match(binder, name, value, pattern, escape, node) for pattern in patterns]
        joined = tests[0]
        for test in tests[1:]:
            joined = call.apply("or" if isinstance(wanted, exp.Any) else "and", (joined, test), node)
    else:
        joined = match(binder, name, value, wanted, escape, node)
    return call.apply("not", (joined,), node) if node.args.get("negate") else joined


def match(
    binder: Binder,
    name: str,
    value: TypedExpr,
    pattern: exp.Expr,
    escape: tuple[TypedExpr, ...],
    node: exp.Expr,
) -> TypedExpr:
    bound = binder.bind(pattern)
    if name != "rlike" and isinstance(bound, Literal) and isinstance(bound.value, str):
        character = escape[0].value if escape and isinstance(escape[0], Literal) else "\\"
        literal.check_like(bound.value, character, position_of(pattern))
    return call.apply(name, (value, bound, *escape), node)


def escape(binder: Binder, node: exp.Expr) -> TypedExpr:
    name = "ilike" if isinstance(node.this, exp.ILike) else "like"
    character = literal.text_of(node.expression)
    if character is None or len(character) != 1:
        raise TypeMismatch("ESCAPE takes one character", position_of(node.expression))
    return pattern(binder, name, node.this, (Literal(character, STRING),))


def case(binder: Binder, node: exp.Expr) -> TypedExpr:
    """Both forms; `CASE x WHEN 1 …` compares x anew in every branch."""
    subject = binder.bind(node.this) if node.this is not None else None
    arguments: list[TypedExpr] = []
    for branch in node.args["ifs"]:
        condition = binder.bind(branch.this)
        if subject is not None:
            condition = call.apply("=", (subject, condition), branch)
        arguments += [condition, binder.bind(branch.args["true"])]
    default = node.args.get("default")
    if default is not None:
        arguments.append(binder.bind(default))
    return call.apply("case", tuple(arguments), node)


def if_(binder: Binder, node: exp.Expr) -> TypedExpr:
    parts = [node.this, node.args["true"], node.args.get("false") or exp.Null()]
    return call.apply("if", binder.bind_all(parts), node)


def cast(binder: Binder, node: exp.Expr) -> TypedExpr:
    assert isinstance(node, exp.Cast)
    to = data_type(node.to)
    constant = literal.constant_cast(node.this, to)
    if constant is not None:
        return constant
    if node.meta.get(syntax.CONSTANT):
        literal.check_moment(node.this, to)
    value = binder.bind(node.this)
    call.check_cast(value, to, node)
    return Call("cast", (value,), to)


def extract(binder: Binder, node: exp.Expr) -> TypedExpr:
    return rewrite.extract(node.this.name, binder.bind(node.expression), node)


def subscript(binder: Binder, node: exp.Expr) -> TypedExpr:
    if len(node.expressions) != 1:
        raise NotSupported("an array takes one position", position_of(node))
    return call.apply("[]", (binder.bind(node.this), binder.bind(node.expressions[0])), node)


def _spelt(moved: TypedExpr) -> TypedExpr:
    """A time that was moved by an INTERVAL is shown that way."""
    assert isinstance(moved, Call)
    return SpeltCall(moved.function, moved.arguments, moved.type, "interval")


def _is_days(expr: TypedExpr) -> bool:
    """The difference of two dates is a whole number of days."""
    return isinstance(expr, Call) and expr.function == "-" and {a.type for a in expr.arguments} == {DATE}  # type: ignore[attr-defined]
