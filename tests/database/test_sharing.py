"""Queries that share: what they must not notice."""

from __future__ import annotations

import os
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import eddyline
from eddyline import testing
from eddyline.errors import DuplicateName, InvalidDefinition, NotSupported
from eddyline.log.upkeep import Pace
from eddyline.spark.numbering import unwritten
from laws.without_spark import kernels_alone

STREAM = "CREATE STREAM s (x INTEGER, d DOUBLE, st STRING, t INTEGER) TIMESTAMP BY t"


@pytest.fixture
def db(spark: object) -> Any:
    """All queries share that can."""
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM="1"), kernels_alone(), testing.database() as opened:
        opened.sql(STREAM)
        yield opened


def rows(handle: Any) -> list[Any]:
    return [answer.row for answer in handle.fetch()]


def push(db: eddyline.Database, *values: tuple[Any, ...]) -> None:
    db.stream("s").push([(*value, tick) for tick, value in enumerate(values, 1)])
    db.flush()


def test_members_keep_their_seats_however_the_catalog_prints_them(spark: object, tmp_path: Path) -> None:
    """A template is kept as it was written, a query as it is printed."""
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM="1"), kernels_alone():
        with eddyline.connect(str(tmp_path)) as db:
            db.sql(STREAM)
            db.sql("CREATE QUERY a AS SELECT x, 0.0D AS z FROM s WHERE x > 100")
        with eddyline.connect(str(tmp_path)) as db:
            db.sql("CREATE QUERY b AS SELECT x, 0.0D AS z FROM s WHERE x > 0")
            db.queries("SELECT x, 0.0D AS z FROM s WHERE x > :low", {"low": [1, 6]}, name="m")
        with eddyline.connect(str(tmp_path)) as db:
            push(db, (5, 0.0, ""), (500, 0.0, ""))
            told = {name: [x for x, _ in rows(db.query(name))] for name in db.queries}
        assert told == {"a": [500], "b": [5, 500], "m.1": [5, 500], "m.2": [500]}


def test_the_number_of_a_member_is_never_that_of_another(spark: object, tmp_path: Path) -> None:
    """Its answers lie about in the log of the class, and so does how far it had counted."""
    text = "ISTREAM(SELECT x FROM s [NOW] WHERE x > {})"
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM="1"), kernels_alone():
        with eddyline.connect(str(tmp_path)) as db:
            db.sql(STREAM)
            push(db, (0, 0.0, ""))
            db.sql(f"CREATE QUERY a AS {text.format(100)}")
            db.queries(text.format(":low"), {"low": [1, 2]}, name="m")
            push(db, (5, 0.0, ""), (500, 0.0, ""), (7, 0.0, ""), (0, 0.0, ""))
            db.queries.drop("m.%")
        with eddyline.connect(str(tmp_path)) as db:
            db.sql(f"CREATE QUERY b AS {text.format(3)}")
            assert db.query("b")._query.record.seat.log == db.query("a")._query.record.seat.log
            db.stream("s").push([(n, 0.0, "", n) for n in range(10, 14)])
            db.flush()
            told = [(answer.index, answer.row) for answer in db.query("b").fetch()]
    assert told == [(1, (10,)), (2, (11,)), (3, (12,))]


@pytest.mark.parametrize(
    "text", ["ISTREAM(SELECT x FROM s [NOW] WHERE x > {})", "SELECT x, n FROM s, names WHERE x > {}"]
)
def test_members_go_on_counting_where_they_were(spark: object, tmp_path: Path, text: str) -> None:
    """However often their numbers were written down, logs were merged and the database was opened again."""
    busy = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)
    everyone, often = patch.dict(os.environ, EDDYLINE_SHARE_FROM="1"), patch("eddyline.spark.numbering._FILES", 2)
    with kernels_alone(), everyone, often:
        for round_ in range(3):
            with eddyline.connect(str(tmp_path), heartbeat=None, clock=lambda: 0, pace=busy) as db:
                if not round_:
                    db.sql(f"{STREAM} RETAIN 2; CREATE TABLE names (k INTEGER, n STRING)")
                    db.sql("INSERT INTO names VALUES (1, 'one')")
                    db.sql(f"CREATE QUERY a AS {text.format(0)}; CREATE QUERY b AS {text.format(1)}")
                for n in range(8):
                    db.stream("s").push([(n % 3, 0.0, "", 8 * round_ + n)])
                    db.flush()
                db.advance(8 * round_ + 7, closed=True)
                db.flush()
                counting = [s for s in db._core.engine.executor.results.stages.values() if s.numbers]
                assert len(counting) == 1 and len(unwritten(counting[0])) <= 5
        with eddyline.connect(str(tmp_path)) as db:
            told = {name: [(a.index, a.row[0]) for a in db.query(name).fetch()] for name in "ab"}
    values = [n % 3 for _ in range(3) for n in range(8)]
    for name, low in (("a", 0), ("b", 1)):
        assert told[name] == list(enumerate([x for x in values if x > low], 1))


def test_what_may_fail_on_a_row_shares_with_nobody(spark: object) -> None:
    with testing.database() as db:
        db.sql(STREAM)
        good = [db.sql(f"CREATE QUERY good{n} AS SELECT x FROM s WHERE x > {n}") for n in range(3)]
        db.sql("CREATE QUERY bad AS SELECT x FROM s WHERE to_date(st, 'qqqq') = DATE '2020-01-01'")
        push(db, (9, 0.0, "b"))
        assert [rows(handle) for handle in good] == [[(9,)]] * 3
        assert db.status().queries[-1].problem is not None


def test_functions_that_only_spark_computes_are_shared(spark: object) -> None:
    """But those whom the kernel serves do not wait for Spark's plans because of them."""
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM="1"), testing.database() as db:
        db.sql(STREAM)
        shouted = [db.sql(f"CREATE QUERY q{n} AS SELECT x FROM s WHERE upper(st) = '{w}'") for n, w in enumerate("AB")]
        plain = db.sql("CREATE QUERY plain AS SELECT x FROM s WHERE x > 1")
        found = {row["name"]: row["class"] for row in db.sql("SHOW QUERIES").to_arrow().to_pylist()}
        assert found["q0"] == found["q1"] and found["plain"] not in (None, found["q0"])
        push(db, (1, 0.0, "a"), (2, 0.0, "b"), (3, 0.0, "A"))
        assert [rows(handle) for handle in (*shouted, plain)] == [[(1,), (3,)], [(2,)], [(2,), (3,)]]


def test_a_template_may_have_no_parameters(db: eddyline.Database) -> None:
    many = db.queries("SELECT x FROM s", {"name": ["one", "other"]})
    push(db, (1, 0.0, ""), (2, 0.0, ""))
    assert rows(many["one"]) == rows(many["other"]) == [(1,), (2,)]
    assert db.queries.drop("o%") == 2


def test_nan_is_greater_than_everything(db: eddyline.Database) -> None:
    """Bounds in Parquet files leave it out."""
    with patch.dict(os.environ, EDDYLINE_SHARE_FROM="1000"):
        db.sql("CREATE QUERY one AS SELECT d FROM s WHERE d > 2.5")
    db.queries("SELECT d FROM s WHERE d > :low", {"low": [2.5] * 20}, name="m")
    push(db, (1, float("nan"), ""), (2, 1.5, ""), (3, None, ""))
    assert [str(row) for row in rows(db.query("one"))] == [str(row) for row in rows(db.query("m.7"))] == ["(nan,)"]


def test_signs_of_zero_are_told_apart(db: eddyline.Database) -> None:
    db.sql("CREATE QUERY plus AS SELECT 0.0D AS z FROM s WHERE x > 0")
    db.sql("CREATE QUERY minus AS SELECT -0.0D AS z FROM s WHERE x > 0")
    push(db, (1, 0.0, ""))
    assert str(rows(db.query("plus"))) == "[(0.0,)]" and str(rows(db.query("minus"))) == "[(-0.0,)]"


def test_columns_may_have_the_names_that_classes_use(db: eddyline.Database) -> None:
    window = "[FROM NOW-9 TO NOW SLIDE 1 SEC]"
    for n in (0, 1):
        db.sql(f"CREATE QUERY q{n} AS SELECT x AS _query FROM s WHERE x > {n}")
        db.sql(
            f"CREATE QUERY h{n} AS SELECT x AS a0, COUNT(*) AS p0, MAX(d) AS _since FROM s {window} WHERE x > 0 "
            f"GROUP BY x HAVING COUNT(*) > {n}"
        )
    push(db, (1, 7.0, ""), (1, 8.0, ""), (2, 0.0, ""))
    db.advance(4)
    db.flush()
    assert rows(db.query("q0")) == [(1,), (1,), (2,)] and rows(db.query("q1")) == [(2,)]
    assert db.query("h1").fetch()[-1].rows == ((1, 2, 8.0),)


def test_patterns_share(db: eddyline.Database) -> None:
    for n, pattern in enumerate(("a%", "%b", "_", "a%b%")):
        db.sql(f"CREATE QUERY q{n} AS SELECT st FROM s WHERE st LIKE '{pattern}'")
    push(db, (1, 0.0, "ab"), (1, 0.0, "b"), (1, 0.0, "a"), (1, 0.0, None))
    assert [rows(db.query(f"q{n}")) for n in range(4)] == [
        [("ab",), ("a",)], [("ab",), ("b",)], [("b",), ("a",)], [("ab",)],
    ]  # fmt: skip
    assert db.sql("SHOW QUERIES").to_arrow().column("members").to_pylist() == [4] * 4


def test_all_answers_are_there_although_the_first_query_has_gone(db: eddyline.Database) -> None:
    many = db.queries("SELECT x FROM s WHERE x > :low", {"low": [0, 1, 2]}, name="m")
    db.queries.drop("m.1")
    push(db, (3, 0.0, ""))
    assert many.to_arrow().column("_query").to_pylist() == ["m.2", "m.3"]


def test_names_are_found_whatever_letters_they_have(db: eddyline.Database) -> None:
    db.queries("SELECT x FROM s WHERE x > :low", {"low": [0, 1], "name": ["İx", "ß and Σ"]})
    assert "İx" in db.queries and db.queries.like("İ%") == ["İx"] and db.query("ß and Σ").name == "ß and Σ"
    with pytest.raises(DuplicateName):
        db.queries("SELECT x FROM s WHERE x > :low", {"low": [0], "name": ["İx"]})
    with pytest.raises(DuplicateName):
        db.queries("SELECT x FROM s WHERE x > :low", {"low": [0], "name": ["S"]})  # the stream
    assert db.queries.drop("İ%") == 1 and len(db.queries) == 1


@pytest.mark.parametrize(
    "constants", [{"low": [1, 2], "key": ["a"]}, {"low": [1, "a"]}, {"low": 1}, [(1, 2)], {"low": [1], "name": [""]}]
)
def test_constants_that_are_no_table_are_told(db: eddyline.Database, constants: Any) -> None:
    with pytest.raises(InvalidDefinition):
        db.queries("SELECT x FROM s WHERE x > :low", constants)
    assert len(db.queries) == 0


def test_parameters_of_all_types(db: eddyline.Database) -> None:
    db.sql("CREATE STREAM w (i SMALLINT, f FLOAT, n DECIMAL(10,2), b BOOLEAN, at TIMESTAMP, t INTEGER) TIMESTAMP BY t")
    row = {"i": 3, "f": 1.5, "n": Decimal("2.50"), "b": True, "at": datetime(2020, 1, 1), "t": 1}
    table = pa.table(
        {
            "i": pa.array([3], pa.int16()),
            "f": pa.array([1.5], pa.float32()),
            "n": pa.array([Decimal("2.50")], pa.decimal128(10, 2)),
            "b": [True],
            "at": pa.array([1577836800_000_000], pa.timestamp("us", "UTC")),
        }
    )
    made = [db.queries(f"SELECT i FROM w WHERE {c} = :{c}", table.select([c]), name=c) for c in table.column_names]
    db.stream("w").push([row])
    db.flush()
    assert [rows(many[many.names[0]]) for many in made] == [[(3,)]] * 5, list(db.rejects)


def test_since_and_what_it_does_not_go_with(db: eddyline.Database) -> None:
    with pytest.raises(NotSupported, match="row windows"):
        db.sql("CREATE QUERY q FROM HISTORY SINCE 5 AS SELECT SUM(x) FROM s [FROM NOW-1 TO NOW SLIDE 2 ROWS]")
    with pytest.raises(InvalidDefinition, match="tick"):
        db.queries("SELECT x FROM s WHERE x > :low", {"low": [1]}, since=2.5)  # type: ignore[arg-type]
    db.sql("CREATE TABLE names (x INTEGER, n STRING)")
    db.sql("INSERT INTO names VALUES (1, 'one'), (2, 'two')")
    push(db, (1, 0.0, ""), (2, 0.0, ""))
    assert len(db.queries) == 0


@pytest.mark.parametrize("forms", [2, 5])
def test_what_comes_piece_by_piece_comes_once(db: Any, forms: int) -> None:
    """Members beside those that an index finds are not answered again with every piece."""
    others = ["d < {}", "x <> {}", "x >= {} AND d > 0", "x > {} OR d IS NULL"][: forms - 1]
    db.queries("SELECT x FROM s WHERE x > :low", {"low": list(range(-20, 0))}, name="m")
    late = [db.sql(f"CREATE QUERY q{n} AS SELECT x FROM s WHERE {text.format(3)}") for n, text in enumerate(others)]
    with patch("eddyline.kernels.matching.MOST_PAIRS", 7):
        push(db, *((x, 1.0, "") for x in (1, 3, 5)))
    assert all(rows(db.query(f"m.{n}")) == [(1,), (3,), (5,)] for n in range(1, 21))
    expected = [[(1,), (3,), (5,)], [(1,), (5,)], [(3,), (5,)], [(5,)]]
    assert [rows(handle) for handle in late] == expected[: forms - 1]


def test_members_that_come_and_go_leave_the_large_file_alone(db: Any) -> None:
    push(db, (0, 0.0, ""))
    many = db.queries("SELECT x FROM s WHERE x > :low", {"low": list(range(2000))}, name="m")
    folder = Path(db._core.storage.root) / "classes"
    (base,) = [path for path in folder.rglob("*.parquet") if path.stat().st_size > 5_000]
    sizes = []
    for n in range(30):
        db.sql(f"DROP QUERY `m.{n + 1}`")
        added = [db.sql(f"CREATE QUERY q{n}x{k} AS SELECT x FROM s WHERE x > {n + k}") for k in range(2)]
        db.sql(f"DROP QUERY q{n}x1")
        assert len(db._core.engine.classes.named(many["m.99"]._query.record.log)) == 2000
        db.stream("s").push([(2500, 0.0, "", n), (n + 1, 0.0, "", n)])
        db.flush()
        assert rows(added[0])[:2] == [(2500,), (n + 1,)] and not added[1].is_standing
        sizes.append(len(list(folder.rglob("*.parquet"))))
    assert base.exists() and max(sizes) <= 5
    assert [len(rows(many[f"m.{n}"])) for n in (31, 32, 1999)] == [30, 30, 30]
    db.queries.drop("m.1%")
    for n in range(4):
        db.sql(f"DROP QUERY `m.{n + 40}`")
        db.stream("s").push([(1500, 0.0, "", 99 + n)])
        db.flush()
    assert not base.exists()  # so many are gone that all was written anew, and nobody reads it any more
    assert rows(many["m.31"])[-4:] == [(1500,)] * 4 and "m.1999" not in db.queries
