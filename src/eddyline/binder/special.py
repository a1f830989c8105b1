"""Two functions that are more than functions of their arguments: wtime(*) reads the window, TAG_COUNT the tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from eddyline.algebra.expression import Aggregate, Column, Literal, TypedExpr
from eddyline.algebra.node import WINDOW, WTIME
from eddyline.algebra.types import BIGINT, STRING
from eddyline.binder.position import position_of
from eddyline.binder.wtime import WindowScope
from eddyline.errors import InvalidGrouping, TypeMismatch, Unbounded

if TYPE_CHECKING:
    from eddyline.binder.expression import Binder

TAG_COUNT = "tag_count"


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
    if not binder.aggregates or binder.within is not None:
        raise InvalidGrouping("tag_count is an aggregate, which is not allowed here", position)
    if len(arguments) > 2:
        raise TypeMismatch("tag_count takes a sign and an attribute", position)
    sign: str | None = None
    if arguments:
        given = arguments[0]
        if not isinstance(given, exp.Literal) or not given.is_string or given.name not in ("+", "-", ""):
            raise TypeMismatch("tag_count's sign is '+', '-' or '' (neutral)", position_of(given) or position)
        sign = given.name
    bound: tuple[TypedExpr, ...] = (Literal(sign, STRING),)
    if len(arguments) == 2:
        column = binder.bind(arguments[1])
        if not isinstance(column, Column):
            raise TypeMismatch("tag_count's second argument is an attribute", position_of(arguments[1]) or position)
        bound = (*bound, column)
    return Aggregate(TAG_COUNT, bound, BIGINT)


def counts_tags(node: exp.Expr) -> bool:
    """Whether a query reads tags although it does not show them."""
    return any(
        str(call.this if isinstance(call.this, str) else call.this.name).lower() == TAG_COUNT
        for call in node.find_all(exp.Anonymous)
    )
