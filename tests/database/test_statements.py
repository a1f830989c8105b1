"""UPDATE and DELETE while others push: what tasks have written counts only if the tuples still are what was read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline.algebra.answer import TupleAnswer
from eddyline.log.keyed import KeyedStream
from eddyline.log.segment import SEQ
from eddyline.spark import revising


@pytest.fixture
def db(spark: object, tmp_path: Path) -> Iterator[eddyline.Database]:
    with eddyline.connect(tmp_path / "db", heartbeat=None, clock=lambda: 0) as opened:
        opened.sql("CREATE STREAM s (k INTEGER, v INTEGER, t INTEGER) KEY (k) TIMESTAMP BY t RETAIN 100")
        yield opened


def standing(query: Any) -> dict[int, tuple[Any, ...]]:
    tuples: dict[int, tuple[Any, ...]] = {}
    for answer in query.fetch():
        assert isinstance(answer, TupleAnswer)
        tuples.pop(answer.index, None)
        if answer.op != "-":
            tuples[answer.index] = answer.row
    return tuples


def by_tasks(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "db" / "streams" / "s").iterdir() if "-" in path.name]


def test_who_is_overtaken_tries_again_and_at_last_has_the_others_wait(
    db: eddyline.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = db.sql("SELECT k, v FROM s")
    db.stream("s").push([(n, n, n) for n in range(3)])
    made, written, waiting = revising._made, [], []

    def overtaken(*given: Any) -> Any:
        parts = made(*given)
        written.append([part.segment.path for part in parts])
        number = len(written)
        if number == 1:
            db.stream("s").push([(10, 10, 10)])  # moves the horizon
        elif number == 2:
            db.stream("s").push([(1, 100, 1)])  # the new version of a tuple that was read
        elif number == 3:
            db.stream("s").push([(11, 11, 11)])
        else:
            push = threading.Thread(target=lambda: db.stream("s").push([(12, 12, 12)]))
            push.start()
            push.join(0.2)
            assert push.is_alive()
            waiting.append(push)
        return parts

    monkeypatch.setattr(revising, "_made", overtaken)
    assert db.sql("UPDATE s SET v = v + 1").accepted == 5
    waiting[0].join()
    db.flush()
    assert len(written) == 4
    assert by_tasks(tmp_path) == [path.rpartition("/")[2] for path in written[-1]]
    assert standing(query) == {1: (0, 1), 2: (1, 101), 3: (2, 3), 4: (10, 11), 5: (11, 12), 6: (12, 12)}


def test_many_tasks_write_at_places_of_their_own(
    db: eddyline.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revising, "_WORTH_A_TASK", 8)
    query = db.sql("SELECT k, v FROM s")
    db.stream("s").push([(n, n, n) for n in range(40)])
    assert db.sql("UPDATE s SET v = v + 1 WHERE k >= 10").accepted == 30
    assert len(by_tasks(tmp_path)) > 1
    db.stream("s").push([(5, 50, 40), (99, 99, 40)])
    assert db.sql("DELETE FROM s WHERE k < 12").accepted == 12
    db.stream("s").push([(11, 11, 41), {"_op": "-", "_ref": None, "k": 39}])  # its key is free; keys are still known
    db.flush()
    engine = db._core.engine
    segments = engine.journal.state("s").segments
    places = [place for s in segments for place in engine.storage.read_table(s.path, [SEQ]).column(SEQ).to_pylist()]
    assert len(places) == len(set(places))
    kept = {n + 1: (n, n + 1) for n in range(12, 39)}
    assert standing(query) == {**kept, 41: (99, 99), 42: (11, 11)}


@pytest.mark.parametrize("trouble", [MemoryError(), RuntimeError("an error of ours"), KeyboardInterrupt()], ids=repr)
def test_who_is_interrupted_behind_the_entry_has_revised(
    db: eddyline.Database, monkeypatch: pytest.MonkeyPatch, trouble: BaseException
) -> None:
    query = db.sql("SELECT k, v FROM s")
    db.stream("s").push([(n, n, n) for n in range(3)])

    def fails(self: object, *given: object) -> None:
        raise trouble

    with monkeypatch.context() as broken:
        broken.setattr(KeyedStream, "take", fails)
        seen = nullcontext() if isinstance(trouble, MemoryError) else pytest.raises(type(trouble))
        with seen:  # there being no memory for keys is no reason to have the rows sent again
            assert db.sql("UPDATE s SET v = v + 1").accepted == 3
    db.flush()
    assert standing(query) == {1: (0, 1), 2: (1, 2), 3: (2, 3)}
    db.stream("s").push([(1, 7, 3)])  # a new version: keys are still known
    db.flush()
    assert standing(query) == {2: (1, 7)}
