"""Who is the tagger the system says: a source names users of its own, and none of the system's taggers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.algebra.answer import TupleAnswer
from eddyline.errors import InvalidDefinition
from eddyline.session.session import Session
from laws.without_spark import kernels_alone

QUERY = "CREATE QUERY nurse AS ATTACH TAG 'seen' CONTINUOUSLY TO s WHERE x > 0;"
REASONS = [
    "user is the tagger of statements, and no source names it",
    "User is the tagger of statements, and no source names it",
    "Nurse is the tagger of a query, and no source names it",
]


def tag(content: str, tagger: str) -> dict[str, Any]:
    return {"_op": "#", "_tag": json.dumps({"content": content, "lifespan": 9, "tagger": tagger}), "t": 1}


TAGS = [tag("mine", "user"), tag("mine", " User "), tag("mine", "Nurse"), tag("other", "eve")]
SHOWN = ["other", "said", "seen"]


def shown(answers: Any) -> list[str]:
    found = [each for each in answers if isinstance(each, TupleAnswer) and each.row == (2,)]
    return sorted(tag.content for tag in found[-1].tags)


def test_on_spark(tmp_path: Path) -> None:
    with kernels_alone(), eddyline.connect(tmp_path, heartbeat=None) as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
        db.sql(QUERY)
        query = db.sql("SELECT x FROM s WITH TAGS")
        db.stream("s").push([(1, 1)])
        db.sql("ATTACH TAG 'said' TO s WITH TAG_LIFESPAN = 9 SEC")
        assert db.stream("s").push([*TAGS, {"x": 2, "t": 1}]).rejected == 3
        assert [reject.reason for reject in db.rejects] == REASONS
        db.flush()
        assert shown(query.fetch()) == SHOWN
        db.sql("DETACH TAG 'said' FROM s")
        db.flush()
        assert shown(query.fetch()) == ["other", "seen"]


def test_by_the_reference_engine(tmp_path: Path) -> None:
    rows = [*TAGS, {"x": 2, "t": 1}]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    script = f"""CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t USING json OPTIONS (path 'in.jsonl');
        {QUERY} ATTACH TAG 'said' TO s WITH TAG_LIFESPAN = 9 SEC; SELECT x FROM s WITH TAGS;"""
    rejects: list[Any] = []
    session = Session(script, tmp_path, on_reject=rejects.append)
    answers = list(session.answers())
    assert [reject.reason for reject in rejects] == REASONS
    assert shown(answer for answer in answers if answer.query != "nurse") == SHOWN


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE STREAM user (x INTEGER)",
        "CREATE SENSED STREAM User (x INTEGER) SITES (1) EVERY 1 MIN",
        "CREATE QUERY user AS ATTACH TAG 'a' TO s CONTINUOUSLY",
    ],
)
def test_nothing_that_tags_is_called_user(statement: str) -> None:
    with kernels_alone(), eddyline.connect(heartbeat=None) as db:
        db.sql("CREATE STREAM s (x INTEGER)")
        with pytest.raises(InvalidDefinition, match="the tagger of statements") as raised:
            db.sql(statement)
        assert raised.value.position is not None
        db.sql("CREATE TABLE user (x INTEGER)")
