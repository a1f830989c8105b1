"""A folder of the database that cannot be written: said once, tried again, and nothing missing or twice afterwards."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline import testing
from eddyline.errors import StorageUnusable
from eddyline.log import storage
from eddyline.session.spark_run import SparkRun

SETUP = (
    "CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t",
    "CREATE QUERY odd AS SELECT x FROM s WHERE x % 2 = 1",
    "CREATE QUERY sums AS SELECT SUM(x) AS total FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC]",
)


@contextlib.contextmanager
def blocked(folder: Path) -> Iterator[None]:
    """A plain file stands where the folder was: as root nothing else keeps us from writing."""
    aside = folder.with_name(folder.name + " aside")
    if folder.exists():
        folder.rename(aside)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")
    try:
        yield
    finally:
        folder.unlink()
        if aside.exists():
            shutil.move(aside, folder)


def eventually(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it has not come about"
        time.sleep(0.05)


def said(db: eddyline.Database) -> list[Any]:
    return [answer.row for answer in db.query("odd").fetch()]


@pytest.fixture
def db(spark: Any) -> Iterator[eddyline.Database]:
    with testing.database(master="local[2]") as database:
        for statement in SETUP:
            database.sql(statement)
        database.stream("s").push([(1, 1), (2, 2)])
        database.flush()
        yield database


def test_results_that_cannot_be_written_wait_until_they_can(db: eddyline.Database) -> None:
    root = Path(db.status().path)
    with blocked(root / "results" / "odd"):
        db.stream("s").push([(3, 11)])
        eventually(lambda: bool(db.status().warnings))
        db.stream("s").push([(5, 12)])  # who pushes is not disturbed
        time.sleep(1.5)  # it has tried again meanwhile
        (warning,) = db.status().warnings
        assert str(root / "results" / "odd") in warning and "trying again" in warning and "\n" not in warning
        assert db.status().running and db.status().problem is None
    db.advance(30)
    db.flush()
    assert said(db) == [(1,), (3,), (5,)]
    sums = [(answer.tick, answer.op, answer.rows) for answer in db.query("sums").fetch()]
    assert [answer for answer in sums if answer[2] != ((None,),)] == [(10, "+", ((3,),)), (20, "+", ((8,),))]


def test_a_disk_that_is_full(db: eddyline.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record of a batch is written by the driver, behind the segments."""
    full = threading.Event()

    def refused(handle: int) -> None:
        if full.is_set() and "/batches/" in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(storage.os, "fsync", refused)
    full.set()
    db.stream("s").push([(3, 11)])
    eventually(lambda: bool(db.status().warnings))
    time.sleep(1)
    (warning,) = db.status().warnings
    assert "No space left on device" in warning and "batches/" in warning
    left = list(Path(db.status().path, "batches").glob(f"*{storage.UNFINISHED}"))
    assert len(left) <= 1  # attempts must not fill the disk further
    full.clear()
    db.flush()
    assert said(db) == [(1,), (3,)]


def test_a_push_that_cannot_be_written_has_not_happened(db: eddyline.Database) -> None:
    root = Path(db.status().path)
    before = db.status().rows
    for folder in ("streams/s", "journal"):
        with blocked(root / folder), pytest.raises(StorageUnusable, match=f"{root}/{folder}.* cannot be written"):
            db.stream("s").push([(3, 11), (5, 99)])
        assert db.status().rows == before and db.clock == 2
    db.stream("s").push([(7, 3)])
    db.flush()
    assert said(db) == [(1,), (7,)] and db.clock == 3
    assert db.status().rows == {"s": 3}


def test_a_script_says_it_too_and_goes_on(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.csv").write_text("x,t\n1,1\n2,2\n3,3\n")
    warnings: list[str] = []
    blocking = contextlib.ExitStack()

    def mend(text: str) -> None:
        warnings.append(text)
        blocking.close()

    text = f"{SETUP[0]} USING csv OPTIONS (path 's.csv'); {SETUP[1]}"
    run = SparkRun(text, tmp_path, batch_rows=None, master="local[2]", on_warning=mend)
    blocking.enter_context(blocked(Path(run._folder) / "results" / "odd"))
    assert [answer.row for answer in run.answers()] == [(1,), (3,)]
    assert len(warnings) == 1 and "results/odd" in warnings[0]
