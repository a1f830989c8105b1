"""What Spark 4.1 answers to some 800 expressions (ANSI off, UTC), recorded in `spark_answers.tsv`.

A line is: the expression, its type, its value as Python writes it, the column's name in lower case (empty where ours
differs on purpose).
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from eddyline.algebra.naming import spark_name, sql_text
from eddyline.algebra.types import DataType
from expressions.evaluation import bound, evaluated, same

_LINES = (Path(__file__).parent / "spark_answers.tsv").read_text().splitlines()
ANSWERS = [line.split("\t") for line in _LINES]
_PYTHON: dict[str, Any] = {"Decimal": Decimal, "nan": math.nan, "inf": math.inf, **vars(datetime)}


def type_name(type_: DataType) -> str:
    if type_.element:
        return f"array<{type_name(type_.element)}>"
    if type_.parameters:
        return f"decimal({','.join(map(str, type_.parameters))})"
    return {"INTEGER": "int", "NULL": "void"}.get(type_.name, type_.name.lower())


@pytest.mark.parametrize(("text", "type_", "answer", "name"), ANSWERS, ids=[line[0] for line in ANSWERS])
def test_type_value_and_name(text: str, type_: str, answer: str, name: str) -> None:
    expr = bound(text)
    assert type_name(expr.type) == type_
    assert same(evaluated(expr), eval(answer, _PYTHON))
    if name:
        assert spark_name(expr).lower() == name
    assert bound(sql_text(expr)) == expr
