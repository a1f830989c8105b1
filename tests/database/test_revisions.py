"""Corrections, their causes and their effects, asked of a database: executor and kernels in this process."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

import eddyline
from database.test_lane_ends import Staying
from eddyline.algebra.lineage import BATCH, ROW, WINDOW, Cause
from eddyline.cli.main import app
from eddyline.errors import EddylineError
from eddyline.log.storage import Storage
from eddyline.log.upkeep import Pace
from eddyline.spark.lineage import report
from laws.without_spark import kernels_alone

#: everything as often as possible
BUSY = Pace(batches=2, behind=1, neighbours=2, small=1_000_000, grace=0.0, aside=False)
PRICES = [(100, "IBM", 20), (110, "IBM", 35), (120, "IBM", 25), (130, "IBM", 18), (130, "SAP", 50), (150, "IBM", 19)]
BY_SYMBOL = "SELECT symbol, SUM(price) AS total FROM prices [FROM NOW-29 TO NOW SLIDE 20 SEC] GROUP BY symbol"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def db(path: Path) -> Iterator[eddyline.Database]:
    with kernels_alone(), opened(path) as database:
        database.sql("CREATE STREAM prices (time INTEGER, symbol STRING, price INTEGER) TIMESTAMP BY time")
        yield database


def opened(path: Path, pace: Pace | None = None) -> eddyline.Database:
    return eddyline.connect(path, heartbeat=None, clock=lambda: 0, pace=pace)


def push(db: eddyline.Database, *rows: Any) -> None:
    db.stream("prices").push(list(rows))
    db.flush()


def replace(index: int, time: int, symbol: str, price: int) -> dict[str, Any]:
    return {"_op": "=", "_ref": index, "time": time, "symbol": symbol, "price": price}


def delete(index: int) -> dict[str, Any]:
    return {"_op": "-", "_ref": index}


def causes(db: eddyline.Database, query: str) -> dict[tuple[int, str], list[tuple[int, str, str]]]:
    """What each correction of a query comes from, by its tick."""
    found: dict[tuple[int, str], list[tuple[int, str, str]]] = {}
    for line in db.revisions(query).to_arrow().to_pylist():
        told = (line["index"], line["revision"], line["precision"])
        found.setdefault((line["tick"], line["op"]), []).append(told)
    return found


def listed(db: eddyline.Database, of: str | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = db.revisions(of).to_arrow().to_pylist()
    return found


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


def test_what_is_shown_later_knows_all_that_it_adds_up(db: eddyline.Database) -> None:
    sums = db.sql(f"CREATE QUERY sums WITH (revise_if = 'abs(new - old) > 10') AS {BY_SYMBOL}")
    push(db, *PRICES)
    sums.fetch()
    push(db, replace(2, 110, "IBM", 30))
    push(db, replace(5, 130, "SAP", 45))  # of another group
    push(db, replace(2, 110, "IBM", 27), replace(3, 120, "IBM", 24))
    assert sums.fetch() == [] and db.stream("prices").effects(2) == []
    push(db, replace(1, 100, "IBM", 18))
    (answer,) = sums.fetch()
    assert [(cause.index, cause.precision) for cause in sums.causes(answer)] == [(i, ROW) for i in (1, 2, 2, 3)]
    lines = listed(db, "sums")
    assert [(line["index"], line["new"]) for line in lines][1:3] == [(2, "(110, 'IBM', 30)"), (2, "(110, 'IBM', 27)")]
    assert [effect.answer for effect in db.stream("prices").effects(2)] == [answer, answer]
    sums.flush_revisions()
    db.flush()
    first, last = sums.fetch()
    assert (first.tick, last.tick) == (100, 140)
    assert sums.causes(first) == (Cause("prices", 1, "=", ROW),)
    assert sums.causes(last) == (Cause("prices", 3, "=", ROW), Cause("prices", 5, "=", ROW))
    push(db, replace(1, 100, "IBM", 50))  # what was shown is not told again
    assert {cause.index for answer in sums.fetch() for cause in sums.causes(answer)} == {1}
    (flushed,) = [line for line in listed(db) if not line["replaced"]]
    assert (flushed["query"], flushed["changes"], flushed["streams"]) == ("sums", 2, "")


def test_what_is_withheld_inside_is_followed_too(db: eddyline.Database) -> None:
    db.sql(f"CREATE QUERY rough WITH (revise_if = 'abs(new - old) > 10') AS RSTREAM({BY_SYMBOL})")
    reader = db.sql("CREATE QUERY large AS SELECT symbol, total FROM rough WHERE total > 60")
    push(db, *PRICES)
    reader.fetch()
    push(db, replace(2, 110, "IBM", 30))
    push(db, replace(3, 120, "IBM", 24))
    assert reader.fetch() == []
    db.sql("FLUSH REVISIONS OF rough")
    db.flush()
    (answer,) = reader.fetch()
    assert (answer.row, reader.causes(answer)) == (
        ("IBM", 74),
        (Cause("prices", 2, "=", ROW), Cause("prices", 3, "=", ROW)),
    )


def test_members_of_a_class_know_through_streams_inside(db: eddyline.Database) -> None:
    nested = "SELECT MAX(total) AS m FROM (RSTREAM({})) [FROM NOW-39 TO NOW SLIDE 40 SEC] AS z WHERE total > :low"
    inside = BY_SYMBOL.replace("GROUP", "WHERE symbol = :symbol GROUP")
    db.queries(nested.format(BY_SYMBOL), {"name": ["one", "two"], "low": [0, 75]})
    db.queries(nested.format(inside), {"name": ["ibm", "sap"], "symbol": ["IBM", "SAP"], "low": [0, 0]})
    push(db, *PRICES)
    push(db, replace(2, 110, "IBM", 30), replace(4, 130, "IBM", 17), replace(5, 130, "SAP", 40))
    assert causes(db, "one") == {(120, "="): [(2, "=", ROW)]}
    assert causes(db, "two") == {(120, "="): [(2, "=", ROW)]}
    assert causes(db, "ibm") == {(120, "="): [(2, "=", ROW)]}
    assert causes(db, "sap") == {}


def test_effects_on_members_are_told(db: eddyline.Database) -> None:
    many = 300
    db.queries(
        "SELECT time, price FROM prices WHERE symbol = :symbol AND price > :least",
        {"name": [f"n{k}" for k in range(many)], "symbol": ["IBM"] * many, "least": list(range(many))},
    )
    limited = "SELECT SUM(price) AS s FROM prices [FROM NOW-9 TO NOW SLIDE 10 SEC] WHERE symbol = :symbol"
    db.queries(limited, {"name": ["ibm", "sap", "none"], "symbol": ["IBM", "SAP", "X"]})
    for name, symbol in (("a", "IBM"), ("b", "SAP")):
        db.sql(f"CREATE QUERY {name} AS SELECT price FROM prices WHERE symbol = '{symbol}' AND time > 100")
    push(db, *PRICES)
    push(db, replace(2, 110, "IBM", 33), replace(5, 130, "SAP", 51))
    lines = {line["index"]: line for line in db.revisions("prices").to_arrow().to_pylist()}
    touched = {"a", "ibm", *(f"n{k}" for k in range(35))}
    assert {part.partition(":")[0] for part in lines[2]["queries"].split(", ")} == touched
    assert (lines[5]["changes"], lines[5]["queries"]) == (2, "b: 1, sap: 1")
    assert {effect.query for effect in db.stream("prices").effects(2)} == touched
    assert {(e.query, e.op, e.precision) for e in db.stream("prices").effects(5)} == {
        ("b", "=", ROW),
        ("sap", "=", ROW),
    }
    push(db, replace(1, 100, "Y", 0), replace(1, 100, "Z", 0))
    assert [line["changes"] for line in listed(db, "prices") if line["index"] == 1] == [21]  # of n0 to n19, and of ibm
    db.queries.drop("n%")
    assert {effect.query for effect in db.stream("prices").effects(2)} == {"a", "ibm"}


def test_only_what_is_asked_for_is_read(db: eddyline.Database) -> None:
    """Of a batch that corrects thousands of answers, those of one are looked at for one."""
    everything = db.sql("CREATE QUERY everything AS SELECT price FROM prices")
    sums = db.sql("CREATE QUERY sums AS SELECT SUM(price) AS s FROM prices [FROM NOW TO NOW SLIDE 1 SEC]")
    push(db, *((tick, "A", 1) for tick in range(2000)))
    everything.fetch(), sums.fetch()
    push(db, *(replace(index, index - 1, "A", 2) for index in range(1, 2000)))
    one, window = everything.fetch()[500], sums.fetch()[700]
    read: list[int] = []
    built: list[int] = []
    tables, told_of = Storage.read_table, report.answers

    def reading(self: Storage, *given: Any, **named: Any) -> Any:
        table = tables(self, *given, **named)
        read.append(0 if "prices" in str(given[0]) else table.num_rows)
        return table

    def building(reading: Any, rows: Any) -> Any:
        built.append(rows.num_rows)
        return told_of(reading, rows)

    with patch.object(Storage, "read_table", reading), patch.object(report, "answers", building):
        assert everything.causes(one) == (Cause("prices", one.index, "=", ROW),)
        assert sums.causes(window) == (Cause("prices", window.tick + 1, "=", ROW),)
    assert max(read) <= 4 and max(built) <= 4


def test_the_latest_rows_are_told_by_their_batch_at_worst(db: eddyline.Database) -> None:
    db.sql("CREATE QUERY last AS SELECT symbol, price FROM prices [ROWS 2]")
    push(db, *PRICES)
    push(db, delete(3), replace(6, 150, "IBM", 9))
    found = causes(db, "last")
    assert found and all(precision in (WINDOW, BATCH) for told in found.values() for _, _, precision in told)


def test_only_the_asked_member_of_a_class_is_looked_at(db: eddyline.Database) -> None:
    many = 300
    db.queries(
        "SELECT time, price FROM prices WHERE symbol = :symbol AND price > :least",
        {"name": [f"n{k}" for k in range(many)], "symbol": ["IBM"] * many, "least": list(range(many))},
    )
    db.sql("CREATE QUERY a AS SELECT SUM(price) AS s FROM prices [FROM NOW-9 TO NOW SLIDE 10 SEC] WHERE symbol = 'IBM'")
    db.sql("CREATE QUERY b AS SELECT SUM(price) AS s FROM prices [FROM NOW-9 TO NOW SLIDE 10 SEC] WHERE symbol = 'SAP'")
    db.sql("CREATE QUERY c AS SELECT SUM(price) AS s FROM prices [FROM NOW-9 TO NOW SLIDE 10 SEC] WHERE symbol = 'X'")
    push(db, *PRICES)
    push(db, replace(2, 110, "IBM", 30), replace(5, 130, "SAP", 51))
    assert causes(db, "n29") == {(110, "="): [(2, "=", ROW)]}
    assert causes(db, "n30") == {(110, "-"): [(2, "=", ROW)]}
    assert causes(db, "n35") == {}
    assert causes(db, "a") == {(110, "="): [(2, "=", ROW)]}
    assert causes(db, "b") == {(130, "="): [(5, "=", ROW)]}
    assert causes(db, "c") == {}
    lines = {line["query"]: line for line in db.revisions().to_arrow().to_pylist()}
    assert sorted(line["changes"] for line in lines.values()) == [
        1,
        1,
        35,
    ]  # of a, of b and c, of all that n0 to n34 said


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


def story(db: eddyline.Database, steps: range) -> None:
    for step in steps:
        at = 160 + 10 * step
        push(db, (at, "IBM", step), replace(2 + step % 5, 105 + step, "IBM", step), (at - 15, "SAP", step))


def told(db: eddyline.Database) -> list[Any]:
    return [list(db.revisions(of)) for of in ("prices", "sums", "nested", "all_of_them")]


def test_restarts_folds_and_merges_change_nothing(path: Path, tmp_path: Path) -> None:
    """Also long after entries and records were folded: what was revised is found in the merged logs."""
    nested = f"SELECT MAX(total) AS m FROM (RSTREAM({BY_SYMBOL})) [FROM NOW-39 TO NOW SLIDE 40 SEC] AS z"
    found = []
    with kernels_alone():
        for place, pace, runs in ((path, Pace(batches=10**9), 1), (tmp_path / "busy", BUSY, 3)):
            for part in range(runs):
                with opened(place, pace) as db:
                    if not part:
                        db.sql("CREATE STREAM prices (time INTEGER, symbol STRING, price INTEGER) TIMESTAMP BY time")
                        db.sql(f"CREATE QUERY sums AS {BY_SYMBOL}; CREATE QUERY nested AS {nested};")
                        db.sql("CREATE QUERY all_of_them AS SELECT price FROM prices")
                        push(db, *PRICES)
                    story(db, range(part * 12 // runs, (part + 1) * 12 // runs))
                    last = told(db)
            found.append(last)
    assert found[0] == found[1]
    assert all(len(lines) > 10 for lines in found[0])


def test_queries_in_lanes_know_what_they_were_corrected_for(tmp_path: Path) -> None:
    """They are answered up to other entries than the batch that commits them."""
    found = []
    for policy in (lambda: None, Staying):
        with kernels_alone(policy), opened(tmp_path / policy.__name__.strip("<>")) as db:
            db.sql("CREATE STREAM prices (time INTEGER, symbol STRING, price INTEGER) TIMESTAMP BY time")
            db.sql(f"CREATE QUERY sums AS {BY_SYMBOL}; CREATE QUERY all_of_them AS SELECT price FROM prices")
            push(db, *PRICES)
            story(db, range(4))
            lanes = db._core.engine.executor._lanes
            assert (lanes is not None and set(lanes.names) == {"sums", "all_of_them"}) == (policy is Staying)
            found.append([sorted(db.revisions(of), key=repr) for of in ("sums", "all_of_them")])
    assert found[0] == found[1] and all(found[0])


def test_no_more_is_remembered_than_is_kept(db: eddyline.Database) -> None:
    db.sql("CREATE QUERY all_of_them AS SELECT price FROM prices")
    push(db, *PRICES)
    with patch("eddyline.log.revision_log.KEPT_CORRECTIONS", 2):
        for price in (1, 2, 3, 4):
            push(db, replace(2, 110, "IBM", price))
        assert [line["new"] for line in db.revisions("all_of_them").to_arrow().to_pylist()] == [
            "(110, 'IBM', 3)",
            "(110, 'IBM', 4)",
        ]
        handle = db.query("all_of_them")
        first, *_, last = [answer for answer in handle.fetch() if answer.op == "="]
        assert handle.causes(first) == () and handle.causes(last) == (Cause("prices", 2, "=", ROW),)


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
