"""Rows of several streams that are pushed as one step."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.database.stream import Pushed
from eddyline.errors import DuplicateName, InvalidDefinition, StorageUnusable, UnknownColumn, UnknownExtent
from eddyline.log.storage import Storage
from faults import pushing_several
from faults.in_doubt import opened
from faults.processes import start
from laws.without_spark import kernels_alone

A = [{"k": 1, "t": 1}, {"k": 2, "t": 5}]
B = [(1, 2), (2, 3)]
WRONG = {"k": "no number", "t": 5}  # which is set aside


@pytest.fixture
def db(tmp_path: Path) -> Iterator[eddyline.Database]:
    with kernels_alone(), opened(str(tmp_path / "db")) as db:
        for name in "ab":
            db.sql(f"CREATE STREAM {name} (k INTEGER, t INTEGER) TIMESTAMP BY t")
        yield db


def join(db: eddyline.Database) -> Any:
    text = "SELECT a.k AS k FROM a [FROM NOW-9 TO NOW SLIDE 1 SEC], b [FROM NOW-9 TO NOW SLIDE 1 SEC] WHERE a.k = b.k"
    return db.sql(f"CREATE QUERY q AS {text}")


def state(db: eddyline.Database) -> tuple[int, dict[str, int], int | None]:
    return db._core.engine.journal.number, dict(db.status().rows), db.clock


def test_several_streams_are_one_entry_and_one_batch_without_late_rows(db: eddyline.Database) -> None:
    query = join(db)
    entries, batches = state(db)[0], db.status().batches
    assert db.push({"a": A, "b": B}) == {"a": Pushed(2, 0), "b": Pushed(2, 0)}
    assert state(db) == (entries + 1, {"a": 2, "b": 2}, 5)
    db.flush()
    assert db.status().batches == batches + 1
    assert not list(db.revisions())
    answers = query.fetch()
    assert {answer.op for answer in answers} == {"+"}
    assert [answer.rows for answer in answers if answer.tick == 4] == [((1,),)]


def test_one_after_the_other_the_second_stream_is_late(db: eddyline.Database) -> None:
    """What the law above is worth: the same rows, pushed to each stream by itself."""
    join(db)
    db.stream("a").push(A)
    db.stream("b").push(B)
    db.flush()
    assert list(db.revisions())


def test_several_streams_arrive_at_one_tick(tmp_path: Path) -> None:
    """Whatever the clock does meanwhile."""
    ticks = iter(range(100, 1_000))
    with kernels_alone(), eddyline.connect(str(tmp_path / "db"), heartbeat=None, clock=lambda: next(ticks)) as db:
        for name in "ab":
            db.sql(f"CREATE STREAM {name} (k INTEGER)")
        query = db.sql("CREATE QUERY q AS RSTREAM(SELECT a.k FROM a [NOW], b [NOW] WHERE a.k = b.k)")
        db.push({"a": [(1,), (2,)], "b": [(2,), (3,)]})
        db.push({"a": [(4,)]})  # that tick is over
        db.flush()
        assert [answer.row for answer in query.fetch()] == [(2,)]


def test_rows_that_do_not_fit_are_counted_by_stream(db: eddyline.Database) -> None:
    found = db.push({"a": [(1, 1), ("x", 2), (3, 3)], "b": [(1, None)]})
    assert found == {"a": Pushed(2, 1), "b": Pushed(0, 1)}
    assert dict(db.rejects.counts) == {"a": 1, "b": 1}
    assert db.push({}) == {}


def test_tags_come_beside_the_rows_of_their_stream(db: eddyline.Database) -> None:
    query = db.sql("SELECT k FROM b WITH TAGS")
    db.push({"a": A, "b": B}, tags={"B": [{"_before": 2, "_tag": {"content": "odd"}}]})
    db.flush()
    assert [[tag.content for tag in answer.tags] for answer in query.fetch()] == [[], ["odd"]]


def test_sensors_without_a_clock_count_their_turns(db: eddyline.Database) -> None:
    db.sql("CREATE SENSED STREAM s (site INTEGER, v INTEGER) SITES (1, 2) EVERY 1 SEC")
    query = db.sql("SELECT v FROM s")
    for first in (10, 12):
        assert db.push({"a": A, "s": [(1, first), (2, first + 1)]})["s"] == Pushed(2, 0)
    db.flush()
    assert len({answer.tick for answer in query.fetch()}) == 2


@pytest.mark.parametrize(
    ("rows", "tags", "error", "words"),
    [
        ({"a": A, "c": B}, None, UnknownExtent, "no stream c"),
        ({"a": A, "b": [{"k": 1, "z": 2}]}, None, UnknownColumn, "'z'"),
        ({"a": A, "A": B}, None, DuplicateName, "a twice"),
        ({"a": A, 5: B}, None, InvalidDefinition, "a text, not 5"),
        ([A, B], None, InvalidDefinition, "rows for several streams have no names"),
        ({"a": A}, [{"_before": 1, "_tag": "x"}], InvalidDefinition, "tags for several streams have no names"),
        ({"a": A}, [], InvalidDefinition, "tags for several streams have no names"),
        ({"a": A}, {"b": [{"_before": 1, "_tag": "x"}]}, InvalidDefinition, "tags for b, but no rows"),
        ({"a": A}, {"a": [], "A": []}, DuplicateName, "tags for one stream twice"),
    ],
)
def test_what_is_wrong_with_one_stream_changes_none(
    db: eddyline.Database, rows: Any, tags: Any, error: type[Exception], words: str
) -> None:
    before = state(db)
    with pytest.raises(error, match=words):
        db.push(rows, tags)
    assert state(db) == before


def test_a_file_that_cannot_be_written_leaves_no_stream_ahead(
    db: eddyline.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, before, write = join(db), state(db), Storage.write_table

    def full(self: Storage, name: str, *given: Any) -> int:
        if name.startswith("streams/b/"):
            raise StorageUnusable("the disk is full")
        return write(self, name, *given)

    with monkeypatch.context() as patched:
        patched.setattr(Storage, "write_table", full)
        with pytest.raises(StorageUnusable):
            db.push({"a": [*A, WRONG], "b": B})
    assert state(db) == before and not list(db.rejects)
    db.push({"a": [*A, WRONG], "b": B})
    db.flush()
    assert len(list(db.rejects)) == 1
    assert [answer.rows for answer in query.fetch() if answer.tick == 4] == [((1,),)]
    assert state(db)[1] == {"a": 2, "b": 2}


def test_whoever_is_killed_in_between_has_pushed_to_all_or_to_none(tmp_path: Path) -> None:
    places = (pushing_several.FIRST, pushing_several.ALL, pushing_several.SAID)
    worker = start("pushing_several", str(tmp_path / "db"), *places)
    said, _ = worker.communicate()
    assert said.split() == [str(-signal.SIGKILL)] * len(places), said
    with kernels_alone():
        with opened(str(tmp_path / "db")) as db:
            # two pushes in each life, and the third of the last one, whose entry was there
            assert dict(db.status().rows) == dict.fromkeys(pushing_several.STREAMS, 3 * (2 * len(places) + 1))
            got = pushing_several.finish(db)
        with opened(str(tmp_path / "other")) as db:
            assert got == pushing_several.finish(db)
    assert got
