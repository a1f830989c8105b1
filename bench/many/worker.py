"""A side in a process of its own: its memory is its own, and it can be ended in the middle of anything.

The parent writes a case on a line; the worker answers with a line when the work is done, and with another one when it
has written the digests of the answers. Everything else that is printed goes to a file.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from bench.many.answers import Digests, digests
from bench.many.memory import family
from bench.many.side import Case, Measured, Side, Unavailable

#: to start, to hand the answers over, and to leave
_STARTING, _ANSWERING, _LEAVING = 1200.0, 1200.0, 20.0


class OutOfTime(Exception):
    """The side needed longer than it was given."""


class Failed(Exception):
    """The side gave up by itself."""


def make(name: str, work: Path, tuned: bool) -> Side:
    """Imported here, because a side may need what another one has not."""
    from bench.many.eddyline_side import Eddyline, Pushed
    from bench.many.flink_side import Flink
    from bench.many.spark_sides import Binned, Each, Join

    sides: dict[str, type[Side]] = {
        "each": Each,
        "join": Join,
        "binned": Binned,
        "flink": Flink,
        "eddyline": Eddyline,
        "pushed": Pushed,
    }
    return sides[name](work, tuned)


class Worker:
    """The parent's end."""

    def __init__(self, name: str, work: Path, tuned: bool) -> None:
        """Raises Unavailable if the side cannot run here."""
        self._work = work
        (work / "tmp").mkdir(parents=True)
        self._log = work / "log"
        command = [sys.executable, "-m", "bench.many.worker", name, str(work), "tuned" if tuned else "plain"]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(work / "tmp")},
            )
        self._buffer = b""
        try:
            self._answer(_STARTING)
        except (OutOfTime, Failed) as error:
            self.end()
            raise Unavailable(str(error) or "it does not start") from None

    def run(self, case: Case, budget: float, looks: bool = True) -> tuple[Measured, Digests | None]:
        """What it took and, if somebody `looks`, what was answered: to read millions of answers takes longer than to
        give them. Raises OutOfTime or Failed, after which the worker is of no more use."""
        assert self._process.stdin
        with contextlib.suppress(OSError):  # then it has ended, which `_answer` tells
            self._process.stdin.write(json.dumps({"case": case.to_json(), "looks": looks}).encode() + b"\n")
            self._process.stdin.flush()
        measured = Measured(**self._answer(budget))
        if measured.register + measured.process > budget:
            raise OutOfTime
        if not looks:
            return measured, None
        saved = np.load(self._answer(_ANSWERING)["digests"])
        return measured, Digests(saved["rows"], saved["sums"])

    def end(self) -> None:
        """It and all that it started; Spark's JVM leaves by itself then."""
        below = family(self._process.pid)[1:]
        self._process.kill()
        self._process.wait()
        end = time.monotonic() + _LEAVING
        while any(_lives(process) for process in below) and time.monotonic() < end:
            time.sleep(0.1)
        for process in below:
            if _lives(process):
                os.kill(process, signal.SIGKILL)

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout
        end = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise OutOfTime
            more = os.read(self._process.stdout.fileno(), 65536)
            if not more:
                raise Failed(self._last_words())
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def _last_words(self) -> str:
        lines = [line.strip() for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return (lines or ["it ended without a word"])[-1][:300]


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _leave_with(parent: int) -> None:
    """A parent that is killed cannot end its workers."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main(name: str, work: Path, tuned: bool) -> None:
    """The worker's end."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(value: dict[str, Any]) -> None:
        print(json.dumps(value), file=out, flush=True)

    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    try:
        side = make(name, work, tuned)
        side.start()
        answer({"ready": True})
        for line in sys.stdin:
            asked = json.loads(line)
            case = Case.from_json(asked["case"])
            answer(side.run(case).__dict__)
            if not asked["looks"]:
                continue
            found = digests(case.kind, case.size, side.answers(case))
            np.savez(work / "digests.npz", rows=found.rows, sums=found.sums)
            answer({"digests": str(work / "digests.npz")})
    except Exception as error:
        traceback.print_exc()
        answer({"error": (str(error).strip().splitlines() or [type(error).__name__])[0][:300]})


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "tuned")
