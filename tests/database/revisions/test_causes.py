"""Which revision an answer was corrected for."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import eddyline
from database.revisions.prices import BY_SYMBOL, PRICES, causes, delete, listed, push, replace
from eddyline.algebra.lineage import BATCH, ROW, WINDOW, Cause
from eddyline.cli.main import app


def test_two_revisions_in_one_batch_have_different_effects(db: eddyline.Database) -> None:
    sums = db.sql(f"CREATE QUERY sums AS {BY_SYMBOL}")
    push(db, *PRICES)
    sums.fetch()
    push(db, replace(2, 110, "IBM", 30), replace(5, 130, "SAP", 51))
    first, second = sums.fetch()
    assert (first.tick, sums.causes(first)) == (120, (Cause("prices", 2, "=", ROW),))
    assert (second.tick, sums.causes(second)) == (140, (Cause("prices", 5, "=", ROW),))
    (effect,) = db.stream("prices").effects(5)
    assert (effect.query, effect.answer, effect.op, effect.precision) == ("sums", second, "=", ROW)
    assert db.stream("prices").effects(1) == []
    push(db, replace(1, 100, "SAP", 1), replace(6, 150, "IBM", 20))
    db.sql("CREATE QUERY big AS SELECT price FROM prices WHERE price > 1000")  # it never says anything
    push(db, replace(1, 100, "SAP", 2))
    assert sums.causes(second) == (Cause("prices", 5, "=", ROW),)
    assert db.query("big").causes(dataclasses.replace(second, query="big")) == ()


def test_groups_of_one_window_have_causes_of_their_own(db: eddyline.Database) -> None:
    sums = db.sql(f"CREATE QUERY sums AS RSTREAM({BY_SYMBOL})")
    most = "SELECT symbol, MAX(price) AS m FROM prices [FROM NOW-29 TO NOW SLIDE 20 SEC] GROUP BY symbol"
    most_of = db.sql(f"CREATE QUERY most AS {most}")
    push(db, *PRICES)
    sums.fetch(), most_of.fetch()
    push(db, replace(4, 130, "IBM", 17), replace(5, 130, "SAP", 51))  # both in the window at 140
    told = {answer.row[0]: sums.causes(answer) for answer in sums.fetch()}
    assert told == {"IBM": (Cause("prices", 4, "=", ROW),), "SAP": (Cause("prices", 5, "=", ROW),)}
    (window,) = most_of.fetch()  # the largest of IBM stays 25
    assert most_of.causes(window) == (Cause("prices", 5, "=", ROW),)


def test_who_changes_nothing_is_no_cause(db: eddyline.Database) -> None:
    most = db.sql("CREATE QUERY most AS SELECT MAX(price) AS m FROM prices [FROM NOW-29 TO NOW SLIDE 20 SEC]")
    db.sql("CREATE QUERY big AS SELECT price FROM prices WHERE price > 30")
    push(db, *PRICES)
    push(db, replace(1, 100, "IBM", 21), replace(4, 130, "IBM", 17))
    (answer,) = [answer for answer in most.fetch() if answer.op == "="]
    assert (answer.tick, most.causes(answer)) == (100, (Cause("prices", 1, "=", ROW),))
    lines = {line["index"]: line for line in db.revisions("prices").to_arrow().to_pylist()}
    assert (lines[1]["changes"], lines[1]["queries"]) == (1, "most: 1")
    assert (lines[4]["changes"], lines[4]["queries"]) == (0, "")  # nobody's maximum, and below 30 before and after
    first = most.fetch()
    assert first == [] and most.causes(answer) != ()


def test_what_is_answered_for_the_first_time_corrects_nothing(db: eddyline.Database) -> None:
    sums = db.sql(f"CREATE QUERY sums AS {BY_SYMBOL}")
    db.stream("prices").push(PRICES[:2])
    push(db, replace(2, 110, "IBM", 1), (125, "IBM", 2), (150, "IBM", 3))  # in one batch with what it revises
    assert [answer.op for answer in sums.fetch()] == ["+"] * 3
    assert len(db.revisions("sums")) == 0
    assert len(db.revisions("prices")) == 0  # the tuple came in this batch: it never was anything else


def test_two_revisions_of_one_tuple_are_one(db: eddyline.Database) -> None:
    db.sql("CREATE QUERY all_of_them AS SELECT price FROM prices")
    push(db, *PRICES)
    push(db, replace(2, 110, "IBM", 36), replace(2, 110, "IBM", 37), replace(3, 120, "IBM", 0), replace(3, *PRICES[2]))
    (line,) = db.revisions("all_of_them").to_arrow().to_pylist()
    assert (line["index"], line["old"], line["new"]) == (2, "(110, 'IBM', 35)", "(110, 'IBM', 37)")
    push(db, (105, "SAP", 1), delete(7))  # it came and went
    assert len(db.revisions("prices")) == 1


def test_a_tuple_that_moves_is_a_cause_where_it_was_and_where_it_is(db: eddyline.Database) -> None:
    db.sql(f"CREATE QUERY sums AS {BY_SYMBOL}")
    push(db, *PRICES)
    push(db, replace(1, 135, "SAP", 20))
    assert causes(db, "sums") == {(100, "="): [(1, "=", ROW)], (120, "="): [(1, "=", ROW)], (140, "="): [(1, "=", ROW)]}


PAIRS = "FROM prices [FROM NOW-9 TO NOW SLIDE 10 SEC] x, prices [FROM NOW-9 TO NOW SLIDE 10 SEC] y"


@pytest.mark.parametrize("selected, sure", [("x.price AS p, y.price AS q", ROW), ("x.price + y.price AS p", WINDOW)])
def test_joins_are_told_by_their_tuples_if_they_show_them(db: eddyline.Database, selected: str, sure: str) -> None:
    db.sql(f"CREATE QUERY pairs AS SELECT {selected} {PAIRS} WHERE x.symbol = 'IBM' AND y.symbol = 'SAP'")
    push(db, *PRICES)
    push(db, replace(5, 130, "SAP", 49), replace(1, 100, "IBM", 1))
    assert causes(db, "pairs") == {(130, "="): [(5, "=", sure)]}


def test_of_two_partners_it_is_the_one_that_is_in_the_row(db: eddyline.Database) -> None:
    """By its window it could be any; a condition between both is asked too."""
    db.sql(f"CREATE QUERY pairs AS RSTREAM(SELECT x.price AS p, y.price AS q {PAIRS} WHERE x.price < y.price)")
    db.sql(
        f"CREATE QUERY sums AS SELECT x.price AS p, SUM(y.price) AS q {PAIRS} WHERE x.price < y.price GROUP BY x.price"
    )
    push(db, (1, "A", 1), (2, "B", 5), (3, "C", 7), (30, "D", 0))
    push(db, replace(1, 1, "A", 2), replace(3, 3, "C", 8))
    told = {(line["tick"], line["answer"], line["index"]): line["precision"] for line in listed(db, "pairs")}
    answers = [answer for answer in db.query("pairs").fetch() if answer.op == "="]
    # 1-5 is 2-5 now, because of the first; 1-7 is 2-8 because of both; 5-7 is 5-8 because of the third
    rows = {answer.index: {*answer.row, *answer.old} for answer in answers}
    expected = {(10, i, 1): ROW for i, values in rows.items() if values & {1, 2}}
    expected |= {(10, i, 3): ROW for i, values in rows.items() if values & {7, 8}}
    assert told == expected and len(expected) == 4
    (answer,) = [answer for answer in db.query("sums").fetch() if answer.op == "="]
    found = {(cause.index, cause.precision) for cause in db.query("sums").causes(answer)}
    assert found == {(1, ROW), (3, WINDOW)}  # x is grouped by and shown, y is not


def test_the_latest_rows_are_told_by_their_batch_at_worst(db: eddyline.Database) -> None:
    db.sql("CREATE QUERY last AS SELECT symbol, price FROM prices [ROWS 2]")
    push(db, *PRICES)
    push(db, delete(3), replace(6, 150, "IBM", 9))
    found = causes(db, "last")
    assert found and all(precision in (WINDOW, BATCH) for told in found.values() for _, _, precision in told)


def test_a_correction_that_is_said_again_has_causes_of_its_own(db: eddyline.Database) -> None:
    """Tuple 1 makes 3 into 4, tuple 2 makes it 3 again, and tuple 3 makes it 4: the first is not for tuple 3."""
    whole = db.sql("CREATE QUERY whole AS SELECT SUM(price) AS n FROM prices [FROM NOW-9 TO NOW SLIDE 10 SEC]")
    changes = db.sql("CREATE QUERY changes AS ISTREAM(SELECT SUM(price) AS n FROM prices [RANGE 9 SEC SLIDE 10 SEC])")
    push(db, (5, "IBM", 1), (6, "IBM", 1), (7, "IBM", 1), (25, "IBM", 1))
    for index, price in ((1, 2), (2, 0), (3, 2)):
        push(db, replace(index, 4 + index, "IBM", price))
    for query in (whole, changes):
        corrected = [answer for answer in query.fetch() if query.causes(answer)]
        assert corrected[0] == corrected[-1], "the same is said twice"
        assert [[cause.index for cause in query.causes(answer)] for answer in corrected] == [[1], [2], [3]]


def test_answers_with_nan_have_causes(db: eddyline.Database, path: Path) -> None:
    db.sql("CREATE STREAM d (v DOUBLE, t INTEGER) TIMESTAMP BY t")
    queries = [
        db.sql("CREATE QUERY n AS SELECT v FROM d"),
        db.sql("CREATE QUERY w AS SELECT MAX(v) AS m FROM d [FROM NOW-9 TO NOW SLIDE 10 SEC]"),
        db.sql("CREATE QUERY r AS SELECT v FROM d [RANGE 3 SEC]"),
    ]
    d = db.stream("d")
    d.push([(1.0, 5), (2.0, 25)])
    db.flush()
    for query in queries:
        query.fetch()
    d.push([{"_op": "=", "_ref": 1, "v": float("nan"), "t": 5}])
    db.flush()
    for query in queries:
        corrections = query.fetch()
        assert corrections and "nan" in str(corrections)
        assert {query.causes(answer) for answer in corrections} == {(Cause("d", 1, "=", ROW),)}
        shown = CliRunner().invoke(app, ["results", query.name, "--db", str(path), "--causes", "--format", "jsonl"])
        told = [line["causes"] for line in map(json.loads, shown.stdout.splitlines()) if "causes" in line]
        assert len([causes for causes in told if causes]) == len(corrections)
