"""Parquet as columns: the same as the row-wise reader gives."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eddyline.algebra.schema import Field, Schema
from eddyline.algebra.types import DOUBLE, INTEGER, INTERVAL, STRING, TIMESTAMP, DataType, array, decimal
from eddyline.catalog.extent import PUSHED, SENSED, Extent
from eddyline.errors import SourceUnusable
from eddyline.sources import Arrival, Reject
from eddyline.sources.batch_intake import Stretch
from eddyline.sources.batches import open_batches
from sources.batch_rows import check_same
from sources.extents import SECOND, extent

BIGINT, FLOAT, BOOLEAN, DATE = map(DataType, ("BIGINT", "FLOAT", "BOOLEAN", "DATE"))

COLUMNS = [
    pa.array([1, None, -128, 127], pa.int8()),
    pa.array([1, None, 2**31, -(2**31)], pa.int64()),
    pa.array([1, None, 2**63, 2**64 - 1], pa.uint64()),
    pa.array([2**53 + 1, 2**63 - 1, 0], pa.int64()),
    pa.array([0.5, None, float("nan"), float("inf"), 1e39, -0.0, 2.0]),
    pa.array([0.1, None, float("-inf")], pa.float32()),
    pa.array([True, None, False]),
    pa.array([None, None]),
    pa.array(["x", None, "", "5", "NaN", "2024-01-01", "2024-01-01 10:00:00Z", " 2024-01-01 ", "é"]),
    pa.array(["x", None, "x"]).dictionary_encode(),
    pa.array(["x", None, "2024-01-01"], pa.large_string()),
    pa.array([b"x", None, b"\xc3\xa9"]),
    pa.array([b"x", b"\xff"]),
    pa.array([date(2024, 1, 1), None, date(1, 1, 1), date(9999, 12, 31)]),
    pa.array([date(2024, 1, 1), None], pa.date64()),
    *(
        pa.array([datetime(2024, 1, 1, 1, 2, 3), None, datetime(1969, 12, 31, 23)], pa.timestamp(u))
        for u in ("s", "ms", "us", "ns")
    ),
    pa.array([datetime(2024, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "Europe/Paris")),
    pa.array([-1, 1_999, -1_999, None], pa.int64()).cast(pa.timestamp("ns")),
    pa.array([datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)], pa.timestamp("us")),
    pa.array([timedelta(seconds=5), None], pa.duration("s")),
    pa.array([timedelta(seconds=5), None], pa.duration("ns")),
    pa.array([Decimal("1.5"), None, Decimal("-999.99"), Decimal("0.00")], pa.decimal128(5, 2)),
    pa.array([Decimal("1.555"), None, Decimal("99999.5")], pa.decimal128(10, 4)),
    pa.array([[1, None, 3], None, []], pa.list_(pa.int64())),
    pa.array([[1], [2**40], None], pa.list_(pa.int64())),
    pa.array([["a"], None, [None]]),
    pa.array([[0.5], [1.0]]),
]
TYPES = [INTEGER, BIGINT, DataType("TINYINT"), FLOAT, DOUBLE, BOOLEAN, STRING, DATE, TIMESTAMP, INTERVAL]
TYPES += [decimal(5, 2), decimal(20, 10), array(INTEGER), array(DOUBLE), array(STRING)]


def saved(folder: Path, table: pa.Table, **columns: DataType) -> Extent:
    parquet.write_table(table, folder / "in.parquet")
    schema = Schema(tuple(Field(name, type_) for name, type_ in columns.items()))
    return Extent("s", PUSHED, schema, None, (), None, "parquet", (("path", "in.parquet"),))


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_columns_of_every_type_become_the_declared_type(tmp_path: Path, type_: DataType) -> None:
    for number, column in enumerate(COLUMNS):
        (tmp_path / str(number)).mkdir()
        table = pa.table({"x": column, "n": range(len(column))})
        check_same(tmp_path / str(number), saved(tmp_path / str(number), table, n=INTEGER, x=type_), (1000,))


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_the_declared_type_itself_is_not_read_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type_: DataType
) -> None:
    from eddyline.columnar.types import arrow_type

    monkeypatch.setattr(Stretch, "take", lambda *_: pytest.fail("taken row by row"))
    table = pa.table({"x": pa.nulls(3, arrow_type(type_)), "n": range(3)})
    check_same(tmp_path, saved(tmp_path, table, n=INTEGER, x=type_))
    values = [column for column in COLUMNS if column.type == arrow_type(type_)]
    for column in values:
        check_same(tmp_path, saved(tmp_path, pa.table({"X": column}), x=type_))


def test_rows_of_all_kinds(tmp_path: Path) -> None:
    table = pa.table(
        {
            "time": [1, None, None, 2, None, 5],
            "_op": [None, "-", "#", "=", "=", " "],
            "_ref": [None, 1, None, 2, 3, None],
            "_tag": [None, None, '{"content": "x"}', None, None, None],
        }
    )
    parquet.write_table(table, tmp_path / "in.parquet")
    of = extent("time BIGINT", "in.parquet", format="parquet")
    rows = check_same(tmp_path, of)
    assert [row.op for row in rows if isinstance(row, Arrival)] == ["+", "-", "#", "=", "+"]
    for op in (pa.array([1, 2, None]), pa.array(["-", "+", None]).dictionary_encode(), pa.nulls(3)):
        parquet.write_table(pa.table({"time": [1, 2, 3], "_OP": op, "_ref": ["1", "2", "x"]}), tmp_path / "in.parquet")
        check_same(tmp_path, of)


def test_sensors_take_turns(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"x": [1, 2**40, 3, 4, 5]}), tmp_path / "in.parquet")
    of = extent("x INTEGER", "in.parquet", format="parquet", kind=SENSED, timestamp=None, sites=(1, 2), interval=60)
    rows = check_same(tmp_path, of)
    assert [row.tick for row in rows if isinstance(row, Arrival)] == [0, 60, 60, 120]


def test_many_batches(tmp_path: Path) -> None:
    times = [datetime(2024, 1, 1) + timedelta(seconds=number) for number in range(20_000)]
    table = pa.table({"x": [number if number % 1000 else 2**40 for number in range(20_000)], "time": times})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=7_000)
    rows = check_same(tmp_path, extent("x INTEGER, time TIMESTAMP", "in.parquet", format="parquet"), (9_000, 100_000))
    assert sum(isinstance(row, Reject) for row in rows) == 20


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(st.integers(-(2**62), 2**62), st.floats(), st.none() | st.text(max_size=3)), min_size=1),
    st.sampled_from([INTEGER, BIGINT, DOUBLE, FLOAT, STRING]),
    st.sampled_from([FLOAT, DOUBLE, STRING, decimal(10, 3)]),
)
def test_whatever_the_rows_hold(tmp_path: Path, rows: list, first: DataType, second: DataType) -> None:
    a, b, c = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"a": a, "b": b, "c": pa.array(c, pa.string())})
    check_same(tmp_path, saved(tmp_path, table, a=first, b=second, c=STRING), (3, 1000))


def test_a_file_that_is_damaged_further_on(tmp_path: Path) -> None:
    of = saved(tmp_path, pa.table({"x": range(100_000)}), x=BIGINT)
    content = bytearray((tmp_path / "in.parquet").read_bytes())
    content[1000:1200] = b"\xff" * 200
    (tmp_path / "in.parquet").write_bytes(content)
    batches = open_batches(of, tmp_path, SECOND)
    assert batches is not None
    with pytest.raises(SourceUnusable, match="cannot be read to its end"):
        list(batches.chunks())


@pytest.mark.parametrize(
    ("column", "type_", "reason"),
    [
        (
            pa.array([0, 2**60]).cast(pa.timestamp("us")),
            TIMESTAMP,
            "1152921504606846976 (timestamp[us]) is not a TIMESTAMP",
        ),
        (pa.array([0, 2**30], pa.int32()).cast(pa.date32()), DATE, "1073741824 (date32[day]) is not a DATE"),
        (pa.array([0, 2**60]).cast(pa.duration("s")), INTERVAL, "1152921504606846976 (duration[s]) is not an INTERVAL"),
        (pa.array([b"", b"\xff"]).view(pa.string()), STRING, r"b'\xff' is not UTF-8 text"),
    ],
)
def test_values_beyond_what_python_holds_are_set_aside(
    tmp_path: Path, column: pa.Array, type_: DataType, reason: str
) -> None:
    batches = open_batches(saved(tmp_path, pa.table({"x": column}), x=type_), tmp_path, SECOND)
    assert batches is not None
    [chunk] = batches.chunks()
    assert chunk.num_rows == 1
    assert [(reject.line, reject.reason) for reject in chunk.rejects] == [(2, f"x: {reason}")]
