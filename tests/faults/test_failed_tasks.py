"""Tasks that fail behind what they wrote, and executors that are killed: Spark tries again, with the same answers."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
from pathlib import Path
from typing import Any

from eddyline import testing
from eddyline.log.results import ResultLog
from eddyline.log.storage import Storage
from faults import scenario
from faults.processes import below, start

PUSHES = 60

#: makes the first few tasks fail that have written a segment of results, and notes which segments those were
FAILING = """
import os
from eddyline.log import storage
write = storage.Storage.write_table

def failing(self, name, table, *given, **more):
    size = write(self, name, table, *given, **more)
    if name.startswith("results/"):
        noted = os.path.join(os.path.dirname(__file__), "failed")
        os.makedirs(noted, exist_ok=True)
        if len(os.listdir(noted)) < 3:
            open(os.path.join(noted, name.replace("/", "|")), "w").close()
            raise RuntimeError("this task fails behind its segment")
    return size

storage.Storage.write_table = failing
"""


def undisturbed() -> dict[str, Any]:
    with testing.database(master="local[2]") as db:
        scenario.prepare(db)
        return scenario.finish(db, PUSHES)


def outcome_of(run: subprocess.Popen[str], said: str, outcome: Path) -> Any:
    assert run.stdout is not None
    said += run.stdout.read()
    run.stdout.close()
    assert run.wait() == 0, said
    return pickle.loads(outcome.read_bytes())


def test_a_segment_of_a_failed_task_is_never_referred_to(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(FAILING)
    folder, outcome = tmp_path / "db", tmp_path / "outcome"
    run = start("whole_run", str(folder), str(PUSHES), "local[2,4]", str(outcome), before=str(tmp_path))
    answers, status = outcome_of(run, "", outcome)
    assert answers == undisturbed()
    assert status.problem is None and status.warnings == []
    failed = {file.name.replace("|", "/") for file in (tmp_path / "failed").iterdir()}
    assert len(failed) >= 3
    stages = ResultLog(Storage(str(folder))).load().stages.values()
    named = {segment.path for stage in stages for segment in stage.segments}
    assert named and not named & failed


def test_an_executor_is_killed_while_batches_run(spark: Any, tmp_path: Path) -> None:
    folder, outcome = tmp_path / "db", tmp_path / "outcome"
    run = start("whole_run", str(folder), str(PUSHES), "local-cluster[2,1,1024]", str(outcome))
    assert run.stdout is not None
    said = ""
    for line in run.stdout:
        said += line
        if line.strip() == "20":
            break
    executors = list(below(run.pid, "CoarseGrainedExecutorBackend"))
    assert len(executors) >= 2, said
    os.kill(executors[0], signal.SIGKILL)
    answers, status = outcome_of(run, said, outcome)
    assert answers == undisturbed()
    assert status.problem is None
