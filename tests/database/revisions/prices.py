"""Prices that are revised, and what a database tells of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import eddyline
from eddyline.log.upkeep import Pace

PRICES = [(100, "IBM", 20), (110, "IBM", 35), (120, "IBM", 25), (130, "IBM", 18), (130, "SAP", 50), (150, "IBM", 19)]
BY_SYMBOL = "SELECT symbol, SUM(price) AS total FROM prices [FROM NOW-29 TO NOW SLIDE 20 SEC] GROUP BY symbol"


def opened(path: Path, pace: Pace | None = None) -> eddyline.Database:
    return eddyline.connect(path, heartbeat=None, clock=lambda: 0, pace=pace)


def push(db: eddyline.Database, *rows: Any) -> None:
    db.stream("prices").push(list(rows))
    db.flush()


def replace(index: int, time: int, symbol: str, price: int) -> dict[str, Any]:
    return {"_op": "=", "_ref": index, "time": time, "symbol": symbol, "price": price}


def delete(index: int) -> dict[str, Any]:
    return {"_op": "-", "_ref": index}


def causes(db: eddyline.Database, query: str) -> dict[tuple[int, str], list[tuple[int, str, str]]]:
    """What each correction of a query comes from, by its tick."""
    found: dict[tuple[int, str], list[tuple[int, str, str]]] = {}
    for line in db.revisions(query).to_arrow().to_pylist():
        told = (line["index"], line["revision"], line["precision"])
        found.setdefault((line["tick"], line["op"]), []).append(told)
    return found


def listed(db: eddyline.Database, of: str | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = db.revisions(of).to_arrow().to_pylist()
    return found
