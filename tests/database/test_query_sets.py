"""Many queries from one template: what each answers, and that they come and go like any other."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import eddyline
from eddyline import testing
from eddyline.cli.main import app
from eddyline.errors import (
    DuplicateName,
    InvalidDefinition,
    NotSupported,
    Position,
    SyntaxProblem,
    TypeMismatch,
    UnknownName,
)
from laws.without_spark import kernels_alone

STREAM = "CREATE STREAM s (k STRING, x INTEGER, d DOUBLE, t INTEGER) TIMESTAMP BY t"
ABOVE = "SELECT k, x FROM s WHERE x > :low AND k = :key"
ROWS = [("a", 1, 0.5, 1), ("b", 5, 1.5, 2), ("a", 7, 2.5, 3), ("a", 9, None, 12)]


@pytest.fixture
def db(spark: object) -> Any:
    with testing.database() as opened:
        opened.sql(STREAM)
        yield opened


def rows(handle: Any) -> list[Any]:
    return [answer.row for answer in handle.fetch()]


def test_each_query_has_its_own_answers(db: eddyline.Database) -> None:
    many = db.queries(ABOVE, {"low": [0, 6, 0], "key": ["a", "a", "b"]}, name="above")
    db.stream("s").push(ROWS)
    db.flush()
    assert many.names == ["above.1", "above.2", "above.3"]
    assert rows(many["above.1"]) == [("a", 1), ("a", 7), ("a", 9)]
    assert rows(db.query("ABOVE.2")) == [("a", 7), ("a", 9)]
    assert rows(many["above.3"]) == [("b", 5)]
    table = many.to_arrow()
    assert table.column_names == ["_query", "_batch", "_tick", "_index", "_diff", "k", "x"]
    assert sorted(zip(table["_query"].to_pylist(), table["x"].to_pylist(), strict=True)) == [
        ("above.1", 1), ("above.1", 7), ("above.1", 9), ("above.2", 7), ("above.2", 9), ("above.3", 5),
    ]  # fmt: skip


def test_constants_come_as_tables_of_all_kinds_and_may_name_the_queries(db: eddyline.Database) -> None:
    db.queries(ABOVE, pd.DataFrame({"low": [0], "key": ["a"], "name": ["pandas"]}))
    db.queries(ABOVE, pa.table({"low": [6], "key": ["a"], "name": ["arrow"]}))
    db.queries(ABOVE, [{"low": 4, "key": "b", "name": "dicts"}])
    db.queries(ABOVE, db.spark.createDataFrame([(8, "a", "spark")], "low INT, key STRING, name STRING"))
    db.stream("s").push(ROWS)
    db.flush()
    assert list(db.queries) == ["pandas", "arrow", "dicts", "spark"]
    assert [rows(db.query(name)) for name in db.queries] == [
        [("a", 1), ("a", 7), ("a", 9)], [("a", 7), ("a", 9)], [("b", 5)], [("a", 9)],
    ]  # fmt: skip


def test_windows_and_having(db: eddyline.Database) -> None:
    template = (
        "SELECT COUNT(*) AS n FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC] WHERE d > :d GROUP BY k HAVING COUNT(*) >= :n"
    )
    db.queries(template, {"d": [0, 0, 2], "n": [1, 2, 1]}, name="w")
    db.stream("s").push(ROWS)
    db.flush()
    told = {name: [(a.tick, a.window, sorted(a.rows)) for a in db.query(name).fetch()] for name in db.queries}
    assert told["w.1"] == [(5, 1, [(1,), (2,)]), (10, 2, [(1,), (2,)])]
    assert told["w.2"] == [(5, 1, [(2,)]), (10, 2, [(2,)])]
    assert told["w.3"] == [(5, 1, [(1,)]), (10, 2, [(1,)])]
    db.stream("s").push([("c", 0, 3.0, 4)])  # late
    db.flush()
    assert [(a.op, a.tick, sorted(a.rows), sorted(a.old_rows)) for a in db.query("w.3", since=0).fetch()] == [
        ("=", 5, [(1,), (1,)], [(1,)]), ("=", 10, [(1,), (1,)], [(1,)]),
    ]  # fmt: skip


def test_a_null_constant_matches_nothing(db: eddyline.Database) -> None:
    many = db.queries(ABOVE, pa.table({"low": pa.array([None, 0], pa.int32()), "key": ["a", "a"]}), name="n")
    db.stream("s").push(ROWS)
    db.flush()
    assert rows(many["n.1"]) == [] and len(rows(many["n.2"])) == 3


def test_they_are_listed_and_dropped_by_pattern(db: eddyline.Database) -> None:
    many = db.queries(ABOVE, {"low": list(range(30)), "key": ["a"] * 30}, name="m")
    db.sql("CREATE QUERY mine AS SELECT x FROM s")
    first = many["m.1"]
    assert len(db.queries) == 31 and "M.7" in db.queries and "m.31" not in db.queries
    assert db.queries.like("m.1_") == [f"m.{i}" for i in range(10, 20)]
    assert db.queries.drop("m.1_") == 10
    assert db.queries.drop("nobody%") == 0
    assert len(many) == 20 and "m.12" not in db.queries and first.is_standing
    with pytest.raises(UnknownName, match=r"m\.12"):
        db.query("m.12")
    db.sql("DROP QUERY `m.1`")
    assert not first.is_standing and len(many) == 19
    db.stream("s").push(ROWS)
    db.flush()
    assert rows(db.query("m.9")) == [("a", 9)] and len(rows(db.query("mine"))) == 4
    assert db.queries.drop("%") == 20 and len(db.queries) == 0
    assert not db._core.engine.executor.queries()


def test_they_outlast_a_restart(spark: object, tmp_path: Path) -> None:
    with eddyline.connect(str(tmp_path)) as db:
        db.sql(STREAM)
        db.queries(ABOVE, {"low": list(range(30)), "key": ["a"] * 30}, name="m")
        db.queries.drop("m.2_")
        db.stream("s").push(ROWS[:3])
        db.flush()
        assert rows(db.query("m.5")) == [("a", 7)]
    with eddyline.connect(str(tmp_path)) as db:
        assert len(db.queries) == 20
        again = db.query("m.5")
        assert rows(again) == [("a", 7)]
        db.sql("DROP QUERY `m.6`")
        db.queries(ABOVE, {"low": [8], "key": ["a"]}, name="later")
        db.stream("s").push(ROWS[3:])
        db.flush()
        assert rows(again) == [("a", 9)] and rows(db.query("later.1")) == [("a", 9)]
    shown = CliRunner().invoke(app, ["results", "m.5", "--db", str(tmp_path), "--format", "jsonl"])
    assert [json.loads(line)["row"]["x"] for line in shown.stdout.splitlines()] == [7, 9]
    for gone in ("m.6", "m.21", "m.99"):
        failed = CliRunner().invoke(app, ["results", gone, "--db", str(tmp_path)])
        assert failed.exit_code == 2 and f"has no query {gone}" in failed.stderr
    with eddyline.connect(str(tmp_path)) as db:
        assert len(db.queries) == 20 and "m.6" not in db.queries
        assert rows(db.query("m.5")) == [("a", 7), ("a", 9)]
        assert db.query("m.5").to_spark().select("k", "x", "_diff").collect() == [("a", 7, 1), ("a", 9, 1)]
        assert db.query("m.5").current().column("x").to_pylist() == [7, 9]
        db.queries.drop("%")
    with eddyline.connect(str(tmp_path)) as db:
        assert len(db.queries) == 0 and not (tmp_path / "results" / "~class1").exists()


def test_what_cannot_be_a_template_is_refused_and_leaves_nothing_behind(db: eddyline.Database) -> None:
    constants = {"low": [1], "key": ["a"]}
    with pytest.raises(UnknownName, match="lov"):
        db.queries("SELECT x FROM s WHERE x > :lov", constants)
    with pytest.raises(NotSupported, match="low"):
        db.queries("SELECT x + :low AS y FROM s WHERE k = :key", constants)
    with pytest.raises(NotSupported, match=":low stands below what counts rows"):
        db.queries("SELECT COUNT(*) FROM (SELECT x FROM s WHERE x > :low) [FROM NOW-1 TO NOW SLIDE 2 ROWS]", constants)
    with pytest.raises(NotSupported, match="answered together"):
        db.queries("SELECT x AS _query FROM s WHERE x > :low", constants)
    with pytest.raises(SyntaxProblem, match="template"):
        db.queries("DROP QUERY x", constants)
    with pytest.raises(TypeMismatch):
        db.queries("SELECT x FROM s WHERE x AND :low", constants)
    with pytest.raises(InvalidDefinition, match="no constants"):
        db.queries(ABOVE, {"low": [], "key": []})
    with pytest.raises(DuplicateName, match="twice"):
        db.queries(ABOVE, {"low": [1, 2], "key": ["a", "a"], "name": ["twice", "Twice"]})
    with pytest.raises(NotSupported, match="int"):
        db.queries(ABOVE, 5)
    with pytest.raises(NotSupported, match=":low"):
        db.sql("SELECT x FROM s WHERE x > :low")
    assert len(db.queries) == 0
    db.queries(ABOVE, constants, name="M")
    with pytest.raises(DuplicateName, match=r"m\.1"):
        db.queries(ABOVE, constants, name="m")
    with pytest.raises(DuplicateName, match=r"m\.1"):
        db.sql("CREATE QUERY `m.1` AS SELECT x FROM s")
    assert list(db.queries) == ["M.1"]


def test_show_queries_tells_who_shares(db: eddyline.Database) -> None:
    db.queries(ABOVE, {"low": [1, 2, 3], "key": ["a"] * 3}, name="m")
    for number in range(3):
        db.sql(f"CREATE QUERY big{number} AS SELECT COUNT(*) FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC] WHERE x > {number}")
    shown = db.sql("SHOW QUERIES").to_arrow().to_pylist()
    assert [(row["name"], row["kind"], row["members"]) for row in shown] == [
        ("big0", "windows", 1), ("big1", "windows", 2), ("big2", "windows", 2),
        ("m.1", "stream", 3), ("m.2", "stream", 3), ("m.3", "stream", 3),
    ]  # fmt: skip
    assert shown[0]["class"] is None and shown[1]["class"] == shown[2]["class"] != shown[3]["class"]
    assert db.sql("EXPLAIN big1").startswith(f"answered together with one other, as a member of {shown[1]['class']}")
    told = str(db.status())
    assert f"query big1: windows from not started, a member of {shown[1]['class']} (+0 -0)" in told
    assert f"3 queries of a template, members of {shown[3]['class']}" in told
    db.sql("DROP QUERIES LIKE '%2'")
    assert db.sql("SHOW QUERIES LIKE 'BIG_'").to_arrow().column("name").to_pylist() == ["big0", "big1"]
    assert list(db.queries) == ["big0", "big1", "m.1", "m.3"]


def test_the_first_of_a_shape_stands_for_itself_also_after_others_have_gone(spark: object, tmp_path: Path) -> None:
    def shared(db: eddyline.Database) -> dict[str, bool]:
        return {row["name"]: row["class"] is not None for row in db.sql("SHOW QUERIES").to_arrow().to_pylist()}

    text = "CREATE QUERY {name} AS SELECT x FROM s WHERE x > 1"
    with kernels_alone():
        with eddyline.connect(str(tmp_path)) as db:
            db.sql(STREAM)
            db.sql(text.format(name="a"))
            db.sql("DROP QUERY a")
            db.sql(text.format(name="b"))
            assert shared(db) == {"b": False}
        with eddyline.connect(str(tmp_path)) as db:
            db.sql(text.format(name="c"))
            assert shared(db) == {"b": False, "c": True}


def test_the_file_of_a_template_goes_with_its_last_query(spark: object, tmp_path: Path) -> None:
    constants = {"low": [1, 2], "key": ["a", "a"]}
    with kernels_alone():
        with eddyline.connect(str(tmp_path)) as db:
            db.sql(STREAM)
            db.queries(ABOVE, constants, name="m")
            db.queries(ABOVE, constants, name="n")
            db.queries(ABOVE, constants, name="o")
            db.sql("DROP QUERY `m.1`; CREATE QUERY `m.1` AS SELECT x FROM s; DROP QUERY `m.2`; DROP QUERY `n.1`")
            db.queries.drop("o%")
            assert len(list((tmp_path / "catalog").glob("*.parquet"))) == 1
        with eddyline.connect(str(tmp_path)) as db:
            assert list(db.queries) == ["m.1", "n.2"]
            again = db.queries(ABOVE, constants, name="o")
            db.stream("s").push([("a", 9, 0.5, 1)])
            db.flush()
            assert [len(again[name].fetch()) for name in again.names] == [1, 1]
            db.queries.drop("%")
        assert not list((tmp_path / "catalog").glob("*.parquet"))


def test_a_stream_cannot_have_the_name_of_one_of_many(db: eddyline.Database) -> None:
    db.queries(ABOVE, {"low": [1], "key": ["a"]}, name="m")
    with pytest.raises(DuplicateName, match=r"M\.1"):
        db.sql("CREATE STREAM `M.1` (x INTEGER)")


@pytest.mark.parametrize(
    ("condition", "values", "expected"),
    [
        ("d > :low", [Decimal("1.50"), Decimal("2.2")], [[2, 3], [3]]),
        ("d >= :low", [1, 2], [[1, 2, 3], [2, 3]]),
        ("x > :low", [Decimal("1.5"), Decimal("2.5")], [[2, 3], [3]]),
        ("d > :low", [1.5, 2.125], [[2, 3], [3]]),
    ],
)
def test_decimals_in_templates(spark: object, condition: str, values: list[Any], expected: list[list[int]]) -> None:
    with testing.database() as db:
        db.sql("CREATE STREAM s (x INTEGER, d DECIMAL(10, 2), t INTEGER) TIMESTAMP BY t")
        many = db.queries(f"SELECT x FROM s WHERE {condition}", {"low": values}, name="m")
        db.sql("INSERT INTO s VALUES (1, 1.50, 1), (2, 2.12, 2), (3, 10.25, 3)")
        db.flush()
        assert [[answer.row[0] for answer in many[name].fetch()] for name in many.names] == expected


@pytest.mark.parametrize(
    ("query", "values", "problem"),
    [
        ("SELECT x + :low AS y FROM s", [1], "the parameter :low stands outside of WHERE and HAVING"),
        ("SELECT x FROM s WHERE x > abs(:low)", [1], "the parameter :low stands inside of abs"),
        ("SELECT x FROM s WHERE x > :low", ["a"], "the values of :low are STRING, and INTEGER is wanted there"),
        ("SELECT x FROM s WHERE :low", [True], "the parameter :low is a condition by itself"),
        ("SELECT x FROM s WHERE x > 1 AND :low", [True], "the parameter :low is a condition by itself"),
        ("SELECT x FROM s WHERE k LIKE :low", ["a\\_"], "a value of :low has a backslash"),
    ],
)
def test_why_a_parameter_cannot_stand_there(spark: object, query: str, values: list[Any], problem: str) -> None:
    with testing.database() as db:
        db.sql("CREATE STREAM s (x INTEGER, k STRING, t INTEGER) TIMESTAMP BY t")
        with pytest.raises(NotSupported, match=problem) as told:
            db.queries(query, {"low": values})
        assert told.value.position == Position(query.index(":low"), query.index(":low") + 4)


@pytest.mark.parametrize("constants", [{"low": each} for each in (3, "abc", b"abc", {"a": 1}, [2**70], [1, "a"])])
def test_the_column_is_named_that_is_none(db: eddyline.Database, constants: Any) -> None:
    with pytest.raises(InvalidDefinition, match="the column low of the constants"):
        db.queries("SELECT x FROM s WHERE x > :low", constants)


def test_a_column_of_nulls_has_any_type(spark: object, tmp_path: Path) -> None:
    with kernels_alone():
        with eddyline.connect(str(tmp_path)) as db:
            db.sql(STREAM)
            db.queries("SELECT x FROM s WHERE x > :low OR k = :key OR x = 5", {"low": [None], "key": [None]}, name="m")
        with eddyline.connect(str(tmp_path)) as db:
            db.stream("s").push(ROWS)
            db.flush()
            assert rows(db.query("m.1")) == [(5,)]


def test_a_member_is_not_read_by_others(spark: object) -> None:
    with testing.database() as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t")
        db.queries("SELECT x FROM s WHERE x > :low", {"low": [1, 2]}, name="int")
        with pytest.raises(NotSupported, match=r"int\.1 is one of the queries that db\.queries made") as problem:
            db.sql("SELECT x FROM `int.1`")
        assert problem.value.hint is not None and "CREATE QUERY" in problem.value.hint


def test_parameters_are_named_in_any_case(spark: object) -> None:
    with testing.database() as db:
        db.sql(STREAM)
        many = db.queries("SELECT x FROM s WHERE x > :LOW AND x < :high", {"low": [0, 6], "High": [7, 9]})
        db.stream("s").push(ROWS)
        db.flush()
        assert [rows(db.query(name)) for name in many.names] == [[(1,), (5,)], [(7,)]]
        with pytest.raises(UnknownName, match="the column name says how the queries are called") as problem:
            db.queries("SELECT x FROM s WHERE k = :name", {"name": ["a", "b"]})
        assert problem.value.position is not None


def test_decimals_that_arrow_has_and_the_language_has_not(spark: object) -> None:
    with testing.database() as db:
        db.sql(STREAM)
        values = [pa.array([Decimal(500)], pa.decimal128(3, -2)), pa.array([Decimal("1.50")], pa.decimal256(50, 2))]
        names = [db.queries("SELECT x FROM s WHERE x * 100 > :it", {"it": some}).names[0] for some in values]
        db.stream("s").push(ROWS)
        db.flush()
        assert [rows(db.query(name)) for name in names] == [[(7,), (9,)], [(1,), (5,), (7,), (9,)]]
        far = pa.array([Decimal(10) ** 45], pa.decimal256(50, 2))
        with pytest.raises(InvalidDefinition, match="the constants are no table"):
            db.queries("SELECT x FROM s WHERE x > :it", {"it": far})


def test_a_template_over_tables_alone_is_refused(spark: object) -> None:
    """It would never answer: such a query is answered at once. One that is read again and again stands."""
    with testing.database() as db:
        db.sql(f"{STREAM}; CREATE TABLE d (a INTEGER, name STRING); INSERT INTO d VALUES (1, 'one'), (2, 'two')")
        for history in (False, True):
            with pytest.raises(NotSupported, match="reads tables alone") as problem:
                db.queries("SELECT name FROM d WHERE a = :k", {"k": [1, 2]}, history=history)
            assert "SCAN" in (problem.value.hint or "")
        scanned = db.queries("SELECT name AS n FROM d [SCAN 5 SEC] WHERE a = :k", {"k": [1, 2]})
        db.stream("s").push(ROWS)
        db.flush()
        found = [[answer.rows for answer in db.query(name).fetch()] for name in scanned.names]
        assert found == [[(("one",),)] * 3, [(("two",),)] * 3], "at ticks 1, 6 and 11"
