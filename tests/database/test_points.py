"""Connection points of a database: what they keep, what they make possible, and that they outlast a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.errors import EddylineError
from eddyline.log.upkeep import Pace
from eddyline.session.spark_run import SparkRun
from eddyline.spark.correcting import Choice, Corrections, Outlook
from eddyline.spark.spans import LOW
from laws.without_spark import kernels_alone

#: everything that can go goes at once
BUSY = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)
Opened = Callable[[], Any]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with kernels_alone():
        yield lambda: eddyline.connect(str(tmp_path / "db"), heartbeat=None, clock=lambda: 0, pace=BUSY)


def push(db: Any, *ticks: int, x: int = 1) -> int:
    """Push tuples at some ticks; gives how many were set aside."""
    pushed = db.stream("s").push([{"t": tick, "x": x} for tick in ticks])
    db.flush()
    return int(pushed.rejected)


def totals(db: Any, query: str = "q") -> dict[int, int]:
    return {row["_tick"]: row["total"] for row in db.query(query).to_arrow().to_pylist() if row["_diff"] > 0}


def points(db: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = db.sql("SHOW CONNECTION POINTS").to_arrow().to_pylist()
    return found


SUMS = "SELECT sum(x) AS total FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC]"


def test_a_point_keeps_a_stream_further_back_than_its_own_retention(opened: Opened) -> None:
    db = opened()
    db.sql("CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t RETAIN 5")
    db.sql("CREATE QUERY q WITH (revisions = 'upstream') AS " + SUMS)
    push(db, *range(1, 31))
    assert push(db, 24) == 1  # beyond the horizon, which is 25
    db.sql("CREATE CONNECTION POINT p ON s RETAIN 40")
    assert push(db, 24) == 1  # what was out of reach may be gone
    assert push(db, 25) == 0
    for tick in range(31, 60):
        push(db, tick)
    assert push(db, 25) == 0
    assert totals(db)[30] == 10 + 2  # the window has lost nothing
    db.close()
    db = opened()
    assert push(db, 24, 25) == 1
    assert totals(db)[30] == 10 + 3
    (row,) = points(db)
    assert row["rows"] >= 38 and row["to_tick"] == 59 and row["from_tick"] <= 16
    assert (row["radius"], row["needed_by"], row["retains"]) == ("9 ticks", "q", "40 ticks")
    db.sql("DROP CONNECTION POINT p")
    assert push(db, 30) == 1
    for tick in range(60, 75):
        push(db, tick)
    db.sql("CREATE CONNECTION POINT p ON s")
    (row,) = points(db)
    assert row["rows"] < 60, "upkeep has not got back what nobody needs any more"
    assert push(db, 55) == 1
    assert push(db, 70) == 0
    db.close()
    db = opened()
    assert push(db, 55) == 1
    assert push(db, 70) == 0
    assert totals(db)[70] == 10 + 2
    db.close()


def test_the_furthest_point_counts(opened: Opened) -> None:
    db = opened()
    db.sql("CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t RETAIN 5")
    db.sql("CREATE CONNECTION POINT near ON s RETAIN 10; CREATE CONNECTION POINT far ON s RETAIN 30")
    push(db, 100)
    assert [push(db, tick) for tick in (69, 70)] == [1, 0]
    db.sql("DROP CONNECTION POINT far")
    assert [push(db, tick) for tick in (89, 90)] == [1, 0]
    db.sql("DROP CONNECTION POINT near")
    assert [push(db, tick) for tick in (94, 95)] == [1, 0]
    db.close()


def test_keys_count_as_far_back_as_a_point_reaches(opened: Opened) -> None:
    db = opened()
    db.sql("CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t KEY (x) RETAIN 5")
    db.sql("CREATE QUERY q AS SELECT t, x FROM s")
    push(db, 10, x=1)
    db.sql("CREATE CONNECTION POINT p ON s RETAIN 50")
    push(db, 30, x=2)
    push(db, 31, x=1)  # the tuple at 10 is in reach, so it is replaced
    db.sql("DROP CONNECTION POINT p")
    push(db, 50, x=3)
    push(db, 51, x=1)  # that at 31 is not any more: this is another one
    changes = [(row["_diff"], row["t"], row["x"]) for row in db.query("q").to_arrow().to_pylist() if row["x"] == 1]
    assert changes == [(1, 10, 1), (-1, 10, 1), (1, 31, 1), (1, 51, 1)]
    db.close()


def test_a_point_on_a_query_has_slices_kept_at_once(opened: Opened) -> None:
    db = opened()
    db.sql("CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t")
    db.sql("CREATE QUERY q AS " + SUMS)
    push(db, *range(1, 41))

    def kept() -> Any:
        found = db._core.engine.executor.results.stages.get("q/slices")
        return None if found is None else found.start

    assert kept() is None
    db.sql("CREATE CONNECTION POINT p ON q RETAIN 25")
    push(db, 41)
    assert kept() == 41 - 25
    for tick in range(42, 80):
        push(db, tick)
    assert kept() == 16
    push(db, 18, 33)
    assert (totals(db)[20], totals(db)[40]) == (11, 11)
    db.close()
    db = opened()
    push(db, 18, 33)
    assert kept() <= 16  # further back, if that pays
    assert (totals(db)[20], totals(db)[40]) == (12, 12)
    with pytest.raises(EddylineError, match="the connection point p is on q"):
        db.queries.drop("%")
    db.sql("DROP CONNECTION POINT p")
    for tick in range(80, 600):  # how soon it pays to give them up depends on what the machine takes for them
        push(db, tick)
        if kept() is None:
            break
    assert kept() is None
    db.sql("CREATE CONNECTION POINT p ON q")
    db.sql("DROP QUERY q CASCADE")
    assert points(db) == []
    db.close()
    assert points(opened()) == []


def test_a_point_on_a_member_of_a_class(opened: Opened) -> None:
    db = opened()
    db.sql("CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t")
    for least in range(4):
        db.sql(f"CREATE QUERY q{least} AS {SUMS} WHERE x >= {least}")
    push(db, *range(1, 31), x=2)
    db.sql("CREATE CONNECTION POINT p ON q2")
    push(db, 31, x=2)
    log = db._core.definitions.standing("q2").record.log
    assert db._core.engine.executor.results.stages[f"{log}/slices"].start is not None
    push(db, 5, 15, x=3)
    assert [totals(db, f"q{least}")[10] for least in range(4)] == [23, 23, 23, 3]
    db.close()


class Always(Corrections):
    """Slices are kept, made once, and asked whenever they are there."""

    def choose(self, name: str, outlook: Outlook) -> Choice:
        return Choice(keeps=True, from_slices=True) if outlook.kept else Choice(keeps=True, anew=LOW)


def test_slices_do_not_know_what_had_come_before_a_member(tmp_path: Path) -> None:
    """Those who were there when slices were made are in them; who comes later is so from its beginning on."""
    with kernels_alone(corrections=Always):
        db = eddyline.connect(str(tmp_path / "db"), heartbeat=None, clock=lambda: 0)
        db.sql("CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t")
        db.sql(f"CREATE QUERY q0 AS {SUMS}")
        push(db, *range(1, 6))
        for number, least in enumerate((0, 1, 2)):  # they come when five tuples of their first window have come
            db.sql(f"CREATE QUERY n{number} AS {SUMS} WHERE x >= {least}")  # the first of a shape stands for itself
        db.sql("CREATE CONNECTION POINT p ON n1")
        push(db, *range(6, 16), x=2)
        assert db._core.engine.executor.results.stages["~class1/slices"].count == 2
        db.sql(f"CREATE QUERY late AS {SUMS} WHERE x >= 0")
        push(db, *range(16, 26), x=2)
        push(db, 3, 13, 23, x=4)
        found = {name: [totals(db, name).get(tick) for tick in (10, 20)] for name in ("q0", "n0", "n1", "n2", "late")}
        assert found == {"q0": [19, 24], "n0": [19, 24], "n1": [19, 24], "n2": [14, 24], "late": [None, 24]}
        db.close()


def test_many_at_a_time_say_how_they_are_corrected(opened: Opened) -> None:
    db = opened()
    db.sql("CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t")
    template = SUMS + " WHERE x >= :low"
    db.queries(template, {"low": [0, 2]}, name="down", revisions="downstream")
    db.queries(template, {"low": [0, 2]}, name="both")
    with pytest.raises(EddylineError, match="revisions is 'auto', 'upstream' or 'downstream', not 'sideways'"):
        db.queries(template, {"low": [0, 2]}, name="none", revisions="sideways")
    push(db, *range(1, 31), x=1)
    db.close()
    db = opened()
    push(db, 5, x=2)
    logs = {name: db._core.definitions.standing(f"{name}.1").record.log for name in ("down", "both")}
    kept = {name: f"{log}/slices" in db._core.engine.executor.results.stages for name, log in logs.items()}
    assert kept == {"down": True, "both": False}
    assert [totals(db, name)[10] for name in ("down.1", "down.2", "both.1", "both.2")] == [12, 2, 12, 2]
    with pytest.raises(EddylineError, match=r"one of the queries that db\.queries made"):
        db.sql("CREATE CONNECTION POINT p ON down.1")
    db.close()


def test_the_radius_counts_ticks_and_tuples(opened: Opened) -> None:
    """Neither says how much of the other is needed, whichever of them is the larger number."""
    db = opened()
    db.sql("CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t")
    db.sql("CREATE CONNECTION POINT p ON s")

    def told() -> tuple[str, str | None]:
        (row,) = points(db)
        return row["radius"], row["needed_by"]

    assert told() == ("0 ticks", None)
    rows = "SELECT sum(x) AS total FROM s [FROM NOW-{} TO NOW SLIDE {} ROWS]"
    db.sql(f"CREATE QUERY q AS {SUMS}")
    db.sql(f"CREATE QUERY few AS {rows.format(3, 2)}")
    assert told() == ("9 ticks and 3 tuples", "q, few")
    db.queries(f"{rows.format(6, 7)} WHERE x > :low", {"name": ["one", "two"], "low": [1, 2]})
    assert told() == ("9 ticks and 6 tuples", "q, db.queries")
    # 20 ticks, and as many tuples as ten rows hold and lie between two windows of rows
    both = "SELECT a.x FROM s [FROM NOW-19 TO NOW SLIDE 1 SEC] a, s [FROM NOW-9 TO NOW SLIDE 5 ROWS] b"
    db.sql(f"CREATE QUERY both AS {both}")
    assert told() == ("20 ticks and 14 tuples", "both")
    nested = f"SELECT max(total) AS m FROM (RSTREAM({rows.format(3, 2)})) [FROM NOW-50 TO NOW SLIDE 6 SEC] AS z"
    db.sql(f"CREATE QUERY nested AS {nested}")
    assert told() == ("50 ticks and 14 tuples", "nested, both")
    db.close()


NO_SLICES = {
    "m": ("", "SELECT MEDIAN(x) AS total FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC]", "median needs all of its tuples"),
    "u": ("WITH (revisions = 'upstream')", SUMS, "it was created WITH (revisions = 'upstream')"),
}


def test_a_point_that_changes_nothing_says_so(opened: Opened) -> None:
    db = opened()
    db.sql("CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t")
    db.sql("CREATE QUERY q AS " + SUMS)
    db.sql("CREATE QUERY l AS SELECT x FROM s")
    for place in ("q", "l", "s"):
        db.sql(f"CREATE CONNECTION POINT p{place} ON {place} RETAIN 1 HOUR")
    assert db.status().warnings == []
    for name, (options, query, reason) in NO_SLICES.items():
        db.sql(f"CREATE QUERY {name} {options} AS {query}")
        db.sql(f"CREATE CONNECTION POINT p{name} ON {name} RETAIN 1 HOUR")
        (warning,) = [warning for warning in db.status().warnings if f"point p{name}" in warning]
        assert warning.lower().endswith(reason.lower())
    keeps = {point["on"]: point["keeps"].lower() for point in points(db)}
    assert (keeps["s"], keeps["q"], keeps["l"]) == ("tuples", "answers and slices", "answers")
    assert all(keeps[name] == f"answers alone: {reason}".lower() for name, (_, _, reason) in NO_SLICES.items())
    db.close()


def test_scripts_are_warned_of_a_point_that_changes_nothing(tmp_path: Path) -> None:
    text = "CREATE STREAM s (t INTEGER, x INTEGER) TIMESTAMP BY t;\n"
    for name, (options, query, _) in NO_SLICES.items():
        text += f"CREATE QUERY {name} {options} AS {query};\nCREATE CONNECTION POINT p{name} ON {name};\n"
    warnings: list[str] = []
    with kernels_alone():
        list(SparkRun(text + "INSERT INTO s VALUES (1, 1);", tmp_path, on_warning=warnings.append).answers())
    assert [warning.split()[:4] for warning in warnings] == [["the", "connection", "point", f"p{n}"] for n in NO_SLICES]
