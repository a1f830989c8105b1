"""Small scripts fed by INSERT, and what they answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eddyline.algebra.answer import RelationAnswer, TupleAnswer, WindowAnswer
from eddyline.errors import EddylineError
from eddyline.session import Session

S = "CREATE STREAM s (a INTEGER, b INTEGER, t INTEGER) TIMESTAMP BY t;"
R = "CREATE STREAM r (a INTEGER, c STRING, t INTEGER) TIMESTAMP BY t;"
D = "CREATE TABLE d (a INTEGER, name STRING); INSERT INTO d VALUES (1, 'one'), (1, 'uno'), (2, 'two');"


def answers(sql: str, query: str = "q1", base: Path = Path()) -> list[Any]:
    return [answer for answer in Session(sql, base).answers() if answer.query == query]


def rows(sql: str, query: str = "q1") -> list[tuple[Any, ...]]:
    """(tick, op, rows) of each answer: the row of a tuple, the rows of a window."""
    found = []
    for answer in answers(sql, query):
        if isinstance(answer, TupleAnswer | RelationAnswer):
            found.append((answer.tick, answer.op, answer.row))
        elif isinstance(answer, WindowAnswer):
            found.append((answer.tick, answer.op, list(answer.rows)))
    return found


def error(sql: str) -> EddylineError:
    with pytest.raises(EddylineError) as caught:
        list(Session(sql, Path()).answers())
    return caught.value


def marked(sql: str, problem: EddylineError) -> str:
    """The text that the carets stand under."""
    assert problem.position is not None
    return sql[problem.position.start : problem.position.end]
