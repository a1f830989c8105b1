"""Tags in a database: pushed, attached, found again after a restart, and carried by the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import eddyline
from eddyline.algebra.answer import TagAnswer, TagView, TupleAnswer
from eddyline.errors import InvalidDefinition, NotSupported
from eddyline.log.upkeep import Pace
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


def test_a_tag_that_does_not_say_that_it_is_one_is_set_aside(tmp_path: Path) -> None:
    """Not taken for a tuple, however it is pushed."""
    db = created(tmp_path)
    db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
    stray = {"x": 1, "t": 1, "_tag": {"content": "A"}}
    pushed = db.stream("s").push([stray, {"x": 2, "t": 2}])
    assert (pushed.accepted, pushed.rejected) == (1, 1)
    columns = {"x": [3, 4, 5], "t": [3, 3, 3], "_op": [None, "+", "#"], "_tag": ['{"content": "B"}', None, None]}
    columns["_tag"][2] = '{"content": "C"}'
    pushed = db.stream("s").push(pa.table(columns))
    assert (pushed.accepted, pushed.rejected) == (2, 1)
    assert tagged(db, "q") == {2: [], 4: []}
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


def test_taggers_tag_what_comes_while_they_stand(tmp_path: Path) -> None:
    """For queries that stand as for those that look back, also after a restart, and whatever is revised when."""
    db = created(tmp_path)
    db.sql("CREATE QUERY before AS SELECT x FROM s WITH TAGS")
    db.stream("s").push([{"x": 2, "t": 1}])
    db.sql("CREATE QUERY big AS ATTACH TAG 'big' CONTINUOUSLY TO s.x WHERE x >= 2")
    db.stream("s").push([{"x": 1, "t": 2}, {"x": 3, "t": 3}])
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([{"x": 4, "t": 4}])
    db.flush()
    told = [(answer.tick, answer.tag.content) for answer in db.query("big").fetch() if isinstance(answer, TagAnswer)]
    assert told == [(3, "big"), (4, "big")]
    db.sql("DROP QUERY big")
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([{"x": 5, "t": 5}])
    big = [("big", ("x",))]
    expected = {2: [], 1: [], 3: big, 4: big, 5: []}
    assert tagged(db, "before") == expected
    db.sql("CREATE QUERY after FROM HISTORY AS SELECT x FROM s WITH TAGS")
    assert tagged(db, "after") == expected
    db.stream("s").update(2, x=7, t=2)
    db.stream("s").update(1, x=8, t=1)
    for query in ("before", "after"):
        assert {x: tags for x, tags in tagged(db, query).items() if x in (7, 8)} == {7: big, 8: []}
    db.close()


def test_one_name_for_two_taggers(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
    for number, word in enumerate(("first", "second")):
        db.sql(f"CREATE QUERY tagger AS ATTACH TAG '{word}' CONTINUOUSLY TO s")
        db.stream("s").push([{"x": number, "t": number}])
        db.queries.drop("tagg%")
    db.stream("s").push([{"x": 2, "t": 2}])
    db.close()
    db = opened(tmp_path)
    assert tagged(db, "q") == {0: [("first", ())], 1: [("second", ())], 2: []}
    db.close()


def test_a_tagger_does_not_tag_the_past(tmp_path: Path) -> None:
    db = created(tmp_path)
    with pytest.raises(InvalidDefinition, match="tags the rows that come while it stands"):
        db.sql("CREATE QUERY big FROM HISTORY AS ATTACH TAG 'big' CONTINUOUSLY TO s.x")
    assert list(db.queries) == []
    db.close()


def test_a_function_that_a_dropped_tagger_has_asked_stays(tmp_path: Path) -> None:
    """Rows that it has tagged may be revised, and then it is asked again."""
    db = created(tmp_path)
    db.function("odd", lambda x: [value % 2 == 1 for value in x.to_pylist()], returns="BOOLEAN", arguments=["INTEGER"])
    db.sql("CREATE QUERY tagger AS ATTACH TAG 'odd' CONTINUOUSLY TO s WHERE odd(x)")
    db.sql("CREATE QUERY q AS SELECT x FROM s WITH TAGS")
    db.stream("s").push([{"x": 1, "t": 1}, {"x": 2, "t": 2}])
    assert tagged(db, "q") == {1: [("odd", ())], 2: []}
    db.sql("DROP QUERY tagger")
    with pytest.raises(InvalidDefinition, match="is in use"):
        db.sql("DROP FUNCTION odd")
    db.stream("s").update(2, x=5, t=2)
    assert tagged(db, "q")[5] == [("odd", ())]
    db.close()


def test_the_history_of_tags_in_a_database(tmp_path: Path) -> None:
    """It has what comes after the query: made tags of rows that came before are none of its business."""
    db = created(tmp_path)
    db.sql("CREATE QUERY big AS ATTACH TAG 'big' CONTINUOUSLY TO s.x WHERE x >= 2")
    db.stream("s").push([{"x": 2, "t": 1}])
    db.sql("CREATE QUERY live AS SELECT content, time FROM TAGS OF s")
    db.sql("CREATE QUERY whole FROM HISTORY AS SELECT content, time FROM TAGS OF s")
    db.flush()
    db.stream("s").push([TAG, {"x": 3, "t": 2}])
    db.stream("s").update(1, x=4, t=9)
    db.flush()
    live, whole = ({a.row for a in db.query(name).fetch() if a.op != "-"} for name in ("live", "whole"))
    assert live == {("A", 1), ("big", 2)}
    assert whole == {("A", 1), ("big", 1), ("big", 2), ("big", 9)}
    db.close()


def test_what_only_the_reference_engine_can_do_is_told_at_once(tmp_path: Path) -> None:
    db = created(tmp_path)
    with pytest.raises(NotSupported, match="SELECT TAGS of what comes from windows"):
        db.sql("CREATE QUERY q AS SELECT TAGS FROM (RSTREAM(SELECT x FROM s [FROM NOW-3 TO NOW SLIDE 2 SEC]))")
    db.close()


def told(db: Any, query: str) -> list[str]:
    db.flush()
    return [answer.tag.content for answer in db.query(query).fetch() if isinstance(answer, TagAnswer)]


def said(content: str, at: int) -> dict[str, Any]:
    return {"_op": "#", "_tag": {"content": content, "lifespan": 10, "mode": "C"}, "t": at}


def test_tags_are_told_before_any_tuple_has_come(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY q AS SELECT TAGS FROM s")
    db.stream("s").push([said("A", 1)])
    assert told(db, "q") == ["A"]
    db.stream("s").push([said("B", 1)])
    db.stream("s").push([{"x": 1, "t": 1}])
    assert told(db, "q") == ["A", "B"]
    db.close()


def test_a_query_tells_the_tags_that_come_right_after_it(tmp_path: Path) -> None:
    """They stand behind a tuple that came before the query was created."""
    db = created(tmp_path)
    db.stream("s").push([{"x": 1, "t": 1}, said("before", 1), {"x": 2, "t": 1}])
    db.sql("CREATE QUERY q AS SELECT TAGS FROM s; CREATE QUERY big AS SELECT TAGS FROM s WHERE x > 2")
    db.stream("s").push([said("A", 2)])
    assert told(db, "q") == ["A"]
    db.stream("s").push([{"x": 3, "t": 3}, said("B", 3)])
    assert told(db, "q") == ["A", "B"]
    assert told(db, "big") == ["A"]
    db.close()


def test_a_tag_is_told_once_with_the_first_tuple_that_passes(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY big AS SELECT TAGS FROM s WHERE x > 5 AND TAG < 'X'")
    db.stream("s").push([said("A", 1), said("X", 1), {"x": 1, "t": 2}])
    assert told(db, "big") == []
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([said("B", 3), {"x": 9, "t": 4}])
    assert told(db, "big") == ["A", "B"]
    db.close()
    db = opened(tmp_path)
    db.stream("s").push([{"x": 8, "t": 5}])
    assert told(db, "big") == ["A", "B"]
    db.close()


def test_a_tag_that_waits_outlives_the_retention_of_its_stream(tmp_path: Path) -> None:
    busy = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)
    db = eddyline.connect(tmp_path, heartbeat=None, clock=lambda: 0, pace=busy)
    db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t RETAIN 5 SEC")
    db.sql("CREATE QUERY big AS SELECT TAGS FROM s WHERE x > 500")
    long = {"_op": "#", "_tag": {"content": "long", "lifespan": 1_000}, "t": 0}
    db.stream("s").push([long, {"x": 1, "t": 1}])
    for tick in range(10, 400, 10):
        db.stream("s").push([{"x": tick, "t": tick}])
        db.flush()
    kept = sum(segment.rows for segment in db._core.engine.journal.state("s").segments)
    assert kept < 20  # of forty rows: the query does not keep the stream from forgetting
    db.stream("s").push([{"x": 501, "t": 500}])
    assert told(db, "big") == ["long"]
    db.close()


def test_a_correction_that_lets_a_tuple_pass_tells_its_tags(tmp_path: Path) -> None:
    db = created(tmp_path)
    db.sql("CREATE QUERY big AS SELECT TAGS FROM s WHERE x > 5")
    db.stream("s").push([said("A", 1), {"x": 1, "t": 2}])
    db.flush()
    db.stream("s").update(1, x=7, t=2)
    assert told(db, "big") == ["A"]
    db.stream("s").update(1, x=2, t=2)
    db.stream("s").update(1, x=8, t=2)
    assert told(db, "big") == ["A"]
    db.close()


def test_tags_are_few_when_they_are_over(tmp_path: Path) -> None:
    """A stream with retention forgets tags that can cover nothing any more."""
    db = opened(tmp_path)
    db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t RETAIN 5 SEC")
    for tick in range(0, 200, 10):
        tag = {"content": f"n{tick}", "lifespan": 3}
        db.stream("s").push([{"_op": "#", "_tag": tag, "t": tick}, {"x": tick, "t": tick}])
    assert len(db._core.engine.ingest._tagged["s"]._coverage) <= 2
    db.close()


def test_a_tag_before_all_tuples_stands_at_the_beginning_of_their_time(tmp_path: Path) -> None:
    """Not at that of the wall: tuples bring their own."""
    db = eddyline.connect(tmp_path, heartbeat=None)
    db.sql("CREATE STREAM early (x INTEGER, t INTEGER) TIMESTAMP BY t")
    query = db.sql("SELECT x FROM early WITH TAGS")
    hello = {"content": "hello", "lifespan": 10}
    db.stream("early").push([{"_op": "#", "_tag": hello}, {"x": 1, "t": 5}, {"x": 2, "t": 12}])
    db.flush()
    assert [(a.row, [tag.content for tag in a.tags]) for a in query.fetch()] == [((1,), ["hello"]), ((2,), [])]
    db.close()
