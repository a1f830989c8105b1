"""Of 0.0 and -0.0, which are one value, Spark's own plans take back the one that was said."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any
from unittest.mock import patch

from laws.streams import Data, run
from laws.test_spark import spark_answers

QUERIES = [
    "SELECT a, b FROM s [FROM NOW-1 TO NOW SLIDE 1 ROWS]",
    "SELECT a, b FROM s [RANGE 2 SEC]",
    "ISTREAM(SELECT a, b FROM s [FROM NOW-2 TO NOW SLIDE 2 SEC])",
]
DATA = Data(
    [
        {"a": 1, "b": -0.0, "t": 1, "w": "x"},
        {"a": 2, "b": 0.0, "t": 2, "w": "x"},
        {"a": 1, "b": 1.5, "t": 5, "w": "x"},
        {"_op": "=", "_ref": 1, "a": 1, "b": 2.5, "t": 1, "w": "x"},
        {"_op": "-", "_ref": 2},
        {"a": 3, "b": -0.0, "t": 6, "w": "x"},
        {"a": 2, "b": -0.0, "t": 2, "w": "late"},
        {"a": 1, "b": 1.5, "t": 9, "w": "x"},
        {"_op": "-", "_ref": 4},
        {"_op": "=", "_ref": 5, "a": 2, "b": -1.0, "t": 2, "w": "late"},
    ],
    [{"a": 1, "c": "x", "t": 1}],
    number="DOUBLE",
)


def test_what_was_said_is_taken_back(spark: object) -> None:
    sql = "".join(f"CREATE QUERY q{number} AS {query};\n" for number, query in enumerate(QUERIES, 1))
    wanted = run(sql, DATA, 3).collected  # type: ignore[attr-defined]
    with patch.dict(os.environ, EDDYLINE_KERNELS="off"):
        answers, _ = spark_answers(sql, DATA, 3)
    for number, query in enumerate(QUERIES, 1):
        said, expected = _said(answers, f"q{number}"), _said(wanted, f"q{number}")
        assert said == expected, query
        assert any("-0.0" in text for text in expected), query


def _said(answers: list[Any], query: str) -> Counter[str]:
    """Each answer as it is shown, which tells the zeros apart; the rows of a window are in no order."""
    parts = ("tick", "window", "index", "op", "row", "old", "rows", "old_rows", "old_tick")
    shown = ({part: getattr(answer, part, None) for part in parts} for answer in answers if answer.query == query)
    return Counter(
        repr(
            {
                part: sorted(map(repr, value)) if part in ("rows", "old_rows") and value else value
                for part, value in each.items()
            }
        )
        for each in shown
    )
