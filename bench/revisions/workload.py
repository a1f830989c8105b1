"""The history, the batches that correct it, the queries, and what is right in the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

STREAM = "CREATE STREAM s (t BIGINT, k INTEGER, x INTEGER, y DOUBLE) TIMESTAMP BY t"
#: what each kind of query computes; `join`, which aggregates pairs, cannot be corrected downstream
AGGREGATES = {
    "sum": "SUM(x) AS a, COUNT(*) AS b",
    "extreme": "AVG(y) AS a, MAX(y) AS b",
    "spread": "STDDEV(y) AS a, AVG(x) AS b",
}
#: the same as `sum`, over windows that overlap: each tuple is in so many of them
SLIDING, OVERLAP = "sliding", 5
JOIN = "join"
#: the stream of pairs themselves, one tuple in twenty: it can, by differences
PAIRS = "pairs"
KINDS = (*AGGREGATES, SLIDING, PAIRS, JOIN)
GROUPS = 10
#: windows on the way of a join: each row of `s` meets the one row of its own tick, so pairs are as many as rows
_JOINED = (
    "SELECT l.k, SUM(l.x + r.x) AS a, COUNT(*) AS b FROM s [{window}] l, s [{window}] r WHERE l.t = r.t GROUP BY l.k"
)
_PAIRED = "SELECT l.k AS k, l.x + r.x AS a, l.y AS b FROM {joined} WHERE l.t = r.t AND l.x + r.x > 1900"


def slide(kind: str, size: int) -> int:
    """From one window to the next, in tuples: there is one for every tick."""
    if kind != SLIDING:
        return size
    if size % OVERLAP:
        raise ValueError(f"windows of {size} tuples cannot overlap {OVERLAP} times")
    return size // OVERLAP


def computed(kind: str) -> str:
    return AGGREGATES["sum" if kind == SLIDING else kind]


def query(kind: str, size: int) -> str:
    """Windows of so many tuples, one behind the other or overlapping."""
    window = f"FROM NOW-{size - 1} TO NOW SLIDE {slide(kind, size)} SEC"
    if kind == JOIN:
        return _JOINED.format(window=window)
    if kind == PAIRS:
        return f"RSTREAM({_PAIRED.format(joined=f's [{window}] l, s [{window}] r')})"
    return f"SELECT k, {computed(kind)} FROM s [{window}] GROUP BY k"


def plain_query(kind: str, size: int) -> str:
    """The same for Spark, over all tuples that stand."""
    if kind == PAIRS:
        return _PAIRED.format(joined="s l, s r").replace("SELECT", f"SELECT CEIL(l.t / {size}) AS w,", 1)
    if kind == JOIN:
        of = "s l JOIN s r ON l.t = r.t"
        return f"SELECT CEIL(l.t / {size}) AS w, l.k, SUM(l.x + r.x) AS a, COUNT(*) AS b FROM {of} GROUP BY 1, 2"
    first = f"CAST(CEIL(t / {slide(kind, size)}) AS BIGINT)"
    if kind == SLIDING:
        placed = f"SELECT EXPLODE(SEQUENCE({first}, {first} + {OVERLAP - 1})) AS w, k, x, y FROM s"
        return f"SELECT w, k, {computed(kind)} FROM ({placed}) GROUP BY 1, 2"
    return f"SELECT {first} AS w, k, {computed(kind)} FROM s GROUP BY 1, 2"


@dataclass
class Workload:
    """Tuples 1, 2, 3, … at ticks 1, 2, 3, …, as they stand after all that was made of them so far."""

    seed: int
    t: npt.NDArray[np.int64]
    k: npt.NDArray[np.int32]
    x: npt.NDArray[np.int32]
    y: npt.NDArray[np.float64]

    @classmethod
    def of_length(cls, tuples: int, seed: int = 7) -> Workload:
        return cls(seed, np.arange(1, tuples + 1), *_values(np.random.default_rng(seed), tuples))

    def table(self, first: int, count: int) -> pa.Table:
        """New tuples, from the place `first` on."""
        part = slice(first, first + count)
        return pa.table({"t": self.t[part], "k": self.k[part], "x": self.x[part], "y": self.y[part]})

    def batch(self, number: int, rows: int, share: float) -> pa.Table:
        """Rows of which so many replace earlier tuples and the others are new; the tuples that stand follow."""
        draw = np.random.default_rng((self.seed, number))
        corrections = round(rows * share)
        come = self.t.size
        places = draw.choice(come, corrections, replace=False)
        k, x, y = _values(draw, rows)
        self.k[places], self.x[places], self.y[places] = k[:corrections], x[:corrections], y[:corrections]
        new = np.arange(come + 1, come + 1 + rows - corrections)
        ticks = np.concatenate([self.t[places], new])
        self.t = np.concatenate([self.t, new])
        for name, values in (("k", k), ("x", x), ("y", y)):
            setattr(self, name, np.concatenate([getattr(self, name), values[corrections:]]))
        op = np.where(np.arange(rows) < corrections, "=", "+")
        ref = pa.array(np.concatenate([places + 1, new]), mask=np.arange(rows) >= corrections)
        return pa.table({"t": ticks, "k": k, "x": x, "y": y, "_op": op, "_ref": ref})

    def over(self, kind: str, size: int) -> int:
        """The number of the last window that is over: the last tick is not closed."""
        return int(self.t.size - 1) // slide(kind, size)

    def right(self, kind: str, size: int) -> pd.DataFrame:
        """The answers of all windows that are over, as `window`, `k`, `a`, `b`."""
        first = (self.t - 1) // slide(kind, size) + 1  # the window that a tuple is in, or the first of them
        frame = pd.DataFrame({"window": first, "k": self.k, "x": self.x, "y": self.y})
        if kind == PAIRS:
            found = pd.DataFrame({"window": first, "k": self.k, "a": 2 * self.x, "b": self.y})
            return found[(found["window"] <= self.over(kind, size)) & (found["a"] > 1900)]
        if kind == SLIDING:
            frame = pd.concat([frame.assign(window=frame["window"] + later) for later in range(OVERLAP)])
        groups = frame[frame["window"] <= self.over(kind, size)].groupby(["window", "k"])
        if kind in ("sum", SLIDING):
            found = groups.agg(a=("x", "sum"), b=("x", "size"))
        elif kind == "extreme":
            found = groups.agg(a=("y", "mean"), b=("y", "max"))
        elif kind == "spread":
            found = groups.agg(a=("y", "std"), b=("x", "mean"))
        else:
            found = groups.agg(a=("x", "sum"), b=("x", "size"))
            found["a"] *= 2
        return found.reset_index()


def _values(
    draw: np.random.Generator, count: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    k = draw.integers(0, GROUPS, count).astype(np.int32)
    # a quarter of a whole number: sums are exact in whatever order they are added up
    return k, draw.integers(0, 1_000, count).astype(np.int32), draw.integers(0, 4_000, count) / 4


def same(found: pd.DataFrame, right: pd.DataFrame) -> bool:
    """Whether these are the answers, but for the last digits of what is divided."""
    names = ["window", "k"]
    left, other = (frame.sort_values([*names, "a", "b"], ignore_index=True) for frame in (found, right))
    if len(left) != len(other) or not (left[names].to_numpy() == other[names].to_numpy()).all():
        return False
    numbers = ["a", "b"]
    return bool(np.allclose(left[numbers].astype(float), other[numbers].astype(float), rtol=1e-9, equal_nan=True))
