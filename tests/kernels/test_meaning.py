"""What runs in the kernel means there what it means in the reference engine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from eddyline.algebra.expression import Aggregate, Call, Literal, TypedExpr
from eddyline.algebra.printing import sql_text
from eddyline.algebra.schema import Schema
from eddyline.algebra.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INTEGER, STRING
from eddyline.columnar.types import arrow_schema, arrow_type
from eddyline.kernels.fits import why_not_expression
from eddyline.kernels.sheet import Sheet
from eddyline.kernels.task import kernel
from eddyline.reference.aggregate import compile_aggregate
from eddyline.reference.expression import compile_expression
from eddyline.spark.expression import names_of, spark_sql
from eddyline.spark.partials import decompose
from expressions.evaluation import ROW, SCHEMA, bound
from expressions.test_aggregates import GROUP
from expressions.test_spark_answers import _PYTHON, ANSWERS
from spark import random_expressions, test_partials
from spark.frames import Row, close, to_plain
from spark.test_expression import CONSTANTS

#: at random they hardly ever get arguments that the kernel takes, or nearly always overflow
RARE = {"*", "div", "neg", "abs", "case", "in", "if", "like", "||", "coalesce", "+", "-"}
#: what the kernel may stop at: Spark then has the answer
_OVERFLOW = ("Overflow", "Out of Range", "out of range", "Conversion Error")


def table_of(schema: Schema, rows: Sequence[Row]) -> pa.Table:
    types = arrow_schema(schema)
    arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(types)]
    return pa.Table.from_arrays(arrays, schema=types)


def held(schema: Schema) -> list[int]:
    """The columns that the kernel is ever given."""
    from eddyline.algebra.expression import Column

    return [i for i, f in enumerate(schema.fields) if why_not_expression(Column(f.name, f.type, f.relation)) is None]


def leaf(sheet: Sheet, schema: Schema, rows: Sequence[Row]) -> Any:
    return sheet.table(table_of(schema, rows).select(held(schema)))


def computed(frame: Any, sheet: Sheet, types: Sequence[Any]) -> list[Row]:
    """The rows of a frame, each column as the type that it is to have."""
    connection = kernel()
    for name, table in sheet.tables.items():
        connection.register(name, table)
    found = connection.sql(frame.statement()).to_arrow_table()
    columns = [column.cast(arrow_type(type_)) for column, type_ in zip(found.columns, types, strict=True)]
    return [tuple(map(to_plain, row)) for row in zip(*(c.to_pylist() for c in columns), strict=True)]


def answers_of(expr: TypedExpr, schema: Schema, rows: Sequence[Row]) -> list[Any] | None:
    """The kernel's answers; None if it stops at an overflow."""
    sheet = Sheet()
    names = names_of(schema, schema.names)
    # the place of a row goes along: the kernel may give rows in any order
    numbered = table_of(schema, rows).select(held(schema)).append_column("_place", pa.array(range(len(rows))))
    try:
        frame = sheet.table(numbered).selectExpr("_place", f"{spark_sql(expr, names)} AS x")
        found = computed(frame, sheet, [BIGINT, expr.type])
    except duckdb.Error as problem:
        assert any(word in str(problem) for word in _OVERFLOW), (sql_text(expr), str(problem))
        return None
    return [value for _, value in sorted(found, key=lambda row: row[0])]


def wrong_answers(exprs: Sequence[TypedExpr], schema: Schema, rows: Sequence[Row]) -> tuple[list[Any], int]:
    """What differs from the reference engine, and how many expressions ran."""
    wrong, ran = [], 0
    for expr in exprs:
        if why_not_expression(expr) is not None:
            continue
        answers = answers_of(expr, schema, rows)
        if answers is None:
            continue
        ran += 1
        compute = compile_expression(expr, schema)
        tolerance = 1e-6 if expr.type == FLOAT else 1e-12
        pairs = [(answer, compute(row)) for row, answer in zip(rows, answers, strict=True)]
        wrong += [(sql_text(expr), pair) for pair in pairs if not close(*pair, tolerance)][:1]
    return wrong, ran


def test_constants_are_what_they_were() -> None:
    cases = [Literal(value, type_) for value, type_ in CONSTANTS]
    wrong, ran = wrong_answers(cases, SCHEMA, [ROW])
    assert wrong == []
    assert ran > 40


def test_recorded_answers() -> None:
    cases = [(bound(text), eval(answer, _PYTHON)) for text, _, answer, _ in ANSWERS]
    fitting = [
        (expr, expected)
        for expr, expected in cases
        if why_not_expression(expr) is None and not any(isinstance(part, Aggregate) for part in expr.walk())
    ]
    found = [(expr, answers_of(expr, SCHEMA, [ROW]), expected) for expr, expected in fitting]
    assert len(found) > 100
    assert [(sql_text(e), a[0], x) for e, a, x in found if a is not None and not close(a[0], x)] == []
    assert sum(a is None for _, a, _ in found) < 30


@pytest.mark.parametrize("seed", range(6))
def test_random_expressions(seed: int) -> None:
    rng = random.Random(seed)
    rows = random_expressions.random_rows(rng, 40)
    make = random_expressions.Maker(rng)
    functions = ["=", "<=>", "!=", "<", "<=", ">", ">=", "in", "and", "or", "not", "is null", "case", "coalesce"]
    functions += ["if", "nvl", "+", "-", "*", "neg", "abs", "positive", "/", "%", "div", "||", "like"]
    for function in functions:
        exprs = [make.call(function, depth=seed % 2) for _ in range(60)]
        wrong, ran = wrong_answers(exprs, random_expressions.SCHEMA, rows)
        assert wrong == []
        assert ran or seed % 2 or function in RARE, function  # a translation that never runs would never be wrong


def test_a_constant_with_a_point_is_the_nearest_double() -> None:
    exprs = [bound(f"d * {point}") for point in ("1.8", "0.30000000000000004", "123456789012345678.987654321")]
    wrong, ran = wrong_answers(exprs, SCHEMA, [ROW])
    assert (wrong, ran) == ([], 3)


def test_division_by_zero_is_null() -> None:
    zero = "(a - a)"
    exprs = [bound(f"d / cast({zero} as double)"), bound(f"b % {zero}"), bound(f"l div {zero}"), bound(f"a / {zero}")]
    assert [answers_of(expr, SCHEMA, [ROW]) for expr in exprs] == [[None]] * 4


def test_what_overflows_is_left_to_spark() -> None:
    widest = Literal(2**31 - 1, INTEGER)
    assert answers_of(Call("+", (widest, bound("a")), INTEGER), SCHEMA, [ROW]) is None


@pytest.mark.parametrize(
    "text",
    ["upper(t)", "cast(d as bigint)", "cast(t as int)", "n + n", "ts + interval 1 day", "t like 'a\\\\%'", "sqrt(d)"],
)
def test_what_may_differ_is_refused(text: str) -> None:
    assert why_not_expression(bound(text)) is not None


_SPREADS = ("var", "std", "stddev", "covar", "corr")


def test_aggregates_and_their_parts() -> None:
    """Whole groups, and the same from slices; over nothing but NULLs, too."""
    rng = random.Random(3)
    schema = test_partials.SCHEMA
    rows = [row for group, size in enumerate((1, 2, 7, 64)) for row in test_partials.random_rows(rng, group, size)]
    rows += [(9, slice_, *(None,) * (len(schema) - 2)) for slice_ in range(4)]
    texts = [text for text in test_partials.CASES if why_not_expression(test_partials.aggregate(text)) is None]
    texts += ["count(distinct a)", "count(distinct t)", "max(distinct d)"]
    assert len(texts) > 25
    names = test_partials.NAMES
    for text in texts:
        aggregate = test_partials.aggregate(text)
        sheet = Sheet()
        whole = computed(
            leaf(sheet, schema, rows).grouped(["g"], [f"{spark_sql(aggregate, names)} AS x"]),
            sheet,
            [INTEGER, aggregate.type],
        )
        compute = compile_aggregate(aggregate, schema)
        expected = {group: compute([row for row in rows if row[0] == group]) for group in {row[0] for row in rows}}
        # sums of squares lose more digits than sums, each way others
        most = 1e-9 if text.startswith(_SPREADS) else 1e-12
        assert [text for group, value in whole if not close(value, expected[group], most)] == []
        assert len(whole) == len(expected)
        part = decompose(aggregate, names)
        if part is None:
            continue
        columns = [f"p{i}" for i in range(len(part.partials))]
        sheet = Sheet()
        slices = leaf(sheet, schema, rows).grouped(
            ["g", "slice"], [f"{partial} AS {c}" for partial, c in zip(part.partials, columns, strict=True)]
        )
        merged = slices.grouped(["g"], [f"{m} AS {c}" for m, c in zip(part.merges(columns), columns, strict=True)])
        made = computed(merged.selectExpr("g", f"{part.final(columns)} AS x"), sheet, [INTEGER, aggregate.type])
        assert [text for group, value in made if not close(value, expected[group], most)] == []


def test_a_sum_that_overflows_is_left_to_spark() -> None:
    sheet = Sheet()
    rows = sheet.table(pa.table({"x": pa.array([2**63 - 1, 1])}))
    frame = rows.grouped([], ["CAST(sum(x) AS BIGINT) AS s"])
    with pytest.raises(duckdb.Error, match="BIGINT"):
        computed(frame, sheet, [BIGINT])


def test_groups_and_order_put_nulls_and_nan_where_spark_does() -> None:
    sheet = Sheet()
    rows = sheet.table(pa.table({"x": pa.array([float("nan"), None, 0.0, -0.0, float("nan"), 1e300])}))
    ranked = rows.distinct().selectExpr(
        "x", "row_number() OVER (ORDER BY x) AS up", "row_number() OVER (ORDER BY x DESC) AS down"
    )
    found = computed(ranked, sheet, [DOUBLE, BIGINT, BIGINT])
    assert sorted(((up, down, x) for x, up, down in found), key=lambda row: row[0])[:3] == [
        (1, 4, None),
        (2, 3, 0.0),
        (3, 2, 1e300),
    ]
    assert len(found) == 4


def test_group_of_the_other_tests_is_held() -> None:
    """A guard: most of the columns of the recorded answers reach the kernel at all."""
    kept = {SCHEMA.fields[i].type for i in held(SCHEMA)}
    assert {BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING} <= kept
    assert GROUP
