"""Causes of what was withheld, of members of classes, and through streams inside."""

from __future__ import annotations

import eddyline
from database.revisions.prices import BY_SYMBOL, PRICES, causes, listed, push, replace
from eddyline.algebra.lineage import ROW, Cause


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
