"""A side in a process of its own: its memory is its own, and its code may be that of another checkout.

The parent writes a request on a line, the worker answers with one. Everything else that is printed goes to stderr.

    {"open": folder, "statements": […], "query": …}   a database
    {"push": {stream: file, …}, "watch": …}           Parquet files, each one push, maybe
                                                      with tags beside it; answers with wall, cpu, peak
    {"close": true}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2]
#: seconds between two looks at the memory
LOOK = 0.05


def tags_beside(rows: Path) -> Path:
    """Where the tags are that are pushed beside some rows, if there are any."""
    return rows.with_suffix(".tags.parquet")


class Worker:
    """The parent's end."""

    def __init__(self, checkout: Path = HERE) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.tags.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=HERE,
            env={**os.environ, "PYTHONPATH": f"{checkout.resolve() / 'src'}{os.pathsep}{HERE}"},
        )

    def open(self, folder: Path, statements: Sequence[str], query: str) -> None:
        self._asked({"open": str(folder), "statements": list(statements), "query": query})

    def push(self, files: Mapping[str, Path], watch: bool = False) -> dict[str, float]:
        """`watch`: look at the memory meanwhile, which takes processor time itself."""
        return self._asked({"push": {stream: str(path) for stream, path in files.items()}, "watch": watch})

    def close(self) -> None:
        self._asked({"close": True})

    def end(self) -> None:
        self._process.communicate()

    def _asked(self, request: Mapping[str, Any]) -> dict[str, float]:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the worker ended without a word"}
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer


class Peak:
    """Megabytes of this process and its Python workers at their highest, without Java's heap, which goes up and down as
    it likes. Memory that several share counts once."""

    def __init__(self) -> None:
        self.highest = _python_megabytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(LOOK):
            self.highest = max(self.highest, _python_megabytes())

    def end(self) -> float:
        self._done.set()
        self._thread.join()
        return self.highest


def _python_megabytes() -> float:
    from bench.many.memory import family, megabytes_of

    return megabytes_of(process for process in family(os.getpid()) if not _is_java(process))


def _is_java(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/comm").read_text().startswith("java")
    except OSError:
        return False


def serve() -> None:
    """The worker's end."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    import eddyline

    database: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if "open" in request:
                database = eddyline.connect(request["open"], heartbeat=None)
                for statement in (*request["statements"], request["query"]):
                    database.sql(statement)
            elif "push" in request:
                answer = _pushed(database, request["push"], request["watch"])
            else:
                database.close()
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer), file=out, flush=True)


def _pushed(database: Any, files: Mapping[str, str], watch: bool) -> dict[str, float]:
    """The batch is read meanwhile: whoever pushes has it in memory."""
    import pyarrow.parquet as pq

    from bench.cpu import steady_seconds
    from bench.runs import timed

    peak = Peak() if watch else None
    given = {stream: [pq.read_table(path)] for stream, path in files.items()}
    for stream, path in files.items():
        if tags_beside(Path(path)).exists():
            given[stream].append(pq.read_table(tags_beside(Path(path))))

    def answered() -> None:
        for stream, rows in given.items():
            database.stream(stream).push(*rows)
        database.flush()

    _, wall, cpu = timed(answered, steady_seconds)
    return {"wall": wall, "cpu": cpu, **({"peak": peak.end()} if peak else {})}


if __name__ == "__main__":
    serve()
