"""The process that owns a database is killed at random moments; nothing is missing afterwards, and nothing twice."""

from __future__ import annotations

import random
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import eddyline
from eddyline import testing
from eddyline.log.results import Results
from faults import in_doubt, migrating, scenario
from faults.dying import BEGUN, CASCADE, COMMIT, GIVEN_UP, RECORD, REMADE, REMADE_SAID, REMAKING, SPREAD, STATEMENT
from faults.processes import start
from laws.without_spark import kernels_alone

PUSHES_A_LIFE = 50
_BY_A_TASK = re.compile(r"\d{12}-[0-9a-f]{32}\.parquet")


def live_and_die(folder: Path, pushes: int, chance: random.Random, at_start: bool) -> str:
    """One life of the process; gives the moment of its death."""
    worker = start("worker", str(folder), str(pushes))
    assert worker.stdout is not None
    said: list[str] = []
    if at_start:  # while Spark starts, while the folder is opened, during the first statements or batches
        delay = chance.uniform(0.5, 7.0)
        threading.Timer(delay, worker.kill).start()
        said += worker.stdout.read().split()
        moment = f"{delay:.3f} s after its start"
    else:  # while it pushes and batches run
        wanted, delay = chance.randrange(5, PUSHES_A_LIFE), chance.uniform(0, 0.3)
        for line in worker.stdout:
            said.append(line.strip())
            wanted -= line.strip().isdigit()
            if wanted <= 0:
                break
        assert wanted <= 0, f"the worker ended by itself: {said}"
        time.sleep(delay)
        worker.send_signal(signal.SIGKILL)
        moment = f"{delay:.3f} s after push {said[-1]}"
    worker.wait()
    worker.stdout.close()
    return f"{moment} (it had said {said[-1] if said else 'nothing'})"


def undisturbed(pushes: int) -> dict[str, Any]:
    with testing.database(master="local[2]") as db:
        scenario.prepare(db)
        return scenario.finish(db, pushes)


def kill_often(folder: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    starts = set(chance.sample(range(kills), kills // 3))
    pushes = PUSHES_A_LIFE * (kills + 1)
    moments = []
    try:
        for life in range(kills):
            moments.append(live_and_die(folder, pushes, chance, life in starts))
        with eddyline.connect(folder, master="local[2]") as db:
            scenario.prepare(db)  # it may never have come so far
            came = scenario.pushed(db)
            assert 0 < came < pushes
            assert scenario.finish(db, pushes) == undisturbed(pushes)
    except BaseException:
        print(f"it was killed {'; '.join(moments)}")
        raise


def test_three_kills(spark: Any, tmp_path: Path, seed: int) -> None:
    kill_often(tmp_path / "db", 3, seed)


@pytest.mark.long
def test_twenty_kills(spark: Any, tmp_path: Path, seed: int) -> None:
    kill_often(tmp_path / "db", 20, seed)


def die_at(place: str, batches: int, folder: Path, pushes: int) -> None:
    """One life of the process, which ends where it is told to."""
    worker = start("worker", str(folder), str(pushes), place, str(batches))
    assert worker.stdout is not None
    said = worker.stdout.read()
    worker.stdout.close()
    assert worker.wait() == -signal.SIGKILL, f"{place}: {said}"


def test_kills_while_slices_come_and_go_and_work_is_spread(spark: Any, tmp_path: Path) -> None:
    """What a batch has decided is done again, perhaps otherwise; of what was spread, a part was there already."""
    folder, pushes = tmp_path / "db", 120
    for place, batches in ((SPREAD, 1), (BEGUN, 1), (GIVEN_UP, 1)):
        die_at(place, batches, folder, pushes)
    with eddyline.connect(folder, master="local[2]") as db:
        assert scenario.pushed(db) > 0
        assert scenario.finish(db, pushes) == undisturbed(pushes)


def test_kills_in_the_middle_of_corrections(spark: Any, tmp_path: Path) -> None:
    """Not where chance puts them: within a cascade, before and after a batch is written down, within an UPDATE."""
    folder, most = tmp_path / "db", 480  # how many come in a life depends on the machine; the last needs some, too
    for place, batches in ((CASCADE, 2), (RECORD, 1), (COMMIT, 1), (STATEMENT, 1), (CASCADE, 1)):
        die_at(place, batches, folder, most)
        # what the UPDATE has written that did not happen is there, until the next life tidies up
        written = [path.name for path in (folder / "streams" / "a").iterdir() if _BY_A_TASK.fullmatch(path.name)]
        assert bool(written) == (place == STATEMENT)
    with eddyline.connect(folder, master="local[2]") as db:
        assert scenario.pushed(db) > 0
        pushes = scenario.pushed(db) + 20
        assert scenario.finish(db, pushes) == undisturbed(pushes)


def test_kills_while_slices_in_doubt_are_made_anew(tmp_path: Path) -> None:
    """What was written of them does not count, or counts in place of what was there: never both, never neither."""
    folder = tmp_path / "db"
    places = (REMAKING, REMADE, REMADE_SAID, REMAKING)
    worker = start("in_doubt", str(folder), *places)
    said, _ = worker.communicate()
    assert said.split() == [str(-signal.SIGKILL)] * len(places), said
    with kernels_alone():
        with in_doubt.opened(str(folder)) as db:
            assert 0 < db.status().rows["a"] < in_doubt.PUSHES
            got = in_doubt.finish(db)
        with in_doubt.opened(str(tmp_path / "other")) as db:
            assert got == in_doubt.finish(db, "upstream")


def test_kills_while_joins_change_their_trees(tmp_path: Path) -> None:
    """A state that was made counts from the record on that says so, one that was given up counts until then."""
    folder = tmp_path / "db"
    places = (BEGUN, CASCADE, GIVEN_UP, RECORD, COMMIT, BEGUN)
    worker = start("migrating", str(folder), *places)
    said, _ = worker.communicate()
    assert said.split() == [str(-signal.SIGKILL)] * len(places), said
    with kernels_alone():
        with in_doubt.opened(str(folder)) as db:
            assert 0 < sum(db.status().rows.values()) < migrating.PUSHES
            got = migrating.finish(db)
        with in_doubt.opened(str(tmp_path / "other")) as db:
            assert got == migrating.finish(db)
    assert all(got.values())


def test_what_the_spark_of_a_killed_process_commits_late(spark: Any, tmp_path: Path) -> None:
    """Java outlives the process for a moment, and may commit a batch when another has read the results already."""
    with eddyline.connect(tmp_path / "db", master="local[2]") as db:
        scenario.prepare(db)
        scenario.push_rest(db, 40)
        db.flush()
        db._core.engine.executor.results = Results()  # as if they had been read before all that was committed
        assert scenario.finish(db, 60) == undisturbed(60)
