"""An ad hoc tag may be attached under any condition: it holds for the same tuples on both engines."""

from __future__ import annotations

from pathlib import Path

import pytest

import eddyline
from eddyline.errors import NotSupported
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from laws.without_spark import kernels_alone

STREAM = """CREATE STREAM s (a INTEGER, d DOUBLE, f FLOAT, c DECIMAL(10, 2), b STRING, at TIMESTAMP, day DATE,
  t INTEGER) TIMESTAMP BY t;"""
ROWS = """INSERT INTO s VALUES
  (1, 1.5, 0.1, 1.5, 'x', TIMESTAMP '2020-01-01 00:00:00', DATE '2020-01-01', 1),
  (2147483647, -0.0, 2.5, -3, 'Xy', TIMESTAMP '1969-12-31 23:59:59.5', DATE '1582-10-01', 2),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3),
  (-2, 1e300, 16777216, 99999999.99, 'x,y', TIMESTAMP '9999-12-31 00:00:00', DATE '0001-01-01', 4),
  (3, double('NaN'), float('inf'), 0, '', TIMESTAMP '2020-06-01 12:00:00', DATE '2020-06-01', 5);"""
CONDITIONS = [
    "a > 1",
    "a + 1 > 2",
    "a + t < 0",
    "a * 2 = -2",
    "a = '1'",
    "c > 1",
    "c * 2 > 2.5",
    "d > c",
    "f > 2.4",
    "isnan(d)",
    "upper(b) LIKE 'X%'",
    "b RLIKE '^x.y$' OR length(b) = 0",
    "year(at) = 2020 AND day >= DATE '2020-01-01'",
    "at > '2020-01-02'",
    "dist(d, 1.0) < 1",
    "array_contains(split(b, ','), 'y')",
    "cast(a AS STRING) = '3' OR b IS NULL",
    "index % 2 = 0 AND round(d) IS NOT NULL",
    "tick + index > 5 AND coalesce(c, 7) < 5",
]


@pytest.mark.parametrize("batch_rows", [1, 3])
def test_conditions_hold_for_the_same_tuples(batch_rows: int) -> None:
    attached = "".join(
        f"ATTACH TAG 'c{number}' TO s WHERE {where} WITH TAG_LIFESPAN = 9 SEC AND TAG_MODE = COMBINE;"
        for number, where in enumerate(CONDITIONS)
    )
    taken = "".join(f"DETACH TAG 'c0' FROM s WHERE {where};" for where in CONDITIONS[11:13])
    sql = f"{STREAM} SELECT * FROM s WITH TAGS; {attached} {ROWS} {taken}"
    expected = [repr(answer) for answer in Session(sql, Path(), batch_rows=batch_rows).answers()]
    with kernels_alone():
        found = [repr(answer) for answer in SparkRun(sql, Path(), batch_rows=batch_rows).answers()]
    assert found == expected
    assert all(f"'c{number}'" in "".join(expected) for number in range(len(CONDITIONS)))


def test_a_function_that_may_fail_keeps_no_rows_out(tmp_path: Path) -> None:
    with kernels_alone(), eddyline.connect(tmp_path, heartbeat=None) as db:
        db.function("odd", lambda a: a, returns="INTEGER", arguments=["INTEGER"])
        db.sql(STREAM)
        with pytest.raises(NotSupported, match="which odd could keep out"):
            db.sql("ATTACH TAG 'x' TO s WHERE odd(a) = 1")
