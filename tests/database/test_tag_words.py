"""The types of tags are by the dictionary of the moment in which they came, whoever opens the database when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.algebra.answer import TupleAnswer
from eddyline.algebra.tag import MAX_CONTENT
from laws.without_spark import kernels_alone


@pytest.fixture(autouse=True)
def without_spark() -> Any:
    with kernels_alone():
        yield


def opened(folder: Path) -> Any:
    return eddyline.connect(folder, heartbeat=None, clock=lambda: 0)


def created(folder: Path) -> Any:
    db = opened(folder)
    db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
    db.sql("CREATE QUERY felt AS SELECT TAGGED OBJECTS FROM s WHERE TAG_TYPE = 'subjective'")
    return db


def felt(db: Any) -> list[int]:
    db.flush()
    return [answer.row[0] for answer in db.query("felt").fetch() if isinstance(answer, TupleAnswer)]


def _said(tick: int, lifespan: int, tagger: str) -> dict[str, Any]:
    tag = {"content": "Thunderstorm", "lifespan": lifespan, "tagger": tagger, "mode": "C"}
    return {"_op": "#", "_tag": tag, "t": tick}


def test_a_tag_has_its_type_by_the_words_that_there_are_when_it_comes(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.stream("s").push([_said(1, 1, "u"), {"x": 1, "t": 1}])
    db.sql("CREATE TAG GROUP awe ('Thunderstorm')")
    db.stream("s").push([_said(2, 1, "u"), {"x": 2, "t": 2}])
    db.sql("ATTACH TAG 'Thunderstorm' TO s WHERE x = 7")
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([_said(3, 10, "u"), {"x": 3, "t": 3}])
    db.sql("DROP TAG GROUP awe")
    db.stream("s").push([_said(20, 10, "u"), {"x": 4, "t": 20}, {"x": 7, "t": 21}])
    assert felt(db) == [2, 3, 7]
    db.close()


def test_a_type_stays_when_the_database_is_opened_with_other_words(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE TAG GROUP awe ('Thunderstorm')")
    db.stream("s").push([_said(1, 10, "u"), {"x": 1, "t": 1}])
    db.sql("DROP TAG GROUP awe")
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([{"x": 2, "t": 2}, _said(20, 10, "u"), {"x": 3, "t": 20}])
    assert felt(db) == [1, 2]
    db.close()


@pytest.mark.parametrize(
    ("tag", "reason"),
    [
        ({"content": " "}, "needs a content"),
        ({"content": "x" * (MAX_CONTENT + 1)}, f"at most {MAX_CONTENT} characters"),
        ({"content": "A", "lifespan": -1}, "cannot live for"),
        ({"content": "A", "lifespan": "soon"}, "a lifespan is"),
        ({"content": "A", "mode": "X"}, "mode is"),
        ({"content": "A", "sign": "*"}, "sign is"),
        ({"content": "A", "type": "odd"}, "type is"),
        ({"content": "A", "applies_to": {"attributes": ["y"]}}, "no attribute y"),
        ({"contents": "A"}, "contents"),
    ],
)
def test_a_tag_that_means_nothing_is_set_aside_with_its_reason(tmp_path: Path, tag: Any, reason: str) -> None:
    db = created(tmp_path)
    pushed = db.stream("s").push([{"_op": "#", "_tag": tag, "t": 1}, {"x": 2, "t": 2}])
    assert (pushed.accepted, pushed.rejected) == (1, 1)
    assert reason in list(db.rejects)[-1].reason
    db.close()
