"""Files that a crash left torn, or that something tore later: never read, or told by name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.errors import EddylineError, StorageUnusable
from eddyline.log.journal import Journal
from eddyline.log.storage import UNFINISHED, Storage
from eddyline.log.sweeping import Sweeper, Wanted

SETUP = "CREATE STREAM s (x INTEGER, t INTEGER) TIMESTAMP BY t; CREATE QUERY odd AS SELECT x FROM s WHERE x % 2 = 1"
Tear = Callable[[Path], None]


def connect(folder: Path) -> eddyline.Database:
    return eddyline.connect(folder, master="local[2]")


def made(folder: Path) -> None:
    with connect(folder) as db:
        db.sql(SETUP)
        db.stream("s").push([(1, 1), (2, 2)])
        db.stream("s").push([(3, 3)])
        db.flush()


def half_of(file: Path) -> bytes:
    content = file.read_bytes()
    return content[: len(content) // 2]


def test_torn_files_that_nothing_names_are_never_read(spark: Any, tmp_path: Path) -> None:
    root = tmp_path / "db"
    made(root)
    last = sorted((root / "journal").glob("0*.json"))[-1]
    following = f"{int(last.stem) + 1:012d}"
    segment = sorted((root / "streams" / "s").glob("*.parquet"))[-1]
    result = sorted((root / "results" / "odd").glob("*.parquet"))[-1]
    torn = [
        segment.with_name(f"{segment.name}.0123abcd{UNFINISHED}"),
        segment.with_name(f"{following}.parquet"),  # written, but killed before its entry
        result.with_name(f"{result.stem[:12]}-{'0' * 32}.parquet"),  # of a task that died
        last.with_name(f"{following}.json.0123abcd{UNFINISHED}"),
    ]
    for file in torn:
        file.write_bytes(half_of(segment))
    with connect(root) as db:
        assert db.status().rows == {"s": 3}
        db.stream("s").push([(5, 5)])  # its segment takes the name of the torn one
        db.flush()
        assert [answer.row for answer in db.query("odd").fetch()] == [(1,), (3,), (5,)]
        assert db.query("odd").to_arrow().num_rows == 3
        db.sql("UPDATE s SET x = 7 WHERE x = 5")
        db.flush()
        assert [answer.row for answer in db.query("odd").fetch()] == [(1,), (3,), (5,), (7,)]


def test_a_file_that_is_being_written_is_not_taken_for_torn(tmp_path: Path) -> None:
    """Rows may be pushed before the first batch, which is when what a crash left behind is swept away."""
    storage = Storage(str(tmp_path))
    folder = tmp_path / "streams" / "s"
    folder.mkdir(parents=True)
    left, being_written = (folder / f"000000000001.parquet.{mark}{UNFINISHED}" for mark in ("old", "new"))
    left.touch()
    os.utime(left, (time.time() - 60, time.time() - 60))
    sweeper = Sweeper(storage, 600)
    being_written.touch()
    assert sweeper.sweep(lambda: Wanted((), 0, 0), at_once=True) == 1
    assert being_written.exists() and not left.exists()


def test_ingestion_killed_between_segment_and_entry(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    root = tmp_path / "db"
    made(root)

    class Killed(BaseException):
        pass

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    with connect(root) as db:
        with monkeypatch.context() as patch:
            patch.setattr(db._core.engine.journal, "append", killed)
            with pytest.raises(Killed):
                db.stream("s").push([(9, 9)])
        assert len(list((root / "streams" / "s").glob("*.parquet"))) == 3
    with connect(root) as db:
        assert db.status().rows == {"s": 2 + 1} and db.clock == 3
        db.stream("s").push([(11, 4)])
        db.flush()
        assert [answer.row for answer in db.query("odd").fetch()] == [(1,), (3,), (11,)]


@pytest.mark.parametrize("kind", ["journal", "batches"])
def test_a_torn_entry_is_told_by_name(tmp_path: Path, kind: str) -> None:
    """They are put in place by renaming, so a crash does not tear them; a bad disk or a careless hand may."""
    storage = Storage(str(tmp_path))
    file = tmp_path / kind / "000000000001.json"
    file.parent.mkdir()
    file.write_text('{"number": 1, "segm')
    with pytest.raises(StorageUnusable, match=f"{file} is damaged"):
        storage.read_json(f"{kind}/{file.name}")
    if kind == "journal":
        with pytest.raises(StorageUnusable, match=f"{file} is damaged"):
            Journal(storage)


def test_a_database_with_a_torn_entry_says_which(spark: Any, tmp_path: Path) -> None:
    root = tmp_path / "db"
    made(root)
    last = sorted((root / "journal").glob("0*.json"))[-1]
    whole = last.read_bytes()
    last.write_bytes(half_of(last))
    with pytest.raises(EddylineError, match=f"{last} is damaged") as problem:
        connect(root)
    assert problem.value.hint
    last.write_bytes(whole)
    with connect(root) as db:  # the lock was given back, and nothing was harmed
        assert db.status().rows == {"s": 3}


def test_a_torn_segment_that_an_entry_names_is_told_by_name(spark: Any, tmp_path: Path) -> None:
    root = tmp_path / "db"
    made(root)
    segment = sorted((root / "streams" / "s").glob("*.parquet"))[0]
    whole = segment.read_bytes()
    with connect(root) as db:
        segment.write_bytes(half_of(segment))
        with pytest.raises(StorageUnusable, match=segment.name):
            db.stream("s").delete(1)
        segment.write_bytes(whole)
        db.stream("s").delete(1)
        db.flush()
        assert [answer.op for answer in db.query("odd").fetch()] == ["+", "+", "-"]
