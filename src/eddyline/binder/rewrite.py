"""What is only another way of writing something: each is turned into calls that the catalogue has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from eddyline.algebra.expression import Literal, TypedExpr
from eddyline.algebra.functions.datetimes import EXTRACT_FIELDS, EXTRACT_SYNONYMS, UNITS
from eddyline.algebra.spelling import SpeltCall
from eddyline.algebra.types import STRING
from eddyline.binder import call
from eddyline.binder.datatype import data_type
from eddyline.binder.position import position_of
from eddyline.binder.special import tag_count, tag_score, wtime
from eddyline.errors import NotSupported, TypeMismatch, nearest

if TYPE_CHECKING:
    from eddyline.binder.expression import Binder

#: gives None if the call is an ordinary one after all
Rewrite = Callable[["Binder", list[exp.Expr], exp.Expr], TypedExpr | None]


def nullif(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr:
    """NULLIF(a, b) is IF(a = b, NULL, a)."""
    if len(arguments) != 2:
        raise TypeMismatch(f"nullif takes two values that can be compared, not {len(arguments)}", position_of(node))
    value, other = binder.bind_all(arguments)
    same = call.apply("=", (value, other), node)
    return SpeltCall("if", (same, Literal(None, value.type), value), value.type, "nullif")


def isnull(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr:
    return call.apply("is null", binder.bind_all(arguments), node)


def isnotnull(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr:
    return call.apply("not", (call.apply("is null", binder.bind_all(arguments), node),), node)


def extract(field: str, source: TypedExpr, node: exp.Expr, spelling: str = "") -> TypedExpr:
    """EXTRACT(field FROM source) and its forms as a function."""
    name = EXTRACT_SYNONYMS.get(field.upper(), field.upper())
    if name not in EXTRACT_FIELDS:
        close = nearest(name, EXTRACT_FIELDS)
        hint = f"did you mean {close}?" if close else f"fields are {', '.join(EXTRACT_FIELDS)}"
        raise NotSupported(f"extract knows no field {field}", position_of(node), hint)
    bound = call.apply("extract", (Literal(name, STRING), source), node)
    return SpeltCall(bound.function, bound.arguments, bound.type, spelling) if spelling else bound  # type: ignore[union-attr]


def date_part(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr:
    if len(arguments) != 2 or not arguments[0].is_string:
        raise TypeMismatch("date_part takes a constant field and a DATE or TIMESTAMP", position_of(node))
    return extract(arguments[0].name, binder.bind(arguments[1]), node, "date_part")


def with_unit(function: str) -> Rewrite:
    """`timestampadd(MONTH, 1, t)`: the unit is a bare word, which looks like a column."""

    def rewrite(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr | None:
        if len(arguments) != 3:
            return None
        unit = arguments[0].name.upper()
        unit = unit if unit in UNITS else unit.removesuffix("S")
        if unit not in UNITS:
            hint = f"units are {', '.join(UNITS)}"
            raise NotSupported(f"there is no unit {arguments[0].name}", position_of(arguments[0]), hint)
        bound = (Literal(unit, STRING), *binder.bind_all(arguments[1:]))
        return call.apply(function, bound, node)

    return rewrite


def cast_function(type_name: str) -> Rewrite:
    """`int(x)` is CAST(x AS INT)."""

    def rewrite(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr | None:
        if len(arguments) != 1:
            raise TypeMismatch(f"{type_name} takes one value, not {len(arguments)}", position_of(node))
        to = data_type(exp.DataType.build(type_name, dialect="spark"))
        value = binder.bind(arguments[0])
        call.check_cast(value, to, node)
        return SpeltCall("cast", (value,), to, type_name)

    return rewrite


def trim(binder: Binder, node: exp.Expr) -> TypedExpr:
    """TRIM([BOTH | LEADING | TRAILING] [characters] FROM text)."""
    side = str(node.args.get("position") or "BOTH").upper()
    text, characters = node.this, node.args.get("expression")
    if side == "BOTH":
        if characters is None:
            return binder.call("trim", [text], node)
        return binder.call("btrim", [text, characters], node)
    name = "ltrim" if side == "LEADING" else "rtrim"
    return binder.call(name, [text] if characters is None else [characters, text], node)


def position_in(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr | None:
    """POSITION(part IN text); with commas it is an ordinary call."""
    if len(arguments) != 1 or not isinstance(arguments[0], exp.In):
        return None
    inner = arguments[0]
    wanted = inner.args.get("field") or (inner.expressions or [None])[0]
    if wanted is None:
        return None
    return call.apply("locate", (binder.bind(inner.this), binder.bind(wanted)), node)


def unix_timestamp(binder: Binder, arguments: list[exp.Expr], node: exp.Expr) -> TypedExpr | None:
    """Without arguments it is the current time."""
    if not arguments:
        call.find("current_timestamp", node)
    return None


_CASTS = ["bigint", "boolean", "date", "double", "float", "int", "smallint", "string", "timestamp", "tinyint"]

REWRITES: dict[str, Rewrite] = {
    "nullif": nullif,
    "isnull": isnull,
    "isnotnull": isnotnull,
    "date_part": date_part,
    "datepart": date_part,
    "timestampadd": with_unit("timestampadd"),
    "dateadd": with_unit("timestampadd"),
    "date_add": with_unit("timestampadd"),
    "timestampdiff": with_unit("timestampdiff"),
    "timediff": with_unit("timestampdiff"),
    "datediff": with_unit("timestampdiff"),
    "date_diff": with_unit("timestampdiff"),
    "position": position_in,
    "unix_timestamp": unix_timestamp,
    "wtime": wtime,
    "tag_count": tag_count,
    "tag_score": tag_score,
    **{name: cast_function(name) for name in _CASTS},
}
