"""Members of classes over values of every type, the odd ones among them: each is told what its condition says of a row.

Constants of members are compared in three ways: written into the statement (one member), in a table beside the rows,
and by an index. All must mean what the constant means, whether it comes as a value or was written as SQL.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from eddyline import testing
from laws.streams import EXAMPLES
from laws.test_sharing import EVERYONE
from laws.without_spark import kernels_alone

TYPES = {
    "y": ("TINYINT", pa.int8(), [0, 5, -5, 127, -128]),
    "sh": ("SMALLINT", pa.int16(), [0, 55, -55, 2**15 - 1, -(2**15)]),
    "x": ("INTEGER", pa.int32(), [0, 55, -55, 2**31 - 1, -(2**31)]),
    "fl": ("FLOAT", pa.float32(), [0.0, -0.0, 0.5, -3.25, math.nan, math.inf, -math.inf]),
    "l": ("BIGINT", pa.int64(), [0, 1, -1, 55, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 2_013_765_400]),
    "d": ("DOUBLE", pa.float64(), [0.0, -0.0, 0.1, 8928.71, 1e300, -1e-300, math.nan, math.inf, -math.inf, 1.0]),
    "w": ("STRING", pa.string(), ["", "a", "it's", "2013765400", "55", "ä%_\\", "${x}", "\n", "b\x7f"]),
    "c": ("DECIMAL(6, 2)", pa.decimal128(6, 2), [Decimal(x) for x in ("0.00", "-1.50", "8928.71", "9999.99", "0.10")]),
    "m": (
        "DECIMAL(38, 1)",
        pa.decimal128(38, 1),
        [
            Decimal(f"{x}5678901234567890123456789012345678.{y}")
            for x, y in (("1", "5"), ("-1", "5"), ("-1", "0"), ("-1", "9"), ("9", "9"))
        ]
        + [Decimal("0.0")],
    ),
    "f": ("BOOLEAN", pa.bool_(), [True, False]),
    "day": ("DATE", pa.date32(), [date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)]),
    "at": (
        "TIMESTAMP",
        pa.timestamp("us", "UTC"),
        [
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime(2024, 2, 29, 12, tzinfo=UTC),
            datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC),
            datetime(9999, 12, 31, tzinfo=UTC),
        ],
    ),
}
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def written(column: str, value: Any) -> str:
    """A constant as SQL: also of booleans, which Python takes for integers."""
    if isinstance(value, int):
        return f"{value}{ {'y': 'Y', 'sh': 'S', 'l': 'L'}.get(column, '') }"
    if isinstance(value, float):
        kind = {"fl": "F", "d": "D"}[column]
        name = {"F": "FLOAT", "D": "DOUBLE"}[kind]
        return f"{value!r}{kind}" if math.isfinite(value) else f"CAST('{value}' AS {name})"
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S.%f}'"
    if isinstance(value, date):
        return f"DATE '{value}'"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def ordered(value: Any) -> Any:
    """As SQL compares: NaN equals itself and is above all numbers."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def says(text: str, value: Any, constant: Any) -> bool:
    return value is not None and constant is not None and OPERATORS[text](ordered(value), ordered(constant))


@st.composite
def asked(draw: st.DrawFn) -> tuple[str, str, list[Any], list[Any]]:
    """A column, how it is compared, with what by each member, and the values that come."""
    column = draw(st.sampled_from(list(TYPES)))
    text = draw(st.sampled_from(list(OPERATORS)))
    some = st.sampled_from(TYPES[column][2])
    size = draw(st.sampled_from([1, 2, 12]))
    return (
        column,
        text,
        draw(st.lists(some, min_size=size, max_size=size)),
        draw(st.lists(some | st.none(), max_size=9)),
    )


@settings(max_examples=60 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(asked(), st.sampled_from([0, 1000]), st.booleans(), st.booleans())
@example(("m", "=", TYPES["m"][2], TYPES["m"][2]), 0, True, True)  # more digits than Python computes with
def test_a_constant_means_the_same_in_every_way(
    given_: tuple[str, str, list[Any], list[Any]], few: int, files: bool, as_text: bool
) -> None:
    column, text, constants, values = given_
    name, type_, _ = TYPES[column]
    joined = patch("eddyline.spark.form_table.MOST_JOINED", few)
    read = patch("eddyline.spark.kernel_job._FEW_ROWS", -1 if files else 1000)
    with kernels_alone(), patch.dict(os.environ, EVERYONE), joined, read, testing.database() as db:
        db.sql(f"CREATE STREAM s (n INTEGER, {column} {name}, t INTEGER) TIMESTAMP BY t")
        names = [f"q{at}" for at in range(len(constants))]
        if as_text:
            for name, it in zip(names, constants, strict=True):
                db.sql(f"CREATE QUERY {name} AS SELECT n FROM s WHERE {column} {text} {written(column, it)}")
        else:
            template = f"SELECT n FROM s WHERE {column} {text} :it"
            db.queries(template, {"it": pa.array(constants, type_), "name": names})
        rows = {"n": list(range(len(values))), column: pa.array(values, type_), "t": list(range(len(values)))}
        table = pa.table(rows).cast(pa.schema([("n", pa.int32()), (column, type_), ("t", pa.int32())]))
        db.stream("s").push(table)
        db.flush()
        told = [[answer.row[0] for answer in db.query(each).fetch()] for each in names]
    assert told == [[n for n, value in enumerate(values) if says(text, value, it)] for it in constants]


@pytest.mark.parametrize("members", [1, 2, 12])
def test_decimals_are_the_doubles_that_they_are_written_as(members: int) -> None:
    """Arrow's own cast is off by the last bit for every eighth."""
    cents = [Decimal(n) / 100 for n in range(892_860, 892_860 + members)]
    with kernels_alone(), testing.database() as db:
        db.sql("CREATE STREAM s (d DOUBLE, t INTEGER) TIMESTAMP BY t")
        many = db.queries("SELECT d FROM s WHERE d = :it", {"it": pa.array(cents, pa.decimal128(6, 2))}, name="q")
        db.stream("s").push([(float(cent), n) for n, cent in enumerate(cents)])
        db.flush()
        assert [[a.row[0] for a in db.query(each).fetch()] for each in many.names] == [[float(c)] for c in cents]


def test_years_that_python_has_not(spark: object) -> None:
    with testing.database() as db:
        db.sql("CREATE STREAM s (at TIMESTAMP, n INTEGER, t INTEGER) TIMESTAMP BY t")
        far = pa.array([253_402_300_800_000_000 + 10**15], pa.timestamp("us", "UTC"))
        many = db.queries("SELECT n FROM s WHERE at < :until", {"until": far}, name="q")
        db.stream("s").push([(datetime(2024, 1, 1), 1, 1)])
        db.flush()
        assert [answer.row for answer in db.query(many.names[0]).fetch()] == [(1,)]


def test_what_wraps_around_does_so_for_one_member_too(spark: object) -> None:
    """The kernel would read x + 1 > 2 as x > 1."""
    with patch.dict(os.environ, EVERYONE), testing.database() as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
        query = db.sql("CREATE QUERY q AS SELECT x FROM s WHERE x + 1 > 2")
        db.stream("s").push([(2**31 - 1, 1), (5, 2)])
        db.flush()
        assert [answer.row for answer in query.fetch()] == [(5,)]
