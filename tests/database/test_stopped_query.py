"""A query whose own work fails stops by itself: the others go on, and it says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline import testing
from eddyline.errors import StreamingFailed
from eddyline.session.spark_run import SparkRun
from eddyline.spark.work import stage_frame

SETUP = """
CREATE STREAM s (k STRING, p STRING, t INTEGER) TIMESTAMP BY t;
CREATE QUERY good AS SELECT k, t FROM s;
CREATE QUERY large AS SELECT upper(k) AS u FROM s;
CREATE QUERY bad AS SELECT k RLIKE p AS x FROM s;
"""


def rows(handle: Any) -> list[tuple[Any, ...]]:
    return [answer.row for answer in handle.fetch()]


def test_the_others_go_on(spark: Any, tmp_path: Path) -> None:
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        db.sql(SETUP)
        db.stream("s").push([("a", "a", 1)])
        db.flush()
        db.stream("s").push([("b", "[", 2)])  # no regular expression
        db.flush()
        db.stream("s").push([("c", "c", 3)])
        db.flush()
        assert rows(db.query("good")) == [("a", 1), ("b", 2), ("c", 3)]
        assert rows(db.query("large")) == [("A",), ("B",), ("C",)]  # it runs on Spark's own plan too
        bad = db.query("bad")
        assert rows(bad) == [(True,)]
        with pytest.raises(StreamingFailed, match="the query bad has stopped: PatternSyntaxException"):
            bad.fetch()
        assert [q.name for q in db.status().queries if q.problem] == ["bad"]
        assert any("bad has stopped" in warning for warning in db.status().warnings)
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        db.stream("s").push([("d", "d", 4)])
        db.flush()
        bad = db.query("bad")
        assert rows(bad) == [(True,)]
        with pytest.raises(StreamingFailed, match="Unclosed character class"):  # it would have missed a tuple
            bad.fetch()
        db.sql("DROP QUERY bad; CREATE QUERY bad AS SELECT k = p AS x FROM s")
        db.stream("s").push([("e", "e", 5)])
        db.flush()
        assert rows(db.query("bad")) == [(True,)]
        assert len(rows(db.query("good"))) == 5


def test_a_script_gives_the_other_answers_first(spark: Any) -> None:
    script = SparkRun(SETUP + "INSERT INTO s VALUES ('a', '(', 1), ('b', 'b', 2);", Path(), 100).answers()
    found = []
    with pytest.raises(StreamingFailed, match="bad has stopped"):
        for answer in script:
            found.append(answer.query)
    assert sorted(found) == ["good", "good", "large", "large"]


def test_a_query_over_tables_says_in_one_sentence_what_is_wrong(spark: Any, tmp_path: Path) -> None:
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        db.sql("CREATE TABLE patterns (p STRING); INSERT INTO patterns VALUES ('[')")
        with pytest.raises(StreamingFailed, match=r"^Spark cannot answer it: PatternSyntaxException: .*") as raised:
            db.sql("SELECT 'a' RLIKE p AS x FROM patterns")
        assert "\n" not in raised.value.message


def test_a_query_that_cannot_be_planned_stops_alone(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(stage: Any, *given: Any) -> Any:
        if stage.name == "large":
            raise OverflowError("Python int too large to convert to C long")
        return stage_frame(stage, *given)

    monkeypatch.setattr("eddyline.spark.batch_work.stage_frame", planned)
    with testing.database() as db:
        db.sql(SETUP)
        db.stream("s").push([("a", "a", 1)])
        db.flush()
        assert rows(db.query("good")) == [("a", 1)] and rows(db.query("bad")) == [(True,)]
        with pytest.raises(StreamingFailed, match="the query large has stopped: Python int too large"):
            db.query("large").fetch()
