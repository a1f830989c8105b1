"""Corrections are known as long as they are kept, whatever happens to the logs; and what it takes to look them up."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import eddyline
from database.revisions.prices import BY_SYMBOL, PRICES, listed, opened, push, replace
from database.test_lane_ends import Staying
from eddyline.algebra.lineage import ROW, Cause
from eddyline.log.storage import Storage
from eddyline.log.upkeep import Pace
from eddyline.spark.lineage import report
from laws.without_spark import kernels_alone

#: everything as often as possible
BUSY = Pace(batches=2, behind=1, neighbours=2, small=1_000_000, grace=0.0, aside=False)


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

    def building(reading: Any, rows: Any, batch: int) -> Any:
        built.append(rows.num_rows)
        return told_of(reading, rows, batch)

    with patch.object(Storage, "read_table", reading), patch.object(report, "answers", building):
        assert everything.causes(one) == (Cause("prices", one.index, "=", ROW),)
        assert sums.causes(window) == (Cause("prices", window.tick + 1, "=", ROW),)
    assert max(read) <= 4 and max(built) <= 4


def test_a_query_over_a_query_reads_what_is_touched_and_not_what_lies_between(db: eddyline.Database) -> None:
    """An old correction beside a new tuple: the inner query writes both into one segment, far apart."""
    inner = "RSTREAM(SELECT symbol, SUM(price) AS n FROM prices [FROM NOW-9 TO NOW SLIDE 10 SEC] GROUP BY symbol)"
    db.sql(f"CREATE QUERY i WITH (revisions = 'upstream') AS {inner}")
    outer = "SELECT symbol, MAX(n) AS m FROM i [FROM NOW-9 TO NOW SLIDE 10 SEC] GROUP BY symbol"
    db.sql(f"CREATE QUERY o WITH (revisions = 'upstream') AS {outer}")
    for batch in range(5):
        push(db, *[(batch * 400 + at * 10 + 1, symbol, 1) for at in range(40) for symbol in ("IBM", "SAP")])
    push(db, replace(1, 1, "IBM", 7))
    push(db, replace(3, 11, "IBM", 7), (2011, "IBM", 1))
    alone, beside = [line["rows_read"] for line in listed(db) if line["query"] == "o"]
    assert beside < 2 * alone, "and not all of the 400 tuples, several times"
