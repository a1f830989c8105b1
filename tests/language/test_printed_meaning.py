"""What is printed means what was written: a catalog keeps statements as they are printed, and reads them again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from eddyline.algebra.node import Operator
from eddyline.algebra.stream import StreamSelect
from eddyline.algebra.types import BIGINT, DOUBLE, INTEGER, decimal
from eddyline.binder.statement import Register, StatementBinder
from eddyline.catalog.catalog import BoundQuery
from eddyline.errors import EddylineError
from eddyline.language import parse_script, to_sql
from eddyline.sharing.constants import Taken
from eddyline.spark.shapes import shared_shape
from golden.script_file import read_script

SCRIPTS = sorted((Path(__file__).parent.parent / "scripts").rglob("*.script"))
STREAM = (
    "CREATE STREAM s (x INTEGER, l BIGINT, f FLOAT, d DOUBLE, c DECIMAL(6, 2), m DECIMAL(38, 1), t INTEGER)"
    " TIMESTAMP BY t;"
)
NUMBERS = [
    *("5", "-5", "5L", "-5L", "- 5L", "-(5L)", "5S", "-5S", "5Y", "-5Y", "1.5", "-1.5", "1.5D", "-1.5D", "1.5F"),
    *("-1.5F", "1.5BD", "-1.5BD", "12BD", "1e3", "-1e3", "1e2D", "-2147483648", "-9223372036854775808"),
    *("-9223372036854775808L", "9223372036854775807L", "CAST(5 AS BIGINT)", "-CAST(5 AS BIGINT)", "5::SMALLINT"),
]


def queries(script: str) -> Iterator[list[Any]]:
    """What there is to know of each query of a script, up to the first statement that is wrong, and what is wrong."""
    binder = StatementBinder()
    for statement in parse_script(script):
        try:
            steps = binder.bind(statement.tree)
        except EddylineError as error:
            yield [error.code, error.message]
            return
        for step in steps:
            if isinstance(step, Register):
                query = step.query
                known = [getattr(query, part.name) for part in fields(BoundQuery)]
                yield [*known, repr(shared_shape(query))]


def bound(condition: str) -> Operator:
    binder = StatementBinder()
    statements = parse_script(f"{STREAM} CREATE QUERY q AS SELECT x FROM s WHERE {condition};")
    steps = [step for statement in statements for step in binder.bind(statement.tree)]
    return next(step.query.plan for step in steps if isinstance(step, Register))


def printed(script: str) -> str:
    return ";\n".join(to_sql(statement.tree) for statement in parse_script(script))


@pytest.mark.parametrize("condition", ["x > {}", "l NOT IN ({})", "d = {}", "c <> {} OR f < {}"])
def test_a_number_stays_the_number_that_it_was(condition: str) -> None:
    asked = [condition.replace("{}", number) for number in NUMBERS]
    texts = [f"CREATE QUERY q{at} AS SELECT x, x + {NUMBERS[at]} FROM s WHERE {each}" for at, each in enumerate(asked)]
    script = f"{STREAM} {';'.join(texts)}"
    written = list(queries(script))
    assert len(written) == len(NUMBERS)
    for one, again in zip(written, queries(printed(script)), strict=True):
        assert again == one


@pytest.mark.parametrize(
    ("column", "written", "constant"),
    [
        ("x", "-5", (-5, INTEGER)),
        ("l", "-(5L)", (-5, BIGINT)),
        ("l", "-5", (-5, INTEGER)),
        ("l", "-9223372036854775808L", (-(2**63), BIGINT)),
        ("d", "-1.5", (-1.5, DOUBLE)),
        ("c", "-1.5BD", (Decimal("-1.50"), decimal(6, 2))),
        ("m", f"-{'1234567' * 5}.5BD", (Decimal(f"-{'1234567' * 5}.5"), decimal(38, 1))),
        ("m", f"- ({'7654321' * 5}.5BD)", (Decimal(f"-{'7654321' * 5}.5"), decimal(38, 1))),
    ],
)
def test_the_constant_of_a_member_is_what_was_written(column: str, written: str, constant: tuple[Any, Any]) -> None:
    taken = Taken("")
    (operator,) = (found for found in bound(f"{column} > {written}").walk() if isinstance(found, StreamSelect))
    taken.out_of(operator.predicate)
    assert list(zip(taken.values, taken.types, strict=True)) == [constant]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_golden_query_stays_what_it_was(path: Path) -> None:
    script = read_script(path)
    if script.error is not None and script.error.code == "SYNTAX_ERROR":
        pytest.skip("does not parse, by intention")
    assert list(queries(printed(script.sql))) == list(queries(script.sql))
