"""What storing, joining and comparing tuples costs on this machine, measured in the kernel as join trees use it.

The statements are of the form that stages of a join have: rows of segments with their lives and weights, joined by a
key while they live together. What grows with the tuples is told from what does not by the difference of two of them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eddyline.kernels.task import kernel

_ROWS, _FEW = 100_000, 100
#: of each side, where all pairs are compared: so many that reading them is nothing beside that
_COMPARED = 3_000
#: how many tuples each one finds where many are joined
_PARTNERS = 20
#: the fastest of so many is what it costs if nobody is in the way
_TRIES = 3
#: segments that a log has beside the one that matters
_SEGMENTS = 3


@dataclass(frozen=True)
class Measured:
    """Seconds of processor time: to insert or purge a tuple, to join one, to compare a pair, to answer one, to have one
    stand that is probed; and in each batch, for a statement with a segment to write, and for each of its joins."""

    insert: float
    purge: float
    join: float
    compare: float
    answer: float
    scan: float
    statement: float
    step: float


def measured() -> Measured:
    """Takes about a second, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        return _Calibration(kernel(), Path(folder)).measured()


class _Calibration:
    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._connection, self._folder = connection, folder

    def measured(self) -> Measured:
        self._stored("none", 0, 1)
        stored = self._stored("stored", _ROWS, _ROWS)
        few, many = self._stored("few", _FEW, _ROWS), self._stored("many", _ROWS // 10, _ROWS // 10 // _PARTNERS)
        writing = _seconds(lambda: self._write(self._rows(_ROWS, _ROWS), "written"))
        nothing = _seconds(lambda: self._asked("SELECT 1"))
        one, three = (_seconds(lambda n=n: self._asked(_joined([(few, few)] * n))) for n in (1, 3))  # type: ignore[misc]
        probed = _seconds(lambda: self._asked(_joined([(few, stored)])))
        met = _seconds(lambda: self._asked(_probing_on(_joined([(many, many)]), few)))
        told = _seconds(lambda: self._asked(_answered(_joined([(many, many)]))))
        aside = _seconds(lambda: self._asked(_joined([(many, few)])))
        # a hundredth stays: a segment of which nothing does is not even opened
        purged, left = (
            _seconds(lambda p=p: self._asked(f"SELECT * FROM read_parquet('{p}') WHERE t < 1"))  # type: ignore[misc]
            for p in (stored, few)
        )
        some = f"(SELECT * FROM read_parquet('{stored}') WHERE v < {_COMPARED})"
        unlike = "(a.v * 7 + b.v * 3) % 1000003 = 1000002 AND greatest(a.t, b.t) <= least(a.t, b.t) + 100"
        compared = _seconds(lambda: self._asked(f"SELECT a.v FROM {some} a JOIN {some} b ON {unlike}"))
        small = _seconds(lambda: self._write(self._rows(_FEW, _ROWS), "small"))
        scan = max(probed - one, 0.0) / _ROWS
        joined = _ROWS // 10 * _PARTNERS
        return Measured(
            insert=writing / _ROWS,
            purge=max(purged - left, 1e-6) / _ROWS,
            join=max(met - aside - scan * _ROWS // 10, joined * 1e-9) / joined,
            compare=max(compared - nothing, 1e-9) / _COMPARED**2,
            answer=max(told - met, 0.0) / joined,
            scan=scan,
            statement=max(one - (three - one) / 2, nothing) + small,
            step=max(three - one, 0.0) / 2,
        )

    def _rows(self, rows: int, keys: int) -> pa.Table:
        numbers = np.arange(rows)
        # few keys are not all at one end, where they could be left out
        spread = numbers * max(1, keys // max(rows, 1)) % keys
        columns = {"t": numbers % 100, "w": np.ones(rows, int), "k": np.random.default_rng(1).permutation(spread)}
        return pa.table({**columns, "v": numbers, "m": numbers[::-1].copy()})

    def _write(self, rows: pa.Table, name: str) -> Path:
        path = self._folder / f"{name}.parquet"
        pq.write_table(rows, path, compression="zstd")
        return path

    def _stored(self, name: str, rows: int, keys: int) -> Path:
        return self._write(self._rows(rows, keys), name)

    def _asked(self, statement: str) -> None:
        """What it gives is written, as that of a stage is."""
        for batch in self._connection.sql(statement).to_arrow_reader():
            pq.write_table(pa.Table.from_batches([batch]), self._folder / "answer.parquet", compression="zstd")


def _joined(pairs: list[tuple[Path, Path]]) -> str:
    """A term for each pair of segments: tuples of the first that find such of the second."""
    parts, terms = [], []
    for at, (one, other) in enumerate(pairs):
        for name, path in ((f"l{at}", one), (f"r{at}", other)):
            life = f"t + ((-t % 7 + 7) % 7) AS {name}f, t + 100 - ((t % 7 + 7) % 7) AS {name}u"
            rows = f"SELECT {life}, w AS {name}w, k AS {name}k, v AS {name}v, m AS {name}m"
            files = ", ".join([f"'{path}'", *[f"'{path.with_stem('none')}'"] * _SEGMENTS])
            read = f"read_parquet([{files}]) WHERE w <> 0 AND (t BETWEEN 0 AND 1000)"
            parts.append(f"{name} AS NOT MATERIALIZED ({rows} FROM {read})")
        left, right = f"l{at}", f"r{at}"
        terms.append(
            f"SELECT greatest({left}f, {right}f) AS f, least({left}u, {right}u) AS u, {left}w * {right}w AS w, "
            f"{left}v AS a, {left}m AS b, {right}v AS c, {right}m AS d FROM {left} JOIN {right} "
            f"ON {left}k = {right}k AND {left}f <= {right}u AND {right}f <= {left}u"
        )
    return f"WITH {', '.join(parts)} SELECT * FROM ({' UNION ALL '.join(terms)}) WHERE u >= 0"


def _probing_on(joined: str, others: Path) -> str:
    """Joined tuples look for others, and find none: what they cost on the way, without what it costs to keep them."""
    probed = f"(SELECT v AS ov, t AS ot FROM read_parquet('{others}'))"
    return f"SELECT * FROM ({joined}) JOIN {probed} ON b * {_ROWS} + d + {_ROWS} ** 2 = ov AND f <= ot"


def _answered(joined: str) -> str:
    """What comes and goes, tick by tick, is added up before it is told."""
    ends = f"SELECT t, w, a, b, c, d FROM (SELECT f AS t, w, a, b, c, d FROM ({joined})) WHERE t BETWEEN 0 AND 1000"
    return f"SELECT t, a, b, c, d, sum(w) AS w FROM ({ends}) GROUP BY t, a, b, c, d HAVING sum(w) <> 0"


def _seconds(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(_TRIES):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)
