"""A database that runs on and on: what it keeps levels off, and so does what a batch costs."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import eddyline
from eddyline import testing
from eddyline.log.storage import Storage
from eddyline.log.upkeep import Pace
from log.small_engine import SmallEngine, files, run

#: ticks that the streams keep, and ticks from one batch to the next
RETAIN, PACE = 40, 20
#: how many there may be at any time
MOST = {"files": 80, "entries": 40, "segments": 30}
SETUP = f"""
CREATE STREAM s (k INTEGER, x INTEGER, t INTEGER) TIMESTAMP BY t RETAIN {RETAIN};
CREATE STREAM u (k INTEGER, y INTEGER, t INTEGER) TIMESTAMP BY t RETAIN {RETAIN};
CREATE QUERY sums AS SELECT SUM(x) AS total FROM s [FROM NOW-19 TO NOW SLIDE 10 SEC];
CREATE QUERY joined AS SELECT x, y FROM s [FROM NOW-9 TO NOW SLIDE 10 SEC], u [FROM NOW-9 TO NOW SLIDE 10 SEC]
  WHERE s.k = u.k AND x > 100000;
"""


def test_hundreds_of_batches_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs alone: entries, records, segments, revisions and retention."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    pace = Pace(batches=10, behind=3, neighbours=4, small=50_000, grace=0.0, aside=False)
    small = SmallEngine(Storage(str(tmp_path)), pace, RETAIN)
    counts = []
    for pushes in range(50, 401, 50):
        run(small, pushes)
        streams = [name for name in files(small) if name.startswith(("streams", "journal", "batches"))]
        segments = len(small.read.state("road").segments)
        counts.append((len(streams), len(small.read.entries), len(small.written.entries), segments))
    early, late = counts[:2], counts[-4:]
    assert all(max(now) <= 1.5 * max(was) for now, was in zip(zip(*late), zip(*early))), counts  # noqa: B905
    # answers are kept for good, but in few files
    assert len(small.results.stages["q"].segments) < 40


class Soak:
    """Pushes, corrects and measures, batch after batch."""

    def __init__(self, db: eddyline.Database) -> None:
        self.db = db
        self.seconds: list[float] = []
        self.measured: list[dict[str, int]] = []

    def step(self, number: int) -> None:
        at, db = PACE * number, self.db
        with db._core.engine.writing:  # both streams and the correction come in one batch
            db.stream("s").push([(k, number + k, at + k) for k in range(5)])
            db.stream("u").push([(number % 5, number, at)])
            if number % 3 == 2:
                db.stream("s").update(5 * number - 7, k=1, x=-number, t=at - PACE)
            if number % 7 == 6:
                db.stream("s").push([(9, number, at - PACE)])
        began = time.monotonic()
        db.flush()
        self.seconds.append(time.monotonic() - began)

    def measure(self) -> None:
        gc.collect()
        engine = self.db._core.engine
        left_out = ("checkpoint/", "results/")  # Spark's own, and answers, which are kept for good
        found = [name for name, _ in engine.storage.files_below("") if not name.startswith(left_out)]
        self.measured.append(
            {
                "files": len(found),
                "entries": len(engine.journal.entries) + len(engine.executor.journal.entries),
                "segments": sum(len(state.segments) for state in engine.journal.streams.values()),
                "answers": sum(len(stage.segments) for stage in engine.executor.results.stages.values()),
                "megabytes": _resident_megabytes(),
            }
        )


def _resident_megabytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


@pytest.mark.parametrize(("batches", "longest"), [(150, 60.0), pytest.param(10_000, 1800.0, marks=pytest.mark.long)])
def test_everything_levels_off_on_spark(spark: Any, batches: int, longest: float) -> None:
    """As many batches as fit into the time: a busy machine makes fewer, and the proportions are the same."""
    pace = Pace(batches=4, behind=1, neighbours=4, small=1_000_000, grace=0.0)
    with testing.database(master="local[2]", pace=pace) as db:
        db.sql(SETUP)
        soak, end = Soak(db), time.monotonic() + longest
        number = 0
        while number < batches and (time.monotonic() < end or number < 15):
            soak.step(number)
            number += 1
            if number % max(1, batches // 30) == 0:
                soak.measure()
        told = f"{number} batches: {soak.measured}"
        # as many as the ticks that are retained need; without upkeep fifteen batches make half as many again
        for what, most in MOST.items():
            assert max(measured[what] for measured in soak.measured) <= most, f"{what}: {told}"
        if number >= 50:  # enough that a second fifth is no warm-up
            fifth = len(soak.measured) // 5
            early, late = soak.measured[fifth : 2 * fifth], soak.measured[-fifth:]
            for what in MOST:
                assert max(m[what] for m in late) <= 1.5 * max(m[what] for m in early) + 8, f"{what}: {told}"
            assert late[-1]["megabytes"] <= 1.3 * early[-1]["megabytes"] + 100, told
        times = len(soak.seconds) // 5
        assert median(soak.seconds[-times:]) <= 3 * median(soak.seconds[times : 2 * times]), soak.seconds
        # what nobody can need is gone: of the streams there is not much more than what they retain and windows reach
        oldest = min(s.tick[0] for state in db._core.engine.journal.streams.values() for s in state.segments)
        assert oldest > PACE * number - 12 * PACE, told
        assert soak.measured[-1]["answers"] < 20 + number / 2, told  # in few files
        assert len(db._core.storage.names("checkpoint/commits")) < 100  # Spark tidies up too
        assert db.status().warnings == []
