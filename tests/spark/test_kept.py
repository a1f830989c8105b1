"""Downstream corrections: what is kept of an aggregation, and what a correction looks at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import eddyline
from eddyline.kernels.leaves import Leaves
from eddyline.kernels.task import Work, done
from eddyline.log.upkeep import Pace
from eddyline.spark.evaluate.kept import correctable_or_reason
from eddyline.spark.stages import SLICES
from laws.without_spark import kernels_alone

STREAM = "CREATE STREAM s (t INTEGER, k STRING, x INTEGER, y DOUBLE) TIMESTAMP BY t"
TUPLES = 1_000


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Any]:
    with kernels_alone():
        db = eddyline.connect(str(tmp_path / "db"))
        db.sql(STREAM)
        yield db
        db.close()


def fill(db: Any, query: str, revisions: str = "downstream") -> Any:
    """A query over windows of a thousand ticks, two of which are due."""
    db.sql(f"CREATE QUERY q WITH (revisions = '{revisions}') AS {query}")
    for first in range(0, 2 * TUPLES + 1, TUPLES // 4):
        ticks = range(first, first + TUPLES // 4)
        columns = {"t": ticks, "k": ["ab"[t % 2] for t in ticks], "x": ticks, "y": [t / 2 for t in ticks]}
        db.stream("s").push(pa.table({name: pa.array(list(values)) for name, values in columns.items()}))
        db.flush()
    return db.stream("s")


def works_of(db: Any, *rows: dict[str, Any]) -> list[Work]:
    """What corrections in one batch make tasks do."""
    works: list[Work] = []

    def seen(spark: object, given: list[Work]) -> list[Any]:
        works.extend(given)
        return list(done(given))

    with patch("eddyline.spark.batch_work.run", seen):
        db.stream("s").push(list(rows))
        db.flush()
    return works


def tuples_read(works: Sequence[Work]) -> set[str]:
    """The segments of streams that works open as long as nothing is in doubt."""
    return {path for work in works for paths in work.files.values() for path in paths if path.startswith("streams/")}


def files_opened(db: Any, *rows: dict[str, Any]) -> list[str]:
    """The files that a correction opens, also because of doubt."""
    opened: list[str] = []
    original = Leaves.open

    def seen(leaves: Leaves, name: str, files: Sequence[str], *more: Any) -> None:
        opened.extend(files)
        original(leaves, name, files, *more)

    with patch.object(Leaves, "open", seen):
        works_of(db, *rows)
    return opened


def rows_of(db: Any) -> list[dict[str, Any]]:
    """What the correction has said, the old rows first."""
    changes = db.query("q").to_arrow().to_pylist()
    last = max(row["_batch"] for row in changes)
    names = [name for name in changes[0] if not name.startswith("_")]
    found = [row for row in changes if row["_batch"] == last]
    return [{name: row[name] for name in ("_diff", *names)} for row in sorted(found, key=lambda row: row["_diff"])]


WINDOW = f"s [FROM NOW-{TUPLES - 1} TO NOW SLIDE {TUPLES} SEC]"
SUMS = f"SELECT sum(x) AS total, count(*) AS n FROM {WINDOW}"
REPLACED = {"_op": "=", "_ref": 501, "t": 500, "k": "a", "x": 1500, "y": 0.0}


@pytest.mark.parametrize("revisions", ["upstream", "downstream"])
def test_a_correction_is_said_once_for_its_window(database: Any, revisions: str) -> None:
    fill(database, SUMS, revisions)
    works_of(database, REPLACED)
    total = sum(range(1, TUPLES + 1))
    assert rows_of(database) == [
        {"_diff": -1, "total": total, "n": TUPLES},
        {"_diff": 1, "total": total + 1_000, "n": TUPLES},
    ]


@pytest.mark.parametrize("revisions, tuples", [("upstream", True), ("downstream", False)])
def test_only_upstream_looks_at_the_tuples_of_the_window(database: Any, revisions: str, tuples: bool) -> None:
    fill(database, SUMS, revisions)
    works = works_of(database, REPLACED)
    read = tuples_read(works)
    fresh = {segment.path for segment in database._core.engine.journal.state("s").segments[-1:]}
    assert (read != fresh) is tuples
    assert fresh <= read


LARGEST = {"_op": "-", "_ref": TUPLES + 1}


@pytest.mark.parametrize(
    "aggregate, before, row, tuples",
    [
        ("max(x)", None, {**REPLACED, "x": 10}, False),
        ("max(x)", None, LARGEST, True),
        ("stddev(y)", None, REPLACED, False),
        ("stddev(y + 1000000)", None, LARGEST, False),  # however far from zero
        ("stddev(y)", {**REPLACED, "y": 1e9}, {**REPLACED, "y": 1.0}, True),  # nearly all of the spread goes
        ("stddev(y)", {**REPLACED, "y": float("inf")}, {**REPLACED, "y": 1.0}, False),  # it was not added
        ("stddev(y)", None, {**REPLACED, "y": float("nan")}, True),
        ("var_pop(x) FILTER (WHERE x < 100)", None, LARGEST, False),
        ("corr(x, y)", None, REPLACED, False),
        ("corr(x, y)", {**REPLACED, "x": 10**9}, REPLACED, True),
        ("covar_samp(y, x)", None, LARGEST, False),
        ("count(DISTINCT x)", None, LARGEST, False),
        ("count(DISTINCT x) FILTER (WHERE x > 7)", None, LARGEST, False),
    ],
)
def test_tuples_are_read_only_if_there_is_doubt(
    database: Any, aggregate: str, before: dict[str, Any] | None, row: dict[str, Any], tuples: bool
) -> None:
    fill(database, f"SELECT {aggregate} AS m FROM {WINDOW}")
    if before is not None:
        works_of(database, before)
    opened = files_opened(database, row)
    fresh = {segment.path for segment in database._core.engine.journal.state("s").segments[-1:]}
    assert ({file for file in opened if file.startswith("streams/")} > fresh) is tuples


def rows_opened(db: Any, *rows: dict[str, Any]) -> int:
    """How many rows of tuples are in the files that corrections in one batch open."""
    opened = files_opened(db, *rows)
    segments = db._core.engine.journal.state("s").segments
    return sum(segment.rows for segment in segments if segment.path in opened)


def last_correction(db: Any) -> dict[str, Any]:
    """The last line of SHOW REVISIONS."""
    found: dict[str, Any] = db.revisions().to_arrow().to_pylist()[-1]
    return found


def replaced(tick: int, x: int) -> dict[str, Any]:
    return {"_op": "=", "_ref": tick + 1, "t": tick, "k": "a", "x": x, "y": 0.0}


@pytest.fixture
def thirty_windows(database: Any) -> Any:
    """Windows of a hundred tuples, with a segment for each of them; larger ticks have larger values."""
    database.sql(
        "CREATE QUERY q WITH (revisions = 'downstream') AS SELECT max(x) AS m FROM s [FROM NOW-99 TO NOW SLIDE 100 SEC]"
    )
    for first in range(0, 3_100, 100):
        ticks = range(first, first + 100)
        database.stream("s").push(pa.table({"t": ticks, "k": ["a"] * 100, "x": ticks, "y": [0.0] * 100}))
        database.flush()
    return database


def test_only_the_windows_in_doubt_are_answered_from_tuples(thirty_windows: Any) -> None:
    db = thirty_windows
    fresh = 2 * 28
    assert rows_opened(db, *(replaced(window * 100 + 50, 0) for window in range(28))) == fresh
    assert last_correction(db)["way"] == "downstream"
    before = last_correction(db)["rows_read"]
    # the windows end at ticks 100, 200, …: 2700 is the largest of its one
    largest = [*(replaced(window * 100 + 51, 0) for window in range(27)), replaced(2_700, 0)]
    read = rows_opened(db, *largest)
    assert fresh < read <= 2 * fresh + 300
    assert rows_of(db)[-1] == {"_diff": 1, "m": 2_699}
    assert last_correction(db)["way"] == "downstream"
    assert last_correction(db)["rows_read"] >= before + 100, "what doubt has cost is told"


def test_a_correction_whose_windows_all_come_from_tuples_is_one_upstream(thirty_windows: Any) -> None:
    works_of(thirty_windows, replaced(2_700, 0))
    assert last_correction(thirty_windows)["way"] == "upstream"


def test_doubt_comes_to_an_end(thirty_windows: Any) -> None:
    """Once it has been asked for its tuples, a window is as good as any other."""
    db = thirty_windows
    assert rows_opened(db, {"_op": "-", "_ref": 2_701}) > 100
    assert rows_of(db)[-1] == {"_diff": 1, "m": 2_699}
    assert rows_opened(db, replaced(2_650, 2_750)) == 2
    assert rows_of(db)[-1] == {"_diff": 1, "m": 2_750}
    assert rows_opened(db, replaced(2_650, 0), replaced(2_651, 0)) > 100
    assert rows_of(db)[-1] == {"_diff": 1, "m": 2_699}
    assert rows_opened(db, replaced(2_652, 0), replaced(2_653, 2_698)) == 4


@pytest.mark.parametrize("aggregate", ["max(x)", "min(x)", "sum(y)", "stddev(y)", "count(DISTINCT x)"])
def test_a_replacement_that_an_aggregate_does_not_see_is_none(database: Any, aggregate: str) -> None:
    """Both versions of the tuple are the same to it."""
    fill(database, f"SELECT {aggregate} AS m FROM {WINDOW}")
    kept = database._core.engine.executor.results.stages["q/slices"].plus
    for tick in (1, TUPLES):
        assert rows_opened(database, {**replaced(tick, tick), "y": tick / 2, "k": "other"}) == 2
    assert database._core.engine.executor.results.stages["q/slices"].plus == kept


@pytest.mark.parametrize("aggregate", ["sum(y)", "max(x)", "stddev(y)"])
def test_what_could_be_in_doubt_does_not_count_as_read(database: Any, aggregate: str) -> None:
    """However many tuples the window has: nothing but slices is read, which the kernel does."""
    fill(database, f"SELECT {aggregate} AS m FROM {WINDOW}")
    with patch("eddyline.spark.spreading.MOST_GROUPED_ROWS", TUPLES // 2):
        works = works_of(database, REPLACED)
    assert {work.stage for work in works} == {"q", "q/slices"}


@pytest.mark.parametrize(
    "aggregate, row, answer",
    [
        ("max(x)", {**REPLACED, "x": 10}, None),  # it was not the largest
        ("max(x)", {"_op": "-", "_ref": TUPLES + 1}, TUPLES - 1),  # now the second largest is the largest
        ("min(x)", {"_op": "-", "_ref": 2}, 2),
        ("sum(y)", {**REPLACED, "y": 1e300}, 1e300),
        ("sum(y)", {**REPLACED, "y": float("inf")}, float("inf")),
        ("avg(x)", {**REPLACED, "x": None}, (500500 - 500) / 999),
        ("bool_and(x < 1200)", REPLACED, False),
        ("count(DISTINCT x)", {**REPLACED, "x": 501}, TUPLES - 1),
        ("count(DISTINCT x)", {**REPLACED, "x": None}, TUPLES - 1),
        ("stddev_pop(x)", {"_op": "-", "_ref": 502}, math.sqrt(sum((x - 500.5) ** 2 for x in range(1, 1001)) / 999)),
        ("var_samp(y)", {**REPLACED, "y": float("inf")}, math.nan),
        ("corr(x, y)", {**REPLACED, "x": 500, "y": None}, 1.0),
        ("covar_pop(x, x)", {**REPLACED, "x": None}, sum((x - 500.5) ** 2 for x in range(1, 1001)) / 999),
    ],
)
def test_what_cannot_be_taken_away_is_asked_for(database: Any, aggregate: str, row: Any, answer: Any) -> None:
    fill(database, f"SELECT {aggregate} AS m FROM {WINDOW}")
    before = len(database.query("q").to_arrow())
    works_of(database, row)
    if answer is None:
        assert len(database.query("q").to_arrow()) == before
    else:
        assert rows_of(database)[-1]["m"] == pytest.approx(answer, rel=1e-6, nan_ok=True)


def test_a_huge_number_that_goes_again_leaves_no_trace(database: Any) -> None:
    fill(database, f"SELECT sum(y) AS total FROM {WINDOW}")
    works_of(database, {**REPLACED, "y": 1e300})
    works_of(database, {**REPLACED, "y": 250.0})
    assert rows_of(database)[-1]["total"] == sum(t / 2 for t in range(1, TUPLES + 1))


def test_equal_values_do_not_vary_at_all(database: Any) -> None:
    """Whatever the last digit of their mean is."""
    fill(database, f"SELECT stddev(y) AS m, corr(x, y) AS c FROM {WINDOW} WHERE x < 8")
    for index in range(2, 10):
        works_of(database, {"_op": "=", "_ref": index, "t": index - 1, "k": "a", "x": index - 1, "y": 0.1})
    assert rows_of(database)[-1] == {"_diff": 1, "m": 0.0, "c": None}


@pytest.mark.parametrize(
    "loop", ["t = 999; t < 5000; t += 1000", "t = 1999; t > 0; t -= 1000", "t = ST + 999; t < ST + 2000; t += 1000"]
)
def test_a_loop_is_corrected_from_slices(database: Any, loop: str) -> None:
    fill(database, f"SELECT sum(x) AS total FROM s for ({loop}) {{ WindowIs(s, t - 999, t); }}")
    read = tuples_read(works_of(database, REPLACED))
    assert rows_of(database)[-1]["total"] == sum(range(TUPLES)) + 1_000
    assert read == {database._core.engine.journal.state("s").segments[-1].path}


def test_what_has_passed_is_kept_by_a_query_that_looks_back(tmp_path: Path) -> None:
    """Slices are made of the past, so that corrections of it need no tuples."""
    with kernels_alone():
        db = eddyline.connect(str(tmp_path / "db"))
        db.sql(STREAM)
        db.stream("s").push(pa.table({"t": range(2500), "k": ["a"] * 2500, "x": [1] * 2500, "y": [0.0] * 2500}))
        db.flush()
        db.sql(f"CREATE QUERY q FROM HISTORY WITH (revisions = 'downstream') AS {SUMS}")
        db.flush()
        read = tuples_read(works_of(db, {**REPLACED, "x": 11}))
        assert rows_of(db)[-1] == {"_diff": 1, "total": TUPLES + 10, "n": TUPLES}
        assert read == {db._core.engine.journal.state("s").segments[-1].path}
        db.close()


@pytest.mark.parametrize("tuples", [100, 1_000, 10_000, 100_000])
def test_a_correction_reads_the_same_however_large_the_window(tmp_path: Path, tuples: int) -> None:
    """Counted in rows, of tuples and of slices. Each window is made of two slices."""
    with kernels_alone():
        db = eddyline.connect(str(tmp_path / "db"))
        db.sql("CREATE STREAM s (t INTEGER, x INTEGER, y DOUBLE) TIMESTAMP BY t")
        aggregates = "sum(x) AS a, avg(y) AS b, stddev(y) AS c, max(x) AS d, count(DISTINCT x % 5) AS e"
        window = "[FROM NOW-99 TO NOW SLIDE 50 SEC]"
        db.sql(f"CREATE QUERY q WITH (revisions = 'downstream') AS SELECT {aggregates} FROM s {window}")
        ticks = [tick for tick in range(250) for _ in range(tuples // 100)]
        numbers = range(len(ticks))
        db.stream("s").push(pa.table({"t": ticks, "x": numbers, "y": [float(n % 97) for n in numbers]}))
        db.flush()
        kept = db._core.engine.executor.results.stages["q/slices"].segments
        middle = len(ticks) // 2
        opened = files_opened(db, {"_op": "=", "_ref": middle, "t": ticks[middle - 1], "x": middle - 6, "y": 1.5})
        said = rows_of(db)
        assert len(said) == 4 and said[-1]["c"] is not None  # two windows, old and new
        segments = (*db._core.engine.journal.state("s").segments, *kept)
        rows = {segment.path: segment.rows for segment in segments}
        # the old and the new tuple, and five rows for each of five slices; each is read by both stages at most
        assert sum(rows.get(path, 0) for path in opened) <= 2 * (2 + 5 * 5)
        db.close()


def test_a_group_goes_with_its_last_tuple(database: Any) -> None:
    fill(database, f"SELECT k, count(*) AS n FROM {WINDOW} WHERE x = 7 GROUP BY k")
    works_of(database, {"_op": "-", "_ref": 8})
    assert rows_of(database) == [{"_diff": -1, "k": "b", "n": 1}]


def test_a_query_that_comes_later_counts_from_then_on(database: Any) -> None:
    """Windows that hold tuples from before are corrected from their tuples, later ones from slices."""
    database.stream("s").push([{"t": t, "k": "a", "x": 1, "y": 0.0} for t in range(1, 700)])
    database.flush()
    database.sql(f"CREATE QUERY q WITH (revisions = 'downstream') AS {SUMS}")
    database.stream("s").push([{"t": t, "k": "a", "x": 1, "y": 0.0} for t in range(700, 2_500)])
    database.flush()
    for index in (5, 800, 1_500):
        works_of(database, {"_op": "=", "_ref": index, "t": index, "k": "a", "x": 11, "y": 0.0})
    totals = {}
    for row in database.query("q").to_arrow().to_pylist():
        if row["_diff"] > 0 and row["total"] is not None:
            totals[row["_tick"]] = row["total"]
    assert totals == {1_000: 1_000 + 20, 2_000: 1_000 + 10}


def test_members_of_a_class_keep_slices_together(database: Any) -> None:
    for least in (0, 100, 200):
        text = f"SELECT sum(x) AS total, count(*) AS n FROM {WINDOW} WHERE x >= {least}"
        database.sql(f"CREATE QUERY q{least} WITH (revisions = 'downstream') AS {text}")
    database.sql(f"CREATE QUERY other AS SELECT sum(x) AS total, count(*) AS n FROM {WINDOW} WHERE x >= 300")
    fill(database, SUMS)
    works = works_of(database, REPLACED)
    kept = {name for name in database._core.engine.executor.results.stages if name.endswith(SLICES)}
    assert kept == {"q0/slices", "~class1/slices"}  # the first of a shape stands for itself
    read = tuples_read([work for work in works if work.stage == "~class1"])
    assert read == {database._core.engine.journal.state("s").segments[-1].path}
    last = {name: database.query(name).to_arrow().to_pylist()[-1]["total"] for name in ("q100", "q200", "other")}
    whole = sum(range(1, TUPLES + 1)) + 1_000
    assert last == {"q100": whole - sum(range(100)), "q200": whole - sum(range(200)), "other": whole - sum(range(300))}


@pytest.mark.parametrize(
    "query, reason",
    [
        (f"SELECT median(x) AS m FROM {WINDOW}", "median needs all of its tuples"),
        (f"SELECT first(x) AS m FROM {WINDOW}", "first needs all of its tuples"),
        (
            f"SELECT count(DISTINCT x) AS m, count(DISTINCT k) AS n FROM {WINDOW}",
            "the DISTINCT values of several expressions need all of its tuples",
        ),
        (
            f"SELECT sum(CAST(x AS DECIMAL(30, 2))) AS m FROM {WINDOW}",
            "a sum of DECIMAL(30, 2) may overflow on the way",
        ),
        (f"SELECT x FROM {WINDOW}", "it is not an aggregation over one stream"),
        (f"SELECT sum(x) FILTER (WHERE wtime(*) > 5) AS m FROM {WINDOW}", "it depends on the window's own time"),
        (
            "SELECT sum(x) AS m FROM s [FROM NOW-3 TO NOW SLIDE 2 ROWS]",
            "a tuple that comes or goes moves the windows of rows behind it",
        ),
        (
            "SELECT sum(x) AS m FROM s [RANGE 5 SEC]",
            "a relation of CQL has an answer at every tick where a tuple enters or leaves",
        ),
        (
            f"SELECT sum(s.x) AS m FROM {WINDOW}, {WINDOW} AS r WHERE s.x = r.x",
            "which pairs a joined tuple is in, only the tuples themselves tell",
        ),
        (
            "SELECT sum(x) AS m FROM s for (t = 1; t < 99; t *= 2) { WindowIs(s, 0, t); }",
            "the windows of its loop begin and end anywhere",
        ),
    ],
)
def test_what_cannot_be_corrected_downstream_says_why(database: Any, query: str, reason: str) -> None:
    database.sql(f"CREATE QUERY q WITH (revisions = 'downstream') AS {query}")
    (standing,) = database._core.engine.executor.queries()
    assert all(stage.kind != SLICES for stage in standing.stages)
    assert correctable_or_reason(standing.stages[-1].plan) == reason


def test_there_is_no_fourth_way(database: Any) -> None:
    with pytest.raises(eddyline.EddylineError, match="revisions is 'auto', 'upstream' or 'downstream', not 'sideways'"):
        database.sql(f"CREATE QUERY q WITH (revisions = 'sideways') AS {SUMS}")


def test_slices_go_when_nobody_can_need_them(tmp_path: Path) -> None:
    """With RETAIN, what is kept stops growing; what is left still corrects."""
    pace = Pace(batches=2, behind=1, neighbours=2, small=100_000, grace=0.0, aside=False)
    with kernels_alone():
        db = eddyline.connect(str(tmp_path / "db"), pace=pace)
        db.sql(f"{STREAM} RETAIN 20")
        db.sql(
            "CREATE QUERY q WITH (revisions = 'downstream') AS "
            "SELECT sum(x) AS total FROM s [FROM NOW-9 TO NOW SLIDE 5 SEC]"
        )
        sizes = []
        for tick in range(1, 121):
            db.stream("s").push([{"t": tick, "k": "a", "x": tick, "y": 0.0}])
            db.flush()
            kept = db._core.engine.executor.results.stages["q/slices"].segments
            sizes.append(sum(segment.rows for segment in kept))
        assert max(sizes[60:]) <= max(sizes[:60])
        works_of(db, {"_op": "=", "_ref": 112, "t": 112, "k": "a", "x": 1_112, "y": 0.0})
        assert rows_of(db)[-1]["total"] == sum(range(106, 116)) + 1_000
        db.close()


def test_the_example_of_borealis(database: Any) -> None:
    """Section 3.1: the 1:40 sum goes from 80 to 77 and the 2:00 sum from 62 to 59, without a look at other tuples."""
    database.sql("CREATE STREAM quotes (symbol STRING, price INTEGER, minute INTEGER) TIMESTAMP BY minute")
    database.sql(
        "CREATE QUERY q WITH (revisions = 'downstream') AS SELECT SUM(price) AS total "
        "FROM quotes [RANGE BY '30 seconds' SLIDE BY '20 seconds' START AT 100] WHERE symbol = 'IBM'"
    )
    prices = [("IBM", 20, 100), ("MSFT", 90, 100), ("IBM", 35, 110), ("MSFT", 91, 120), ("IBM", 25, 120)]
    database.stream("quotes").push([*prices, ("IBM", 17, 130), ("IBM", 20, 140), ("IBM", 30, 150)])
    database.flush()
    works: list[Work] = []

    def seen(spark: object, given: list[Work]) -> list[Any]:
        works.extend(given)
        return list(done(given))

    with patch("eddyline.spark.batch_work.run", seen):
        database.stream("quotes").push([{"_op": "=", "_ref": 5, "symbol": "IBM", "price": 22, "minute": 120}])
        database.flush()
    assert sorted((row["_diff"], row["total"]) for row in rows_of(database)) == [(-1, 62), (-1, 80), (1, 59), (1, 77)]
    assert tuples_read(works) == {database._core.engine.journal.state("quotes").segments[-1].path}
