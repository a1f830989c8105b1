"""What is remembered of revisions: counted when they come, bounded, and there exactly when their batch is."""

from __future__ import annotations

from pathlib import Path

import pytest

from eddyline.log import revision_log
from eddyline.log.ingest import Ingest
from eddyline.log.journal import Journal, revised_entries
from eddyline.log.results import Record, ResultLog, Results
from eddyline.log.revision_log import Correction, Revised, RevisedEntry, RevisionLog
from eddyline.log.storage import Storage
from eddyline.sources.pushed import chunk_of
from log.small_engine import ROAD
from sources.extents import SECOND


def row(time: int, **more: object) -> dict[str, object]:
    return {"site": 1, "time": time, "temp": 5, **more}


@pytest.fixture
def ingest(tmp_path: Path) -> Ingest:
    storage = Storage(str(tmp_path))
    return Ingest(storage, Journal(storage), lambda reject: None)


def test_an_append_counts_what_it_revises(ingest: Ingest) -> None:
    def push(*rows: dict[str, object]) -> dict[str, Revised]:
        entry = ingest.append({"road": ROAD}, [chunk_of(ROAD, list(rows), SECOND)])
        assert entry is not None
        return dict(entry.revised)

    assert push(row(10), row(20), row(15)) == {}  # the clock shows nothing before, so nothing is late
    assert push(row(20), row(30)) == {}  # 19 is closed, 20 is not
    assert push(row(29), row(28), row(40)) == {"road": Revised(late=2)}
    assert push({"_op": "-", "_ref": 1}, row(21, _op="=", _ref=2)) == {"road": Revised(deleted=1, replaced=1)}
    assert push({"_op": "-", "_ref": 1}, row(50)) == {}  # it is gone already: set aside
    assert push(row(60), row(3), row(61, _op="=", _ref=4), {"_op": "-", "_ref": 5}) == {"road": Revised(1, 1, 1)}


def test_entries_with_revisions_are_read_again(tmp_path: Path, ingest: Ingest) -> None:
    for rows in ([row(10), row(20)], [row(5)], [row(30)], [{"_op": "-", "_ref": 1}]):
        ingest.append({"road": ROAD}, [chunk_of(ROAD, rows, SECOND)])
    entries = Journal(Storage(str(tmp_path))).entries
    assert list(revised_entries(entries, None)) == [
        RevisedEntry(2, "road", Revised(late=1), (3, 3), 19, 20),
        RevisedEntry(4, "road", Revised(deleted=1), (5, 5), 29, 30),
    ]
    assert "revised" not in entries[0].to_json()  # who revises nothing pays nothing


def test_the_latest_are_kept_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision_log, "KEPT_ENTRIES", 3)
    monkeypatch.setattr(revision_log, "KEPT_CORRECTIONS", 2)
    storage = Storage(str(tmp_path))
    log, results = ResultLog(storage), Results()
    for batch in range(5):
        entries = tuple(RevisedEntry(2 * batch + k, "s", Revised(late=1), (1, 1), 5, 9) for k in (1, 2))
        correction = Correction(batch, "q", 2 * batch, 2 * batch + 2, 9, 5, 9, {"s": 1}, 0.5, 10, "upstream")
        record = Record(batch, 2 * batch + 2, 9, 8, revisions=RevisionLog(entries, (correction,)))
        log.write(record)
        storage.write(f"checkpoint/commits/{batch}", b"")
        results.take(record)
    assert [entry.number for entry in results.revisions.entries] == [8, 9, 10]
    assert [one.batch for one in results.revisions.corrections] == [3, 4]
    assert [entry.number for entry in results.revisions.between(results.revisions.corrections[-1])] == [9, 10]
    assert log.load().revisions == results.revisions
    folded = log.folded(3)
    log.fold(folded)
    log.tidy(folded)
    assert log.load().revisions == results.revisions  # from the snapshot, and a record after it
    results.forget(["q"])
    assert results.revisions.corrections == ()


def test_a_batch_that_is_not_committed_is_not_remembered(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    log = ResultLog(storage)
    for batch in range(2):
        correction = Correction(batch, "q", batch, batch + 1, 9, 5, 9)
        log.write(Record(batch, batch + 1, 9, 8, revisions=RevisionLog((), (correction,))))
    storage.write("checkpoint/commits/0", b"")
    assert [one.batch for one in log.load().revisions.corrections] == [0]
    log.write(Record(1, 2, 9, 8))  # run again, after a crash: it replaces what was written before
    storage.write("checkpoint/commits/1", b"")
    assert [one.batch for one in log.load().revisions.corrections] == [0]
