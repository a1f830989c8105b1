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
