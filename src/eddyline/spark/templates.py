"""Many queries at once: one query with parameters, and a table with their values."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from eddyline.algebra.expression import Aggregate, Call, Column, Expr, Literal, Parameter
from eddyline.algebra.literals import with_literals
from eddyline.algebra.node import expressions_of
from eddyline.algebra.relational import WindowSelect
from eddyline.algebra.remote import is_remote
from eddyline.algebra.sharing import MEMBER
from eddyline.algebra.stream import StreamSelect
from eddyline.algebra.types import DOUBLE, FLOAT, DataType
from eddyline.catalog.catalog import BoundQuery
from eddyline.columnar.types import arrow_type
from eddyline.errors import NotSupported, TypeMismatch
from eddyline.log.answers import python_rows
from eddyline.sharing import Shape
from eddyline.sharing.constants import COMPARING, has_constants
from eddyline.spark.harmless import for_spark
from eddyline.spark.tags.sharing import shape_in_class


def template_shape(query: BoundQuery) -> Shape:
    """The shape of a query with parameters; raises if they stand where queries of one class cannot differ."""
    shape = shape_in_class(query)
    if any(map(is_remote, query.plan.walk())):
        raise NotSupported(
            "queries with a table that is looked up by key cannot be answered together",
            hint="make each with CREATE QUERY; what was found for a key is there for all of them",
        )
    if shape is None:
        raise NotSupported(
            "queries of this kind cannot be answered together",
            hint="two of its columns have the same name, or one is named _query; name them with AS",
        )
    asked = [] if shape.predicate is None else [shape.predicate]
    for operator in (shape.marked or shape.plan).walk():
        if isinstance(operator, StreamSelect | WindowSelect):
            if (left := _left_in(operator.predicate)) is not None and has_constants(operator.predicate):
                if _is_condition(left[1]):
                    raise _cannot_stand(*left)
                raise NotSupported(
                    f"the parameter :{_name(left[0])} stands below what counts rows, where the queries cannot differ",
                    left[0].value.position,
                    "ask it above the window",
                )
            asked.append(operator.predicate)
        elif (left := next(filter(None, map(_left_in, expressions_of(operator))), None)) is not None:
            raise NotSupported(
                f"the parameter :{_name(left[0])} stands outside of WHERE and HAVING, where the queries cannot differ",
                left[0].value.position,
                _COMPARED,
            )
    for condition in asked:
        if (left := _left_in(condition)) is not None:
            raise _cannot_stand(*left)
    return replace(corrected(shape, query), on_spark=for_spark(shape))


def corrected(shape: Shape, query: BoundQuery) -> Shape:
    """The shape of a query with how its answers are corrected."""
    return replace(shape, corrected=query.revisions)


_COMPARED = "parameters are compared with something, in WHERE or HAVING"


def _left_in(expr: Expr, around: Call | Aggregate | None = None) -> tuple[Literal, Call | Aggregate | None] | None:
    """A parameter that is still there, and the call that it is an argument of."""
    if isinstance(expr, Literal):
        return (expr, around) if isinstance(expr.value, Parameter) else None
    inner = expr if isinstance(expr, Call | Aggregate) else around
    return next((left for child in expr.children if (left := _left_in(child, inner)) is not None), None)


def _is_condition(around: Call | Aggregate | None) -> bool:
    """Whether what stands there is compared with nothing."""
    return around is None or around.function in ("and", "or", "not")


def _cannot_stand(parameter: Literal, around: Call | Aggregate | None) -> NotSupported:
    name, position = _name(parameter), parameter.value.position
    if around is not None and around.function == "cast":
        wanted = f"give values of type {around.type}"
        return NotSupported(
            f"the values of :{name} are {parameter.type}, and {around.type} is wanted there", position, wanted
        )
    if around is None or _is_condition(around):
        return NotSupported(f"the parameter :{name} is a condition by itself", position, _COMPARED)
    if around.function in COMPARING:
        return NotSupported(
            f"the values of :{name} are {parameter.type}, which no parameter can be", position, _COMPARED
        )
    return NotSupported(f"the parameter :{name} stands inside of {around.function}", position, _COMPARED)


def _name(parameter: Literal) -> str:
    return str(parameter.value.name)


def constants_of(shape: Shape, values: pa.Table) -> pa.Table:
    """The columns of a form's table: for each constant the values of its parameter, or the same for all."""
    columns = []
    patterns = _patterns(shape)
    for place, (constant, type_) in enumerate(zip(shape.constants, (*shape.where, *shape.above), strict=True)):
        if isinstance(constant, Parameter):
            column = _fitting(constant, values.column(constant.name), type_)
            if place in patterns and pc.any(pc.match_substring(column, "\\")).as_py():
                raise NotSupported(
                    f"a value of :{constant.name} has a backslash, which engines read in different ways",
                    constant.position,
                    "make that query with CREATE QUERY",
                )
            columns.append(column)
        else:
            columns.append(pa.repeat(pa.scalar(constant, arrow_type(type_)), values.num_rows))
    return pa.table(columns, [f"c{i}" for i in range(len(columns))])


def _fitting(parameter: Parameter, values: pa.ChunkedArray, type_: DataType) -> pa.ChunkedArray:
    if pa.types.is_decimal(values.type) and type_ in (FLOAT, DOUBLE):
        values = values.cast(pa.string())  # which are read to the last bit; Arrow multiplies by a power of ten
    try:
        return values.cast(arrow_type(type_))
    except pa.ArrowInvalid as problem:
        raise TypeMismatch(
            f"the values of :{parameter.name} are not all of type {type_}: {problem}", parameter.position
        ) from problem


def _patterns(shape: Shape) -> set[int]:
    """The places of constants that are patterns of LIKE."""
    calls = [] if shape.predicate is None else [e for e in shape.predicate.walk() if isinstance(e, Call)]
    found = [call.arguments[1] for call in calls if call.function == "like"]
    return {int(column.name[1:]) for column in found if isinstance(column, Column) and column.relation == MEMBER}


def with_values(query: BoundQuery, row: pa.Table) -> BoundQuery:
    """A query with parameters as the one that it stands for, whose values are a row of a table."""
    values = dict(zip(row.column_names, python_rows(row.column_names, row)[0], strict=True))

    def given(literal: Literal) -> Literal:
        known = literal.value
        return Literal(values[known.name], literal.type) if isinstance(known, Parameter) else literal

    plan, in_class = with_literals((query.plan, query.in_class), given)
    return replace(query, plan=plan, in_class=in_class)
