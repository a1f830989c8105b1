"""So many tags can stand in front of one tuple; one more is set aside, and is not taken for the next one's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.algebra import tag_places
from eddyline.algebra.answer import TupleAnswer
from eddyline.session.session import Session
from laws.without_spark import kernels_alone

ROOM = 4
REASON = f"{ROOM} tags stand in front of the next row already, and more have no place there"


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_places, "MOST_BETWEEN", ROOM)


def tag(content: str, **said: Any) -> dict[str, Any]:
    return {"_op": "#", "_tag": json.dumps({"content": content, "mode": "C", **said})}


ROWS = [
    *(tag(f"a{number}") for number in range(ROOM - 1)),
    tag("a value", applies_to={"attributes": ["x"], "values": "7"}),
    tag("too many"),
    tag("far too many", lifespan=3),
    {"x": 1, "t": 1},
    *(tag(f"b{number}") for number in range(ROOM)),
    {"x": 7, "t": 2},
]
SHOWN = {1: ["a0", "a1", "a2"], 7: ["a value", "b0", "b1", "b2", "b3"]}


def shown(answers: Any) -> dict[int, list[str]]:
    return {each.row[0]: [tag.content for tag in each.tags] for each in answers if isinstance(each, TupleAnswer)}


@pytest.mark.parametrize("cut", range(len(ROWS)))
def test_those_that_find_no_room_are_set_aside(cut: int, tmp_path: Path) -> None:
    with kernels_alone(), eddyline.connect(tmp_path, heartbeat=None) as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
        query = db.sql("SELECT x FROM s WITH TAGS")
        pushed = [db.stream("s").push(rows) for rows in (ROWS[:cut], ROWS[cut:]) if rows]
        assert sum(each.rejected for each in pushed) == 2
        db.flush()
        assert shown(query.fetch()) == SHOWN
        assert [reject.reason for reject in db.rejects] == [REASON] * 2


def test_the_reference_engine_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    script = """CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t USING json OPTIONS (path 'in.jsonl');
        SELECT x FROM s WITH TAGS;"""
    rejects: list[Any] = []
    session = Session(script, tmp_path, on_reject=rejects.append)
    assert shown(session.answers()) == SHOWN
    assert [reject.reason for reject in rejects] == [REASON] * 2
