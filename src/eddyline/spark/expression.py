"""Resolved expressions as Spark SQL text, with the meaning that the reference engine gives them.

The text is for a session with `spark.sql.ansi.enabled = false` and the time zone UTC. Everything is put in parentheses
or is a call, so texts can be put together without thinking of precedence. The Spark type of the text is that of the
expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eddyline.algebra.expression import Aggregate, Call, Column, Expr, Literal
from eddyline.algebra.node import WINDOW, WTIME
from eddyline.algebra.schema import Schema
from eddyline.algebra.types import BIGINT, INTERVAL, DataType
from eddyline.algebra.user_function import UserCall
from eddyline.errors import InvalidAlgebra
from eddyline.spark.functions import WRITERS
from eddyline.spark.literal import back_quoted, literal_sql, spark_type

__all__ = ["AGGREGATES", "WINDOW_TICK", "Names", "aggregate_sql", "names_of", "spark_sql", "spark_type"]

#: gives the SQL text of a column
Names = Callable[[Column], str]

#: the column of a DataFrame that has the tick of the window, for wtime(*)
WINDOW_TICK = "_t"

#: Spark has all aggregates under our names
AGGREGATES = frozenset(
    {"count", "count_if", "sum", "avg", "min", "max", "min_by", "max_by", "median", "percentile"}
    | {"stddev_samp", "stddev_pop", "var_samp", "var_pop", "skewness", "kurtosis", "corr", "covar_samp", "covar_pop"}
    | {"first", "last", "any_value", "collect_list", "collect_set", "listagg"}
    | {"bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"}
)
#: aggregates of intervals stop the job if the sum overflows, unless it is said that it may
_OVERFLOWING = {"sum": "try_sum", "avg": "try_avg"}


def names_of(schema: Schema, columns: Sequence[str]) -> Names:
    """Columns of a DataFrame: the i-th field of the schema is the one called `columns[i]`."""
    texts = [back_quoted(column) for column in columns]

    def name(column: Column) -> str:
        if column.relation == WINDOW and column.name == WTIME:
            return back_quoted(WINDOW_TICK)
        return texts[schema.position(column.name, column.relation)]

    return name


def spark_sql(expr: Expr, names: Names) -> str:
    """The expression as Spark SQL.

    >>> from eddyline.algebra.types import BOOLEAN, INTEGER
    >>> temp = Column("temp", INTEGER, "s")
    >>> spark_sql(Call("<", (temp, Literal(-5, INTEGER)), BOOLEAN), lambda column: f"`{column.name}`")
    '(`temp` < (-5))'
    """
    if isinstance(expr, Column):
        return names(expr)
    if isinstance(expr, Literal):
        return literal_sql(expr.value, expr.type)
    if isinstance(expr, Aggregate):
        return aggregate_sql(expr, names)
    if not isinstance(expr, Call):
        raise InvalidAlgebra(f"cannot write {expr!r} for Spark")
    if isinstance(expr, UserCall):
        return f"{expr.function}({', '.join(spark_sql(argument, names) for argument in expr.arguments)})"
    write = WRITERS.get(expr.function)
    if write is None:
        raise InvalidAlgebra(f"there is no function {expr.function} for Spark")
    arguments = _chain(expr, expr.function) if expr.function in ("and", "or") else expr.arguments
    return write(expr, [spark_sql(argument, names) for argument in arguments])


def _chain(expr: Expr, function: str) -> list[Expr]:
    """All that this AND or OR joins, from left to right: a thousand conditions must not be nested a thousand deep."""
    parts: list[Expr] = []
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call) and part.function == function:
            waiting += reversed(part.arguments)
        else:
            parts.append(part)
    return parts


def aggregate_sql(aggregate: Aggregate, names: Names, function: str | None = None, among: str = "") -> str:
    """The aggregate with DISTINCT and FILTER; `function` is another one over the same arguments.

    `among` is a condition for the rows that are looked at, beside the aggregate's own.
    """
    if aggregate.function not in AGGREGATES:
        raise InvalidAlgebra(f"there is no aggregate {aggregate.function} for Spark")
    name = function or aggregate.function
    if aggregate.type == INTERVAL:
        name = _OVERFLOWING.get(name, name)
    arguments = ", ".join(spark_sql(argument, names) for argument in aggregate.arguments) or "*"
    distinct = "DISTINCT " if aggregate.distinct else ""
    text = f"{name}({distinct}{arguments}){filter_sql(aggregate, names, among)}"
    return whole_sum(text, aggregate.type) if name == "sum" else text


def whole_sum(text: str, type_: DataType) -> str:
    """A sum; one of integers is a BIGINT also where sums are wider."""
    return f"CAST({text} AS BIGINT)" if type_ == BIGINT else text


def filter_sql(aggregate: Aggregate, names: Names, among: str = "") -> str:
    """The FILTER clause of an aggregate, if it has one."""
    own = [] if aggregate.condition is None else [spark_sql(aggregate.condition, names)]
    conditions = " AND ".join([*([among] if among else []), *own])
    return f" FILTER (WHERE {conditions})" if conditions else ""
