"""Streams of formats that only Spark follows: each row once, whatever happens between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline import testing
from eddyline.database.stream import Pushed
from eddyline.errors import EddylineError, InvalidDefinition, NotSupported, SourceUnusable
from eddyline.session import Session
from eddyline.session.spark_run import SparkRun
from eddyline.spark import staging
from foreign.lines_source import lines_source

LINES = "CREATE STREAM lines (text STRING, number INTEGER) TIMESTAMP BY number USING lines OPTIONS (path '{file}')"
ALL = "CREATE QUERY everything AS SELECT number, text FROM lines"


def rows_of(handle: Any) -> list[tuple[Any, ...]]:
    return [answer.row for answer in handle.fetch()]


def test_a_source_of_the_users_own_is_read_on_where_it_stopped(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("1,a\n2,b\nbad,c\n3,d\n")
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        db.spark.dataSource.register(lines_source())
        db.sql(LINES.format(file=file))
        everything = db.sql(ALL)
        assert db.run() == Pushed(3, 1)
        assert rows_of(everything) == [(1, "a"), (2, "b"), (3, "d")]  # by time, whatever partition they were in
        assert [(r.file, r.reason) for r in db.rejects] == [("lines", "number: 'bad' is not an INTEGER")]
        assert db.run() == Pushed(0, 0)
        staged = tmp_path / "db" / "inputs" / "lines"
        assert list(staged.glob("*.parquet")) == []  # what the log has taken waits no more
    with file.open("a") as more:
        more.write("4,e\n5,f\n")
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        assert db.run() == Pushed(2, 0)
        assert rows_of(db.query("everything"))[-2:] == [(4, "e"), (5, "f")]
        assert db.status().rows == {"lines": 5}


@pytest.mark.parametrize("moment", ["before the manifest", "after the manifest", "half of the log"])
def test_a_row_comes_once_whatever_is_interrupted(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("".join(f"{i},{i}\n" for i in range(50)))
    with eddyline.connect(tmp_path / "db", master="local[2]", batch_rows=7) as db:
        db.spark.dataSource.register(lines_source())
        db.sql(LINES.format(file=file))
        everything = db.sql(ALL)
        with monkeypatch.context() as patch:
            _interrupt(patch, moment, db)
            with pytest.raises((EddylineError, RuntimeError), match="interrupted"):
                db.run()
        came = db.status().rows["lines"]
        assert came == (14 if moment == "half of the log" else 0)
        with file.open("a") as more:  # a batch that is run again must not take more than it did
            more.write("50,50\n")
        db.run()
        db.run()
        assert rows_of(everything) == [(i, str(i)) for i in range(51)]
        assert db._core.engine.journal.origin == {"lines\nlines": 51}  # a batch that is run again is not counted again
        assert list((tmp_path / "db" / "inputs" / "lines").glob("*.parquet")) == []


def _interrupt(patch: pytest.MonkeyPatch, moment: str, db: eddyline.Database) -> None:
    if moment == "half of the log":
        append, left = db._core.engine.append, [2]

        def some(*arguments: Any, **named: Any) -> None:
            if not left[0]:
                raise RuntimeError("interrupted")
            left[0] -= 1
            append(*arguments, **named)

        patch.setattr(db._core.engine, "append", some)
        return
    write = staging.Storage.write_json

    def interrupted(self: Any, name: str, value: Any) -> None:
        if name.startswith("inputs/"):
            if moment == "after the manifest":
                write(self, name, value)
            raise RuntimeError("interrupted")
        write(self, name, value)

    patch.setattr(staging.Storage, "write_json", interrupted)


def test_orc_and_text_and_a_time_that_is_missing(spark: Any, tmp_path: Path) -> None:
    rows = [(3, 1.0, None), (1, 2.0, 2**40), (None, 3.0, 1), (2, 4.0, 7)]
    spark.createDataFrame(rows, "T INT, v DOUBLE, big BIGINT").write.orc(str(tmp_path / "orc"))
    (tmp_path / "words.txt").write_text("hello\nworld\n")
    with testing.database(master="local[2]") as db:
        db.sql(f"CREATE STREAM o (big INTEGER, t BIGINT) TIMESTAMP BY t USING orc OPTIONS (path '{tmp_path}/orc')")
        db.sql(f"CREATE STREAM w (value STRING) USING text OPTIONS (path '{tmp_path}/words.txt')")
        o, w = db.sql("SELECT t, big FROM o"), db.sql("SELECT value FROM w")
        assert db.run() == Pushed(4, 2)
        assert rows_of(o) == [(2, 7), (3, None)]
        assert rows_of(w) == [("hello",), ("world",)]
        assert sorted(r.reason for r in db.rejects) == [
            "big: '1099511627776' is not an INTEGER",
            "t: no value, but it is the TIMESTAMP BY column",
        ]
        spark.createDataFrame([(9, 0.0, 9)], "T INT, v DOUBLE, big BIGINT").write.mode("append").orc(
            str(tmp_path / "orc")
        )
        assert db.run() == Pushed(1, 0)
        assert rows_of(o) == [(9, 9)]


def test_revisions_come_in_their_order(spark: Any, tmp_path: Path) -> None:
    rows = [(5, 10, None, None), (4, 20, "+", None), (6, 30, "=", 1), (None, None, "-", 2)]
    spark.createDataFrame(rows, "t INT, v INT, _op STRING, _ref INT").coalesce(1).write.orc(str(tmp_path / "orc"))
    with testing.database(master="local[2]") as db:
        db.sql(f"CREATE STREAM o (t BIGINT, v INTEGER) TIMESTAMP BY t USING orc OPTIONS (path '{tmp_path}/orc')")
        o = db.sql("SELECT t, v FROM o")
        assert db.run() == Pushed(4, 0)
        assert o.current().select(["t", "v"]).to_pylist() == [{"t": 6, "v": 30}]


def test_a_database_reads_what_an_endless_source_has_brought(spark: Any) -> None:
    with testing.database(master="local[2]") as db:
        db.sql("CREATE STREAM r (value BIGINT) USING `rate-micro-batch` OPTIONS (rowsPerBatch '5')")
        r = db.sql("SELECT value FROM r")
        assert db.run() == db.run() == Pushed(5, 0)
        assert sorted(rows_of(r)) == [(i,) for i in range(10)]


def test_a_script_reads_to_the_end_or_to_the_limit(spark: Any, tmp_path: Path) -> None:
    spark.range(5).selectExpr("id AS k", "id * 10 AS t").coalesce(1).write.orc(str(tmp_path / "orc"))
    text = """
      CREATE STREAM r (value INTEGER, timestamp TIMESTAMP) USING rate OPTIONS (rowsPerSecond '100', maxRows '7');
      CREATE STREAM o (k INTEGER, t INTEGER) TIMESTAMP BY t USING orc OPTIONS (path 'orc');
      CREATE TABLE names (k INTEGER) USING orc OPTIONS (path 'orc');
      CREATE QUERY values AS SELECT value FROM r;
      CREATE QUERY counts AS SELECT COUNT(*) AS n FROM o [FROM NOW-19 TO NOW SLIDE 20 SEC];
      SELECT COUNT(*) AS n FROM names;
    """
    answers = list(SparkRun(text, tmp_path, batch_rows=None, master="local[2]").answers())
    by_query: dict[str, list[Any]] = {}
    for answer in answers:
        by_query.setdefault(answer.query, []).append(answer)
    assert len({a.row for a in by_query["values"]}) == len(by_query["values"]) == 7
    assert [(a.tick, a.rows) for a in by_query["counts"]] == [(0, ((1,),)), (20, ((2,),)), (40, ((2,),))]
    assert by_query["q1"][0].rows == ((5,),)


def test_what_cannot_be_read_says_why_and_what_to_do(spark: Any, tmp_path: Path) -> None:
    def run(text: str, engine: Any = SparkRun, **more: Any) -> EddylineError:
        with pytest.raises(EddylineError) as problem:
            list(engine(text, tmp_path, **{"batch_rows": 1, **more}).answers())
        assert "\n" not in problem.value.message and problem.value.position is not None
        return problem.value

    endless = run("CREATE STREAM r (value INTEGER) USING rate", master="local[2]")
    assert isinstance(endless, InvalidDefinition) and "maxRows '1000'" in str(endless.hint)
    missing = run("SELECT 1 AS a;\nCREATE STREAM r (value STRING) USING text OPTIONS (path 'no')", master="local[2]")
    assert isinstance(missing, SourceUnusable) and missing.message.startswith("r: Spark cannot read it as text: Path")
    assert missing.position is not None and missing.position.start == 15
    socket = run("CREATE STREAM r (value STRING) USING socket OPTIONS (host 'h', port '1')", master="local[2]")
    assert isinstance(socket, NotSupported) and "push" in str(socket.hint)
    column = run("CREATE STREAM r (val INTEGER) USING rate OPTIONS (maxRows '3')", master="local[2]")
    assert column.message == "r: rate gives no column 'val', which r declares"
    reference = run("CREATE STREAM r (value INTEGER) USING rate", Session)
    assert reference.message.startswith("r: --engine reference reads") and "--engine spark" in str(reference.hint)
    limit = run("CREATE STREAM r (value INTEGER) USING rate OPTIONS (maxRows 'x')", master="local[2]")
    assert limit.message == "r: maxRows 'x' is not a positive whole number of rows"
