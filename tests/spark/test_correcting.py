"""Queries that leave it to us how they are corrected: slices come when they pay, and go when they do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import eddyline
from eddyline.kernels.task import Reference, Work, done
from eddyline.spark.correcting import UPSTREAM_ONLY, Choice, Corrections, Outlook
from eddyline.spark.costs import Line
from eddyline.spark.evaluate.tuples import tuples
from eddyline.spark.explain import Question, corrections_of
from eddyline.spark.spans import LOW
from laws.without_spark import kernels_alone

STREAM = "CREATE STREAM s (t INTEGER, k INTEGER, x INTEGER) TIMESTAMP BY t"
WINDOW = 1_000
QUERY = f"SELECT sum(x) AS total FROM s [FROM NOW-{WINDOW - 1} TO NOW SLIDE {WINDOW} SEC]"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Any]:
    with kernels_alone():
        db = eddyline.connect(str(tmp_path / "db"))
        db.sql(STREAM)
        yield db
        db.close()


def push(db: Any, first: int, count: int = WINDOW) -> None:
    ticks = pa.array(range(first, first + count), pa.int32())
    db.stream("s").push(pa.table({"t": ticks, "k": ticks, "x": ticks}))
    db.flush()


def correct(db: Any, index: int, seconds: float, keeping: float = 0.001) -> None:
    """Correct a tuple; from tuples that takes so long."""

    def timed(spark: object, works: list[Work]) -> list[Reference]:
        found = []
        for work in works:
            tuples = any(path.startswith("streams/") for paths in work.files.values() for path in paths)
            took = keeping if work.stage.endswith("/slices") else seconds if tuples else 0.001
            found += [r for r in done([work]) if not r.seconds] + [Reference(work.stage, None, seconds=took, cpu=took)]
        return found

    with patch("eddyline.spark.batch_work.run", timed):
        db.stream("s").push([{"_op": "=", "_ref": index, "t": index, "k": 0, "x": 0}])
        db.flush()


def kept(db: Any) -> Any:
    found = db._core.engine.executor.results.stages.get("q/slices")
    return None if found is None or found.start is None else found


def told(db: Any) -> str:
    """What EXPLAIN says about corrections; the rest of it needs Spark."""
    query = db._core.definitions.standing("q").query
    question = Question("q", query.plan, query.columns, revisions=query.revisions)
    return "\n".join(corrections_of(db._core.engine, question))


def test_nothing_is_kept_while_nothing_is_corrected(database: Any) -> None:
    database.sql(f"CREATE QUERY q AS {QUERY}")
    asked: list[str] = []
    choose = Corrections.choose
    with patch.object(Corrections, "choose", lambda self, *given: (asked.append("asked"), choose(self, *given))[1]):
        for first in range(1, 6 * WINDOW, WINDOW):
            push(database, first)
    assert not asked
    assert "q/slices" not in database._core.engine.executor.results.stages


def test_slices_come_when_corrections_are_dear_and_go_when_they_cease(database: Any) -> None:
    database.sql(f"CREATE QUERY q AS {QUERY}")
    for first in range(1, 3 * WINDOW, WINDOW):
        push(database, first)
    for index in range(1, 8):
        correct(database, index, seconds=0.5)
        if kept(database):
            break
    assert kept(database), "they do not come"
    assert "corrected downstream for now, from slices of all ticks" in told(database)
    last = kept(database).segments
    correct(database, 11, seconds=0.5)
    assert kept(database).segments[: len(last)] == last  # what was kept stays, and more comes
    for first in range(3 * WINDOW + 1, 60 * WINDOW, WINDOW):
        push(database, first)
        if not kept(database):
            break
    assert not kept(database), "they do not go"
    assert "corrected upstream for now" in told(database)
    assert not database._core.engine.executor.results.stages["q/slices"].segments
    correct(database, 20, seconds=0.5)
    totals = {row["_tick"]: row["total"] for row in database.query("q").to_arrow().to_pylist() if row["_diff"] > 0}
    gone = sum(range(1, 21)) - sum(n for n in range(1, 21) if n not in {*range(1, index + 1), 11, 20})
    assert totals[WINDOW] == WINDOW * (WINDOW + 1) // 2 - gone


def test_cheap_corrections_are_not_worth_slices(database: Any) -> None:
    database.sql(f"CREATE QUERY q AS {QUERY}")
    push(database, 1, 3 * WINDOW)
    for index in range(1, 12):
        correct(database, index, seconds=0.0005, keeping=0.01)
    assert not kept(database)


def test_what_is_kept_outlasts_a_restart(tmp_path: Path) -> None:
    with kernels_alone():
        db = eddyline.connect(str(tmp_path / "db"))
        db.sql(STREAM)
        db.sql(f"CREATE QUERY q AS {QUERY}")
        push(db, 1, 3 * WINDOW)
        for index in range(1, 10):
            correct(db, index, seconds=0.5)
        before = kept(db)
        db.close()
        db = eddyline.connect(str(tmp_path / "db"))
        assert kept(db) == before
        correct(db, 20, seconds=0.5)
        row = db.query("q").to_arrow().to_pylist()[-1]
        assert row["total"] == WINDOW * (WINDOW + 1) // 2 - sum(range(1, 10)) - 20
        db.close()


def test_a_query_that_cannot_says_why(database: Any) -> None:
    database.sql(f"CREATE QUERY q AS SELECT median(x) AS m FROM s [FROM NOW-{WINDOW} TO NOW SLIDE {WINDOW} SEC]")
    text = told(database)
    assert "corrected upstream" in text and "downstream is not possible: median needs all of its tuples" in text
    assert f"a correction can need {WINDOW:,} ticks of history" in text


@pytest.mark.parametrize(("window", "depends"), [("[ROWS 1]", True), ("[FROM NOW-1 TO NOW SLIDE 1 SEC]", False)])
def test_explain_tells_what_the_batches_decide(database: Any, window: str, depends: bool) -> None:
    inner = f"RSTREAM(SELECT SUM(x) AS n FROM s [FROM NOW-{WINDOW} TO NOW SLIDE {WINDOW} SEC])"
    database.sql(f"CREATE QUERY q AS SELECT n FROM ({inner}) {window} AS i")
    assert ("that depends on the batches" in told(database)) == depends


# -- several windows of one batch -------------------------------------------------------------------------------------


def test_upstream_reads_the_tuples_of_touched_windows_and_no_others(database: Any) -> None:
    """Of 40 windows three are touched that are far apart: what is read is what these hold."""
    database.sql(f"CREATE QUERY q WITH (revisions = 'upstream') AS {QUERY}")
    for first in range(1, 40 * WINDOW, WINDOW):
        push(database, first)
    works: list[Work] = []

    def seen(spark: object, given: list[Work]) -> list[Any]:
        works.extend(given)
        return list(done(given))

    touched = (2, 17, 33)
    asking = patch("eddyline.spark.evaluate.timed.tuples", wraps=tuples)
    with patch("eddyline.spark.batch_work.run", seen), asking as asked:
        rows = [{"_op": "=", "_ref": n * WINDOW + 5, "t": n * WINDOW + 5, "k": 0, "x": 0} for n in touched]
        database.stream("s").push(rows)
        database.flush()
    segments = {segment.path: segment for segment in database._core.engine.journal.state("s").segments}
    read = {path for work in works for paths in work.files.values() for path in paths if path in segments}
    plain = [segments[path] for path in read if not segments[path].minus]
    assert sorted(segment.tick[0] // WINDOW for segment in plain) == list(touched)
    assert sum(segment.rows for segment in plain) == len(touched) * WINDOW
    # … and within a file, those of the windows alone
    (call,) = asked.call_args_list
    assert call.args[2].parts == tuple((n * WINDOW + 1, (n + 1) * WINDOW) for n in touched)


# -- costs ------------------------------------------------------------------------------------------------------------


def test_a_line_follows_what_it_sees() -> None:
    line = Line((0.01, 1e-7))
    for _ in range(30):
        line.took(1_000_000, 0.5)
        line.took(1_000, 0.02)
    assert line.seconds(1_000_000) == pytest.approx(0.5, rel=0.05)
    assert line.seconds(1_000) == pytest.approx(0.02, rel=0.3)
    line.took(1_000, 60.0)  # the machine was busy with something else
    assert line.seconds(1_000) < 0.1


def test_a_work_over_nothing_teaches_something_too() -> None:
    """Works that take longer and longer leave nothing for the work as such; a new query begins with that."""
    corrections = Corrections()
    for rows, seconds in ((5e6, 5.0), (1e6, 0.2)) * 5:
        corrections.spent("p", outlook(tuples=rows), UPSTREAM_ONLY, seconds, 0.0)
    nothing = outlook(tuples=0.0)
    corrections.spent("q", nothing, corrections.choose("q", nothing), 0.001, 0.0)
    assert "from tuples it takes" in corrections.told("q")


def outlook(**given: Any) -> Outlook:
    return Outlook(**{"tuples": 1e6, "fresh": 100, "reach": 500, "closed": 1_000, "bottom": 0, "passed": 1e6, **given})


def test_slices_go_as_far_back_as_corrections_have() -> None:
    corrections = Corrections()
    found = [corrections.choose("q", outlook(reach=reach, slices=10)) for reach in (900, *[100] * 20)]
    begun = next(choice for choice in found if choice.keeps)
    assert begun.anew is not None and begun.anew < 500, "the first is forgotten"
    assert corrections.choose("p", outlook(point=2_000)) == Choice(keeps=True, anew=LOW)


def test_a_connection_point_wants_slices_at_once_and_for_as_long_as_it_is_there() -> None:
    corrections = Corrections()
    begun = corrections.choose("q", outlook(reach=0, tuples=0, passed=0, point=300))
    assert begun == Choice(keeps=True, anew=700)
    for _ in range(100):
        assert corrections.choose("q", outlook(reach=0, tuples=0, passed=0, point=300, first=700)).keeps
    choices = [corrections.choose("q", outlook(reach=0, tuples=0, passed=0, first=700)) for _ in range(100)]
    assert not choices[-1].keeps


def test_each_batch_takes_the_cheaper_way() -> None:
    corrections = Corrections()
    many = corrections.choose("q", outlook(first=LOW, tuples=10, slices=1e6))
    few = corrections.choose("q", outlook(first=LOW, tuples=1e6, slices=10))
    assert (many.from_slices, few.from_slices) == (False, True)


def story(imagined: int, really: int, before: int) -> list[Choice]:
    """Sixty batches with corrections, each a fifth of a second from tuples and two seconds from slices."""
    corrections, choices = Corrections(), []
    kept = False
    for _ in range(60):
        now = {"slices": really, "before": before, "first": 400} if kept else {"slices": imagined}
        seen = outlook(tuples=100_000, passed=100_000, imagined=imagined, **now)
        choices.append(choice := corrections.choose("q", seen))
        corrections.spent("q", seen, choice, 2.0 if choice.from_slices else 0.2, 0.01 if choice.keeps else 0.0)
        kept = choice.keeps
    return choices


@pytest.mark.parametrize("before", [0, 10])
def test_slices_that_cost_more_than_tuples_are_found_out(before: int) -> None:
    """Also if they do not reach back far enough, and though there are more of them than one would have thought."""
    choices = story(imagined=1_000, really=60_000, before=before)
    assert any(choice.from_slices for choice in choices), "they are not even tried"
    assert sum(choice.from_slices for choice in choices) < 9
    assert not any(choice.keeps for choice in choices[30:]), "what was learned is forgotten"


def test_what_is_slow_either_way_is_tried_once() -> None:
    assert sum(choice.anew is not None for choice in story(imagined=90_000, really=90_000, before=0)) == 1


def tries(*, tuples_later: float, slices_later: float) -> int:
    """How often slices are begun that cost half as much again as tuples, if both change after thirty of 120 batches."""
    corrections, begun, kept = Corrections(), 0, False
    for batch in range(120):
        now = {"slices": 30_000, "first": LOW} if kept else {"slices": 30_000}
        seen = outlook(tuples=100_000, passed=100_000, imagined=30_000, **now)
        choice = corrections.choose("q", seen)
        slower = (slices_later if choice.from_slices else tuples_later) if batch >= 30 else 1.0
        answering = slower * (0.3 if choice.from_slices else 0.2)
        corrections.spent("q", seen, choice, answering, 0.01 if choice.keeps else 0.0)
        begun, kept = begun + (choice.anew is not None), choice.keeps
    return begun


def test_a_machine_that_slows_down_is_no_reason_to_try_again() -> None:
    assert tries(tuples_later=1.0, slices_later=1.0) == 1
    assert tries(tuples_later=1.8, slices_later=1.8) == 1
    assert tries(tuples_later=6.0, slices_later=1.0) == 2, "a way that becomes dear by itself is"


def test_works_of_one_size_do_not_make_rows_free() -> None:
    line = Line((0.01, 1e-6))
    for seconds in (0.21, 0.22, 0.2, 0.21):  # the more rows, the less time, by chance
        line.took(10_000 + 50 * seconds, seconds)
    assert line.seconds(10_000) == pytest.approx(0.21, rel=0.05)
    assert line.seconds(20_000) > 1.3 * line.seconds(10_000)
