"""Numbers go through the translation as they are, although texts that differ in numbers alone share it."""

from __future__ import annotations

import math

import duckdb
import pytest

from eddyline.kernels.dialect import _STAND_INS, Untranslatable, kernel_sql

SPREADS = ("var_pop", "stddev_pop")


@pytest.mark.parametrize("number", [*(start + i for start in _STAND_INS.values() for i in range(3)), 77, 2**62])
def test_a_number_is_not_mistaken_for_what_stands_for_another(number: int) -> None:
    text, _ = kernel_sql(f"`x` = {number} AND `y` > 55 AND `z` < 1{number}")
    assert text.count(f"CAST({number} AS") == 1 and "CAST(55 AS INT)" in text and f"CAST(1{number} AS" in text


@pytest.mark.parametrize("stand_in", _STAND_INS.values())
def test_nor_is_what_is_in_a_string_or_a_part_of_a_number(stand_in: int) -> None:
    number = 55 if stand_in < 2**31 else 2**40
    text, _ = kernel_sql(f"`x` = {number} AND `w` = '{stand_in}' AND `d` > {stand_in}.5D")
    assert f"CAST({number} AS" in text and f"= '{stand_in}'" in text and f"'{stand_in}.5'" in text


def test_the_numbers_of_a_type_are_no_values() -> None:
    text, _ = kernel_sql("CAST('1.50' AS DECIMAL(10,2))")
    with duckdb.connect() as database:
        assert database.execute(f"SELECT {text}::VARCHAR").fetchone() == ("1.50",)


def test_numbers_in_texts_and_names_stay() -> None:
    assert kernel_sql("concat('a 120 b', `c 345`) AS c12") == ("'a 120 b' || \"c 345\" AS c12", "c12")


@pytest.mark.parametrize("odd", ["nan", "inf", "-inf"])
def test_a_single_value_that_is_no_number_has_no_spread(odd: str) -> None:
    """As in Spark, whose running mean it becomes. DuckDB says 0."""
    asked = ", ".join(kernel_sql(f"{name}(x){only}")[0] for name in SPREADS for only in ("", " FILTER (WHERE x > 0)"))
    with duckdb.connect() as database:
        spreads = database.execute(f"SELECT {asked} FROM (VALUES (?::DOUBLE), (NULL)) t(x)", [odd]).fetchone()
        assert [None if x is None else str(x) for x in spreads] == ["nan", None if odd == "-inf" else "nan"] * 2
        others = database.execute(f"SELECT {asked} FROM (VALUES (-1), (1), (3)) t(x)").fetchone()
        assert [round(x, 9) for x in others] == [round(8 / 3, 9), 1.0, round(math.sqrt(8 / 3), 9), 1.0]


def test_what_is_no_sql_is_refused() -> None:
    with pytest.raises(Untranslatable):
        kernel_sql("a +")
