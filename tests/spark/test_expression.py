"""Expressions as Spark SQL: Spark answers as it was recorded, and as the reference engine does."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from eddyline.algebra.expression import Aggregate, Call, Column, Literal, TypedExpr
from eddyline.algebra.functions import CATALOGUE
from eddyline.algebra.node import WINDOW, WTIME
from eddyline.algebra.printing import sql_text
from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    array,
    decimal,
)
from eddyline.errors import InvalidAlgebra
from eddyline.reference.expression import compile_expression
from eddyline.spark.expression import AGGREGATES, names_of, spark_sql, spark_type
from eddyline.spark.functions import WRITERS
from expressions.evaluation import ROW, SCHEMA, bound, evaluated, same
from expressions.test_aggregates import CASES, GROUP
from expressions.test_spark_answers import _PYTHON, ANSWERS
from spark import random_expressions
from spark.frames import Row, close, our_type, to_frame, to_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: how many expressions one Spark job answers: a job costs more than they do
_AT_ONCE = 150


def asked(frame: DataFrame, schema: Schema, exprs: Sequence[TypedExpr]) -> list[Row]:
    """Spark's answers to expressions over a frame of this schema; their types are checked on the way."""
    names = names_of(schema, schema.names)
    answers: list[Row] = [()] * frame.count()
    for start in range(0, len(exprs), _AT_ONCE):
        part = exprs[start : start + _AT_ONCE]
        selected = frame.selectExpr(*(f"{spark_sql(expr, names)} AS x{i}" for i, expr in enumerate(part)))
        types = [our_type(field.dataType) for field in selected.schema.fields]
        assert [(sql_text(expr), type_) for expr, type_ in zip(part, types, strict=True)] == [
            (sql_text(expr), expr.type) for expr in part
        ]
        answers = [old + new for old, new in zip(answers, to_rows(selected), strict=False)]
    return answers


def in_one_piece(spark: SparkSession, schema: Schema, rows: Sequence[Row]) -> DataFrame:
    """A frame that Spark computes with as with real data; what it knows to be constant, it computes while planning."""
    return to_frame(spark, schema, rows).coalesce(1).cache()


def has_aggregate(expr: TypedExpr) -> bool:
    return any(isinstance(part, Aggregate) for part in expr.walk())


# -- against recorded answers -----------------------------------------------------------------------------------------


def test_recorded_answers(spark: SparkSession) -> None:
    frame = in_one_piece(spark, SCHEMA, [ROW])
    wrong = []
    every = [(bound(text), eval(answer, _PYTHON)) for text, _, answer, _ in ANSWERS]
    for aggregates in (False, True):
        # Arrow has no array of nothing
        cases = [case for case in every if has_aggregate(case[0]) == aggregates and case[0].type != array(NULL)]
        (answers,) = asked(frame, SCHEMA, [expr for expr, _ in cases])
        for (expr, expected), answer in zip(cases, answers, strict=True):
            if not same(answer, tuple(expected) if isinstance(expected, list) else expected):
                wrong.append((sql_text(expr), answer, expected))
    assert wrong == []


def test_aggregates_over_a_group(spark: SparkSession) -> None:
    frame = in_one_piece(spark, SCHEMA, GROUP)
    (answers,) = asked(frame, SCHEMA, [bound(text) for text, _ in CASES])[:1]
    found = zip(CASES, answers, strict=True)
    assert [
        (text, answer, expected)
        for (text, expected), answer in found
        if not same(_sorted(text, answer), _sorted(text, expected))
    ] == []


def _sorted(text: str, value: Any) -> Any:
    """A set has no order."""
    return tuple(sorted(value)) if text.startswith("collect_set") else value


# -- the catalogue ----------------------------------------------------------------------------------------------------


def test_every_function_is_translated() -> None:
    scalar = {f.name for f in CATALOGUE if not f.aggregate}
    assert scalar == set(WRITERS) - {"cast"}
    assert {f.name for f in CATALOGUE if f.aggregate} == AGGREGATES


def test_what_is_not_in_the_catalogue_is_refused() -> None:
    with pytest.raises(InvalidAlgebra, match="no function nonsense"):
        spark_sql(Call("nonsense", (), INTEGER), names_of(Schema(()), ()))
    with pytest.raises(InvalidAlgebra, match="no aggregate tag_count"):
        spark_sql(Aggregate("tag_count", (), BIGINT), names_of(Schema(()), ()))


# -- constants and columns --------------------------------------------------------------------------------------------

CONSTANTS: list[tuple[Any, DataType]] = [
    *((value, TINYINT) for value in (-128, 0, 127)),
    *((value, SMALLINT) for value in (-(2**15), 5)),
    *((value, INTEGER) for value in (-(2**31), -1, 2**31 - 1)),
    *((value, BIGINT) for value in (-(2**63), 0, 2**63 - 1)),
    *((value, DOUBLE) for value in (0.1, -0.0, 5e-324, 1.7976931348623157e308, -1e22, math.nan, math.inf, -math.inf)),
    *((value, FLOAT) for value in (0.10000000149011612, -0.0, 3.4028234663852886e38, math.nan, -math.inf)),
    *((Decimal(value), decimal(38, 10)) for value in ("-1234567890123456789012345678.0123456789", "0.0000000000")),
    (Decimal("0.05"), decimal(2, 2)),
    (Decimal("1E+2"), decimal(3, 0)),
    *(
        (value, STRING)
        for value in ("", "it's", '"', "\\", "\\n", "a\nb\t\r\0\x1a\x7f", "\\u0041", "%_\\%", "--", "/*")
    ),
    *((value, STRING) for value in ("${spark.app.name}", "$x", ":a ?", "日本語", "😀", "e\u0301", "`", ";", "\u2028")),
    *((value, DATE) for value in (date(1, 1, 1), date(9999, 12, 31), date(2020, 2, 29))),
    *((value, TIMESTAMP) for value in (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))),
    *((value, INTERVAL) for value in (timedelta(0), timedelta(days=-3, microseconds=1), timedelta(days=10**8))),
    *((value, BOOLEAN) for value in (True, False)),
    ((1, None, -3), array(INTEGER)),
    (("it's", "\\"), array(STRING)),
    ((), array(decimal(10, 2))),
    (((1.5,), ()), array(array(DOUBLE))),
    *((None, type_) for type_ in (NULL, BOOLEAN, INTEGER, decimal(5, 1), STRING, DATE, INTERVAL, array(TIMESTAMP))),
]


def test_constants_are_what_they_were(spark: SparkSession) -> None:
    frame = in_one_piece(spark, SCHEMA, [ROW])
    (answers,) = asked(frame, SCHEMA, [Literal(value, type_) for value, type_ in CONSTANTS])
    found = [
        (answer, value)
        for (value, type_), answer in zip(CONSTANTS, answers, strict=True)
        if not same(answer, value.quantize(Decimal(1)) if type_ == decimal(3, 0) else value)
    ]
    assert found == []


def test_an_interval_longer_than_spark_holds_is_cut(spark: SparkSession) -> None:
    moved = Call("+", (Column("ts", TIMESTAMP, "v"), Literal(timedelta(days=2 * 10**8), INTERVAL)), TIMESTAMP)
    assert asked(in_one_piece(spark, SCHEMA, [ROW]), SCHEMA, [moved]) == [(None,)]


def test_columns_have_the_names_they_have_in_the_frame(spark: SparkSession) -> None:
    schema = Schema((Field("a", INTEGER, "r"), Field("a", INTEGER, "s")))
    names = names_of(schema, ["we`ird a", "b.c"])
    frame = spark.sql("SELECT 1 AS `we``ird a`, 2 AS `b.c`, 7L AS _t")
    texts = [spark_sql(Column("a", INTEGER, relation), names) for relation in "rs"]
    tick = Call("tick_to_timestamp", (Column(WTIME, BIGINT, WINDOW), Literal(1_000_000, BIGINT)), TIMESTAMP)
    assert to_rows(frame.selectExpr(*texts, spark_sql(tick, names))) == [(1, 2, datetime(1970, 1, 1, 0, 0, 7))]


def test_a_thousand_conditions_can_be_read(spark: SparkSession) -> None:
    condition = bound("a = 0")
    for i in range(1, 1500):
        condition = Call("or", (condition, bound(f"a = {i}")), BOOLEAN)
    frame = to_frame(spark, SCHEMA, [ROW])
    assert frame.where(spark_sql(condition, names_of(SCHEMA, SCHEMA.names))).count() == 1


def test_types() -> None:
    assert spark_type(array(INTERVAL)) == "ARRAY<INTERVAL DAY TO SECOND>"
    assert spark_type(NULL) == "VOID"
    assert spark_type(DataType("DECIMAL")) == "DECIMAL(10,0)"


# -- where Spark would stop the job, or leave the calendar ------------------------------------------------------------

_NOTHING = [
    "element_at(arr, a - 1)",
    "slice(arr, a - 1, 1)",
    "slice(arr, 1, -a)",
    "split_part(t, 'b', a - 1)",
    "t like t || '\\\\'",
    "regexp_extract(t, '(a)', b)",
    "regexp_extract(t, '(?:a)[(]?', 1)",
    "regexp_extract_all(t, '(?<x>a)', -1)",
    "ts + interval 7999 years",
    "ts - interval 1000000 days",
    "ts + (ts - timestamp '0001-01-01') * 4",
    "ts + interval 100000000 days * b",
    "dt + a * 4000000",
    "dt - 2147483647 * a",
    "add_months(dt, a * 2000000000)",
    "timestampadd(YEAR, 9223372036854775807, ts)",
    "timestampadd(MICROSECOND, l * -1000000000000000000, ts)",
    "date_from_unix_date(a * 2147483647)",
    "next_day(date '9999-12-31' + (a - 1), 'MO')",
    "make_date(10000 * a, 1, 1)",
    "make_timestamp(0, a, 1, 1, 1, 1)",
    "timestamp_seconds(l * 1000000000000000000)",
    "timestamp_millis(l * 1000000000000000000)",
    "timestamp_micros(l * 1000000000000000000)",
    "from_unixtime(l * 100000000000)",
    "cast(l * 1000000000000 as timestamp)",
    "cast(d * 1e300 as timestamp)",
    "cast(cast(l as decimal(38, 0)) * 12345678901234567890 as timestamp)",
    "cast('12345-01-01' as date)",
    "cast('0000-12-31' as timestamp)",
    "to_timestamp('12345-01-01', 'yyyyy-MM-dd')",
    "cast('9999-12-31 23:00:00-05:00' as timestamp)",
    "cast(array('12345-01-01') as array<date>)[0]",
    "cast(array(array('12345-01-01')) as array<array<timestamp>>)[0][0]",
    "interval 100000000 days * b",
    "(ts - ts + interval 100000000 days) + interval 100000000 days",
    "interval 1 day / 1e-200",
    "interval 1 day * double('nan')",
]
_SOMETHING = [
    "element_at(arr, -a)",
    "slice(arr, -a, 1)",
    "sort_array(arr, q)",
    "sort_array(arr, p and null)",
    "split_part(t, 'b', -a)",
    "t like t",
    "t || '%' like t || '!%' escape '!'",
    "regexp_extract(t, '(a)(b)', b)",
    "dist('1, 2', '(4,6)')",
    "dist('-1e3,inf', '0,0')",
    "dist('a,b', '1,2')",
    "dist(null, '1,2')",
    "dist(array(1, 2, 3), array(1.0, 2.0, 5.5))",
    "dist(array(1, 2), array(1))",
    "dist(array(1, null), array(1, 2))",
    "dist(1e300, -1e300, 0, 0)",
    "dist(a, d)",
    "format_string('%s %s', dt, ts - dt)",
    "cast(array('2020-02-29', null, 'x') as array<timestamp>)",
    "timestamp_seconds(cast(1.12345678 as decimal(20, 8)))",
    "-cast(12345678901234567890123456789012345.678 as decimal(38, 3))",
    "abs(cast(-12345678901234567890123456789012345.678 as decimal(38, 3)))",
    "typeof(ts - ts)",
    "typeof(cast(array(n) as array<decimal(20, 3)>))",
    "atan2(-0.0D, -1.0D)",
    "log(double('nan'))",
    "regexp_substr(t, 'x*')",
    "split(t, 'x*')",
    "substring(t, -2147483648)",
    "format_number(-0.05D, 1)",
    "format_number(1.7e308, 1)",
    "format_number(-double('inf'), 1)",
    "format_string('%.1f|%08.1f|%05d', double('nan'), 1e300, null)",
    "'2020-01-31' + interval 1 day",
    "date '2020-01-01' - date '2019-12-30'",
    "cast(array('2020-02-29') as array<date>)[0] + a",
]


def test_what_spark_would_stop_for_is_null(spark: SparkSession) -> None:
    frame = in_one_piece(spark, SCHEMA, [ROW])
    exprs = [bound(text) for text in (*_NOTHING, *_SOMETHING)]
    (answers,) = asked(frame, SCHEMA, exprs)
    wrong = [
        (sql_text(e), answer, evaluated(e))
        for e, answer in zip(exprs, answers, strict=True)
        if not close(answer, evaluated(e))
    ]
    assert wrong == []
    assert answers[: len(_NOTHING)] == (None,) * len(_NOTHING)


# -- against the reference engine -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_random_expressions(spark: SparkSession, seed: int) -> None:
    rng = random.Random(seed)
    schema, rows = random_expressions.SCHEMA, random_expressions.random_rows(rng, 40)
    frame = in_one_piece(spark, schema, rows)
    make = random_expressions.Maker(rng)
    exprs = [make.call(function, depth=seed) for function in random_expressions.SCALARS]
    exprs += [make.cast(depth=2) for _ in range(60)]
    answers = asked(frame, schema, exprs)
    wrong = []
    for i, expr in enumerate(exprs):
        compute = compile_expression(expr, schema)
        tolerance = 1e-6 if expr.type == FLOAT else 1e-9
        pairs = [(answer[i], compute(row)) for row, answer in zip(rows, answers, strict=True)]
        wrong += [(sql_text(expr), pair) for pair in pairs if not close(*pair, tolerance)][:1]
    assert wrong == []
