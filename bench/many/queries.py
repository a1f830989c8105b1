"""The standing queries: six kinds, and the constants that make so many queries of each.

With N queries a tuple satisfies min(N/20, 5) of them on average (those with a symbol: min(N/2S, 5) for S symbols): one
query takes a twentieth of the stream; from a hundred on all of them together give five answers to a tuple, so
that more queries mean more to decide but not more to write. Of alerts all together give one answer to twenty tuples,
however many they are: they stand for what seldom happens. Constants lie on the grid of the prices.

- `low` and `high`: the width is drawn evenly between 0 and twice its mean, which is that share of all prices; `low`
  evenly from where the range fits in.
- `sym` and `floor`: the symbol evenly; the part of the prices above `floor` evenly between 0 and twice its mean.
- windows of different lengths: one of twelve, evenly. Each length is a multiple of its slide, else Flink refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bench.many.ticks import GRID, HIGHEST, PRICES, symbol

#: a query takes at most this part of the stream, and all of them give at most so many answers to a tuple
LARGEST_SHARE, MATCHES = 1 / 20, 5
FIXED = (60, 10)  # length and slide
MIXED = tuple((slide * times, slide) for slide in (5, 10, 20, 30) for times in (1, 3, 6))


@dataclass(frozen=True)
class Kind:
    name: str
    largest: int
    by_symbol: bool = False
    windows: tuple[tuple[int, int], ...] = ()
    matches: float = MATCHES  # answers to a tuple at most
    cuts: int = 1  # its micro-batches, where the others have one


RANGES = Kind("range selections", 1_000_000)
#: whatever a micro-batch costs by itself counts sixteen times
STREAMED = Kind("selection in small batches", 1, cuts=16)
#: of more than 50,000 each would be narrower than the grid of the prices
ALERTS = Kind("alerts that are rare", 10_000, matches=1 / 20)
SYMBOLS = Kind("symbol selections", 1_000_000, by_symbol=True)
SLIDING = Kind("sliding aggregates", 10_000, windows=(FIXED,))
VARIED = Kind("aggregates over mixed windows", 10_000, windows=MIXED)
KINDS = {kind.name: kind for kind in (RANGES, STREAMED, ALERTS, SYMBOLS, SLIDING, VARIED)}
#: what is run if nobody says otherwise: what the aims are about
ASKED = (RANGES.name, STREAMED.name, ALERTS.name, SLIDING.name)


def name(number: int) -> str:
    return f"q{number}"


def share(kind: Kind, size: int, symbols: int) -> float:
    """The part of the stream that a query takes on average."""
    return min(1 / (2 * symbols) if kind.by_symbol else LARGEST_SHARE, kind.matches / size)


def constants(kind: Kind, size: int, symbols: int) -> pa.Table:
    """A row for each query: `name`, and what its predicate and its window need."""
    rng = np.random.default_rng(size)
    table = {"name": pa.array([name(number) for number in range(size)])}
    mean = PRICES * share(kind, size, symbols)
    if kind.by_symbol:
        steps = _up_to_twice(rng, min(mean * symbols, PRICES / 2), size)
        of = rng.integers(0, symbols, size)
        table["sym"] = pa.array([symbol(number) for number in range(symbols)]).take(pa.array(of))
        # `price > floor` leaves out the floor itself
        table["floor"] = pa.array((PRICES - steps - 1) / GRID)
    else:
        steps = _up_to_twice(rng, mean, size)
        low = np.floor(rng.random(size) * (PRICES - steps + 1))
        table["low"] = pa.array(low / GRID)
        table["high"] = pa.array((low + steps) / GRID)
    if kind.windows:
        which = rng.integers(0, len(kind.windows), size)
        table["length"] = pa.array(np.array([length for length, _ in kind.windows], np.int32)[which])
        table["slide"] = pa.array(np.array([slide for _, slide in kind.windows], np.int32)[which])
    return pa.table(table)


def _up_to_twice(rng: np.random.Generator, mean: float, size: int) -> np.ndarray:
    """Whole numbers from 1 to twice the mean less one, which have this mean."""
    return rng.integers(1, max(2, round(2 * mean)), size)


def predicate(kind: Kind) -> str:
    """With `{…}` for the constants."""
    return "sym = {sym} AND price > {floor}" if kind.by_symbol else "price >= {low} AND price < {high}"


def literals(row: dict[str, object]) -> dict[str, object]:
    """The constants as SQL. Prices stay below ten million, so that they are never written with an exponent."""
    assert HIGHEST < 1e7
    return {key: f"'{value}'" if isinstance(value, str) else value for key, value in row.items()}
