"""Whatever is folded, merged, cut off and deleted: the logs say the same, also if the process ends in between."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eddyline.log.journal import Journal, Tail
from eddyline.log.results import Position, ResultLog
from eddyline.log.storage import Storage
from eddyline.log.sweeping import Sweeper, Wanted
from eddyline.log.upkeep import Pace
from log.small_engine import BUSY, Crash, Faulty, SmallEngine, contents, files, result_rows, rows_of_push, run

NEVER = Pace(batches=10**9)
PUSHES = 9
RETAIN = 40
#: log and batch of files that nothing refers to; the lane of `slow` began in batch 5
OF_LANES = (("slow", 4), ("slow", 6), ("fast", 6))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here pulls the plug of the machine."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def engine(path: Path, pace: Pace = BUSY, retain: int | None = None) -> SmallEngine:
    return SmallEngine(Storage(str(path)), pace, retain)


def undisturbed(path: Path, since: int = -(2**62), pushes: int = PUSHES) -> dict[str, Any]:
    quiet = engine(path, NEVER)
    run(quiet, pushes)
    return contents(quiet, since)


def test_few_files_say_the_same_as_many(tmp_path: Path) -> None:
    wanted = undisturbed(tmp_path / "quiet", pushes=20)
    busy = engine(tmp_path / "busy")
    run(busy, 20)
    assert contents(busy) == wanted and busy.trouble == []
    assert contents(engine(tmp_path / "busy")) == wanted  # read from disk
    assert len(busy.read.entries) <= 4 and len(busy.written.entries) <= 4
    assert any("merged-" in segment.path for segment in busy.written.state("road").segments)
    assert any("merged-" in segment.path for segment in busy.results.stages["q"].segments)
    assert len(busy.written.state("road").segments) <= 10
    assert len(busy.results.stages["q"].segments) <= 10


def test_the_number_of_files_levels_off(tmp_path: Path) -> None:
    busy = engine(tmp_path, replace(BUSY, neighbours=4), RETAIN)
    run(busy, 20)
    before = [len(files(busy)), len(busy.read.entries), len(busy.written.state("road").segments)]
    run(busy, 100)
    after = [len(files(busy)), len(busy.read.entries), len(busy.written.state("road").segments)]
    assert all(now <= 2 * was for now, was in zip(after, before, strict=True)), (before, after)


@pytest.mark.parametrize(
    ("how", "retain"),
    [
        ("before", None),
        ("after", RETAIN),
        ("mended", RETAIN),
        pytest.param("before", RETAIN, marks=pytest.mark.long),
        pytest.param("after", None, marks=pytest.mark.long),
        pytest.param("mended", None, marks=pytest.mark.long),
    ],
)
def test_a_crash_at_any_change_loses_and_doubles_nothing(tmp_path: Path, how: str, retain: int | None) -> None:
    """A stream that is cut off has at least what its horizon promises; everything else is the same to the last row."""
    since = -(2**62) if retain is None else 10 * (PUSHES - 1) + 2 - retain
    wanted = undisturbed(tmp_path / "quiet", since)
    at, crashed = 0, True
    while crashed:
        at += 1
        path = tmp_path / str(at)
        faulty = Faulty(str(path), at, how)
        first = None
        try:
            first = SmallEngine(faulty, BUSY, retain)
            run(first, PUSHES, patient=how == "mended")
            assert contents(first, since) == wanted, at
        except Crash:
            pass
        crashed = faulty.left <= 0
        again = engine(path, BUSY, retain)
        # what was acknowledged is there: it is not pushed again
        assert first is None or (again.pushes >= first.pushes and again.results.last.batch == again.log.committed()), at
        run(again, PUSHES)
        assert contents(again, since) == wanted and again.trouble == [], at
        assert result_rows(again, ResultLog(again.storage).load()) == wanted["answers"], at
        if at % 5 == 0:
            assert strangers(again) == set(), at
    assert at > 60  # the plan of this test is to fail everywhere


def strangers(small: SmallEngine) -> set[str]:
    """Files that nothing refers to once the engine is opened again, when there is nobody to wait for."""
    again = engine(Path(small.storage.root), NEVER)
    again.upkeep.between_batches(again.log.committed())
    known = {s.path for s in [*again.read.state("road").segments, *again.results.stages["q"].segments]}
    return {name for name, _ in again.storage.files_below("") if name.startswith(("streams", "results"))} - known


def test_nothing_is_folded_that_spark_may_run_again(tmp_path: Path) -> None:
    small = engine(tmp_path, replace(BUSY, behind=0, batches=1))
    run(small, 9)
    small.push(rows_of_push(9), 10)
    batch, entry = small.log.committed() + 1, small.written.number
    for _ in range(3):  # processed, but never committed
        small.process(batch, entry)
        assert small.read.base.number < entry
        assert [e.number for e in Tail(small.storage).after(entry - 1)] == [entry]
        small.results = ResultLog(small.storage).load()
        assert small.results.last.batch == batch - 1


def test_a_reader_finds_what_is_folded_while_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = engine(tmp_path, NEVER)
    run(small, 12)
    reader = ResultLog(small.storage)
    busy = engine(tmp_path, BUSY)
    records = reader._records
    folded: list[int] = []

    def slowly(after: int, upto: int) -> Any:
        """A snapshot is written and records go just when the reader has begun to read them."""
        for record in records(after, upto):
            if not folded and record.batch == 3:
                folded.append(record.batch)
                busy.upkeep.fold(8)
            yield record

    monkeypatch.setattr(reader, "_records", slowly)
    assert result_rows(small, reader.load()) == result_rows(small, small.results) and folded


def test_a_tail_reads_on_and_forgets(tmp_path: Path) -> None:
    small = engine(tmp_path, NEVER)
    tail = Tail(small.storage)
    assert list(tail.after(0)) == []
    run(small, 6)
    assert [entry.number for entry in tail.after(0, 4)] == [1, 2, 3, 4]
    assert [entry.number for entry in tail.after(4)] == [5, 6]
    assert [entry.number for entry in tail._entries] == [5, 6]
    assert [entry.number for entry in tail.after(2, 5)] == [3, 4, 5]  # Spark asks again for what it had before
    assert list(tail.after(6)) == [] and tail._entries == []


def test_counters_outlast_what_they_counted(tmp_path: Path) -> None:
    small = engine(tmp_path, BUSY, retain=0)
    run(small, 20)
    oldest = min(segment.tick[0] for segment in small.written.state("road").segments)
    assert oldest > 100
    reopened = Journal(small.storage).state("road")
    assert (reopened.last_seq, reopened.last_index) == (
        small.written.state("road").last_seq,
        small.written.state("road").last_index,
    )
    small.push([{"_op": "=", "_ref": 1, "site": 1, "time": 1, "temp": 1}], 21)  # gone: set aside, not an error
    assert small.written.number == 21 and small.written.entries[-1].segments == {}


def test_files_of_a_lane_at_work_stay(tmp_path: Path) -> None:
    """They are named after the batch in which the lane began, and committed by a later one."""
    small = engine(tmp_path)
    run(small, 8)
    storage, hexed = small.storage, "0" * 32
    table = storage.read_table(small.written.state("road").segments[0].path)
    orphan, writing, other = (f"results/{log}/{batch:012d}-{hexed}.parquet" for log, batch in OF_LANES)
    for name in (orphan, writing, other):
        storage.write_table(name, table)
    wanted = Wanted((), 10, 20, lanes={"slow": 5})
    sweeper = Sweeper(storage, grace=0.0)
    for _ in range(3):
        sweeper.sweep(lambda: replace(wanted, paths={p for p, _ in storage.files_below("") if "/q/" in p}))
    assert [storage.exists(name) for name in (orphan, writing, other)] == [False, True, False]
    for _ in range(3):
        sweeper.sweep(lambda: replace(wanted, lanes={}))
    assert not storage.exists(writing)


def test_the_journal_is_folded_up_to_the_furthest_behind(tmp_path: Path) -> None:
    small = engine(tmp_path)
    run(small, 8)
    behind = Position(small.results.last.entry, None, None)
    small.standing.append("slow")
    small.late = {"slow": behind}
    run(small, 20)
    assert small.read.base.number == small.written.base.number == behind.entry
    assert ResultLog(small.storage).load().positions == {"slow": behind}
    small.late = {"slow": None}
    run(small, 30)
    assert small.read.base.number > 20 and ResultLog(small.storage).load().positions == {}


def test_a_dropped_query_leaves_nothing_behind(tmp_path: Path) -> None:
    small = engine(tmp_path)
    run(small, 8)
    assert small.storage.files_below("results/q")
    small.standing = []
    small.results.forget(["q"])
    run(small, 20)
    assert small.storage.files_below("results/q") == []
    assert "q" not in ResultLog(small.storage).base().stages


def test_what_may_be_about_to_be_committed_stays(tmp_path: Path) -> None:
    small = engine(tmp_path)
    run(small, 8)
    storage, batch, entry = small.storage, small.log.committed() + 1, small.written.number + 1
    table = storage.read_table(small.written.state("road").segments[0].path)
    hexed = "0" * 32
    coming = [f"results/q/{batch + 30:012d}-{hexed}.parquet", f"streams/road/{entry + 30:012d}r.parquet"]
    torn = [f"results/q/{batch - 1:012d}-{hexed}.parquet", "results/q/merged-0.parquet"]
    other = "results/q/notes.txt"
    for name in (*coming, *torn):
        storage.write_table(name, table)
    storage.write(other, b"mine")
    run(small, 16)
    assert [name for name in (*coming, *torn, other) if storage.exists(name)] == [*coming, other]
    again = engine(tmp_path)  # at the start nobody reads, so there is nothing to wait for
    storage.write_table(torn[1], table)
    again.upkeep.between_batches(again.log.committed())
    assert not storage.exists(torn[1])
