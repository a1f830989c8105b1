"""A stream of quotes, and the constants of query classes that choose among them by their price."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

STREAM = "CREATE STREAM s (sym STRING, price DOUBLE, volume INTEGER, t BIGINT) TIMESTAMP BY t"
#: prices from 0 to 1, of which a member wants a range
WHERE = "price >= :low AND price < :high"
#: seconds of the stream in a batch
SECONDS = 50


def batch(number: int, rows: int) -> pa.Table:
    random = np.random.default_rng(number)
    names = pa.array([f"S{each:03d}" for each in range(10)])
    return pa.table(
        {
            "sym": names.take(pa.array(random.integers(0, 10, rows))),
            "price": random.random(rows),
            "volume": random.integers(1, 1000, rows).astype(np.int32),
            "t": number * SECONDS + np.arange(rows) * SECONDS // rows,
        }
    )


def ranges(number: int, members: int, mean: float, *, even: bool) -> pa.Table:
    """For the class of this number: a range of prices for each member, all as wide (`even`) or any up to twice that."""
    random = np.random.default_rng(number)
    width = np.full(members, min(1.0, mean)) if even else 2 * random.random(members) * mean
    low = random.random(members) * (1 - width)
    return pa.table({"name": [f"q{number}_{each}" for each in range(members)], "low": low, "high": low + width})
