"""Tags in a database: pushed, attached, found again after a restart, and carried by the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.algebra.answer import TagAnswer, TagView, TupleAnswer
from eddyline.errors import NotSupported
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
    return db


def tagged(db: Any, query: str) -> dict[int, list[tuple[str, tuple[str, ...]]]]:
    """By value of x, the tags that a query shows and what they are on."""
    db.flush()
    answers = [answer for answer in db.query(query).fetch() if isinstance(answer, TupleAnswer)]
    return {answer.row[0]: [(tag.content, tag.attributes) for tag in answer.tags or ()] for answer in answers}


TAG = {"_op": "#", "_tag": {"content": "A", "lifespan": 10, "applies_to": {"attributes": ["x"]}}, "t": 1}


def test_tags_are_pushed_as_rows(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
    db.stream("s").push([{"x": 1, "t": 0}, TAG, {"x": 2, "t": 2}])
    assert tagged(db, "q") == {1: [], 2: [("A", ("x",))]}
    assert db.query("q").columns == ("x",)
    db.close()


def test_a_tag_that_means_nothing_is_set_aside(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
    pushed = db.stream("s").push([{"_op": "#", "_tag": {"content": ""}, "t": 1}, {"x": 2, "t": 2}])
    assert (pushed.accepted, pushed.rejected) == (1, 1)
    assert tagged(db, "q") == {2: []}
    db.close()


def test_tags_live_on_after_a_restart(tmp_path: Path) -> None:
    """What was said before it still covers what comes after it, for as long as it lives; nothing covers twice."""
    db = created(tmp_path)
    db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
    once = {"_op": "#", "_tag": {"content": "once", "lifespan": "I", "tagger": "u"}, "t": 1}
    db.stream("s").push([TAG, once, {"x": 1, "t": 2}])
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([{"x": 2, "t": 3}, {"x": 3, "t": 11}])
    assert tagged(db, "q") == {1: [("A", ("x",)), ("once", ())], 2: [("A", ("x",))], 3: []}
    db.close()


def test_a_value_that_a_tag_has_settled_on_is_known_after_a_restart(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY q AS SELECT t, x FROM s WITH TAGS")
    db.sql("ATTACH TAG 'same' TO s.x.value WITH TAG_LIFESPAN = 20 SEC")
    db.stream("s").push([{"x": 5, "t": 2}])
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([{"x": 6, "t": 3}, {"x": 5, "t": 4}])
    assert tagged(db, "q") == {2: [("same", ("x",))], 3: [], 4: [("same", ("x",))]}
    db.close()


def test_an_attachment_waits_over_a_restart(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
    db.stream("s").push([{"x": 1, "t": 1}])
    db.sql("ATTACH TAG 'big' TO s.x WHERE x > 5 WITH TAG_LIFESPAN = 5 SEC")
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([{"x": 2, "t": 2}, {"x": 6, "t": 3}, {"x": 3, "t": 4}, {"x": 7, "t": 5}])
    assert tagged(db, "q") == {1: [], 2: [], 6: [("big", ("x",))], 3: [], 7: [("big", ("x",))]}
    db.close()


def test_a_corrected_tuple_keeps_its_tags(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY q AS SELECT x, SUM(x) AS m FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC] GROUP BY x WITH TAGS")
    db.stream("s").push([TAG, {"x": 1, "t": 2}, {"x": 2, "t": 3}])
    db.flush()
    db.stream("s").update(1, x=10, t=2)
    db.stream("s").delete(2)
    db.stream("s").push([{"x": 3, "t": 30}])
    db.flush()
    first = [answer for answer in db.query("q").fetch() if answer.window == 2][-1]
    assert first.rows == ((10, 10),)
    assert first.tags == ((TagView("A", None, ("x", "m")),),)
    db.close()


def test_queries_see_the_taggers_before_them(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY before AS SELECT x FROM s WITH TAGS")
    db.sql("CREATE QUERY big AS ATTACH TAG 'big' CONTINUOUSLY TO s.x WHERE x >= 2")
    db.sql("CREATE QUERY after AS SELECT x FROM s WITH TAGS")
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([{"x": 1, "t": 1}, {"x": 2, "t": 2}])
    assert tagged(db, "before") == {1: [], 2: []}
    assert tagged(db, "after") == {1: [], 2: [("big", ("x",))]}
    told = [answer.tag.content for answer in db.query("big").fetch() if isinstance(answer, TagAnswer)]
    assert told == ["big"]
    db.close()


def test_what_only_the_reference_engine_can_do_is_told_at_once(tmp_path: Path) -> None:
    db = created(tmp_path)
    with pytest.raises(NotSupported, match="SELECT TAGS with conditions on tuples"):
        db.sql("CREATE QUERY q AS SELECT TAGS FROM s WHERE x > 1")
    db.close()


def test_tags_are_few_when_they_are_over(tmp_path: Path) -> None:
    """A stream with retention forgets tags that can cover nothing any more."""
    db = opened(tmp_path)
    db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t RETAIN 5 SEC")
    for tick in range(0, 200, 10):
        tag = {"content": f"n{tick}", "lifespan": 3}
        db.stream("s").push([{"_op": "#", "_tag": tag, "t": tick}, {"x": tick, "t": tick}])
    assert len(db._core.engine.ingest._tagged["s"]) <= 2
    db.close()
