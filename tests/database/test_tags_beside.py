"""Tags beside rows that do not come in: they go with their rows, and on no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.algebra.answer import TupleAnswer
from laws.without_spark import kernels_alone


@pytest.fixture(autouse=True)
def without_spark() -> Any:
    with kernels_alone():
        yield


def opened(folder: Path, *options: str) -> Any:
    db = eddyline.connect(folder, heartbeat=None, clock=lambda: 0)
    db.sql(f"CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t {' '.join(options)}")
    db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
    return db


def shown(db: Any) -> list[tuple[int, list[str]]]:
    db.flush()
    answers = [answer for answer in db.query("q").fetch() if isinstance(answer, TupleAnswer)]
    return [(answer.row[0], [tag.content for tag in answer.tags or ()]) for answer in answers]


def before(row: int, content: str, **fields: Any) -> dict[str, Any]:
    return {"_before": row, "_tag": {"content": content, "mode": "C", **fields}}


def reasons(db: Any) -> list[tuple[int, str]]:
    return [(reject.line, reject.reason) for reject in db.rejects if reject.file == "push, tags"]


def test_a_tag_of_a_row_that_does_not_fit(tmp_path: Path) -> None:
    db = opened(tmp_path)
    db.stream("s").push([(1, 1), ("one", 2), (3, 3)], tags=[before(2, "A"), before(3, "B")])
    assert shown(db) == [(1, []), (3, ["B"])]
    assert reasons(db) == [(1, "_before: row 2, which the tag stands in front of, is set aside")]
    db.close()


@pytest.mark.parametrize("key", [(), ("KEY (x)",)])
def test_a_tag_of_a_row_that_comes_too_late(tmp_path: Path, key: tuple[str, ...]) -> None:
    db = opened(tmp_path, *key, "RETAIN 5 SEC")
    db.stream("s").push([(1, 100)])
    tags = [before(1, "A"), before(2, "B"), before(2, "C"), before(3, "D", lifespan=9), before(4, "E")]
    db.stream("s").push([(2, 100), (3, 1), (4, 101)], tags=tags)
    db.stream("s").push([(5, 102)])
    assert shown(db) == [(1, []), (2, ["A"]), (4, ["D"]), (5, ["D", "E"])]
    assert reasons(db) == [(line, "_before: row 2, which the tag stands in front of, is set aside") for line in (2, 3)]
    db.close()


def test_a_tag_of_a_row_that_replaces_another_goes_on_the_next_new_row(tmp_path: Path) -> None:
    db = opened(tmp_path, "KEY (x)")
    db.stream("s").push([(1, 1)])
    db.stream("s").push([(1, 2), (2, 3)], tags=[before(1, "A", applies_to={"next": 1})])
    assert shown(db)[-1] == (2, ["A"])
    db.close()
