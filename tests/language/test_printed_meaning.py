"""What is printed means what was written: a catalog keeps statements as they are printed, and reads them again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from eddyline.binder.statement import Register, StatementBinder
from eddyline.catalog.catalog import BoundQuery
from eddyline.errors import EddylineError
from eddyline.language import parse_script, to_sql
from eddyline.spark.shapes import shared_shape
from golden.script_file import read_script

SCRIPTS = sorted((Path(__file__).parent.parent / "scripts").rglob("*.script"))
STREAM = "CREATE STREAM s (x INTEGER, l BIGINT, f FLOAT, d DOUBLE, c DECIMAL(6, 2), t INTEGER) TIMESTAMP BY t;"
NUMBERS = [
    *("5", "-5", "5L", "-5L", "- 5L", "-(5L)", "5S", "-5S", "5Y", "-5Y", "1.5", "-1.5", "1.5D", "-1.5D", "1.5F"),
    *("-1.5F", "1.5BD", "-1.5BD", "12BD", "1e3", "-1e3", "1e2D", "-2147483648", "-9223372036854775808"),
    *("-9223372036854775808L", "9223372036854775807L", "CAST(5 AS BIGINT)", "-CAST(5 AS BIGINT)", "5::SMALLINT"),
]


def queries(script: str) -> Iterator[list[Any]]:
    """What there is to know of each query of a script, up to the first statement that is wrong."""
    binder = StatementBinder()
    for statement in parse_script(script):
        try:
            steps = binder.bind(statement.tree)
        except EddylineError:
            return
        for step in steps:
            if isinstance(step, Register):
                query = step.query
                known = [getattr(query, part.name) for part in fields(BoundQuery)]
                yield [*known, repr(shared_shape(query))]


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


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_golden_query_stays_what_it_was(path: Path) -> None:
    script = read_script(path)
    if script.error is not None and script.error.code == "SYNTAX_ERROR":
        pytest.skip("does not parse, by intention")
    assert list(queries(printed(script.sql))) == list(queries(script.sql))
