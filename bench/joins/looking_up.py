"""A skewed stream beside a slow table: asked by key, read as a whole, and both as it costs (the hybrid join).

The hybrid join should follow look-ups while these are quicker, and the scan once that has come. So each way is told how
many of its tuples are answered while time goes by, and for how long a tuple waits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import eddyline
from eddyline.spark.lookups.costs import Costs

LOOKING_UP = "looking up"
LOOK_UPS, SCAN, BOTH = "look-ups", "scan", "both"
#: seconds of a call, and of each of its keys
CALL, KEY = 0.05, 0.002
#: seconds between two pushes
_PAUSE = 0.5
#: the larger, the fewer keys take most of the tuples
_SKEW = 1.2
#: seconds that a way may take behind the last push
_PATIENCE = 180.0
#: and between two looks at what was answered
_LOOK = 0.05


@dataclass(frozen=True)
class Load:
    """So many tuples in each push, so many pushes, of a table with so many keys."""

    name: str
    keys: int
    tuples: int
    pushes: int

    def batches(self) -> list[pa.Table]:
        """Distinct ones come on and on, fewer and fewer."""
        random = np.random.default_rng(len(self.name))
        shuffled = random.permutation(self.keys).astype(np.int32)
        found = []
        for number in range(self.pushes):
            drawn = (random.pareto(_SKEW - 1, self.tuples) * 10).astype(np.float64)
            place = np.minimum(drawn, 1e15).astype(np.int64) % self.keys
            columns = {"t": np.full(self.tuples, number + 1, np.int64), "person": shuffled[place]}
            found.append(pa.table(columns))
        return found


def loads(keys: int, tuples: int, pushes: int) -> list[Load]:
    """With few tuples look-ups are the better way, with many the scan."""
    return [Load("few tuples", keys, max(1, tuples // 500), pushes), Load("many tuples", keys, tuples, pushes)]


def find(keys: pa.Array) -> pa.Table:
    """A service that takes its time."""
    time.sleep(CALL + KEY * len(keys))
    return rows_of(keys)


def rows_of(keys: Any) -> pa.Table:
    keys = pa.array(keys, pa.int32())
    return pa.table({"person": keys, "points": pa.array(points(np.asarray(keys)))})


def points(keys: np.ndarray) -> np.ndarray:
    return keys.astype(np.int64) * 7 % 1_000


def write_lines(keys: int, path: Path) -> None:
    """All rows as JSON, which takes a while to read."""
    numbers = np.arange(keys, dtype=np.int32)
    lines = (f'{{"person": {key}, "points": {value}}}\n' for key, value in zip(numbers, points(numbers), strict=True))
    with path.open("w") as file:
        file.writelines(lines)


def only(way: str) -> AbstractContextManager[Any]:
    """A scan at once is what costs nothing to wait for."""
    return patch.object(Costs, "scan_pays", lambda *_: True) if way == SCAN else nullcontext()


def run(load: Load, way: str, lines: Path, folder: Path) -> dict[str, Any]:
    """Push a batch of the load every half second, whatever is answered by then, and wait for the rest."""
    options = f"function 'bench.joins.looking_up:find', key 'person', size {10 * load.keys}"
    if way != LOOK_UPS:
        options += f", path '{lines}', format 'json'"
    with only(way):
        db = eddyline.connect(str(folder), heartbeat=None)
        try:
            db.sql("CREATE STREAM calls (t BIGINT, person INTEGER) TIMESTAMP BY t")
            db.sql(f"CREATE TABLE people (person INTEGER, points BIGINT) USING lookup OPTIONS ({options})")
            query = db.sql("CREATE QUERY q AS SELECT calls.t, points FROM calls JOIN people USING (person)")
            db.stream("calls").push([(0, None)])  # asks for nothing; Spark begins
            db.flush()
            pushed, told, total = _watched(load, db.stream("calls"), query)
            costs = db._core.engine.executor.lookups._tables["people"].costs
            counts = {"calls": costs.calls, "keys": costs.keys, "scans": costs.scans}
        finally:
            db.close()
    answers = sum(number for _, _, number in told)
    waited = sum((now - pushed[t - 1]) * number for now, t, number in told)
    right = sum(int(points(np.asarray(batch["person"])).sum()) for batch in load.batches())
    return {
        "told": _in_time(told),
        "waited": waited / max(1, answers),
        "ended": max((now for now, _, _ in told), default=math.inf),
        "right": (answers, total) == (load.tuples * load.pushes, right),
        **counts,
    }


def _watched(load: Load, stream: Any, query: Any) -> tuple[list[float], list[tuple[float, int, int]], int]:
    """When each batch was pushed; when how many tuples of which batch were answered; and the sum over all answers."""
    batches, pushed, told = load.batches(), list[float](), list[tuple[float, int, int]]()
    total, answers, cursor, began = 0, 0, -1, time.monotonic()
    while answers < load.tuples * load.pushes and time.monotonic() < began + _PAUSE * load.pushes + _PATIENCE:
        if len(pushed) < load.pushes and time.monotonic() - began >= _PAUSE * len(pushed):
            pushed.append(time.monotonic() - began)
            stream.push(batches[len(pushed) - 1])
        new = query.to_arrow(since=cursor)
        now = time.monotonic() - began
        if new.num_rows:
            cursor = max(new["_batch"].to_pylist())
            total += int(np.asarray(new["points"]).sum())
            answers += new.num_rows
            told += [(now, int(t), int(n)) for t, n in zip(*np.unique(new["t"], return_counts=True), strict=True)]
        time.sleep(_LOOK)
    return pushed, told, total


def _in_time(told: Sequence[tuple[float, int, int]]) -> list[tuple[float, int]]:
    """How many were answered by when.

    >>> _in_time([(1.0, 0, 5), (1.0, 1, 2), (3.0, 1, 4)])
    [(1.0, 7), (3.0, 11)]
    """
    new: dict[float, int] = {}
    for now, _, number in told:
        new[now] = new.get(now, 0) + number
    return list(zip(new, accumulate(new.values()), strict=True))


def behind(told: Sequence[tuple[float, int]], others: Iterable[Sequence[tuple[float, int]]]) -> float:
    """How many seconds it is behind the best of others at most.

    >>> behind([(2.0, 3), (3.0, 5)], [[(1.0, 3)], [(2.5, 5)]])
    1.0
    """
    reached = [(now, number) for other in others for now, number in other]
    return max((min(mine for mine, number in told if number >= enough) - now for now, enough in reached), default=0.0)


def looking_up(keys: int, tuples: int, pushes: int, folder: Path, say: Callable[[str], None]) -> list[dict[str, Any]]:
    lines = folder / "people.jsonl"
    write_lines(keys, lines)
    say("a slow table: warming up")
    run(Load("a tuple", keys, 1, 1), BOTH, lines, folder / "warm")
    found = []
    for load in loads(keys, tuples, pushes):
        ways = {}
        for way in (LOOK_UPS, SCAN, BOTH):
            say(f"a slow table, {load.name}: {way}")
            ways[way] = run(load, way, lines, folder / f"{load.name} {way}")
        alone = [ways[way]["told"] for way in (LOOK_UPS, SCAN)]
        found.append(
            {
                "load": load.name,
                "tuples": load.tuples * load.pushes,
                "ways": ways,
                "behind": behind(ways[BOTH]["told"], alone),
                "equal": all(way["right"] for way in ways.values()),
            }
        )
    return found
