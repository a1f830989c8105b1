"""Query classes of which some members show tags, in a database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.algebra.marks import MARKS
from eddyline.errors import NotSupported
from laws.test_dealt import all_dealt
from laws.without_spark import kernels_alone

WINDOW = "[FROM NOW-9 TO NOW SLIDE 5 SEC]"


@pytest.fixture(autouse=True)
def without_spark() -> Any:
    with kernels_alone():
        yield


def opened(folder: Path) -> Any:
    return eddyline.connect(folder, heartbeat=None, clock=lambda: 0)


def created(folder: Path) -> Any:
    db = opened(folder)
    db.sql("CREATE STREAM s (x INTEGER, y INTEGER, t INTEGER) TIMESTAMP BY t")
    return db


def attach(db: Any, content: str, on: str = "s.x") -> None:
    db.sql(f"ATTACH TAG '{content}' TO {on} WITH TAG_LIFESPAN = 1000 SEC TAG_MODE = COMBINE")


def told(db: Any, name: str) -> list[tuple[Any, ...]]:
    """What a query has said: its operation, row, and the contents of tags if it shows any."""
    db.flush()
    return [
        (answer.op, answer.row, None if answer.tags is None else "".join(tag.content for tag in answer.tags))
        for answer in db.query(name).fetch()
    ]


def shares(db: Any) -> dict[str, tuple[Any, ...]]:
    rows = db.sql("SHOW QUERIES").to_arrow().to_pylist()
    return {row["name"]: (row["class"], row["members"], row["form"]) for row in rows}


def columns_of_class(db: Any, log: str = "~class1") -> tuple[str, ...]:
    (found,) = [standing for standing in db._core.engine.executor.queries() if standing.name == log]
    return tuple(found.stages[-1].columns)


def test_those_with_tags_and_those_without_are_one_class(tmp_path: Path) -> None:
    db = created(tmp_path)
    attach(db, "A")
    db.sql("CREATE QUERY alone AS SELECT x FROM s WHERE x > 0")
    db.sql("CREATE QUERY bare AS SELECT x FROM s WHERE x > 1")
    db.sql("CREATE QUERY shown AS SELECT x FROM s WHERE x > 2 WITH TAGS")
    db.stream("s").push([(n, n, n) for n in range(1, 5)])
    assert told(db, "bare") == [("+", (2,), None), ("+", (3,), None), ("+", (4,), None)]
    assert told(db, "shown") == [("+", (3,), "A"), ("+", (4,), "A")]
    assert shares(db) == {
        "alone": (None, 1, None),
        "bare": ("~class1", 2, "s.x > p0"),
        "shown": ("~class1", 2, "s.x > p0 WITH TAGS"),
    }
    db.close()


def test_tags_are_read_while_somebody_shows_them(tmp_path: Path) -> None:
    db = created(tmp_path)
    attach(db, "A")
    db.stream("s").push([(0, 0, 0)])  # who comes before any data is in a class with others who do
    for name, low in (("one", 0), ("two", 1), ("three", 2)):
        db.sql(f"CREATE QUERY {name} AS SELECT x FROM s WHERE x > {low}")
    db.stream("s").push([(3, 1, 1)])
    assert told(db, "three") == [("+", (3,), None)]
    assert MARKS not in columns_of_class(db)
    db.sql("CREATE QUERY shown AS SELECT x FROM s WHERE x > 2 WITH TAGS")
    db.stream("s").push([(4, 1, 2)])
    assert told(db, "three") == [("+", (3,), None), ("+", (4,), None)]
    assert told(db, "shown") == [("+", (4,), "A")]
    assert MARKS in columns_of_class(db)
    db.close()
    db = opened(tmp_path)
    db.stream("s").update(2, x=5, y=1, t=1)
    db.stream("s").update(3, x=6, y=1, t=2)
    assert told(db, "three")[2:] == [("=", (5,), None), ("=", (6,), None)]
    assert told(db, "shown")[1:] == [("=", (6,), "A")], "the first tuple is from before it came"
    db.sql("DROP QUERY shown")
    db.stream("s").push([(7, 1, 3)])
    assert told(db, "three")[4:] == [("+", (7,), None)]
    assert MARKS not in columns_of_class(db)
    db.close()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x FROM s WHERE x > {}{}",
        "ISTREAM(SELECT x FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC] WHERE x > {}{})",
        "RSTREAM(SELECT x, COUNT(*) AS n FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC] WHERE x > {} GROUP BY x{})",
        "SELECT TAGGED OBJECTS FROM s WHERE TAG = 'A' AND x > {}{}",
    ],
)
def test_what_is_taken_back_reaches_who_shows_it(query: str, tmp_path: Path) -> None:
    db = created(tmp_path)
    attach(db, "A", "s")
    attach(db, "B")
    for number, tags in enumerate(("", " WITH TAGS", "", " WITH TAGS")):
        db.sql(f"CREATE QUERY q{number} AS {query.format(number, tags)}")
    assert {row[0] for row in shares(db).values()} == {None, "~class1"}
    db.stream("s").push([(9, 1, 1), (8, 2, 30)])
    first = {name: told(db, name) for name in ("q0", "q1", "q2", "q3")}
    assert first["q2"] == [(op, row, None) for op, row, _ in first["q3"]] and first["q2"]
    assert db.sql("DETACH TAG 'B' FROM s.x").accepted == 2
    again = {name: told(db, name)[len(before) :] for name, before in first.items()}
    assert again["q0"] == again["q2"] == []
    assert again["q1"] == again["q3"] != [] and {answer[0] for answer in again["q3"]} == {"="}
    assert {answer[2] for answer in first["q3"]} == {"AB"} and {answer[2] for answer in again["q3"]} == {"A"}
    db.close()


def test_a_template_with_tags(tmp_path: Path) -> None:
    db = created(tmp_path)
    attach(db, "A")
    many = db.queries("SELECT x, y FROM s WHERE x > :low WITH TAGS", {"low": list(range(20))}, name="m")
    db.queries("SELECT x, y FROM s WHERE x > :low", {"low": list(range(20))}, name="bare")
    db.stream("s").push([(3, 1, 1), (12, 2, 2)])
    assert told(db, "m.3") == [("+", (3, 1), "A"), ("+", (12, 2), "A")]
    assert told(db, "bare.3") == [("+", (3, 1), None), ("+", (12, 2), None)]
    assert shares(db)["m.3"] == ("~class1", 40, "s.x > p0 WITH TAGS")
    assert many.to_arrow().num_rows == 15 and MARKS not in many.to_arrow().column_names
    db.close()
    db = opened(tmp_path)
    db.sql("DROP QUERY `m.3`")
    assert db.sql("DETACH TAG 'A' FROM s.x WHERE x = 3").accepted == 1
    assert told(db, "m.2")[-1:] == [("=", (3, 1), "")]
    assert [op for op, _, _ in told(db, "bare.2")] == ["+", "+"]
    db.close()


def test_many_members_have_their_rows_written_once(tmp_path: Path) -> None:
    db = created(tmp_path)
    attach(db, "A")
    with all_dealt(by_ranges=True) as written:
        for tags in ("", " WITH TAGS"):
            constants = {"low": list(range(20)), "high": [low + 5 for low in range(20)]}
            template = f"SELECT x, y FROM s WHERE x > :low AND x < :high{tags}"
            db.queries(template, constants, name=f"m{len(tags)}")
        db.stream("s").push([(n, n, n) for n in range(1, 15)])
        expected = [("+", (n, n), "A") for n in range(4, 8)]
        assert told(db, "m10.4") == expected
        assert told(db, "m0.4") == [(op, row, None) for op, row, _ in expected]
        assert written
        assert db.sql("DETACH TAG 'A' FROM s.x WHERE x = 5").accepted == 1
        assert told(db, "m0.4")[4:] == []
        assert told(db, "m10.4")[4:] == [("=", (5, 5), "")]
    db.close()


def test_aggregates_go_over_to_tags_and_back(tmp_path: Path) -> None:
    """What is kept of slices ends with the first who shows tags, and begins anew behind the last."""
    db = created(tmp_path)
    attach(db, "A")
    text = "CREATE QUERY {} AS SELECT y, SUM(x) AS n FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC] WHERE x > {} GROUP BY y{}"
    db.stream("s").push([(1, 1, 1)])
    for number in range(3):
        db.sql(text.format(f"q{number}", number, ""))
    db.stream("s").push([(n, 1, n) for n in range(2, 30)])
    db.flush()
    db.sql(text.format("shown", 2, " WITH TAGS"))
    db.stream("s").push([(n, 1, n) for n in range(30, 50)])
    db.stream("s").update(31, x=500, y=1, t=31)
    db.flush()
    mine = {answer.tick: (answer.rows, answer.tags) for answer in db.query("shown").fetch()}
    assert {tag.content for _, tags in mine.values() for some in tags for tag in some} == {"A"}
    theirs = {answer.tick: answer.rows for answer in db.query("q2").fetch()}
    assert all(theirs[tick] == rows for tick, (rows, _) in mine.items()) and mine
    db.sql("DROP QUERY shown")
    said = len(db.query("q2").fetch())
    db.stream("s").update(32, x=700, y=1, t=32)
    db.flush()
    assert [answer.op for answer in db.query("q2").fetch()[said:]] == ["=", "="]
    db.close()


def test_what_cannot_be_shared_is_told(tmp_path: Path) -> None:
    db = created(tmp_path)
    with pytest.raises(NotSupported, match="the parameter :word stands among what is asked of tags"):
        db.queries("SELECT TAGGED OBJECTS FROM s WHERE TAG = :word", {"word": ["A", "B"]})
    with pytest.raises(NotSupported, match="SELECT TAGS is not made many at a time"):
        db.queries("SELECT TAGS FROM s WHERE TAG = :word", {"word": ["A", "B"]})
    db.close()
