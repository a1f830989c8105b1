"""Tables of formats that only Spark reads: copied by tasks, copied again when they have changed, tidied up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline import testing
from eddyline.errors import SourceUnusable
from foreign.lines_source import lines_source

STREAM = "CREATE STREAM s (k INTEGER, t INTEGER) TIMESTAMP BY t"
LOOKUP = "CREATE QUERY named AS SELECT k, name FROM s, names WHERE s.k = names.key"


def write_orc(spark: Any, path: Path, rows: list[tuple[Any, ...]], columns: str) -> None:
    spark.createDataFrame(rows, columns).coalesce(1).write.mode("overwrite").orc(str(path))


def copies(db: eddyline.Database, table: str) -> set[str]:
    folder = Path(db.status().path, "tables", table)
    return {file.name for file in folder.glob("*.parquet")}


def rows_of(handle: Any) -> list[tuple[Any, ...]]:
    return sorted(answer.row for answer in handle.fetch())


def test_orc_is_copied_when_it_has_changed_and_only_then(spark: Any, tmp_path: Path) -> None:
    write_orc(
        spark, tmp_path / "names", [("one", "1", 9), ("two", "2", 9), ("bad", "x", 9)], "NAME STRING, key STRING, n INT"
    )
    with testing.database(master="local[2]") as db:
        db.sql(f"{STREAM}; CREATE TABLE names (key INTEGER, name STRING) USING orc OPTIONS (path '{tmp_path}/names')")
        assert [(r.extent, r.reason, r.text) for r in db.rejects] == [
            ("names", "key: 'x' is not an INTEGER", '{"key":"x","name":"bad"}')
        ]
        named = db.sql(LOOKUP)
        db.stream("s").push([(1, 1), (2, 2)])
        db.flush()
        assert rows_of(named) == [(1, "one"), (2, "two")]
        first = copies(db, "names")
        db.stream("s").push([(1, 3)])
        db.flush()
        assert rows_of(named) == [(1, "one")]
        assert copies(db, "names") == first  # nothing has changed: it was not copied again
        write_orc(spark, tmp_path / "names", [("eins", "1", 9)], "name STRING, key STRING, n INT")
        db.stream("s").push([(1, 4), (2, 4)])
        db.flush()
        assert rows_of(named) == [(1, "eins")]
        db.stream("s").push([(2, 5)])
        db.flush()
        assert len(copies(db, "names")) == 1 and not copies(db, "names") & first  # the old copy serves nobody
        assert str(db.sql("SELECT key, name FROM names")) == "key  name\n  1  eins"


def test_a_scan_sees_a_source_of_the_users_own_change(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("1,a\n2,b\n")
    with testing.database(master="local[2]") as db:
        db.spark.dataSource.register(lines_source())
        db.sql(f"{STREAM}; CREATE TABLE lines (number INTEGER, text STRING) USING lines OPTIONS (path '{file}')")
        windows = "lines [SCAN 10 SEC], s [FROM NOW-9 TO NOW SLIDE 10 SEC]"
        seen = db.sql(f"CREATE QUERY seen AS SELECT text FROM {windows} WHERE k = number")
        db.stream("s").push([(1, 0), (2, 9)])
        db.advance(11)
        db.flush()
        file.write_text("1,A\n2,B\n")
        db.stream("s").push([(2, 15)])
        db.advance(30)
        db.flush()
        rows = [(answer.tick, answer.rows) for answer in seen.fetch() if answer.rows]
        assert rows == [(0, (("a",),)), (10, (("b",),)), (20, (("B",),))]
        # corrections of old windows need the old copies: they are still there
        db.stream("s").push([(1, 5)])
        db.flush()
        assert [(answer.tick, sorted(answer.rows)) for answer in seen.fetch()] == [(10, [("a",), ("b",)])]


def test_what_cannot_be_read_is_one_clear_error(spark: Any, tmp_path: Path) -> None:
    write_orc(spark, tmp_path / "names", [(1, "one")], "key INT, name STRING")
    with testing.database(master="local[2]") as db:
        for columns, using, message, hint in (
            (
                "a INTEGER",
                "orc OPTIONS (path '/no/where')",
                "t: Spark cannot read it as orc: Path does not exist",
                None,
            ),
            ("a INTEGER", "avr0 OPTIONS (path '/')", "t: Spark cannot read it as avr0: .*find the data source", "avro"),
            (
                "nam STRING",
                f"orc OPTIONS (path '{tmp_path}/names')",
                "t: orc gives no column 'nam'",
                "did you mean name",
            ),
        ):
            with pytest.raises(SourceUnusable, match=message) as problem:
                db.sql(f"CREATE TABLE t ({columns}) USING {using}")
            assert "\n" not in problem.value.message
            assert hint is None or hint in str(problem.value.hint)
        db.sql("CREATE TABLE t (a INTEGER)")  # nothing is left of the attempts


def test_copies_of_an_earlier_process_go_too(spark: Any, tmp_path: Path) -> None:
    write_orc(spark, tmp_path / "names", [(1, "one")], "key INT, name STRING")
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        db.sql(f"{STREAM}; CREATE TABLE names (key INTEGER, name STRING) USING orc OPTIONS (path '{tmp_path}/names')")
        db.sql(LOOKUP)
        before = copies(db, "names")
        assert len(before) == 1
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        db.stream("s").push([(1, 1), (2, 2)])
        db.flush()
        assert rows_of(db.query("named")) == [(1, "one")]
        assert len(copies(db, "names")) == 1 and not copies(db, "names") & before
