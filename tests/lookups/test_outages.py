"""Who is asked, and how often, while a service is away; and that what goes wrong among those who ask ends nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import eddyline
from eddyline.errors import StorageUnusable
from eddyline.log.results import StageResult
from eddyline.log.storage import Storage
from eddyline.spark.evaluate.asked import Waiting
from eddyline.spark.lookups.answers import Answers
from eddyline.spark.lookups.asking import Job, Lookups
from laws.without_spark import kernels_alone, one_batch

#: is closed for the keys below 0 as long as there is no file `open`
SERVICE = """
import pathlib
import pyarrow as pa

def find(keys):
    if min(keys.to_pylist()) < 0 and not (pathlib.Path({here!r}) / "open").exists():
        raise ConnectionError("closed")
    return pa.table({{"key": keys, "name": [f"p{{key}}" for key in keys.to_pylist()]}})
"""


class ByHand(Lookups):
    """Nothing is done before somebody says so."""

    def _poke(self) -> None:
        pass

    def rounds(self, count: int) -> None:
        for _ in range(count):
            for job in self._due()[0]:
                self._at(job)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Any]:
    with kernels_alone(lookups=ByHand):
        opened = eddyline.connect(tmp_path / "db", heartbeat=None, clock=lambda: 0)
        opened.sql("CREATE STREAM s (a INTEGER, t INTEGER) TIMESTAMP BY t")
        yield opened
        opened.close()


def define(db: Any, tmp_path: Path, options: str, name: str = "people") -> None:
    service = tmp_path / "service.py"
    service.write_text(SERVICE.format(here=str(tmp_path)))
    db.sql(
        f"CREATE TABLE {name} (key INTEGER, name STRING) USING lookup "
        f"OPTIONS (function '{service}:find', key 'key', {options});"
        f"CREATE QUERY of_{name} AS SELECT t, name FROM s, {name} WHERE s.a = {name}.key"
    )


def lookups_of(db: Any) -> Any:
    return db._core.engine.executor.lookups


def pushed(db: Any, *rows: tuple[int, int]) -> None:
    db.stream("s").push(list(rows))
    one_batch(db._core.engine)


def named(db: Any) -> list[Any]:
    return sorted(answer.row for answer in db.query("of_people").fetch())


def test_a_key_is_asked_for_again_while_others_of_its_file_fail(db: Any, tmp_path: Path) -> None:
    define(db, tmp_path, "batch 1, fresh '0 seconds'")
    with patch("eddyline.spark.lookups.asking.FIRST_PAUSE", 1000.0):
        pushed(db, (1, 1), (-2, 2))
        lookups_of(db).rounds(5)
        one_batch(db._core.engine)
        lookups_of(db).rounds(5)
        assert named(db) == [(1, "p1")]
        assert [group.keys.count for group in lookups_of(db)._tables["people"].groups] == [1]  # -2 is still on its way
        pushed(db, (1, 3), (-2, 4))  # by now, what was known of 1 is too old
        lookups_of(db).rounds(5)
        one_batch(db._core.engine)
        assert named(db) == [(1, "p1"), (3, "p1")]
        assert lookups_of(db)._tables["people"].costs.failures == 1  # -2 is not asked for beside itself


def test_groups_stay_large_while_nobody_is_there(db: Any, tmp_path: Path) -> None:
    define(db, tmp_path, "batch 128")
    keys = range(-512, 0)
    with patch("eddyline.spark.lookups.asking.FIRST_PAUSE", 0.0):
        pushed(db, *((key, 1000 + key) for key in keys))
        lookups_of(db).rounds(150)
        table = lookups_of(db)._tables["people"]
        assert table.costs.failures > 140
        assert len(table.groups) <= 32, len(table.groups)  # four, and those of three scouts
        assert min(group.keys.count for group in table.groups) == 1  # it was found out that it is not a single key
        (tmp_path / "open").touch()
        lookups_of(db).rounds(40)
    assert not table.groups and table.costs.calls <= 32
    one_batch(db._core.engine)
    assert named(db) == [(1000 + key, f"p{key}") for key in keys]


def test_the_scheduler_outlives_what_goes_wrong(tmp_path: Path) -> None:
    told, done = list[str](), threading.Event()

    class Troubled(Lookups):
        looked = started = 0

        def _due(self) -> tuple[list[Job], float | None]:
            self.looked += 1
            if self.looked == 1:
                raise MemoryError("there is no room")
            self._at_work += self.looked == 2
            return [done.set] if self.looked == 2 else [], None

        def _start(self, job: Job) -> None:
            self.started += 1
            if self.started == 1:
                raise RuntimeError("can't start new thread")
            super()._start(job)

    with patch("eddyline.spark.lookups.asking._FIND_AGAIN", 0.01):
        lookups = Troubled(None, Storage(str(tmp_path)), on_trouble=told.append)
        lookups._poke()
        assert done.wait(20)
        lookups.stop()
    assert lookups._at_work == 0  # the slot is free again
    assert "there is no room" in told[0] and "can't start new thread" in told[1] and len(told) == 2, told


def test_trouble_with_one_table_does_not_keep_others(db: Any, tmp_path: Path) -> None:
    define(db, tmp_path, "batch 10", "others")
    define(db, tmp_path, "batch 10")
    pushed(db, (1, 1))
    with patch.object(lookups_of(db)._tables["others"], "mergeable", side_effect=ValueError("odd")):
        lookups_of(db).rounds(4)
    one_batch(db._core.engine)
    assert named(db) == [(1, "p1")]
    assert sum("look-ups at others: odd" in warning for warning in db._core.warnings) == 1


def test_who_cannot_write_what_is_known_gives_up_at_the_end(db: Any, tmp_path: Path) -> None:
    define(db, tmp_path, "batch 10")
    lookups = lookups_of(db)
    table = lookups._tables["people"]
    table.known = table.known.with_piece("old.parquet", 1, asked=0.0)
    raised = list[Exception]()

    def known() -> None:
        try:
            lookups.known()
        except StorageUnusable as problem:
            raised.append(problem)

    with patch.object(Storage, "write_json", side_effect=StorageUnusable("the disk is full")):
        thread = threading.Thread(target=known, daemon=True)
        thread.start()
        time.sleep(0.1)
        assert thread.is_alive()  # it tries again until somebody has mended it …
        with db._core.engine.executor.ending():
            thread.join(20)
            assert raised  # … or the end comes, before anybody waits for the batch
    assert table.known.paths == ["old.parquet"]


def test_what_is_not_written_down_is_not_known(db: Any, tmp_path: Path) -> None:
    define(db, tmp_path, "batch 10")
    pushed(db, (1, 1))
    lookups_of(db).rounds(1)
    table = lookups_of(db)._tables["people"]
    with patch.object(Storage, "write_json", side_effect=ValueError("no")):
        lookups_of(db).rounds(1)
    assert table.known == Answers() and [group.failures for group in table.groups] == [1]
    table.groups[0].due = 0.0
    lookups_of(db).rounds(1)
    assert table.known.version == 1 and not table.groups
    one_batch(db._core.engine)
    assert named(db) == [(1, "p1")]


def test_who_has_seen_a_version_that_is_gone_looks_again() -> None:
    assert Waiting(StageResult(count=3), Answers(version=2)).has_news
    assert not Waiting(StageResult(count=2), Answers(version=2)).has_news


def test_tables_take_turns(db: Any, tmp_path: Path) -> None:
    define(db, tmp_path, "batch 1")
    define(db, tmp_path, "batch 1", "others")
    pushed(db, (1, 1), (2, 2), (3, 3))
    lookups, served = lookups_of(db), list[str]()
    for _ in range(8):  # both find out what is wanted, and have three calls to make
        lookups.rounds(1)
        served.append(max(lookups._tables.values(), key=lambda table: table.served).extent.name)
    assert served == ["people", "others"] * 4
    assert [table.costs.calls for table in lookups._tables.values()] == [3, 3]


def test_many_pieces_are_merged_before_anybody_is_asked(db: Any, tmp_path: Path) -> None:
    define(db, tmp_path, "batch 1, fresh '1 hour'")
    pushed(db, (1, 1))
    lookups, now = lookups_of(db), time.time()
    table = lookups._tables["people"]
    firsts = []
    for pieces in (20, 40):
        table.known = Answers()
        for number in range(pieces):
            table.known = table.known.with_piece(f"{number}.parquet", 1, now)
        firsts.append(next(iter(lookups._due_of(table, now, []))).func.__name__)
    assert firsts == ["_find", "_merge"]
