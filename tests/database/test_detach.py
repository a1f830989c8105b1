"""DETACH TAG in a database: answers are revised, and whoever opens it again finds the tags taken back."""

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


def opened(folder: Path) -> Any:
    return eddyline.connect(folder, heartbeat=None, clock=lambda: 0)


def created(folder: Path) -> Any:
    db = opened(folder)
    db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
    db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
    db.sql("ATTACH TAG 'A' TO s.x WITH TAG_LIFESPAN = 100 SEC, TAG_MODE = COMBINE")
    db.sql("ATTACH TAG 'B' TO s WITH TAG_LIFESPAN = 100 SEC, TAG_MODE = COMBINE")
    return db


def tags(db: Any) -> dict[int, str]:
    """By value of x, the tags that it has after all answers."""
    db.flush()
    found = {}
    for answer in db.query("q").fetch():
        assert isinstance(answer, TupleAnswer)
        found[answer.row[0]] = "".join(tag.content for tag in answer.tags or ())
    return found


def test_what_is_taken_back_stays_so_after_a_restart(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.stream("s").push([{"x": 1, "t": 1}, {"x": 2, "t": 2}])
    assert tags(db) == {1: "AB", 2: "AB"}
    assert db.sql("DETACH TAG 'A' FROM s.x WHERE x = 1").accepted == 1
    db.close()
    db = opened(tmp_path)
    assert db.sql("DETACH TAG 'b' FROM s").accepted == 2
    db.stream("s").push([{"x": 1, "t": 3}, {"x": 3, "t": 4}])
    db.flush()
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([{"x": 1, "t": 5}, {"x": 5, "t": 6}])
    db.stream("s").update(2, x=4, t=2)
    assert tags(db) == {1: "", 2: "A", 3: "A", 5: "A", 4: "A"}
    assert db.status().warnings == []
    for _ in range(2):
        assert db.sql("DETACH TAG 'B' FROM s").accepted == 0
    (warning,) = db.status().warnings
    assert warning.startswith("nothing is taken back: no tag 'B' of yours is there on s")
    db.close()


def test_a_statement_that_fails_takes_nothing_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eddyline.log.journal import Journal

    db = created(tmp_path)
    db.stream("s").push([{"x": 1, "t": 1}])

    def fails(*given: Any, **named: Any) -> Any:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", fails)
        with pytest.raises(OSError, match="full"):
            db.sql("DETACH TAG 'A' FROM s.x")
    db.stream("s").push([{"x": 2, "t": 2}])
    assert tags(db) == {1: "AB", 2: "AB"}
    assert not list((tmp_path / "streams" / "s").glob("*-*.parquet")), "what no entry names is deleted"
    db.close()


def test_a_condition_that_the_kernel_does_not_compute(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.stream("s").push([{"x": 1, "t": 1}, {"x": 2, "t": 2}])
    assert tags(db) == {1: "AB", 2: "AB"}
    db.sql("DETACH TAG 'A' FROM s.x WHERE regexp_replace(CAST(x AS STRING), '1', '2') = '2' AND x < 2")
    assert tags(db) == {1: "B", 2: "AB"}
    db.close()


def test_the_history_is_corrected(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY h AS SELECT content, time FROM TAGS OF s")
    db.stream("s").push([{"x": 1, "t": 1}])
    db.flush()
    db.close()
    db = opened(tmp_path)
    db.sql("DETACH TAG 'A' FROM s.x")
    db.flush()
    told = [(answer.op, answer.row) for answer in db.query("h").fetch()]
    assert told == [("+", ("A", 1)), ("+", ("B", 1)), ("-", ("A", 1))]
    db.close()


def test_tags_are_listed(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.stream("s").push([{"x": 1, "t": 1}, {"x": 2, "t": 2}, {"_op": "#", "_tag": {"content": "C"}}, {"x": 3, "t": 3}])
    db.sql("DETACH TAG 'A' FROM s.x WHERE x = 1")
    db.close()
    db = opened(tmp_path)
    listed = db.sql("SHOW TAGS OF s").to_arrow().to_pylist()
    assert [(line["tag"], line["on"], line["tags"], line["active"], line["rows"]) for line in listed] == [
        ("B", None, 1, 1, 3),
        ("A", "x", 1, 1, 2),
        ("C", None, 1, 0, 1),
    ]
    db.sql("DETACH TAG 'B' FROM s")
    assert [line["tag"] for line in db.sql("SHOW TAGS OF s LIKE '_'").to_arrow().to_pylist()] == ["A", "C"]
    assert db.sql("SHOW TAGS OF s LIKE 'Z%'").to_arrow().to_pylist() == []
    db.close()
