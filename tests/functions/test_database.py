"""Functions of the user's own in databases: kept, shared, dropped, and stopped alone when they fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock, patch

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import eddyline
from eddyline import testing
from eddyline.columnar.vectorised import vectorised
from eddyline.database.alike import LikeAnother
from eddyline.errors import (
    DuplicateName,
    FunctionFailed,
    InvalidDefinition,
    SourceMissing,
    StreamingFailed,
    UnknownFunction,
)
from laws.without_spark import kernels_alone

if TYPE_CHECKING:
    from eddyline import Database

STREAM = "CREATE STREAM s (k STRING, v DOUBLE, t INTEGER) TIMESTAMP BY t"
ROWS = [("a", 1.0, 1), ("bb", 2.0, 2), (None, 3.0, 3), ("cccc", None, 4)]


def doubled(x: pa.Array) -> pa.Array:
    return pc.multiply(x, 2.0)


def rows(db: Database, name: str) -> list[Any]:
    db.flush()
    return [answer.row for answer in db.query(name).fetch()]


@pytest.fixture
def kernel(spark: Any) -> Iterator[Database]:
    """A database whose stages run in the kernel or not at all."""
    with kernels_alone(), testing.database() as db:
        db.sql(STREAM)
        yield db


# -- creating ---------------------------------------------------------------------------------------------------------


def test_by_call_and_as_decorator(kernel: Database) -> None:
    assert kernel.function("twice", doubled, returns="DOUBLE", arguments=("DOUBLE",)) is doubled

    @kernel.function(returns="BIGINT", arguments=["STRING", "DOUBLE"])
    def measure(words: pa.Array, numbers: pa.Array) -> Any:
        pairs = zip(words.to_pylist(), numbers.to_pylist(), strict=True)
        return [None if word is None else len(word) + int(number or 0) for word, number in pairs]

    kernel.sql("CREATE QUERY q AS SELECT twice(v) AS d, measure(k, v) AS n FROM s")
    kernel.stream("s").push(ROWS)
    assert rows(kernel, "q") == [(2.0, 2), (4.0, 4), (6.0, None), (None, 4)]
    listed = kernel.sql("SHOW FUNCTIONS").to_arrow().to_pylist()
    assert [tuple(row.values()) for row in listed] == [
        ("twice", "DOUBLE", "DOUBLE"),
        ("measure", "STRING, DOUBLE", "BIGINT"),
    ]
    assert kernel.sql("SHOW FUNCTIONS LIKE 'T%'").to_arrow().column("name").to_pylist() == ["twice"]


def test_the_same_again_is_nothing_and_another_one_only_if_nobody_minds(kernel: Database) -> None:
    for _ in range(2):
        kernel.function("f", doubled, returns="DOUBLE", arguments=["DOUBLE"])
    kernel.function("f", lambda x: pc.add(x, 1.0), returns="DOUBLE", arguments=["DOUBLE"])
    kernel.sql("CREATE QUERY q AS SELECT f(v) AS x FROM s WHERE v = 1")
    with pytest.raises(InvalidDefinition, match="f is in use: the query q calls it"):
        kernel.function("f", doubled, returns="DOUBLE", arguments=["DOUBLE"])
    kernel.stream("s").push(ROWS)
    assert rows(kernel, "q") == [(2.0,)]


@pytest.mark.parametrize(
    ("name", "function", "types", "problem"),
    [
        ("upper", doubled, ["DOUBLE"], "upper is a built-in function"),
        ("nullif", doubled, ["DOUBLE"], "nullif is a built-in function"),
        ("select", doubled, ["DOUBLE"], "select"),
        ("a b", doubled, ["DOUBLE"], "no name for a function"),
        ("f", 5, ["DOUBLE"], "int cannot be called"),
        ("f", doubled, ["DUOBLE"], "DUOBLE"),
        ("f", doubled, [], "expected"),
        ("f", (lambda lock: lambda x: lock)(__import__("threading").Lock()), ["DOUBLE"], "cannot be sent to workers"),
    ],
)
def test_what_is_refused(kernel: Database, name: str, function: Any, types: list[str], problem: str) -> None:
    with pytest.raises(eddyline.EddylineError, match=problem):
        kernel.function(name, function, returns="DOUBLE", arguments=types)
    assert kernel.sql("SHOW FUNCTIONS").to_arrow().num_rows == 0


def test_a_file_is_needed_once(kernel: Database, tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("SUM = 1.0\ndef more(x):\n    return [None if v is None else v + SUM for v in x.to_pylist()]\n")
    text = f"CREATE FUNCTION more(x DOUBLE) RETURNS DOUBLE USING python OPTIONS (path '{file}')"
    kernel.sql(text)
    with pytest.raises(DuplicateName, match="exists already"):
        kernel.sql(text)
    kernel.sql(text.replace("FUNCTION", "FUNCTION IF NOT EXISTS"))
    file.unlink()
    kernel.sql("CREATE QUERY q AS SELECT more(v) AS x FROM s")
    kernel.stream("s").push(ROWS)
    assert rows(kernel, "q") == [(2.0,), (3.0,), (4.0,), (None,)]
    with pytest.raises(SourceMissing, match=r"own\.py"):
        kernel.sql(text.replace("more(", "other("))


def test_a_module_can_be_named(kernel: Database) -> None:
    kernel.sql(
        "CREATE FUNCTION half(x DOUBLE) RETURNS DOUBLE USING python OPTIONS (module 'functions.halves', name 'halved')"
    )
    kernel.sql("CREATE QUERY q AS SELECT half(v) AS x FROM s WHERE v = 1")
    kernel.stream("s").push(ROWS)
    assert rows(kernel, "q") == [(0.5,)]


def test_a_constant_row_may_call_it(kernel: Database) -> None:
    kernel.function("f", doubled, returns="DOUBLE", arguments=["DOUBLE"])
    kernel.sql("CREATE QUERY q AS SELECT v FROM s; INSERT INTO s VALUES ('a', f(4), 1)")
    assert rows(kernel, "q") == [(8.0,)]


# -- dropping ---------------------------------------------------------------------------------------------------------


def test_dropped_when_nobody_calls_it(kernel: Database) -> None:
    kernel.function("f", doubled, returns="DOUBLE", arguments=["DOUBLE"])
    kernel.sql("CREATE QUERY q AS SELECT v FROM s WHERE f(v) > 1")
    many = kernel.queries("SELECT v FROM s WHERE f(v) > :low", {"low": [1.0, 2.0]}, name="many")
    with pytest.raises(InvalidDefinition, match="the query q calls it"):
        kernel.sql("DROP FUNCTION f")
    kernel.sql("DROP QUERY q")
    with pytest.raises(InvalidDefinition, match=r"a query that db\.queries made calls it"):
        kernel.sql("DROP FUNCTION f")
    assert len(many) == 2
    kernel.sql("DROP QUERIES LIKE 'many%'; DROP FUNCTION F; DROP FUNCTION IF EXISTS f")
    with pytest.raises(UnknownFunction, match="there is no function f of yours"):
        kernel.sql("DROP FUNCTION f")
    with pytest.raises(UnknownFunction, match="there is no function f"):
        kernel.sql("SELECT f(v) FROM s")


# -- restarts and neighbours ------------------------------------------------------------------------------------------


def test_kept_over_a_restart(spark: Any, tmp_path: Path) -> None:
    root = tmp_path / "db"
    with kernels_alone():
        with eddyline.connect(root, heartbeat=None) as db:
            db.sql(STREAM)
            db.function("f", lambda x: pc.add(x, 1.0), returns="DOUBLE", arguments=["DOUBLE"])
            db.function("gone", doubled, returns="DOUBLE", arguments=["DOUBLE"])
            db.sql("DROP FUNCTION gone")
            db.function("f", doubled, returns="DOUBLE", arguments=["DOUBLE"])
            db.sql("CREATE QUERY q AS SELECT f(v) AS x FROM s WHERE f(v) > 2")
            db.stream("s").push(ROWS[:2])
            db.flush()
        with patch.dict("eddyline.kernels.functions._loaded", clear=True), eddyline.connect(root, heartbeat=None) as db:
            db.stream("s").push(ROWS[2:])
            assert rows(db, "q") == [(4.0,), (6.0,)]
            assert db.sql("SHOW FUNCTIONS").to_arrow().column("name").to_pylist() == ["f"]
            assert len(list((root / "functions").iterdir())) == 1  # code that nobody needs has gone
            db.sql("INSERT INTO s VALUES ('x', f(8), 9)")
            assert rows(db, "q")[-1] == (32.0,)


def test_two_databases_with_one_name(spark: Any) -> None:
    with kernels_alone(), testing.database() as one, testing.database() as two:
        for db, factor in ((one, 2.0), (two, 10.0)):
            db.sql(STREAM)
            db.function("f", lambda x, factor=factor: pc.multiply(x, factor), returns="DOUBLE", arguments=["DOUBLE"])
            db.sql("CREATE QUERY q AS SELECT f(v) AS x FROM s")
        for _ in range(2):
            for db in (one, two):
                db.stream("s").push([("a", 1.0, 1)])
                db.flush()
        assert rows(one, "q") == [(2.0,), (2.0,)]
        assert rows(two, "q") == [(10.0,), (10.0,)]


def test_two_databases_with_one_name_on_sparks_own_plans(spark: Any) -> None:
    off = patch.dict(os.environ, EDDYLINE_KERNELS="off")
    with off, testing.database(master="local[2]") as one, testing.database(master="local[2]") as two:
        for db, factor in ((one, 2.0), (two, 10.0)):
            db.sql(STREAM)
            db.function("f", lambda x, factor=factor: pc.multiply(x, factor), returns="DOUBLE", arguments=["DOUBLE"])
            db.sql("CREATE QUERY q AS SELECT f(v) AS x FROM s")
        for db in (one, two):
            db.stream("s").push([("a", 1.0, 1)])
        assert rows(one, "q") == [(2.0,)]
        assert rows(two, "q") == [(10.0,)]


def test_opened_again_and_again_after_one_was_dropped_and_one_replaced(spark: Any, tmp_path: Path) -> None:
    root = tmp_path / "db"
    with eddyline.connect(root, master="local[2]", heartbeat=None) as db:
        db.sql(f"{STREAM}; CREATE TABLE t (v DOUBLE); INSERT INTO t VALUES (3)")
        db.function("f", lambda x: pc.add(x, 1.0), returns="DOUBLE", arguments=["DOUBLE"])
        db.function("f", doubled, returns="DOUBLE", arguments=["DOUBLE"])
        db.function("gone", lambda x: x, returns="DOUBLE", arguments=["DOUBLE"])
        db.sql("DROP FUNCTION gone")
    for _ in range(3):  # the first time it deletes the code that nobody needs
        with eddyline.connect(root, master="local[2]", heartbeat=None) as db:
            assert db.sql("SHOW FUNCTIONS").to_arrow().column("name").to_pylist() == ["f"]
            assert len(list((root / "functions").iterdir())) == 1
            assert [tuple(row) for row in db.sql("SELECT f(v) AS x FROM t")] == [(6.0,)]


def test_a_function_of_an_earlier_process_is_made_ready_once(spark: Any, tmp_path: Path) -> None:
    root = tmp_path / "db"
    with kernels_alone():
        with eddyline.connect(root, heartbeat=None) as db:
            db.sql(STREAM)
            db.function("f", doubled, returns="DOUBLE", arguments=["DOUBLE"])
        made = Mock(side_effect=vectorised)
        everywhere = (patch(f"eddyline.{module}.functions.vectorised", made) for module in ("kernels", "session"))
        with ExitStack() as stack:
            for one in (*everywhere, patch.dict("eddyline.kernels.functions._loaded", clear=True)):
                stack.enter_context(one)
            db = stack.enter_context(eddyline.connect(root, heartbeat=None))
            db.sql("CREATE QUERY q AS SELECT v FROM s; INSERT INTO s VALUES ('x', f(8), 9), ('y', f(9), 9)")
            assert rows(db, "q") == [(16.0,), (18.0,)]
            assert made.call_count == 1


# -- sharing ----------------------------------------------------------------------------------------------------------


def classes(db: Database) -> dict[str, str | None]:
    table = db.sql("SHOW QUERIES").to_arrow()
    return dict(zip(table.column("name").to_pylist(), table.column("class").to_pylist(), strict=True))


@pytest.mark.parametrize("few", [0, 8])
def test_constants_beside_a_call_are_shared_those_inside_are_not(spark: Any, few: int) -> None:
    everyone = patch.dict(os.environ, EDDYLINE_SHARE_FROM="1")
    with kernels_alone(), everyone, patch("eddyline.spark.form_table.MOST_JOINED", few), testing.database() as db:
        db.sql(STREAM)
        db.function("plus", lambda x, y: pc.add(x, y), returns="DOUBLE", arguments=["DOUBLE", "DOUBLE"])
        db.sql("CREATE QUERY a AS SELECT v FROM s WHERE plus(v, 1) > 2")
        db.sql("CREATE QUERY b AS SELECT v FROM s WHERE plus(v, 1) > 3")
        db.sql("CREATE QUERY c AS SELECT v FROM s WHERE plus(v, 2) > 3")
        db.sql("CREATE QUERY d AS SELECT v FROM s WHERE v > 2")
        db.stream("s").push(ROWS)
        assert rows(db, "a") == [(2.0,), (3.0,)]
        assert rows(db, "b") == [(3.0,)]
        assert rows(db, "c") == [(2.0,), (3.0,)]
        assert rows(db, "d") == [(3.0,)]
        found = classes(db)
        assert found["a"] == found["b"] == found["c"] != found["d"]  # one that fails would stop those who call it


def test_who_calls_a_function_is_told_without_making_plans(spark: Any) -> None:
    everyone = patch.dict(os.environ, EDDYLINE_SHARE_FROM="1")
    with kernels_alone(), everyone, testing.database() as db:
        db.sql(STREAM)
        db.function("f", doubled, returns="DOUBLE", arguments=["DOUBLE"])
        db.function("g", doubled, returns="DOUBLE", arguments=["DOUBLE"])
        db.sql(";".join(f"CREATE QUERY q{n} AS SELECT v FROM s WHERE f(v) > {n}" for n in range(9)))
        derived = [q for q in db._core.definitions.catalog.queries.values() if isinstance(q, LikeAnother)]
        assert len(derived) >= 7
        db.sql("DROP FUNCTION g")
        assert not any("plan" in vars(query) for query in derived)
        db.sql("DROP QUERY q0")
        with pytest.raises(InvalidDefinition, match="the query q1 calls it"):
            db.sql("DROP FUNCTION f")


# -- failing ----------------------------------------------------------------------------------------------------------


def fails_at_two(x: pa.Array) -> pa.Array:
    if 2.0 in x.to_pylist():
        raise ValueError("two is\ntoo much")
    return x


def exits_at_two(x: pa.Array) -> pa.Array:
    if 2.0 in x.to_pylist():
        raise SystemExit
    return x


def says_nothing_at_two(x: pa.Array) -> pa.Array:
    if 2.0 in x.to_pylist():
        raise ValueError
    return x


FAILING = [
    ("raises", fails_at_two, r"the function f failed: ValueError: two is(?m:$)"),
    ("exits", exits_at_two, r"the function f failed: SystemExit(?m:$)"),
    ("says nothing", says_nothing_at_two, r"the function f failed: ValueError(?m:$)"),
    ("short", lambda x: x.slice(0, 1) if 2.0 in x.to_pylist() else x, r"the function f gave 1 values for 2 rows"),
    ("text", lambda x: x.cast("string") if 2.0 in x.to_pylist() else x, r"gave what is no DOUBLE: .*string"),
    ("scalar", lambda x: 5.0 if 2.0 in x.to_pylist() else x, r"gave something of type float, not an array"),
]


@pytest.mark.parametrize(("function", "problem"), [f[1:] for f in FAILING], ids=[f[0] for f in FAILING])
def test_it_stops_its_query_alone(spark: Any, function: Any, problem: str) -> None:
    with testing.database(master="local[2]") as db:
        db.sql(STREAM)
        db.function("f", function, returns="DOUBLE", arguments=["DOUBLE"])
        db.sql("CREATE QUERY good AS SELECT v FROM s; CREATE QUERY bad AS SELECT f(v) AS x FROM s")
        db.stream("s").push([("a", 1.0, 1)])
        db.flush()
        db.stream("s").push([("b", 2.0, 2), ("b", 2.0, 2)])
        db.flush()
        db.stream("s").push([("c", 3.0, 3)])
        assert rows(db, "good") == [(1.0,), (2.0,), (2.0,), (3.0,)]
        bad = db.query("bad")
        assert [answer.row for answer in bad.fetch()] == [(1.0,)]
        with pytest.raises(StreamingFailed, match=f"the query bad has stopped: .*{problem}"):
            bad.fetch()


def test_a_statement_whose_function_fails_says_so(spark: Any) -> None:
    """On Spark's plans and in the kernel: UPDATE, DELETE, EXPLAIN ANALYZE, and a query over tables alone."""
    with testing.database(master="local[2]") as db:
        db.sql(STREAM)
        db.sql("CREATE TABLE d (v DOUBLE, w DECIMAL(5, 1)); INSERT INTO d VALUES (2.0, 2.0)")
        db.function("f", fails_at_two, returns="DOUBLE", arguments=["DOUBLE"])
        db.stream("s").push(ROWS)
        for text in (
            "UPDATE s SET v = f(v)",
            "DELETE FROM s WHERE f(v) = 1",
            "SELECT f(v) AS x FROM d",
            "EXPLAIN ANALYZE SELECT f(v) AS x FROM s",
            "EXPLAIN ANALYZE SELECT f(v) AS x, soundex(k) AS y FROM s",
        ):
            with pytest.raises(FunctionFailed) as failed:
                db.sql(text)
            assert str(failed.value) == "the function f failed: ValueError: two is"
            assert f"1 | {text}" in failed.value.__notes__[0]
        db.sql("CREATE QUERY good AS SELECT v FROM s")  # nothing has happened, and all goes on
        db.stream("s").push([("d", 5.0, 5)])
        assert rows(db, "good") == [(5.0,)]


def test_on_sparks_own_plans(spark: Any) -> None:
    """What the kernel does not do: DECIMALs, other functions beside, tables, explanations."""
    with testing.database(master="local[2]") as db:
        db.sql("CREATE TABLE t (v DECIMAL(5, 1), w STRING); INSERT INTO t VALUES (1.5, 'a'), (NULL, 'b')")
        db.function("f", lambda x: x, returns="DECIMAL(10, 2)", arguments=["DECIMAL(5, 1)"])
        assert [row[0] for row in db.sql("SELECT CAST(f(v) AS STRING) FROM t ORDER BY w")] == ["1.50", None]
        db.sql(STREAM)
        db.function("twice", doubled, returns="DOUBLE", arguments=["DOUBLE"])
        db.sql("CREATE QUERY q AS SELECT upper(k) AS u, twice(v) AS x FROM s WHERE twice(v) > 2")
        db.stream("s").push(ROWS)
        assert rows(db, "q") == [("BB", 4.0), (None, 6.0)]
        for what in ("EXPLAIN", "EXPLAIN ALGEBRA", "EXPLAIN ANALYZE"):
            text = db.sql(f"{what} q")
            assert "twice(" in text and "udf_" not in text.lower()
