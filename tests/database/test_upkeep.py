"""Logs that are folded, merged and cut off all the time, while queries answer, correct and are read."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline import testing
from eddyline.database.reader import ResultReader
from eddyline.log.answers import python_rows
from eddyline.log.storage import Storage
from eddyline.log.upkeep import Pace

#: everything as often as possible; files go two folds after nothing refers to them
BUSY = Pace(batches=3, behind=1, neighbours=2, small=1_000_000, grace=0.0)
NEVER = Pace(batches=10**9)
SETUP = """
CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t RETAIN 40;
CREATE QUERY odd AS SELECT x FROM s WHERE x % 2 = 1;
CREATE QUERY nested AS SELECT SUM(m) AS total FROM (RSTREAM(SELECT MAX(x) AS m FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC]))
  AS v [FROM NOW-19 TO NOW SLIDE 20 SEC];
"""
QUERIES = ("odd", "nested")
STEPS = 20


def push(db: eddyline.Database, step: int) -> None:
    """New tuples; now and then late ones, corrections and deletions, none of a tick more than 40 before the latest."""
    at = 10 * step
    db.stream("s").push([(step, at), (step + 1, at + 1), (7, max(0, at - 30) if step % 5 == 4 else at)])
    if step % 4 == 3:
        db.stream("s").update(3 * step - 4, x=step + 1, t=at - 5)
    if step % 6 == 5:
        db.stream("s").delete(3 * step - 2)


def answers_of(db: eddyline.Database) -> dict[str, Any]:
    return {name: python_rows(db.query(name).columns, db.query(name).current()) for name in QUERIES}


def test_answers_cursors_and_restarts_know_nothing_of_upkeep(spark: Any, tmp_path: Path) -> None:
    with testing.database(master="local[2]", pace=NEVER) as quiet:
        quiet.sql(SETUP)
        for step in range(STEPS):
            push(quiet, step)
        quiet.flush()  # what stands does not depend on how the rows are cut into batches
        quiet.sql("UPDATE s SET x = x + 2 WHERE x = 7 AND t > 150")
        quiet.flush()
        wanted = answers_of(quiet)

    path = tmp_path / "db"
    outsider = ResultReader(Storage(str(path)))  # as `eddyline results --follow`: it looks only now and then
    cursors = dict.fromkeys(QUERIES, -1)
    live: dict[str, list[Any]] = {name: [] for name in QUERIES}
    for first, last in ((0, 9), (9, STEPS)):  # stopped in between
        with eddyline.connect(path, master="local[2]", heartbeat=None, clock=lambda: 0, pace=BUSY) as db:
            if first == 0:
                db.sql(SETUP)
            for step in range(first, last):
                push(db, step)
                db.flush()
                for name in QUERIES:
                    handle = db.query(name, since=cursors[name])
                    live[name] += handle.fetch()
                    cursors[name] = handle.cursor
            if last == STEPS:
                db.sql("UPDATE s SET x = x + 2 WHERE x = 7 AND t > 150")
                db.flush()
                for name in QUERIES:
                    live[name] += db.query(name, since=cursors[name]).fetch()
            assert outsider.refresh() >= 0
            engine = db._core.engine
            assert len(engine.journal.entries) < 40 and engine.journal.base.number > 0
            assert outsider.segments("odd")
            records = [name for name in engine.storage.names("batches") if name[0].isdigit()]
            assert len(records) < 12
            if last == STEPS:
                assert answers_of(db) == wanted
                everything = {name: db.query(name).fetch() for name in QUERIES}
                assert live == everything
                oldest = min(segment.tick[0] for segment in engine.journal.state("s").segments)
                assert oldest > 0  # what nobody can need is gone
                inner = engine.executor.results.stages["nested/1"].segments
                assert min(segment.tick[0] for segment in inner) > 0
                odd = db.query("odd")
                rest = odd.to_arrow(since=8)
                assert rest.num_rows == odd.to_spark(since=8).count() > 0
                assert min(rest.column("_batch").to_pylist()) > 8
                reading = odd._query.record.reading
                told = [list(outsider.answers("odd", reading, since)) for since in (-1, 8)]
                assert told[0] == everything["odd"] and told[1] and told[1] == told[0][-len(told[1]) :]
    merged = [name for name, _ in Storage(str(path)).files_below("results") if "merged-" in name]
    assert merged


def test_readers_go_on_while_files_go_away(spark: Any) -> None:
    """Somebody reads everything again and again while segments are merged and deleted."""
    with testing.database(master="local[2]", pace=BUSY) as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t; CREATE QUERY all AS SELECT x FROM s")
        counts: list[int] = []
        trouble: list[BaseException] = []
        stop = threading.Event()

        def read() -> None:
            try:
                while not stop.is_set():
                    rows = [answer.row[0] for answer in db.query("all").fetch()]
                    assert rows == list(range(len(rows)))
                    current = python_rows(["x"], db.query("all").current())
                    assert current == [(x,) for x in range(len(current))] and len(current) >= len(rows)
                    counts.append(len(rows))
            except BaseException as problem:
                trouble.append(problem)

        reader = threading.Thread(target=read)
        reader.start()
        for step in range(24):
            db.stream("s").push([(step, step)])
            db.flush()
        stop.set()
        reader.join(60)
        assert not trouble and counts[-1] > counts[0]
        assert [answer.row for answer in db.query("all").fetch()] == [(x,) for x in range(24)]


def test_what_another_thread_reads_meanwhile_is_not_given_twice(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with testing.database(master="local[2]") as db:
        db.sql("CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t; CREATE QUERY all AS SELECT x FROM s")
        db.stream("s").push([(0, 0)])
        db.flush()
        handle, reader = db.query("all"), db._core.reader
        refresh = reader.refresh

        def overtaken() -> int:
            last = refresh()
            monkeypatch.undo()
            db.stream("s").push([(1, 1)])
            db.flush()
            refresh()  # the other thread
            return last

        monkeypatch.setattr(reader, "refresh", overtaken)
        assert [answer.row for answer in handle.fetch()] == [(0,)]
        assert [answer.row for answer in handle.fetch()] == [(1,)]
