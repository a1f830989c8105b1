"""SHOW REVISIONS, `eddyline results --causes`, and what cannot be asked."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

import eddyline
from database.revisions.prices import BY_SYMBOL, PRICES, delete, push, replace
from eddyline.algebra.lineage import ROW, Cause
from eddyline.cli.main import app
from eddyline.errors import EddylineError
from eddyline.spark.lineage.causes import Lineage


def test_the_overview_tells_counts_and_costs(db: eddyline.Database) -> None:
    db.sql(f"CREATE QUERY sums WITH (revisions = 'downstream') AS {BY_SYMBOL}")
    db.sql("CREATE QUERY all_of_them AS SELECT price FROM prices")
    db.sql(f"CREATE QUERY large AS SELECT total FROM (RSTREAM({BY_SYMBOL})) AS sums WHERE total > 30")
    push(db, *PRICES)
    assert len(db.revisions()) == 0
    push(db, replace(2, 110, "IBM", 30), delete(3), (105, "SAP", 40), (170, "IBM", 1))
    lines = {line["query"]: line for line in db.revisions().to_arrow().to_pylist()}
    counted = ("at", "streams", "late", "deleted", "replaced")
    assert [tuple(line[name] for name in counted) for line in lines.values()] == [(170, "prices", 1, 1, 1)] * 3
    # sums: IBM 50 and SAP 40, were IBM 80; IBM 18, was 43. Of these above 30: 80 is replaced, 40 comes, 43 goes
    assert {name: line["changes"] for name, line in lines.items()} == {"sums": 2, "all_of_them": 3, "large": 3}
    ways = {name: line["way"] for name, line in lines.items()}
    assert ways == {"sums": "downstream", "all_of_them": "upstream", "large": "upstream"}
    assert all(line["seconds"] > 0 and line["rows_read"] > 0 for line in lines.values())


def test_since_and_limit(db: eddyline.Database) -> None:
    db.sql("CREATE QUERY all_of_them AS SELECT price FROM prices")
    push(db, *PRICES)
    for time in (160, 170, 180):
        push(db, replace(2, 110, "IBM", time), (time, "X", 1))
    for of in (None, "prices", "all_of_them"):
        assert [line["at"] for line in db.revisions(of).to_arrow().to_pylist()] == [160, 170, 180]
        assert [line["at"] for line in db.revisions(of, since=170).to_arrow().to_pylist()] == [170, 180]
        assert [line["at"] for line in db.revisions(of, limit=1).to_arrow().to_pylist()] == [180]
    told = db.sql("SHOW REVISIONS OF ALL_OF_THEM SINCE 170 LIMIT 1").to_arrow()
    assert told.equals(db.revisions("all_of_them", since=170, limit=1).to_arrow())


def test_mistakes(db: eddyline.Database) -> None:
    db.sql("CREATE TABLE t (a INTEGER)")
    for text, said in (
        ("SHOW REVISIONS OF price", "no stream or query price"),
        ("SHOW REVISIONS OF t", "t is a table"),
        ("SHOW REVISIONS LIMIT 'x'", "how many"),
        ("SHOW REVISION", "QUERIES, FUNCTIONS, REVISIONS, TAGS or CONNECTION POINTS"),
    ):
        with pytest.raises(EddylineError) as caught:
            db.sql(text)
        assert said in caught.value.message and caught.value.position is not None, text


def test_results_with_causes(db: eddyline.Database, path: Path) -> None:
    db.sql(f"CREATE QUERY sums AS {BY_SYMBOL}")
    db.queries("SELECT price FROM prices WHERE price > :p", {"name": ["one", "two"], "p": [20, 30]})
    push(db, *PRICES)
    push(db, replace(2, 110, "IBM", 30), delete(5))

    def printed(*options: str) -> str:
        result = CliRunner().invoke(app, ["results", *options, "--db", str(path)])
        assert result.exit_code == 0, result.output
        return result.stdout

    lines = [json.loads(line) for line in printed("sums", "--causes", "--format", "jsonl").splitlines()]
    told = {(line["tick"], line["op"]): line.get("causes") for line in lines}
    second = {"stream": "prices", "index": 2, "op": "=", "precision": "row"}
    fifth = {"stream": "prices", "index": 5, "op": "-", "precision": "row"}
    assert told == {(100, "+"): None, (120, "+"): None, (140, "+"): None, (120, "="): [second], (140, "="): [fifth]}
    assert "causes" not in printed("sums", "--format", "jsonl")
    assert "by" in printed("two", "--causes") and "prices 2 (=)" in printed("two", "--causes")


def test_nobody_is_asked_about_a_tuple_that_was_not_revised(db: eddyline.Database) -> None:
    """Also of queries that may have withheld a correction and shown it later, of which there may be very many."""
    given = {"name": [f"q{n}" for n in range(9)], "low": list(range(9))}
    sums = "SELECT symbol, SUM(price) AS total FROM prices [FROM NOW-29 TO NOW SLIDE 20 SEC] WHERE price > :low"
    db.queries(f"{sums} GROUP BY symbol", given, revise_if="abs(new - old) > 3")
    push(db, *PRICES)
    for price in (36, 41):
        push(db, replace(2, 110, "IBM", price))
    with patch.object(Lineage, "told", side_effect=AssertionError("computed")):
        assert db.stream("prices").effects(1) == []
    effects = db.stream("prices").effects(2)
    assert {effect.query for effect in effects} == set(given["name"])


def test_what_cannot_be_asked_is_refused_not_answered_with_nothing(db: eddyline.Database) -> None:
    """Nobody should take 'there are none' for an answer to a question that was about something else."""
    db.sql(f"CREATE QUERY sums AS {BY_SYMBOL}")
    db.sql("CREATE QUERY dear AS SELECT symbol, price FROM prices WHERE price > 30")
    with pytest.raises(EddylineError, match="tuple 1 has not come: prices has none"):
        db.stream("prices").effects(1)
    push(db, *PRICES)
    push(db, replace(2, 110, "IBM", 40))
    answer = db.query("dear").fetch()[-1]
    assert db.query("dear").causes(answer) == (Cause("prices", 2, "=", ROW),)
    with pytest.raises(EddylineError, match="this is an answer of dear, not of sums"):
        db.query("sums").causes(answer)
    with pytest.raises(EddylineError, match="tuple 7 has not come: prices has tuples 1 to 6"):
        db.stream("prices").effects(7)
    assert db.stream("prices").effects(6) == [], "it came and was never revised"
    with pytest.raises(EddylineError, match="a stream stays: there is no DROP STREAM"):
        db.sql("DROP STREAM prices")
