"""Functions of more than their arguments: wtime(*) reads the window, TAG_COUNT and TAG_SCORE read tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eddyline.algebra.expression import Aggregate, Column, Literal, TypedExpr
from eddyline.algebra.node import WINDOW, WTIME
from eddyline.algebra.types import BIGINT, DOUBLE, STRING
from eddyline.binder.position import position_of
from eddyline.binder.wtime import WindowScope
from eddyline.errors import InvalidGrouping, NotSupported, Position, TypeMismatch, Unbounded

if TYPE_CHECKING:
    from eddyline.binder.expression import Binder

TAG_COUNT, TAG_SCORE = "tag_count", "tag_score"


def wtime(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr:
    """The end of the window, TelegraphCQ's wtime(*)."""
    if len(arguments) != 1 or not isinstance(arguments[0], exp.Star):
        raise TypeMismatch("wtime is written wtime(*)", position_of(node))
    scope = getattr(binder.scope, "scope", binder.scope)
    if not isinstance(scope, WindowScope):
        raise Unbounded("wtime(*) is the time of a window, and there is no window here", position_of(node))
    return scope.resolve((WINDOW, WTIME), position_of(node))


def tag_count(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr:
    """TAG_COUNT([sign[, attribute]]): how many tags with that sign the tuples carry (there)."""
    position = position_of(node)
    _check_aggregate(binder, TAG_COUNT, position)
    if len(arguments) > 2:
        raise TypeMismatch("tag_count takes a sign and an attribute", position)
    sign: str | None = None
    if arguments:
        given = arguments[0]
        if isinstance(given, exp.Distinct):
            raise NotSupported("tag_count takes no DISTINCT: it counts different tags anyway", position)
        if not isinstance(given, exp.Literal) or not given.is_string or given.name not in ("+", "-", ""):
            raise TypeMismatch("tag_count's sign is '+', '-' or '' (neutral)", position_of(given) or position)
        sign = given.name
    bound: tuple[TypedExpr, ...] = (Literal(sign, STRING),)
    if len(arguments) == 2:
        bound = (*bound, _attribute(binder, arguments[1], "tag_count's second argument", position))
    return Aggregate(TAG_COUNT, bound, BIGINT)


def tag_score(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr:
    """TAG_SCORE([attribute]): the reputation of the tuples (there), from -1 to 1 by the signs of their tags."""
    position = position_of(node)
    _check_aggregate(binder, TAG_SCORE, position)
    if len(arguments) > 1:
        raise TypeMismatch("tag_score takes an attribute, or nothing", position)
    attributes = [_attribute(binder, argument, "tag_score's argument", position) for argument in arguments]
    return Aggregate(TAG_SCORE, tuple(attributes), DOUBLE)


def _check_aggregate(binder: Binder, name: str, position: Position | None) -> None:
    if not binder.aggregates or binder.within is not None:
        raise InvalidGrouping(f"{name} is an aggregate, which is not allowed here", position)


def _attribute(binder: Binder, argument: exp.Expr, what: str, position: Position | None) -> Column:
    column = binder.bind(argument)
    if not isinstance(column, Column):
        raise TypeMismatch(f"{what} is an attribute", position_of(argument) or position)
    return column


def counts_tags(node: exp.Expr) -> bool:
    """Whether a query reads tags although it does not show them."""
    return any(
        str(call.this if isinstance(call.this, str) else call.this.name).lower() in (TAG_COUNT, TAG_SCORE)
        for call in node.find_all(exp.Anonymous)
    )
