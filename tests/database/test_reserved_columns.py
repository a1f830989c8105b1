"""Columns that logs and answers have beside those of the user cannot be declared, nor be what a query calls its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import eddyline
from eddyline.algebra.marks import MARKS as MARKS_OF_PLANS
from eddyline.errors import InvalidDefinition, Position
from eddyline.log.segment import BATCH, MARKS, PLACES, SYSTEM
from laws.without_spark import kernels_alone

OURS = [*SYSTEM.names, MARKS, PLACES, BATCH, MARKS_OF_PLANS]


@pytest.fixture
def db() -> Iterator[Any]:
    with kernels_alone(), eddyline.connect(heartbeat=None) as found:
        yield found


@pytest.mark.parametrize("name", [*OURS, "_REF", "_Index"])
@pytest.mark.parametrize("kind", ["STREAM", "TABLE"])
def test_they_cannot_be_declared(name: str, kind: str, db: Any) -> None:
    statement = f"CREATE {kind} s (x INTEGER, `{name}` STRING)"
    with pytest.raises(InvalidDefinition, match="is a reserved column") as raised:
        db.sql(statement)
    start = statement.index("`")
    assert raised.value.position == Position(start, start + len(name) + 2)
    assert db.sql(f"CREATE {kind} s (x INTEGER, `{name}2` STRING)") is None


@pytest.mark.parametrize("name", [each for each in OURS if each not in ("_op", "_ref", "_tag")])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT x AS `{}` FROM s",
        "SELECT x, t AS `{}` FROM s WITH TAGS",
        "SELECT x AS `{}`, count(*) AS n FROM s [FROM NOW-3 TO NOW SLIDE 1 SEC] GROUP BY x",
        "SELECT TAG AS `{}`, count(*) AS n FROM s GROUP BY TAG",
    ],
)
def test_no_column_of_an_answer_is_called_so(name: str, query: str, db: Any) -> None:
    db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
    with pytest.raises(InvalidDefinition, match="is a reserved column") as raised:
        db.sql(query.format(name))
    assert raised.value.position is not None
