"""Text, JSON and Arrow values become values of the declared type, or a reason that a person understands."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddyline.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGER_BITS,
    INTERVAL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    array,
    decimal,
)
from eddyline.errors import NotSupported
from eddyline.sources.native_value import native_converter
from eddyline.sources.reasons import BadValue
from eddyline.sources.text_value import text_converter


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (INTEGER, "7", 7),
        (INTEGER, " -7 ", -7),
        (INTEGER, "+7", 7),
        (BIGINT, "3000000000", 3_000_000_000),
        (DOUBLE, "1e3", 1000.0),
        (DOUBLE, "-inf", float("-inf")),
        (FLOAT, "0.1", 0.10000000149011612),
        (decimal(5, 2), "1.005", Decimal("1.01")),
        (decimal(5, 2), "-999.994", Decimal("-999.99")),
        (decimal(5, 2), "1e-50", Decimal("0.00")),
        (BOOLEAN, "TRUE", True),
        (BOOLEAN, "false", False),
        (STRING, " as it is ", " as it is "),
        (DATE, "2003-06-06", date(2003, 6, 6)),
        (TIMESTAMP, "2003-06-06", datetime(2003, 6, 6)),
        (TIMESTAMP, "2003-06-06 18:50", datetime(2003, 6, 6, 18, 50)),
        (TIMESTAMP, "2003-06-06T18:50:20.5", datetime(2003, 6, 6, 18, 50, 20, 500_000)),
        (TIMESTAMP, "2003-06-06 18:50:20.123456789", datetime(2003, 6, 6, 18, 50, 20, 123_456)),
        (TIMESTAMP, "2003-06-06T18:50:20Z", datetime(2003, 6, 6, 18, 50, 20)),
        (TIMESTAMP, "2003-06-06T18:50:20+02:00", datetime(2003, 6, 6, 16, 50, 20)),
        (TIMESTAMP, "2003-06-06 18:50:20 -0230", datetime(2003, 6, 6, 21, 20, 20)),
        (TIMESTAMP, "2003-06-06 18:50:20 Europe/Paris", datetime(2003, 6, 6, 16, 50, 20)),
    ],
)
def test_text_that_fits(type_: DataType, text: str, value: object) -> None:
    converted = text_converter(type_)(text)
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("type_", "text", "reason"),
    [
        (INTEGER, "abc", "'abc' is not an INTEGER"),
        (INTEGER, "5.0", "'5.0' is not an INTEGER"),
        (INTEGER, "1_000", "'1_000' is not an INTEGER"),
        (INTEGER, "٣", "'٣' is not an INTEGER"),
        (INTEGER, "3000000000", "3000000000 does not fit INTEGER"),
        (TINYINT, "-129", "-129 does not fit TINYINT"),
        (SMALLINT, "x" * 500, f"'{'x' * 59}…' is not a SMALLINT"),
        (BIGINT, "9" * 5000, f"'{'9' * 59}…' is not a BIGINT"),
        (DOUBLE, "1e999", "1e999 does not fit DOUBLE"),
        (FLOAT, "1e39", "1e39 does not fit FLOAT"),
        (DOUBLE, "one", "'one' is not a DOUBLE"),
        (decimal(5, 2), "1000", "1000 does not fit DECIMAL(5, 2)"),
        (decimal(5, 2), "999.995", "999.995 does not fit DECIMAL(5, 2)"),
        (decimal(5, 2), "1e999999999", "1e999999999 does not fit DECIMAL(5, 2)"),
        (decimal(5, 2), "NaN", "'NaN' is not a DECIMAL(5, 2)"),
        (BOOLEAN, "yes", "'yes' is not a BOOLEAN"),
        (DATE, "20030606", "'20030606' is not a DATE"),
        (DATE, "2003-W23-5", "'2003-W23-5' is not a DATE"),
        (DATE, "2003-02-30", "'2003-02-30' is not a DATE"),
        (TIMESTAMP, "2003-06-06x18:50", "'2003-06-06x18:50' is not a TIMESTAMP"),
        (TIMESTAMP, "2003-06-06 18:50:20 Europe", "'2003-06-06 18:50:20 Europe' is not a TIMESTAMP"),
        (TIMESTAMP, "2003-06-06 18:50:20 ../x", "'2003-06-06 18:50:20 ../x' is not a TIMESTAMP"),
        (TIMESTAMP, "0001-01-01 00:00:00+10:00", "'0001-01-01 00:00:00+10:00' is not a TIMESTAMP"),
    ],
)
def test_text_that_does_not_fit(type_: DataType, text: str, reason: str) -> None:
    with pytest.raises(BadValue) as problem:
        text_converter(type_)(text)
    assert str(problem.value) == reason


EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("type_", "native", "value"),
    [
        (INTEGER, 7, 7),
        (DOUBLE, 7, 7.0),
        (DOUBLE, "NaN", None),  # compared below: NaN is not equal to itself
        (DOUBLE, Decimal("1.5"), 1.5),
        (decimal(5, 2), 1.1, Decimal("1.10")),
        (decimal(5, 2), Decimal("1.005"), Decimal("1.01")),
        (BOOLEAN, True, True),
        (STRING, "x", "x"),
        (STRING, 5, "5"),
        (STRING, b"x", "x"),
        (DATE, date(2003, 6, 6), date(2003, 6, 6)),
        (TIMESTAMP, datetime(2003, 6, 6, 18, tzinfo=EAST), datetime(2003, 6, 6, 16)),
        (TIMESTAMP, date(2003, 6, 6), datetime(2003, 6, 6)),
        (TIMESTAMP, "2003-06-06", datetime(2003, 6, 6)),
        (INTERVAL, timedelta(seconds=5), timedelta(seconds=5)),
        (array(INTEGER), [1, None, 3], (1, None, 3)),
        (array(array(STRING)), [["a"], []], (("a",), ())),
    ],
)
def test_native_values_that_fit(type_: DataType, native: Any, value: object) -> None:
    converted = native_converter(type_)(native)
    if native == "NaN":
        assert converted != converted
    else:
        assert converted == value
        assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("type_", "native", "reason"),
    [
        (INTEGER, "5", '"5" is not an INTEGER'),
        (INTEGER, True, "true is not an INTEGER"),
        (INTEGER, 5.5, "5.5 is not an INTEGER"),
        (INTEGER, 1 << 31, "2147483648 does not fit INTEGER"),
        (DOUBLE, "5", '"5" is not a DOUBLE'),
        (DOUBLE, 10**400, f"{'1' + '0' * 58}… does not fit DOUBLE"),
        (DOUBLE, True, "true is not a DOUBLE"),
        (decimal(5, 2), "1", '"1" is not a DECIMAL(5, 2)'),
        (decimal(5, 2), float("nan"), "NaN is not a DECIMAL(5, 2)"),
        (BOOLEAN, 1, "1 is not a BOOLEAN"),
        (STRING, b"\xff", r"b'\xff' is not UTF-8 text"),
        (DATE, datetime(2003, 6, 6), "2003-06-06 00:00:00 is not a DATE"),
        (TIMESTAMP, 5, "5 is not a TIMESTAMP"),
        (array(INTEGER), {"a": 1}, '{"a": 1} is not an ARRAY<INTEGER>'),
        (array(INTEGER), [1, "x"], '"x" is not an INTEGER'),
    ],
)
def test_native_values_that_do_not_fit(type_: DataType, native: Any, reason: str) -> None:
    with pytest.raises(BadValue) as problem:
        native_converter(type_)(native)
    assert str(problem.value) == reason


def test_types_that_text_cannot_hold() -> None:
    with pytest.raises(NotSupported, match="ARRAY<INTEGER> cannot be read from text"):
        text_converter(array(INTEGER))


@given(st.sampled_from(list(INTEGER_BITS)), st.integers())
def test_integers_fit_exactly_their_bits(type_: DataType, number: int) -> None:
    half = 1 << (INTEGER_BITS[type_] - 1)
    for convert in (lambda: text_converter(type_)(str(number)), lambda: native_converter(type_)(number)):
        if -half <= number < half:
            assert convert() == number
        else:
            with pytest.raises(BadValue, match="does not fit"):
                convert()


@given(st.text(max_size=30), st.sampled_from([INTEGER, DOUBLE, decimal(9, 3), BOOLEAN, DATE, TIMESTAMP]))
def test_any_text_is_a_value_or_a_reason(text: str, type_: DataType) -> None:
    try:
        text_converter(type_)(text)
    except BadValue as problem:
        assert str(type_) in str(problem)


@given(st.datetimes(timezones=st.just(EAST), min_value=datetime(2, 1, 1)))
def test_timestamps_come_back_in_utc(moment: datetime) -> None:
    assert text_converter(TIMESTAMP)(moment.isoformat(" ")) == (moment - timedelta(hours=2)).replace(tzinfo=None)
