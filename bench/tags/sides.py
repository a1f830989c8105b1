"""A side at work: a database in this process, which takes batches, tells what each took, and what it keeps."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

import eddyline
from bench.cpu import steady_seconds
from bench.runs import timed
from bench.tags.answers import different
from bench.tags.experiments import Fed, Side
from bench.tags.workload import Batch


def in_one_step(fed: Fed) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is pushed to all streams together, as one batch is answered: the rows, and the tags beside them."""
    both = {stream: rows if isinstance(rows, tuple) else (rows, None) for stream, rows in fed.items()}
    tags = {stream: beside for stream, (_, beside) in both.items() if beside is not None}
    return {stream: rows for stream, (rows, _) in both.items()}, tags


class Running:
    def __init__(self, side: Side, folder: Path) -> None:
        self.side = side
        self._folder = folder
        self._taken: list[Batch] = []
        self.database = eddyline.connect(str(folder), heartbeat=None)
        for statement in side.statements():
            self.database.sql(statement)
        self._query: Any = self.database.sql(side.query) if side.query else None
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def take(self, batch: Batch) -> None:
        """Push a batch and wait for all answers; what the form of the batch costs to make does not count."""
        rows, tags = in_one_step(self.side.feed(batch))

        def answered() -> None:
            for pushed in self.database.push(rows, tags).values():
                if pushed.rejected:
                    raise RuntimeError(f"{self.side.name}: {pushed.rejected} rows were set aside: {self._reason()}")
            self.database.flush()

        _, wall, cpu = timed(answered, steady_seconds)
        self.wall.append(wall)
        self.cpu.append(cpu)
        self._taken.append(batch)

    def _reason(self) -> str:
        return next((str(reject) for reject in self.database.rejects), "")

    def wrong(self) -> int:
        """In how many rows the answers to what has come so far are wrong; to be asked once.

        The tick of the last report is closed for it: no batch may bring more of it.
        """
        self._close_tick()
        if self._query is None:
            return 0
        assert self.side.shape is not None and self.side.right is not None
        found = self.side.shape(self._query.columns, self._query.fetch())
        return different(found, self.side.right(self._taken))

    def missing(self) -> int:
        """By how many rows there are more or fewer answers than there should be, in all."""
        self._close_tick()
        if self._query is None:
            return 0
        assert self.side.right is not None
        return abs(self.told() - self.side.told_in * len(self.side.right(self._taken)))

    def told(self) -> int:
        """Rows that stand of the answer."""
        return int(pc.sum(self._query.to_arrow().column("_diff")).as_py() or 0)

    def _close_tick(self) -> None:
        self.database.advance(int(self._taken[-1].column("t")[-1]), closed=True)
        self.database.flush()

    @property
    def taken(self) -> int:
        """Reports that have come, all together."""
        return sum(batch.size for batch in self._taken)

    def forget_times(self) -> None:
        self.wall.clear()
        self.cpu.clear()

    def found(self, settle: int) -> dict[str, Any]:
        """Of the batches after those that only warm up."""
        return {
            "wall": statistics.median(self.wall[settle:]),
            "cpu": typical(self.cpu[settle:]),
            "all_wall": list(self.wall),
            "all_cpu": list(self.cpu),
            "bytes": self._bytes(),
        }

    def answers_a_batch(self, settle: int) -> float:
        """Rows that should be answered to each batch that counts, on average."""
        counted = self._taken[-(len(self.wall) - settle) :]
        return len(self.side.right(counted)) / len(counted) if self.side.right else 0.0

    def size(self) -> int:
        """Bytes of the logs of the streams and of answers."""
        found = self._bytes()
        return found["streams"] + found["results"]

    def _bytes(self) -> dict[str, int]:
        """Of the logs of the streams, of answers and of everything else that the database has written. A file that two
        logs share is on the disk once."""
        sizes = {"streams": 0, "results": 0, "rest": 0}
        counted = set()
        for path in sorted(self._folder.rglob("*"), reverse=True):  # the stream's own before those of answers
            about = path.stat()
            if path.is_file() and about.st_ino not in counted:
                counted.add(about.st_ino)
                top = path.relative_to(self._folder).parts[0]
                sizes[top if top in sizes else "rest"] += about.st_size
        return sizes

    def close(self) -> None:
        self.database.close()


def typical(seconds: Sequence[float]) -> float:
    """The mean without the largest and the smallest: the clock of a processor goes by hundredths of a second."""
    return statistics.mean(sorted(seconds)[1:-1] if len(seconds) > 2 else seconds)
